"""`surefoot reproduce NAME`: run an experiment of the paper and hold our figures against its
claims.
"""

from __future__ import annotations

import pkgutil
import shlex
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from surefoot.commands.terminal import running
from surefoot.experiments import EXPERIMENTS, GROUPS, RUNS

if TYPE_CHECKING:
    from surefoot.paper.figure1 import Variation

FEW_RUNS = 20


def command(
    experiment: Annotated[
        str,
        typer.Argument(
            help=f"{', '.join(EXPERIMENTS)}; or figure1, tables, all (the whole paper)."
        ),
    ] = "all",
    only: Annotated[
        str | None, typer.Option(help="Of these, run this one only, such as figure1.")
    ] = None,
    runs: Annotated[
        int | None,
        typer.Option(
            min=1, help="Runs of each instance; default: 200 in Figure 1, 100 of peers, else 20."
        ),
    ] = None,
    sizes: Annotated[
        str | None, typer.Option(help="Sizes of one panel of Figure 1, such as 5,10,20.")
    ] = None,
    delta: Annotated[float, typer.Option(help="Figure 1: P(wrong) allowed.")] = 0.05,
    gamma: Annotated[float, typer.Option(help="Figure 1: γ of Robust Static.")] = 1.3,
    oracle_gamma: Annotated[float, typer.Option(help="Figure 1: γ of the oracle.")] = 1.1,
    epsilon: Annotated[float, typer.Option(help="Figure 1: ε of Robust RAGE.")] = 0.1,
    prime: Annotated[
        int,
        typer.Option(min=0, help="Runs of PRIME in Figure 1; 0: none in the tables."),
    ] = 20,
    seed: Annotated[int, typer.Option(min=0, help="The same seed gives the same tables.")] = 0,
    out: Annotated[Path, typer.Option(help="Folder for tables and figures.")] = Path("results"),
    processes: Annotated[
        int | None, typer.Option(min=1, help="Processes on this machine; default: all cores.")
    ] = None,
    dask: Annotated[
        str | None, typer.Option(help="Use this Dask cluster, such as tcp://host:8786.")
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress.")] = False,
) -> None:
    """Run the paper, a part of it, or a contest with peers; repeating the command resumes it."""
    names = _chosen(experiment, only)
    from surefoot.experiments.session import Session
    from surefoot.paper.figure1 import PANELS, PAPER, Variation
    from surefoot.system.progress import NoProgress, progress_for

    asked = Variation(delta, epsilon, gamma, oracle_gamma, _sizes(sizes, names), prime)
    _refuse_impossible(asked)
    typed = ["surefoot", "reproduce", experiment, *(["--only", only] if only else [])]
    typed += [] if runs is None else ["--runs", str(runs)]
    for key, value in asdict(asked).items():
        if value != getattr(PAPER, key):
            shown = sizes if key == "sizes" else f"{value:g}"
            typed += [f"--{key.replace('_', '-')}", str(shown)]
    session = Session(
        runs=runs or FEW_RUNS,
        seed=seed,
        out=out,
        command=shlex.join([*typed, "--seed", str(seed)]),
        processes=processes,
        dask=dask,
        progress=NoProgress() if quiet else progress_for(sys.stderr),
    )
    with running(session):
        for name in names:
            session.runs = runs or RUNS.get(name, FEW_RUNS)
            function = pkgutil.resolve_name(EXPERIMENTS[name])
            if name in PANELS:
                function(session, asked)
            elif name == "bolus":
                function(session, prime=prime > 0)
            else:
                function(session)


def _chosen(experiment: str, only: str | None) -> tuple[str, ...]:
    from surefoot.errors import InputError

    for name in (experiment, only):
        if name is not None and name not in EXPERIMENTS and name not in GROUPS:
            raise InputError(
                f"there is no experiment {name!r}: choose {', '.join([*EXPERIMENTS, *GROUPS])}"
            )
    names = GROUPS.get(experiment, (experiment,))
    if only is None:
        return names
    chosen = tuple(name for name in GROUPS.get(only, (only,)) if name in names)
    if not chosen:
        raise InputError(f"{only} is no part of {experiment}: choose {', '.join(names)}")
    return chosen


def _sizes(given: str | None, names: tuple[str, ...]) -> tuple[int, ...]:
    from surefoot.errors import InputError
    from surefoot.paper.figure1 import PANELS

    if given is None:
        return ()
    if len(set(names) & set(PANELS)) != 1:
        raise InputError(
            f"the sizes {given} are those of one panel: give the panel as well, as in "
            "`surefoot reproduce unit-sphere`"
        )
    words = given.split(",")
    if not all(word.strip().isdigit() and int(word) >= 3 for word in words):
        raise InputError(f"sizes={given!r} is not possible: give whole numbers from 3 on, as 5,10")
    return tuple(dict.fromkeys(int(word) for word in words))


def _refuse_impossible(asked: Variation) -> None:
    from surefoot.errors import InputError

    for name, value in (("gamma", asked.gamma), ("oracle gamma", asked.oracle_gamma)):
        if not 1 < value < 100:
            raise InputError(
                f"{name}={value:g} is not possible: give a growth above 1, such as 1.3"
            )
    if not 0 < asked.delta < 1:
        raise InputError(f"delta={asked.delta:g} is not possible: give one between 0 and 1")
    if not 0 < asked.epsilon < 10:
        raise InputError(f"epsilon={asked.epsilon:g} is not possible: give one such as 0.1")
