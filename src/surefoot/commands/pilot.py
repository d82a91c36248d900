"""`surefoot pilot study.toml`: a few pulls that say how long they take and how noisy they are."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from surefoot.commands.terminal import print_table


def command(
    study: Annotated[
        Path, typer.Argument(help="The configuration, as `surefoot init` writes it.")
    ] = Path("study.toml"),
    pairs: Annotated[int, typer.Option(min=2, help="Pairs of an arm and a perturbation.")] = 8,
    pulls: Annotated[int, typer.Option(min=3, help="Pulls of each of them.")] = 10,
    seed: Annotated[int, typer.Option(min=0, help="Of the pilot's random streams.")] = 0,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Keep it for `surefoot plan --pilot`.")
    ] = None,
) -> None:
    """Try the simulator on some pairs; nothing of it enters the study or counts."""
    from rich.table import Table

    from surefoot.drafts import replaced_file
    from surefoot.study.config import StudyConfig
    from surefoot.study.pilot import run_pilot

    config = StudyConfig(study)
    problem = config.problem()
    found = run_pilot(problem, config.simulator(problem), pairs, pulls, seed)
    table = Table("arm", "perturbation", "mean", "standard\ndeviation")
    for place, pair in enumerate(found.pairs.tolist()):
        named = problem.describe_pair(pair)
        mean, deviation = found.rewards[:, place].mean(), found.deviations[place]
        table.add_row(named["arm"], named["perturbation"], f"{mean:.4g}", f"{deviation:.3g}")
    print_table(table)
    print(f"{found.seconds:.3g} s for a pull")
    print(f"noise: largest to smallest {found.ratio:.3g}, skewness {found.skewness:.2g}")
    print(
        "common random numbers: differences have "
        f"{100 * found.shared_variance:.3g} % of the variance that they have without"
    )
    if output is not None:
        with replaced_file(output) as draft:
            draft.write_text(found.to_json(problem), encoding="utf-8")
    for suggestion in found.suggestions:
        print(f"suggested: {suggestion}")
