"""Input of a caller, checked once at the border: numbers, and code named as "module:name"."""

from __future__ import annotations

import importlib
import math
import numbers
import sys
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from surefoot.errors import InputError, said_in_a_line

LARGEST_REWARD = 1e150  # squares of more, summed, are beyond what a float can hold


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


def pull_count(n: Any) -> int:
    """Return how many pulls are asked for."""
    if not isinstance(n, numbers.Integral) or n < 1:
        raise InputError(
            f"ask was given n={n!r}: give how many pulls you want, 1 or more, or nothing for all"
        )
    return int(n)


def pull_number(number: Any, asked: int) -> int:
    """Return the number of a pull, if the study has asked for it."""
    if (
        not isinstance(number, numbers.Integral)
        or isinstance(number, bool)
        or not 0 <= int(number) < asked
    ):
        known = f"pulls 0 to {asked - 1}" if asked else "no pull"
        raise InputError(f"there is no pull {number!r} in this study: it has asked for {known}")
    return int(number)


def whole_seed(seed: Any) -> int:
    """Return a seed as an int."""
    if not isinstance(seed, numbers.Integral) or isinstance(seed, bool) or seed < 0:
        raise InputError(f"seed={seed!r} must be a whole number ≥ 0, or None for a fresh one")
    return int(seed)


def looked_up(reference: str, what: str) -> Any:
    """Return what "module:name" names, in a module that was imported before.

    Modules are only looked up, never imported: no file can make its reader run anything.

    Args:
        what: what it is to be, for messages.
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
    """Import what "module:attribute" names, from beside the configuration file too.

    Args:
        what: what it is to be, for messages.
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
