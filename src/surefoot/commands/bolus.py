"""`surefoot bolus adult#001`: the bolus-calculator setting of a virtual patient that is best under
the worst error.
"""

from __future__ import annotations

import shlex
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from surefoot.commands.terminal import running

if TYPE_CHECKING:
    from surefoot.experiments.session import Session
    from surefoot.paper.bolus.methods import Assignment
    from surefoot.paper.bolus.patient import Plan


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
    from surefoot.paper.bolus.target import TOLERANCE
    from surefoot.system.progress import NoProgress, progress_for

    groups = _groups(patient, everyone, group)
    question = _question(delta, tolerance, budget)
    if target and (patient is None or reward != "risk"):
        raise InputError(
            "--target is for one patient, and is a reward with a limit of its own: name a patient, "
            "and leave --reward, --all and --group out"
        )
    if target and not question.tolerance:
        question = replace(question, tolerance=TOLERANCE)
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
    if patient is not None:
        _one_patient(session, patient, plan, target)
        return
    with running(session):
        cohort(session, plan, groups)


def _groups(patient: str | None, everyone: bool, group: str | None) -> tuple[str, ...]:
    """Return the groups of patients asked for; empty where one patient is named."""
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


def _question(delta: float, tolerance: float, budget: int) -> Assignment:
    from surefoot.algorithms import Settings
    from surefoot.noise import Gaussian
    from surefoot.paper.bolus.methods import Assignment

    # refuses before anything is done
    Settings(delta=delta, noise=Gaussian(), tolerance=tolerance, budget=budget)
    return Assignment(delta, tolerance, budget)


def _one_patient(session: Session, name: str, plan: Plan, target: bool) -> None:
    from surefoot.experiments.session import Meter
    from surefoot.paper.bolus import advice
    from surefoot.paper.bolus import target as targets
    from surefoot.paper.bolus.patient import STEPS
    from surefoot.paper.glucose import find_patient

    chosen = find_patient(name).name
    with Meter(session.progress, chosen, len(STEPS) - target) as meter:
        if target:
            page = targets.page_of(targets.advise(chosen, plan, lambda step: meter.advance(1)))
        else:
            page = advice.page_of(advice.advise(chosen, plan, lambda step: meter.advance(1)), plan)
    page.show()
    with session.folder.staged() as stage:
        written = page.write(stage, session.command)
    print(f"report: {session.out / written}")
