"""Where results go: a folder whose files appear whole or not at all, and tables for people."""

from __future__ import annotations

import contextlib
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from surefoot.errors import InputError
from surefoot.system.interrupts import SENTENCE, deferred, last_words


class Folder:
    """Where results go. It is made, and tried, before any work is done."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            path.mkdir(parents=True, exist_ok=True)
            tempfile.TemporaryFile(dir=path).close()
        except OSError as error:
            raise InputError(
                f"nothing can be written to {path} ({error.strerror}): give another folder"
            ) from None

    @contextlib.contextmanager
    def staged(self) -> Iterator[Path]:
        """A temporary folder; its files move to the real one, each under its own name, if all goes
        well.
        """
        stage = Path(tempfile.mkdtemp(prefix=".writing-", dir=self.path))

        def discard() -> str:
            shutil.rmtree(stage)
            return SENTENCE

        try:
            with last_words(discard):
                yield stage
            with deferred():  # all of them or none
                for file in sorted(stage.iterdir()):
                    file.replace(self.path / file.name)
        finally:
            shutil.rmtree(stage)


def short(number: float) -> str:
    """A number of samples for people: 9,400, 303 k, 1.22 M."""
    if number >= 999_500:
        return f"{number / 1e6:.2f} M"
    return f"{number / 1e3:.0f} k" if number >= 1e5 else f"{number:,.0f}"


def console_for_output() -> Any:
    """A console that is wide enough for a table where there is no terminal to ask."""
    from rich.console import Console

    return Console() if sys.stdout.isatty() else Console(width=140)


def markdown_table(lines: Sequence[Sequence[str]]) -> str:
    """Rows of cells, the headings first, as Markdown without an end of line."""
    rule = ["---"] * len(lines[0])
    return "\n".join("| " + " | ".join(cells) + " |" for cells in (lines[0], rule, *lines[1:]))
