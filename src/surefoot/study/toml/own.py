"""What users wrote themselves: found by "module:name"."""

from __future__ import annotations

import importlib
import sys
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from surefoot.errors import InputError


def looked_up(reference: str, what: str) -> Any:
    """What "module:name" names, in a module that was imported before.

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
    """What "module:attribute" names, beside the configuration file too.

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
    for part in name.split("."):
        if not hasattr(found, part):
            close = get_close_matches(part, vars(found), 1)
            hint = f"did you mean {close[0]!r}?" if close else f"write the name of a {what} in it"
            raise InputError(f"the module {module!r} has no {name!r}: {hint}")
        found = getattr(found, part)
    return found
