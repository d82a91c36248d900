"""`surefoot tell results.csv`: rewards of pulls that were done by hand."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Annotated

import typer

from surefoot.commands.locate import StudyOption, open_study


def command(
    results: Annotated[
        Path,
        typer.Argument(
            help="CSV with columns `pull` and `reward`, as `surefoot ask --csv` writes."
        ),
    ],
    study: StudyOption = None,
) -> None:
    """Store rewards, all or none; rows without a reward are left for later."""
    rewards, identifier = _read(results)
    with open_study(study) as opened:
        new = opened.tell_many(rewards, study=identifier)
        print(f"{new} new rewards stored, {opened.told} in all. {opened.result.sentence}")


def _read(path: Path) -> tuple[list[tuple[int, float]], str | None]:
    """Pulls with their rewards, and the study they were asked for if the file says so."""
    from surefoot.errors import InputError

    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            table = csv.DictReader(file)
            rows, columns = list(table), table.fieldnames or []
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(
            f"{path} cannot be read ({error}): give the CSV with the rewards"
        ) from None
    if not {"pull", "reward"} <= set(columns):
        raise InputError(f"{path} has columns {list(columns)}: it needs `pull` and `reward`")
    filled = [
        (number, row) for number, row in enumerate(rows, start=2) if (row["reward"] or "").strip()
    ]
    studies = {row["study"] for _, row in filled if row.get("study")}
    if len(studies) > 1:
        raise InputError(
            f"{path} holds rewards of several studies, {sorted(studies)}: tell each its own"
        )
    return [
        _reward(path, number, row) for number, row in filled
    ], studies.pop() if studies else None


def _reward(path: Path, line: int, row: dict[str, str]) -> tuple[int, float]:
    from surefoot.errors import InputError

    try:
        return int(row["pull"]), float(row["reward"])
    except (TypeError, ValueError):
        raise InputError(
            f"{path}, line {line}: pull {row['pull']!r} with reward "
            f"{row['reward']!r}: both must be numbers. "
            "Nothing was stored"
        ) from None
