"""`surefoot tell results.csv`: rewards of pulls that were done by hand."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from surefoot.commands.locate import StudyOption, open_study

if TYPE_CHECKING:
    from surefoot.study import Study

Rewards = list[tuple[int, float]]
Row = dict[str, str]

FIRST = "Which arm leads is not known before the first phase is complete."


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
    from surefoot.system.display import printable

    rows = _read(results)
    rewards, identifier = [_reward(results, row) for row in rows], _study_of(results, rows)
    with open_study(study) as opened:
        _refuse_shifted(opened, results, rows)
        store = _correct if correct else _tell
        store(opened, rewards, identifier)
        result = opened.result
        print(printable(result.sentence) if result.samples else FIRST)


def _tell(study: Study, rewards: Rewards, identifier: str | None) -> None:
    new = study.tell_many(rewards, study=identifier)
    print(f"{new} new {'reward' if new == 1 else 'rewards'} stored, {study.told} in all.", end=" ")
    if new < len(rewards):
        print("`surefoot tell --correct` replaces what was told wrongly.", end=" ")


def _correct(study: Study, rewards: Rewards, identifier: str | None) -> None:
    study.correct_many(rewards, study=identifier)
    print(f"{len(rewards)} rewards corrected; what they were is kept.", end=" ")


def _read(path: Path) -> list[Row]:
    """The rows that have a reward."""
    from surefoot.errors import InputError
    from surefoot.problem.tables import read_fields

    columns, fields = read_fields(path)
    if not {"pull", "reward"} <= set(columns):
        raise InputError(f"{path} has columns {columns}: it needs `pull` and `reward`")
    rows = [dict(zip(columns, row, strict=True)) for row in fields]
    return [row for row in rows if row["reward"].strip()]


def _study_of(path: Path, rows: list[Row]) -> str | None:
    """The study that the pulls were asked for, if the file says so."""
    from surefoot.errors import InputError

    studies = {row["study"] for row in rows if row.get("study")}
    if len(studies) > 1:
        raise InputError(
            f"{path} holds rewards of several studies, {sorted(studies)}: tell each its own"
        )
    return studies.pop() if studies else None


def _refuse_shifted(study: Study, path: Path, rows: list[Row]) -> None:
    """Refuse a row whose seed is not its pull's.

    A name that lost its quotes, or a decimal comma, moves what follows by one field; where the
    last field was left out, the row is as long as before, and its seed stands for the reward.
    """
    from surefoot.errors import InputError

    for row in rows:
        pull, seed = study.pull(int(float(row["pull"]))), row.get("seed", "").strip()
        if pull is not None and seed and seed != str(pull.seed):
            raise InputError(
                f"{path}: pull {pull.id} has the seed {pull.seed}, but its row says {seed!r:.40}: "
                "the row is of another pull, or its fields have moved. Nothing was stored"
            )


def _reward(path: Path, row: dict[str, str]) -> tuple[int, float]:
    from surefoot.errors import InputError
    from surefoot.problem.coding import number_from_text

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
