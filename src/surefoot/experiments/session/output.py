"""What an experiment gives out: files that are written whole or not at all, and tables for
people.
"""

from __future__ import annotations

import contextlib
import json
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from surefoot.errors import InputError
from surefoot.experiments.session.journal import code_digest, versions

if TYPE_CHECKING:
    import pandas as pd


class Folder:
    """Where results go. It is made, and tried, before any work is done."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            path.mkdir(parents=True, exist_ok=True)
            tempfile.TemporaryFile(dir=path).close()
        except OSError as error:
            raise InputError(
                f"nothing can be written to {path} ({error.strerror}): give another "
                f"folder with --out"
            ) from None

    @contextlib.contextmanager
    def staged(self) -> Iterator[Path]:
        """A temporary folder; its files move to the real one, each under its own name, if all goes
        well.
        """
        stage = Path(tempfile.mkdtemp(prefix=".writing-", dir=self.path))
        try:
            yield stage
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
    """Wide enough for a table where there is no terminal to ask."""
    from rich.console import Console

    return Console() if sys.stdout.isatty() else Console(width=140)


def markdown_table(lines: Sequence[Sequence[str]]) -> str:
    """Rows of cells, the headings first, as Markdown without an end of line."""
    rule = ["---"] * len(lines[0])
    return "\n".join("| " + " | ".join(cells) + " |" for cells in (lines[0], rule, *lines[1:]))


def write_table(frame: pd.DataFrame, stem: Path) -> None:
    """As CSV and Parquet."""
    frame.to_csv(stem.with_suffix(".csv"), index=False, lineterminator="\n")
    frame.to_parquet(stem.with_suffix(".parquet"), index=False)


def write_origin(path: Path, command: str, seed: int, **more: Any) -> None:
    """The sidecar: what to type to get the same again, and with which versions."""
    origin = {
        "command": command,
        "seed": seed,
        **more,
        "versions": versions(),
        "code": code_digest(),
    }
    path.write_text(json.dumps(origin, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
