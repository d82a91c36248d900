"""`surefoot run study.toml`: create or resume a study and pull until it is done."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

PAUSED, INTERRUPTED = 3, 130


def command(
    study: Annotated[
        Path, typer.Argument(help="The configuration, as `surefoot init` writes it.")
    ] = Path("study.toml"),
    dask: Annotated[
        str | None,
        typer.Option(help="Use this Dask cluster, such as tcp://host:8786; else that of [run]."),
    ] = None,
    processes: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Processes on this machine, even if [run] names a cluster; default: all cores.",
            show_default=False,
        ),
    ] = None,
    retries: Annotated[
        int | None,
        typer.Option(min=0, help="Tries again of a failed pull before the study pauses."),
    ] = None,
    accept_change: Annotated[
        str | None,
        typer.Option(
            help="Why rewards of the changed simulator mean the same as before.",
            metavar="REASON",
            show_default=False,
        ),
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress.")] = False,
) -> None:
    """Create the study or go on with it, until the answer is certain."""
    from surefoot.algorithms import StopReason
    from surefoot.errors import InputError
    from surefoot.study import StudyInterrupted, StudyPaused
    from surefoot.study.toml.config import StudyConfig
    from surefoot.system.progress import NoProgress, printable, progress_for

    config = StudyConfig(study)
    wanted = config.values.run
    if dask is not None and processes is not None:
        raise InputError("--dask and --processes are both given: choose one of them")
    cluster = wanted.dask if dask is None and processes is None else dask
    on = f" --dask {dask}" if dask else ""
    with (
        _executor(cluster, processes or wanted.processes) as executor,  # before a file is made
        config.open_study() as opened,
    ):
        ended = opened.result.reason is not StopReason.RUNNING
        before = opened.result.samples
        try:
            result = opened.run(
                config.simulator(opened.problem),
                executor,
                max_in_flight=wanted.max_in_flight,
                retries=wanted.retries if retries is None else retries,
                progress=NoProgress() if quiet else progress_for(sys.stderr),
                accept_change=accept_change,
            )
        except StudyPaused as pause:
            print(f"surefoot: the study is paused: {printable(pause)}{on}", file=sys.stderr)
            raise typer.Exit(PAUSED) from None
        except StudyInterrupted as interrupted:
            opened.close()
            print(
                f"surefoot: {interrupted} ({opened.how_to_go_on}{on})", file=sys.stderr, flush=True
            )
            os._exit(INTERRUPTED)  # a thread that still simulates must not keep a terminal waiting
        print(printable(result))
        if any(opened.called_off) and not (ended and result.samples == before):
            from surefoot.commands.status import called_off

            print(f"surefoot: called off {called_off(*opened.called_off)}", file=sys.stderr)
        if result.reason is StopReason.SIMULATOR_CHANGED:
            print(
                f'surefoot: `surefoot run {study} --accept-change "why"` accepts the change',
                file=sys.stderr,
            )
        elif ended and result.samples == before and accept_change is None:
            print(
                f"surefoot: {config.file} had ended before: no pull was made now. For a new study "
                f'write another file into {study}, such as file = "{config.file.stem}-2.db"',
                file=sys.stderr,
            )


@contextlib.contextmanager
def _executor(dask: str | None, processes: int | None) -> Iterator[Any]:
    if dask is None:
        yield processes
        return
    from surefoot.study.run.executors import dask_client

    with dask_client(dask) as client:
        yield client
