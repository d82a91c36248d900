"""Input of callers and of simulators, checked once at the border: numbers, outputs by name, code.

An output is one number, or several by name, of which one is to be best in. Code is named as
"module:name".
"""

from __future__ import annotations

import importlib
import json
import math
import numbers
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from surefoot.arrays import Array
from surefoot.errors import InputError, StudyFileError, said_in_a_line

LARGEST_REWARD = 1e150  # sums of squares of larger ones overflow a float


def finite_reward(pull: int, value: Any) -> float:
    """Return a reward as a float."""
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise InputError(f"the reward of pull {pull} is {value!r:.80}: give one finite number")
    try:
        reward = float(value)
    except OverflowError:
        reward = math.inf
    if not abs(reward) < LARGEST_REWARD:
        raise InputError(
            f"the reward of pull {pull} is {reward}: give one finite number of a size below "
            f"{LARGEST_REWARD:g}; use another unit if need be"
        )
    return reward


def looked_up(reference: str, what: str) -> Any:
    """Return the object that "module:name" names, in a module that was imported before.

    Modules are only looked up, never imported: no file can make its reader run anything.

    Args:
        what: its role, for messages.
    """
    module, _, name = reference.partition(":")
    if module not in sys.modules:
        raise InputError(
            f"the study's {what} is {reference!r}: import {module} before the study is made or "
            "opened"
        )
    found = getattr(sys.modules[module], name, None)
    if found is None:
        raise InputError(f"the study's {what} is {reference!r}, but {module} has no {name!r}")
    return found


def imported(reference: str, folder: Path, what: str) -> Any:
    """Import the object that "module:attribute" names, from beside the configuration file too.

    Args:
        what: its role, for messages.
    """
    module, _, name = reference.partition(":")
    if not module or not name:
        raise InputError(f'the {what} {reference!r} names nothing in a module: write "module:name"')
    place = str(folder.absolute())
    if place not in sys.path:
        sys.path.insert(0, place)
    try:
        found: Any = importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name and error.name != module.partition(".")[0]:
            raise InputError(
                f"the {what}'s module {module!r} needs {error.name!r}, which this Python "
                f"({sys.executable}) does not have: install it there"
            ) from None
        raise InputError(
            f"the {what}'s module {module!r} cannot be imported ({error}): is it in {place}?"
        ) from None
    except (Exception, SystemExit) as error:
        raise InputError(
            f"the {what}'s module {module!r} cannot be imported: {said_in_a_line(error)}"
        ) from error
    for part in name.split("."):
        try:
            found = getattr(found, part)
        except AttributeError:
            close = get_close_matches(part, dir(found), 1)
            hint = f"did you mean {close[0]!r}?" if close else f"write the name of a {what} in it"
            raise InputError(f"the module {module!r} has no {name!r}: {hint}") from None
        except (Exception, SystemExit) as error:
            said = said_in_a_line(error)
            raise InputError(f"the module {module!r} cannot give its {name!r}: {said}") from error
    return found


Simulated = float | Mapping[str, float]
LONGEST_NAME = 200  # characters


class Reading(NamedTuple):
    """The outputs of one pull, as a study stores them.

    Attributes:
        reward: the output that an arm is to be best in.
        others: the further outputs by name, as canonical text; empty without any.
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
        """The names, the objective first; empty if pulls give one number."""
        if self.objective is None:
            return ()
        return (self.objective, *(name for name in self.limited if name != self.objective))

    def read(self, given: Simulated) -> Reading:
        """Split a simulator's value into the objective and further outputs; an error says which
        one is missing.
        """
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
        return Reading(float(given[self.objective]), _as_text(others))


def outputs_of(given: Mapping[Any, Any]) -> dict[str, float]:
    """Return outputs by name as finite numbers; True and False are 1 and 0."""
    return {_name(name): _finite(name, value) for name, value in given.items()}


def _as_text(outputs: Mapping[str, float]) -> str:
    """Return outputs as canonical text: equal outputs are equal text."""
    if not outputs:
        return ""
    return json.dumps(dict(sorted(outputs.items())), separators=(",", ":"), ensure_ascii=False)


def from_text(text: str) -> dict[str, float]:
    """Return the outputs that `as_text` wrote; ValueError if it is other text."""
    if not text:
        return {}
    found = json.loads(text)
    if not isinstance(found, dict) or _as_text(outputs_of(found)) != text:
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
