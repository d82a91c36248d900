"""How a command ends whose experiment stops before its time."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from surefoot.experiments.session import Session

STOPPED, INTERRUPTED = 1, 130


@contextlib.contextmanager
def running(session: Session) -> Iterator[None]:
    """Work within the session; what stops it early becomes a message and an exit code."""
    from surefoot.experiments.session import Interrupted, Stopped

    try:
        with session:
            yield
    except Stopped as stop:
        print(f"surefoot: {stop}", file=sys.stderr, flush=True)
        if isinstance(stop, Interrupted):
            os._exit(INTERRUPTED)  # threads of a killed pool must not keep a terminal waiting
        raise typer.Exit(STOPPED) from None
