"""What users wrote themselves: found by "module:name"."""

from __future__ import annotations

import importlib
import sys
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
        raise InputError(
            f"the {what}'s module {module!r} cannot be imported ({error}): is it in {place}?"
        ) from None
    for part in name.split("."):
        if not hasattr(found, part):
            raise InputError(
                f"the module {module!r} has no {name!r}: write the name of a {what} in it"
            )
        found = getattr(found, part)
    return found
