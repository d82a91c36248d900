"""`surefoot tell results.csv`: rewards of pulls that were done by hand."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from surefoot.commands.locate import StudyOption, open_study

if TYPE_CHECKING:
    from surefoot.study import Study

Rewards = list[tuple[int, float]]


def command(
    results: Annotated[
        Path,
        typer.Argument(
            help="CSV with columns `pull` and `reward`, as `surefoot ask --csv` writes."
        ),
    ],
    study: StudyOption = None,
    correct: Annotated[
        bool,
        typer.Option(
            "--correct", help="Replace rewards that were told wrongly, before their phase ends."
        ),
    ] = False,
) -> None:
    """Store rewards, all or none; rows without a reward are left for later."""
    from surefoot.display import printable

    rewards, identifier = _read(results)
    with open_study(study) as opened:
        store = _correct if correct else _tell
        store(opened, rewards, identifier)
        print(printable(opened.result.sentence))


def _tell(study: Study, rewards: Rewards, identifier: str | None) -> None:
    new = study.tell_many(rewards, study=identifier)
    print(f"{new} new rewards stored, {study.told} in all.", end=" ")
    if new < len(rewards):
        print("`surefoot tell --correct` replaces what was told wrongly.", end=" ")


def _correct(study: Study, rewards: Rewards, identifier: str | None) -> None:
    study.correct_many(rewards, study=identifier)
    print(f"{len(rewards)} rewards corrected; what they were is kept.", end=" ")


def _read(path: Path) -> tuple[Rewards, str | None]:
    """Pulls with their rewards, and the study they were asked for if the file says so."""
    from surefoot.errors import InputError
    from surefoot.tables.fields import read_fields

    columns, fields = read_fields(path)
    if not {"pull", "reward"} <= set(columns):
        raise InputError(f"{path} has columns {columns}: it needs `pull` and `reward`")
    rows = [dict(zip(columns, row, strict=True)) for row in fields]
    filled = [row for row in rows if row["reward"].strip()]
    studies = {row["study"] for row in filled if row.get("study")}
    if len(studies) > 1:
        raise InputError(
            f"{path} holds rewards of several studies, {sorted(studies)}: tell each its own"
        )
    return [_reward(path, row) for row in filled], studies.pop() if studies else None


def _reward(path: Path, row: dict[str, str]) -> tuple[int, float]:
    from surefoot.errors import InputError
    from surefoot.literals import number_from_text

    try:
        pull, reward = number_from_text(row["pull"]), number_from_text(row["reward"])
        if pull != int(pull):
            raise InputError("a pull has a whole number")
    except InputError as error:
        raise InputError(
            f"{path}: pull {row['pull']!r:.40} with reward {row['reward']!r:.40}: {error}. "
            "Nothing was stored"
        ) from None
    return int(pull), reward
