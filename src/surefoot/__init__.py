"""Surefoot: the best worst case, with proof, in few simulator calls."""

from __future__ import annotations

import ast
import importlib
from pathlib import Path
from typing import Any

__version__ = "1.0.0"

# The stub beside this file is the table of contents: type checkers read it, and so do we.
_HOMES = {
    alias.name: ".".join(filter(None, ("surefoot", line.module)))
    for line in ast.parse(Path(__file__).with_suffix(".pyi").read_text(encoding="utf-8")).body
    if isinstance(line, ast.ImportFrom)
    for alias in line.names
}
__all__ = [*_HOMES, "__version__"]


def __getattr__(name: str) -> Any:
    """Load a name when it is asked for: `import surefoot` and `surefoot --help` stay quick."""
    if name not in _HOMES:
        raise AttributeError(f"module 'surefoot' has no attribute {name!r}")
    home = _HOMES[name]
    if home == __name__:  # a room, such as `surefoot.algorithms`
        return importlib.import_module(f"{home}.{name}")
    value = globals()[name] = getattr(importlib.import_module(home), name)
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
