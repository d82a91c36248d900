"""Tables in a terminal, with names printed literally."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from rich.table import Table

    from surefoot.experiments.session import Session
    from surefoot.study import Study


def print_table(table: Table) -> None:
    """Print names and messages as they are: rich would take [brackets] for markup, and :words: for
    pictures. Control characters are written out.
    """
    from rich.console import Console

    from surefoot.system.progress import printable

    for column in table.columns:
        column.header = printable(column.header)
        column._cells = [printable(text) for text in column._cells]
    Console(markup=False, emoji=False).print(table)


def say_where(dask: str | None) -> None:
    """Say that a pilot pulls on this machine, if the study itself does not."""
    if dask is not None:
        print(f"pulled on this machine, which may be faster or slower than the workers of {dask}")


STOPPED, INTERRUPTED = 1, 130


@contextlib.contextmanager
def running(session: Session) -> Iterator[None]:
    """Work within the session; an early stop becomes a message and an exit code."""
    from surefoot.experiments.session import Interrupted, Stopped

    try:
        with session:
            yield
    except Stopped as stop:
        print(f"surefoot: {stop}", file=sys.stderr, flush=True)
        if isinstance(stop, Interrupted):
            os._exit(INTERRUPTED)  # threads of a killed pool must not keep a terminal waiting
        raise typer.Exit(STOPPED) from None


StudyOption = Annotated[
    Path | None,
    typer.Option(
        "--study",
        help="study.toml or its .db file; by default the one in this folder.",
        show_default=False,
    ),
]
StudyArgument = Annotated[
    Path | None,
    typer.Argument(
        help="study.toml or its .db file; by default the one in this folder.", show_default=False
    ),
]


def _study_path(given: Path | None) -> Path:
    """Return the path given, or the only study in this folder."""
    from surefoot.errors import InputError

    if given is not None:
        return given
    if Path("study.toml").exists():
        return Path("study.toml")
    found = sorted(Path().glob("*.toml")) or sorted(Path().glob("*.db"))
    if len(found) != 1:
        names = ", ".join(map(str, found)) or "none"
        raise InputError(
            f"which study? In this folder there are: {names}. Name one (to ask and tell as "
            "--study NAME); `surefoot init` writes an example"
        )
    return found[0]


def study_file(given: Path | None) -> Path:
    """Return the .db file of the study that is meant."""
    from surefoot.study.toml.config import StudyConfig

    path = _study_path(given)
    return StudyConfig(path).file if path.suffix == ".toml" else path


def open_study(given: Path | None) -> Study:
    """Return the study for writing; a configuration whose study does not exist yet creates it."""
    from surefoot.study import Study
    from surefoot.study.toml.config import StudyConfig

    path = _study_path(given)
    return StudyConfig(path).open_study() if path.suffix == ".toml" else Study.open(path)
