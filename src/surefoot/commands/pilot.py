"""`surefoot pilot study.toml`: a few pulls that say how long they take and how noisy they are."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from surefoot.commands.terminal import print_table, say_where

if TYPE_CHECKING:
    from surefoot.problem.problem import RobustProblem
    from surefoot.study.before.pilot import Pilot


LOUD = 4.0  # times the usual standard deviation


def command(
    study: Annotated[
        Path, typer.Argument(help="The configuration, as `surefoot init` writes it.")
    ] = Path("study.toml"),
    pairs: Annotated[int, typer.Option(min=2, help="Pairs that are pulled more than once.")] = 8,
    pulls: Annotated[int, typer.Option(min=3, help="Pulls of each of them.")] = 10,
    seed: Annotated[int, typer.Option(min=0, help="Of the pilot's random streams.")] = 0,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Keep it for `surefoot plan --pilot`.")
    ] = None,
) -> None:
    """Try the simulator on every pair, on some of them often; nothing of it enters the study."""
    from rich.table import Table

    from surefoot.errors import InputError
    from surefoot.study.before.pilot import deviations_of, run_pilot
    from surefoot.study.toml.config import StudyConfig
    from surefoot.system.drafts import replaced_file

    config = StudyConfig(study)
    if output is not None and output.suffix != ".json":
        raise InputError(f"{output} ends in {output.suffix!r}: what a pilot found is .json")
    problem = config.problem()
    found = run_pilot(problem, config.simulator(problem), pairs, pulls, seed, config.outputs)
    outputs = {config.settings.objective or "": found.rewards, **found.others}
    heads = (f"{name}\n{what}".lstrip() for name in outputs for what in ("mean", "deviation"))
    table = Table("arm", "perturbation", *heads)
    for place, pair in enumerate(found.pairs.tolist()):
        named = problem.describe_pair(pair)
        cells = []
        for values in outputs.values():
            cells += [f"{values[:, place].mean():.4g}", f"{deviations_of(values)[place]:.3g}"]
        table.add_row(named["arm"], named["perturbation"], *cells)
    print_table(table)
    once = f", and {found.once} others once" if found.once else ""
    print(f"{len(found.pairs)} of {problem.n_pairs} pairs, {pulls} pulls each{once}")
    say_where(config.values.run.dask)
    for line in [*_words(found), *_loud(found, problem)]:
        print(line)
    settings = config.settings
    ranged = settings.noise.limits is not None
    for suggestion in found.suggestions(settings.common_random_numbers, ranged, settings.limits):
        print(f"suggested: {suggestion}")
    if output is not None:
        with replaced_file(output) as draft:
            draft.write_text(found.to_json(problem), encoding="utf-8")
        print(f"kept: `surefoot plan {study} --pilot {output}` counts with it")
    else:
        print("-o pilot.json keeps this for `surefoot plan --pilot pilot.json`")


def _loud(found: Pilot, problem: RobustProblem) -> list[str]:
    """Name the pairs that are far noisier than most: their pulls dominate a study's cost."""
    import numpy as np

    deviations = found.deviations
    usual = float(np.median(deviations))
    loud = np.flatnonzero(deviations > LOUD * usual) if usual > 0 else ()
    return [
        f"{problem.describe_pair(int(found.pairs[place]))['arm']}, "
        f"{problem.describe_pair(int(found.pairs[place]))['perturbation']}: "
        f"{deviations[place] / usual:.2g} times as noisy as most; more of --pulls would say "
        "whether it is so always, or fell once"
        for place in loud
    ]


def _words(found: Pilot) -> list[str]:
    """Describe the length and noise of pulls, as far as known."""
    from surefoot.study.before.pilot import SILENT

    shortest, longest = found.times.min(), found.times.max()
    said = [f"{found.durations.mean:.3g} s for a pull, from {shortest:.3g} to {longest:.3g} s"]
    if not math.isnan(found.ratio):
        said.append(
            f"noise: the noisiest pair has {found.ratio:.3g} times the standard deviation of the "
            f"quietest; skewness {found.skewness:.2g} (0 is symmetric)"
        )
    if found.shared_variance <= SILENT:
        said.append(
            "common random numbers: differences never varied, though rewards did, so a few blocks "
            "would show them exactly, up to what is too rare to come in these"
        )
    elif not math.isnan(found.shared_variance):
        said.append(
            "common random numbers: differences have "
            f"{100 * found.shared_variance:.3g} % of the variance that they have without"
        )
    return said
