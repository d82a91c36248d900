"""`surefoot reproduce NAME`: run an experiment of the paper and hold our figures against its
claims.
"""

from __future__ import annotations

import pkgutil
import shlex
import sys
from pathlib import Path
from typing import Annotated

import typer

from surefoot.commands.sessions import running
from surefoot.experiments import EXPERIMENTS, GROUPS


def command(
    experiment: Annotated[
        str, typer.Argument(help=f"{', '.join(EXPERIMENTS)}, or all (both panels of Figure 1).")
    ],
    runs: Annotated[int, typer.Option(min=1, help="Runs of every instance.")] = 20,
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
    """Run an experiment of the paper, or one with peers; the same command goes on if stopped."""
    names = _chosen(experiment)
    from surefoot.experiments.session import Session
    from surefoot.system.progress import NoProgress, progress_for

    session = Session(
        runs=runs,
        seed=seed,
        out=out,
        command=f"surefoot reproduce {shlex.quote(experiment)} --runs {runs} --seed {seed}",
        processes=processes,
        dask=dask,
        progress=NoProgress() if quiet else progress_for(sys.stderr),
    )
    with running(session):
        for name in names:
            pkgutil.resolve_name(EXPERIMENTS[name])(session)


def _chosen(experiment: str) -> tuple[str, ...]:
    from surefoot.errors import InputError

    if experiment not in EXPERIMENTS and experiment not in GROUPS:
        raise InputError(
            f"there is no experiment {experiment!r}: choose {', '.join([*EXPERIMENTS, *GROUPS])}"
        )
    return GROUPS.get(experiment, (experiment,))
