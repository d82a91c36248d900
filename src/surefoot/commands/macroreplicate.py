"""`surefoot macroreplicate study.toml`: run the whole study many times, and count right answers."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from surefoot.commands.terminal import running

if TYPE_CHECKING:
    from surefoot.study.toml.config import StudyConfig


def command(
    study: Annotated[
        Path, typer.Argument(help="The configuration, as `surefoot init` writes it.")
    ] = Path("study.toml"),
    runs: Annotated[int, typer.Option(min=1, help="How often the whole study is run.")] = 100,
    against: Annotated[
        str,
        typer.Option(help="simulator, or estimate: what the study found so far, simulated."),
    ] = "simulator",
    best: Annotated[
        str | None,
        typer.Option(help="The arm that is best; default: by all runs' rewards together."),
    ] = None,
    good_within: Annotated[
        float | None,
        typer.Option(min=0.0, help="Also count answers this close to the best, such as a zone."),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="The same seed gives the same runs.")] = 0,
    processes: Annotated[
        int | None, typer.Option(min=1, help="Processes on this machine; default: all cores.")
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Also write one row per run, as CSV.")
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress.")] = False,
) -> None:
    """Run the whole study many times; count right answers and pulls."""
    from surefoot.experiments.macroreplication import macroreplicate
    from surefoot.experiments.session import Session
    from surefoot.study.toml.config import StudyConfig
    from surefoot.system.progress import NoProgress, printable, progress_for

    config = StudyConfig(study)
    description = config.description()
    simulator = _opponent(config, description, against)
    session = Session(
        runs=runs,
        seed=seed,
        out=config.file.parent,
        processes=processes,
        progress=NoProgress() if quiet else progress_for(sys.stderr),
    )
    with running(session):
        found = macroreplicate(description, simulator, session, best=best)
        if output is not None:
            _write(found.to_frame(), output)
        print(printable(found))
        if good_within is not None:
            print(f"good within {good_within:g}: {found.good_within(good_within)}")
        if against == "estimate" and description.settings.common_random_numbers:
            print("without the common random numbers that this study uses: expect fewer pulls")


def _opponent(config: StudyConfig, description: Any, against: str) -> Any:
    from surefoot.errors import InputError
    from surefoot.experiments.macroreplication import EstimatedSimulator
    from surefoot.study import StudyReader

    if against == "simulator":
        return config.simulator(description.problem)
    if against != "estimate":
        raise InputError(f"--against {against} is not known: choose simulator or estimate")
    if not config.file.exists():
        raise InputError(
            f"there is no {config.file} with estimates to run against: `surefoot run "
            f"{config.path}` first"
        )
    with StudyReader(config.file) as reader:
        return EstimatedSimulator.of(reader.description, reader.result)


def _write(frame: Any, output: Path) -> None:
    from surefoot.system.drafts import replaced_file
    from surefoot.system.progress import spreadsheet_safe

    with replaced_file(output) as draft:
        spreadsheet_safe(frame).to_csv(draft, index=False)
