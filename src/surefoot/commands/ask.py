"""`surefoot ask`: the next pulls, for people who run experiments by hand."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from surefoot.commands.terminal import StudyOption, open_study, print_table

if TYPE_CHECKING:
    from surefoot.study import Pull, Study


def command(
    n: Annotated[
        int | None,
        typer.Option("-n", min=1, help="How many pulls at most; 8, or with --again all."),
    ] = None,
    as_csv: Annotated[
        bool, typer.Option("--csv", help="As CSV with empty columns for what comes of each pull.")
    ] = False,
    again: Annotated[
        bool, typer.Option("--again", help="What was handed out and not told yet, not new pulls.")
    ] = False,
    study: StudyOption = None,
) -> None:
    """Hand out pulls to be done by hand; give the rewards back with `surefoot tell`."""
    with open_study(study) as opened:
        pulls = opened.outstanding()[:n] if again else opened.ask(n or 8, remember=True)
        if not pulls:
            _say_why_none(opened)
        elif as_csv:
            from surefoot.study.sheet import write_sheet

            write_sheet(opened, pulls, sys.stdout)
        else:
            _print_table(opened, pulls)


def _say_why_none(study: Study) -> None:
    from surefoot.system.progress import printable

    if study.done:
        print(printable(study.result.sentence), file=sys.stderr)
    else:
        count = len(study.outstanding())
        print(
            f"{count} pulls are handed out; the next follow when all their rewards are told "
            "(`surefoot ask --again` shows them)",
            file=sys.stderr,
        )


def _print_table(study: Study, pulls: list[Pull]) -> None:
    from rich.table import Table

    from surefoot.problem.coding import written

    table = Table("pull", "arm", "perturbation", *study.problem.parameter_names, "seed")
    for pull in pulls:
        values = [written(value, "g") for value in pull.parameters.values()]
        table.add_row(str(pull.id), pull.arm, pull.perturbation, *values, str(pull.seed))
    print_table(table)
