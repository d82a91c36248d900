"""Forget compiled code that is older than the sources.

Numba notices a change of the file in which a function stands, not of the files that function calls.
"""

from __future__ import annotations

import contextlib
from pathlib import Path

import surefoot.glucose.patients

FOLDER = Path(surefoot.glucose.patients.__file__).parent


def pytest_configure() -> None:
    newest = max(source.stat().st_mtime for source in FOLDER.glob("*.py"))
    for compiled in FOLDER.glob("__pycache__/*.nb[ci]"):
        with contextlib.suppress(FileNotFoundError):  # another worker was faster
            if compiled.stat().st_mtime < newest:
                compiled.unlink()
