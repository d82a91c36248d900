"""`surefoot bolus adult#001`: the bolus-calculator setting of a virtual patient that is best under
the worst error.
"""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from surefoot.commands.terminal import running

if TYPE_CHECKING:
    from surefoot.experiments.session import Session
    from surefoot.paper.bolus.methods import Assignment
    from surefoot.paper.bolus.patient import PatientRecord, Plan


def command(
    patient: Annotated[
        str | None,
        typer.Argument(help="A virtual patient: adult#001 to #010, adolescent#..., child#..."),
    ] = None,
    everyone: Annotated[bool, typer.Option("--all", help="All 30 patients.")] = False,
    group: Annotated[
        str | None, typer.Option(help="All ten patients of a group: adult, adolescent or child.")
    ] = None,
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
    reward: Annotated[
        str,
        typer.Option(
            help="What a pull is worth: risk (the paper's), time-in-range, time-below or "
            "risk-index."
        ),
    ] = "risk",
    target: Annotated[
        bool,
        typer.Option(
            "--target",
            help="The clinicians' target: as much time in range as can be, with time below "
            "70 mg/dL of at most 4 %, whatever the error.",
        ),
    ] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress.")] = False,
) -> None:
    """Find a robust setting of the bolus calculator. Research on virtual patients, not medical
    advice.
    """
    from surefoot.errors import InputError
    from surefoot.experiments.session import Session
    from surefoot.paper.bolus.advice import METHOD, cohort
    from surefoot.paper.bolus.patient import Plan
    from surefoot.system.progress import NoProgress, progress_for

    groups = _groups(patient, everyone, group)
    question = _question(delta, tolerance, budget)
    if target and (patient is None or reward != "risk"):
        raise InputError(
            "--target is for one patient, and is a reward with a limit of its own: name a patient, "
            "and leave --reward, --all and --group out"
        )
    plan = Plan(seed, runs, runs, arms, perturbations, question, (METHOD.label,), reward)
    who = shlex.quote(patient) if patient else f"--group {group}" if group else "--all"
    typed = (
        f"surefoot bolus {who} --arms {arms} --perturbations {perturbations} --delta {delta:g} "
        f"--tolerance {tolerance:g} --budget {budget} --runs {runs} --seed {seed} "
    ) + ("--target" if target else f"--reward {reward}")
    session = Session(
        runs=runs,
        seed=seed,
        out=out,
        command=typed,
        processes=processes,
        progress=NoProgress() if quiet else progress_for(sys.stderr),
    )
    if patient is not None and target:
        _target(session, patient, arms, perturbations, question)
        return
    if patient is not None:
        _one_patient(session, plan, patient)
        return
    with running(session):
        cohort(session, plan, groups)


def _groups(patient: str | None, everyone: bool, group: str | None) -> tuple[str, ...]:
    """Return whose turn it is; none of the groups where one patient is named."""
    from surefoot.errors import InputError
    from surefoot.paper.bolus.tables import GROUPS
    from surefoot.paper.glucose import find_patient

    if patient is not None:
        find_patient(patient)
    if sum((patient is not None, everyone, group is not None)) != 1:
        raise InputError(
            "give either the name of one patient, such as adult#001, or --all, or --group"
        )
    if group is not None and group not in GROUPS:
        raise InputError(f"group={group!r} is not known: choose {', '.join(GROUPS)}")
    return GROUPS if everyone else (group,) if group else ()


def _question(delta: float, tolerance: float, budget: int) -> Any:
    from surefoot.algorithms import Settings
    from surefoot.noise import Gaussian
    from surefoot.paper.bolus.methods import Assignment

    # refuses before anything is done
    Settings(delta=delta, noise=Gaussian(), tolerance=tolerance, budget=budget)
    return Assignment(delta, tolerance, budget)


def _one_patient(session: Session, plan: Plan, name: str) -> None:
    from surefoot.experiments.session import Meter
    from surefoot.paper.bolus.advice import advise, write_report
    from surefoot.paper.bolus.patient import STEPS
    from surefoot.paper.glucose import find_patient

    chosen = find_patient(name).name
    with Meter(session.progress, chosen, len(STEPS)) as meter:
        advice = advise(chosen, plan, lambda step: meter.advance(1))
    _show(advice.record, plan)
    with session.folder.staged() as stage:
        page = write_report(advice, stage, plan, session.command)
    print(f"report: {session.out / page}")


def _target(
    session: Session, name: str, arms: int, perturbations: int, question: Assignment
) -> None:
    from dataclasses import replace

    from rich.table import Table

    from surefoot.experiments.publication import console_for_output
    from surefoot.experiments.session import Meter
    from surefoot.paper.bolus.problem import DISCLAIMER
    from surefoot.paper.bolus.target import TOLERANCE, TargetPlan, advise, write_page
    from surefoot.paper.glucose import find_patient

    chosen = find_patient(name).name
    asked = question if question.tolerance else replace(question, tolerance=TOLERANCE)
    plan = TargetPlan(session.seed, arms, perturbations, asked, session.runs)
    with Meter(session.progress, chosen, 2) as meter:
        advice = advise(chosen, plan, lambda step: meter.advance(1))
    console = console_for_output()
    console.print(advice.sentence, *advice.result.beside, sep="\n", highlight=False)
    shown = advice.table()
    table = Table(*shown.columns)
    for row in shown.round(2).astype(str).itertuples(index=False, name=None):
        table.add_row(*row)
    console.print(table)
    for line in (*advice.fine_print, f"[bold]{DISCLAIMER}[/]"):
        console.print(line, highlight=False)
    with session.folder.staged() as stage:
        page = write_page(advice, stage, session.command)
    print(f"report: {session.out / page}")


def _show(record: PatientRecord, plan: Plan) -> None:
    from rich.table import Table

    from surefoot.experiments.publication import console_for_output
    from surefoot.paper.bolus.advice import HEADS, Recommendation, fine_print, table_rows
    from surefoot.paper.bolus.problem import DISCLAIMER

    console = console_for_output()
    found = Recommendation.of(record)
    console.print(f"[bold]{found.name}[/]: {found.sentence(plan)}", highlight=False)
    console.print(f"Attained confidence: {found.confidence}.", highlight=False)
    table = Table(*HEADS)
    for row in table_rows(found):
        table.add_row(*row)
    console.print(table)
    for line in fine_print(record, plan):
        console.print(line, highlight=False)
    console.print(f"[bold]{DISCLAIMER}[/]", highlight=False)
