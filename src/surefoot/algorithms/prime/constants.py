"""Constants of PRIME: each is a default, its limits, a sentence, and what it affects."""

from __future__ import annotations

from dataclasses import Field, field
from typing import Any, NamedTuple, TypeVar

import numpy as np

from surefoot.arrays import Array
from surefoot.errors import InputError

T = TypeVar("T", int, float, tuple[float, ...])

ENTERS_BOUNDARY = "enters the boundary"
COSTS_SAMPLES = "costs samples only"


class Foresight(NamedTuple):
    """Constants of the outlook as compiled code takes them; the sentences are in `Tuning`."""

    most_rivals: int
    hope: float
    ahead: Array
    furthest: float
    doubt: float
    sizes: Array
    patience: float
    feeble: float


class Effort(NamedTuple):
    """Constants of the search for a design, likewise."""

    tolerance: float
    rounds: int
    in_use: float
    priced_in: int
    promising: float
    exchanges: int
    worthwhile: float


def _constant(default: T, least: float, most: float, meaning: str, effect: str) -> T:
    metadata = {"meaning": meaning, "effect": effect, "least": least, "most": most}
    constant: T = field(default=default, metadata=metadata)
    return constant


def boundary(default: T, least: float, most: float, meaning: str) -> T:
    """A constant of the schedule, which is fixed before any data that count."""
    return _constant(default, least, most, meaning, ENTERS_BOUNDARY)


def samples(default: T, least: float, most: float, meaning: str) -> T:
    """A constant of the choices between phases, on which no guarantee depends."""
    return _constant(default, least, most, meaning, COSTS_SAMPLES)


def suitable(constant: Field[Any], value: Any) -> int | float | tuple[float, ...]:
    """The value in the type of its default, if it is within the limits."""
    whole, several = isinstance(constant.default, int), isinstance(constant.default, tuple)
    least, most = constant.metadata["least"], constant.metadata["most"]
    if several and isinstance(value, tuple | list) and value:
        if all(_number(entry, least, most) for entry in value):
            return tuple(map(float, value))
    elif not several and _number(value, least, most) and not (whole and value != int(value)):
        return int(value) if whole else float(value)
    wanted = "whole number" if whole else "number"
    raise InputError(
        f"tuning: {constant.name}={value!r:.80} must be "
        f"{f'one or more {wanted}s' if several else f'a {wanted}'} from {least:g} to {most:g} "
        f"({constant.metadata['meaning']})"
    )


def _number(value: Any, least: float, most: float) -> bool:
    numeric = isinstance(value, int | float | np.integer | np.floating)
    return numeric and not isinstance(value, bool) and bool(least <= value <= most)
