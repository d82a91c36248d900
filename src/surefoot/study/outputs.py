"""The outputs of a pull: one number, or several by name, of which one is to be best in."""

from __future__ import annotations

import json
import math
import numbers
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from surefoot.arrays import Array
from surefoot.errors import InputError, StudyFileError
from surefoot.study.input import LARGEST_REWARD

Simulated = float | Mapping[str, float]
LONGEST_NAME = 200  # characters


class Reading(NamedTuple):
    """The outputs of one pull, as a study stores them.

    Attributes:
        reward: the output that an arm is to be best in.
        others: the further outputs by name, as canonical text; empty if there are none.
    """

    reward: float
    others: str = ""


@dataclass(frozen=True)
class Outputs:
    """The outputs that a study needs of every pull.

    Attributes:
        objective: the one that an arm is to be best in; None: pulls give one number, without name.
        limited: those that have limits.
    """

    objective: str | None = None
    limited: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.limited and self.objective is None:
            raise InputError(
                f"limits are on {_names(self.limited)}, one of several outputs: name the one that "
                'an arm is to be best in, such as objective="cost"'
            )

    @property
    def needed(self) -> tuple[str, ...]:
        """The names, the objective first; none if pulls give one number."""
        if self.objective is None:
            return ()
        return (self.objective, *(name for name in self.limited if name != self.objective))

    def read(self, given: Simulated) -> Reading:
        """Return what came of a pull, apart; an error says what came and what is needed."""
        if not isinstance(given, Mapping):
            if self.objective is None:
                return Reading(float(given))
            example = json.dumps(dict.fromkeys(self.needed, 1.0))
            raise InputError(
                f"one number came, {given:g}, but the study needs {_names(self.needed)}: give "
                f"outputs by name, such as {example}"
            )
        if self.objective is None:
            raise InputError(
                f"{_names(given)} came: name the one that an arm is to be best in, such as "
                f'objective="{next(iter(given), "cost")}", or give one number'
            )
        missing = [name for name in self.needed if name not in given]
        if missing:
            raise InputError(
                f"{_names(given) if given else 'nothing'} came, but not {_names(missing)}: the "
                f"study needs {_names(self.needed)}"
            )
        others = {name: value for name, value in given.items() if name != self.objective}
        return Reading(float(given[self.objective]), as_text(others))


def outputs_of(given: Mapping[Any, Any]) -> dict[str, float]:
    """Return outputs by name as finite numbers; True and False are 1 and 0."""
    return {_name(name): _finite(name, value) for name, value in given.items()}


def as_text(outputs: Mapping[str, float]) -> str:
    """Return outputs as canonical text: the same outputs are the same text."""
    if not outputs:
        return ""
    return json.dumps(dict(sorted(outputs.items())), separators=(",", ":"), ensure_ascii=False)


def from_text(text: str) -> dict[str, float]:
    """Return the outputs that `as_text` wrote; ValueError if it is other text."""
    if not text:
        return {}
    found = json.loads(text)
    if not isinstance(found, dict) or as_text(outputs_of(found)) != text:
        raise ValueError("its outputs are not numbers by name")
    return found


def column(texts: Iterable[str], name: str) -> Array:
    """Return (n,) one output of pulls that all have it; StudyFileError where one has not."""
    try:
        return np.array([float(from_text(text)[name]) for text in texts], dtype=np.float64)
    except (ValueError, KeyError, RecursionError):
        raise StudyFileError(
            f"the study file is damaged: a pull has no output {name!r}; restore it from a copy"
        ) from None


def _name(given: Any) -> str:
    if (
        not isinstance(given, str)
        or not given.isprintable()
        or not 0 < len(given.strip()) == len(given) <= LONGEST_NAME
    ):
        raise InputError(
            f"an output is called {given!r:.60}: outputs are named by printable text of at most "
            f"{LONGEST_NAME} characters, without spaces around it"
        )
    return given


def _finite(name: Any, given: Any) -> float:
    if not isinstance(given, numbers.Real | np.bool_):
        raise InputError(f"output {name!r:.60} is {given!r:.80}: give one finite number")
    try:
        value = float(given)
    except OverflowError:
        value = math.inf
    if not abs(value) < LARGEST_REWARD:
        raise InputError(
            f"output {name!r:.60} is {value}: give one finite number of a size below "
            f"{LARGEST_REWARD:g}"
        )
    return value


def _names(names: Iterable[str]) -> str:
    return ", ".join(map(repr, names))[:300]
