"""What a constant of PRIME is: a default, its limits, a sentence, and what it affects.

And what constants were in study files that do not name them, whatever the defaults are now.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import Field, field
from types import MappingProxyType
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


VERSION_0_1: Mapping[str, Any] = MappingProxyType(
    {
        "looks": 70,
        "growth": 1.12,
        "rise": 0.25,
        "large": 2.0,
        "trust": 12.0,
        "strict": 4.0,
        "strictness": 2.0,
        "first_epoch_share": 0.98,
        "unit_per_dimension": 5,
        "least_replicates": 18,
        "pilot_per_dimension": 2,
        "spread_tolerance": 0.02,
        "least_noise": 1e-6,
        "least_freedom": 10,
        "most_rivals": 40,
        "hope": 0.6,
        "horizons": 24,
        "furthest": 1000.0,
        "doubt": 0.3,
        "sizes": (0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.1, 1.25, 1.5),
        "patience": 0.7,
        "feeble": 0.2,
        "exploration": 0.04,
        "explored": 30.0,
        "checks": 2,
        "exchanges": 6,
        "worthwhile": 1.5,
        "design_tolerance": 0.01,
        "rounds": 3,
        "in_use": 0.02,
        "priced_in": 30,
        "promising": 0.4,
    }
)
# Later than 0.1, but not in all files: clocks had no shape, tolerances did nothing to the looks,
# no design was curious, and the others stood in the sources.
UNNAMED: Mapping[str, Any] = MappingProxyType(
    {
        "grid_middle": 0,
        "grid_rise": 0.0,
        "grid_spent": 0.999,
        "closing": 0.0,
        "closing_margin": 2.0,
        "draws": 200,
        "guess_share": 0.8,
        "streams_kept": 12,
        "streams_pay": 0.95,
        "streams_silent": 5,
        "least_own": 0.01,
        "pooled_pulls": 3,
        "score_least": 6,
        "score_most": 30,
        "skew_pulls": 4.0,
        "skew_most": 400,
        "skew_clear": 0.5,
        "skew_hidden": 5.0,
        "batched_together": 0,
        "batched_clear": 1.0,
        "skew_fall": 0.0,
        "skew_chance": 0.0,
        "silent_fall": 0.0,
        "silent_pulls": 60,
        "wealth_aim": 0.0,
        "wealth_least": 4,
        "wealth_most": 2000,
        "batch_choices": (5, 6, 7, 8, 10, 12, 15, 20, 25, 30),
        "batch_loss": 0.9,
        "batch_weight": 0.004,
        "misfit_own": (0.0, 0.01, 0.03, 0.1, 0.3, 0.7, 1.0),
        "misfit_turns": 4,
        "misfit_climbs": 8,
        "misfit_afresh": 0.05,
        "misfit_slight": 0.3,
        "misfit_hopeless": 0.5,
        "misfit_witness": 0,
        "curiosity": 0.0,
        "batched_growth": 1.25,
        "batched_looks": 35,
        "batched_trust": 4.0,
        "batched_unit": 8.0,
        "batched_exploration": 0.04,
        "batched_checks": 2,
        "batched_sight": 0,
        "batched_alike": 0.0,
    }
)
