"""`surefoot bolus adult#001`: the bolus-calculator setting of a virtual patient that is best under
the worst error.
"""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from surefoot.commands.sessions import running

if TYPE_CHECKING:
    from surefoot.experiments.bolus.patient import Plan
    from surefoot.experiments.bolus.records import PatientRecord
    from surefoot.experiments.session.runner import Session


def command(
    patient: Annotated[
        str | None,
        typer.Argument(help="A virtual patient: adult#001 to #010, adolescent#..., child#..."),
    ] = None,
    everyone: Annotated[bool, typer.Option("--all", help="All 30 patients.")] = False,
    arms: Annotated[int, typer.Option(help="Settings to choose among; an odd number.")] = 15,
    perturbations: Annotated[int, typer.Option(help="Errors of each setting.")] = 5,
    delta: Annotated[
        float, typer.Option(help="A certified answer may be wrong with this probability.")
    ] = 0.05,
    tolerance: Annotated[
        float,
        typer.Option(
            help="A worst case this close to the best is good enough, in units of the reward."
        ),
    ] = 0.0,
    budget: Annotated[int, typer.Option(help="Pulls that a method may spend.")] = 10_000,
    runs: Annotated[int, typer.Option(min=1, help="Five-day simulations of each outcome.")] = 20,
    seed: Annotated[int, typer.Option(min=0, help="The same seed gives the same answer.")] = 0,
    out: Annotated[Path, typer.Option(help="Folder for the report.")] = Path("results"),
    processes: Annotated[
        int | None, typer.Option(min=1, help="With --all; default: all cores.")
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress.")] = False,
) -> None:
    """Find a robust setting of the bolus calculator. Research on virtual patients, not medical
    advice.
    """
    from surefoot.errors import InputError
    from surefoot.progress import NoProgress, progress_for

    if (patient is None) != everyone:
        raise InputError("give either the name of one patient, such as adult#001, or --all")
    from surefoot.experiments.bolus.patient import Plan
    from surefoot.experiments.session.runner import Session

    typed = (
        f"surefoot bolus {shlex.quote(patient) if patient else '--all'} --arms {arms} "
        f"--perturbations {perturbations}"
    )
    typed += (
        f" --delta {delta:g} --tolerance {tolerance:g} --budget {budget} --runs {runs} "
        f"--seed {seed}"
    )
    session = Session(
        runs=runs,
        seed=seed,
        out=out,
        command=typed,
        processes=processes,
        progress=NoProgress() if quiet else progress_for(sys.stderr),
    )
    plan = Plan(seed, runs, runs, arms, perturbations, _question(delta, tolerance, budget))
    if patient is None:
        _all_patients(session, plan)
    else:
        _one_patient(session, plan, patient)


def _question(delta: float, tolerance: float, budget: int) -> Any:
    from surefoot.algorithms import Settings
    from surefoot.experiments.bolus.methods import Question
    from surefoot.noise import Gaussian

    # refuses before anything is done
    Settings(delta=delta, noise=Gaussian(1.0), tolerance=tolerance, budget=budget)
    return Question(delta, tolerance, budget)


def _one_patient(session: Session, plan: Plan, name: str) -> None:
    from surefoot.experiments.bolus.patient import STEPS, study_patient
    from surefoot.experiments.session.progress import Meter
    from surefoot.glucose import find_patient

    chosen = find_patient(name).name
    with Meter(session.progress, chosen, len(STEPS)) as meter:
        record = study_patient(chosen, plan, lambda step: meter.advance(1))
    _show(record, plan)
    _write(session, [record], plan)


def _all_patients(session: Session, plan: Plan) -> None:
    from surefoot.experiments.bolus.experiment import patient_records, write_and_show

    with running(session):
        records = patient_records(session, plan)
        write_and_show(session, records)
        _write(session, records, plan)


def _show(record: PatientRecord, plan: Plan) -> None:
    from rich.table import Table

    from surefoot.experiments.bolus.problem import DISCLAIMER
    from surefoot.experiments.bolus.report import HEADS, Recommendation, caveats, table_rows
    from surefoot.experiments.session.output import console_for_output

    console = console_for_output()
    found = Recommendation.of(record)
    console.print(f"[bold]{found.name}[/]: {found.sentence(plan.question)}", highlight=False)
    table = Table(*HEADS)
    for row in table_rows(found):
        table.add_row(*row)
    console.print(table)
    for line in caveats(record.patient):
        console.print(line, highlight=False)
    console.print(f"[bold]{DISCLAIMER}[/]", highlight=False)


def _write(session: Session, records: list[PatientRecord], plan: Plan) -> None:
    from surefoot.experiments.bolus.report import write_report

    with session.folder.staged() as stage:
        pages = [write_report(record, stage, plan.question, session.command) for record in records]
    print(
        f"report: {session.out / pages[0]}"
        if len(pages) == 1
        else f"reports: {len(pages)} pages in {session.out}"
    )
