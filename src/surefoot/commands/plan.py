"""`surefoot plan study.toml`: what a study will cost, before anything is spent."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from surefoot.commands.terminal import print_table

if TYPE_CHECKING:
    from surefoot.study.config import StudyConfig
    from surefoot.study.plan import Cost


def command(
    study: Annotated[
        Path, typer.Argument(help="The configuration, as `surefoot init` writes it.")
    ] = Path("study.toml"),
    seconds: Annotated[
        float,
        typer.Option("--seconds-per-pull", min=0.0, help="How long one pull takes on one worker."),
    ] = 1.0,
    workers: Annotated[int, typer.Option(min=1, help="Pulls that run at the same time.")] = 1,
    gap: Annotated[
        list[float] | None,
        typer.Option(
            help="In standard deviations of the noise; may be given several times.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Say how many pulls and hours to expect, for a range of gaps between the best two arms."""
    from surefoot.errors import InputError
    from surefoot.study.config import StudyConfig
    from surefoot.study.plan import GAPS, expected_costs, left_out

    if gap and min(gap) <= 0:
        raise InputError(
            f"--gap {min(gap)} is not above 0: the best arm must be better than the second"
        )
    config = StudyConfig(study)
    problem = config.problem()
    print(
        f"{problem.n_arms} arms, {problem.n_pairs} pairs of an arm and a perturbation, "
        f"{problem.features.shape[1]} features of rank {problem.dimension}"
    )
    if left_out(problem):
        print(f"left out, because the problem is too large for it: {', '.join(left_out(problem))}")
    algorithm = config.values.algorithm.build()
    _print(
        config,
        list(expected_costs(problem, config.settings, algorithm, gap or GAPS)),
        seconds / workers,
    )


def _print(config: StudyConfig, costs: list[Cost], seconds: float) -> None:
    from rich.table import Table

    from surefoot.progress import duration

    algorithms = list(costs[0].pulls)
    names = [name.replace("-", "-\n") for name in algorithms]
    table = Table(
        "gap /\nnoise", "hardness\nH*", "lower\nbound", *names, f"time\n({algorithms[0]})"
    )
    for cost in costs:
        first = cost.pulls[algorithms[0]]
        table.add_row(
            f"{cost.gap:g}",
            f"{cost.hardness:.3g}",
            f"{cost.lower_bound:.3g}",
            *(
                "no answer" if cost.pulls[name] is None else f"{cost.pulls[name]:.4g}"
                for name in algorithms
            ),
            "" if first is None else duration(first * seconds),
        )
    print_table(table)
    print(
        f"Pulls at delta = {config.values.delta:g}, medians of simulated runs with "
        f"random rewards; the gap is that "
        "between the worst cases of the best two arms.\n"
        "A tolerance or a budget bounds the cost when arms are nearly equal."
    )
