"""`surefoot tell results.csv`: rewards of pulls that were done by hand."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from surefoot.commands.terminal import StudyOption, open_study

if TYPE_CHECKING:
    from surefoot.study import Study
    from surefoot.study.input import Simulated

FIRST = "Which arm leads is not known before the first phase is complete."


def command(
    results: Annotated[
        Path,
        typer.Argument(
            help="CSV with columns `pull` and `reward`, or one for each output, as "
            "`surefoot ask --csv` writes."
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
    """Store rewards, all of them or, on a mistake, none; rows without a reward stay open."""
    from surefoot.study.sheet import read_sheet
    from surefoot.system.progress import printable

    with open_study(study) as opened:
        rewards, identifier = read_sheet(opened, results)
        store = _correct if correct else _tell
        store(opened, rewards, identifier)
        result = opened.result
        print(printable(result.sentence) if result.samples else FIRST)


def _tell(study: Study, rewards: list[tuple[int, Simulated]], identifier: str | None) -> None:
    new = study.tell_many(rewards, study=identifier)
    print(f"{new} new {'reward' if new == 1 else 'rewards'} stored, {study.told} in all.", end=" ")
    if new < len(rewards):
        print("`surefoot tell --correct` replaces what was told wrongly.", end=" ")


def _correct(study: Study, rewards: list[tuple[int, Simulated]], identifier: str | None) -> None:
    study.correct_many(rewards, study=identifier)
    corrected = "1 reward" if len(rewards) == 1 else f"{len(rewards)} rewards"
    print(f"{corrected} corrected; earlier values are kept.", end=" ")
