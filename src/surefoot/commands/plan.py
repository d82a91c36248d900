"""`surefoot plan study.toml`: the expected cost of a study, before any pull."""

from __future__ import annotations

import math
import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from surefoot.commands.terminal import print_table, say_where

if TYPE_CHECKING:
    from surefoot.algorithms import Settings
    from surefoot.problem.problem import RobustProblem
    from surefoot.study.before.intended import IntendedStudy
    from surefoot.study.before.pilot import Pilot
    from surefoot.study.before.plan import Cost
    from surefoot.study.forecast import Durations
    from surefoot.study.toml.config import StudyConfig

WORTHWHILE = 0.9  # a share of the time
ENOUGH = 5  # studies, to report quantiles
FOR_ADVICE = 20  # studies, to advise on a setting
OWN_PAIRS, OWN_PULLS = 8, 10  # of a pilot that the plan makes itself


def command(
    study: Annotated[
        Path, typer.Argument(help="The configuration, as `surefoot init` writes it.")
    ] = Path("study.toml"),
    pilot: Annotated[
        Path | None, typer.Option(help="What `surefoot pilot --output` wrote.")
    ] = None,
    try_out: Annotated[
        bool,
        typer.Option("--try", help="Make a pilot now: every pair once, and some 80 pulls."),
    ] = False,
    seconds: Annotated[
        float | None,
        typer.Option(
            "--seconds-per-pull",
            min=0.0,
            help="How long one pull takes; default: as pulls of the study or the pilot, or 1.",
            show_default=False,
        ),
    ] = None,
    workers: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Pulls that run at the same time; default: `parallel` of the study.",
            show_default=False,
        ),
    ] = None,
    gap: Annotated[
        list[float] | None,
        typer.Option(
            help="In standard deviations of the noise; may be given several times.",
            show_default=False,
        ),
    ] = None,
    compare: Annotated[
        bool, typer.Option("--compare", help="Simulate other algorithms too (with a model).")
    ] = False,
    limit: Annotated[
        float, typer.Option("--time", min=0.0, help="Seconds to simulate for: more runs.")
    ] = 6.0,
    runs: Annotated[
        int | None,
        typer.Option(min=1, help="Simulate exactly this many studies, however long it takes."),
    ] = None,
    processes: Annotated[
        int | None,
        typer.Option(min=1, help="Processes that simulate; default: all cores; changes no number."),
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress.")] = False,
) -> None:
    """Say how many pulls and hours to expect, for a range of gaps between the best two arms."""
    from surefoot.system.processes import ONE_THREAD, cores

    os.environ.update(dict.fromkeys(ONE_THREAD, "1"))  # before NumPy is there, as in all processes
    from surefoot.errors import InputError
    from surefoot.study.before.intended import IntendedStudy
    from surefoot.study.before.plan import GAPS, Patience, expected_costs
    from surefoot.study.toml.config import StudyConfig
    from surefoot.system.progress import NoProgress, progress_for

    if gap and min(gap) <= 0:
        raise InputError(
            f"--gap {min(gap)} is not above 0: the best arm must be better than the second"
        )
    config = StudyConfig(study)
    problem = config.problem()
    print(_size(problem, config.settings.modelled))
    tried = _pilot(config, pilot, try_out)
    algorithm = config.values.algorithm.build()
    workers = workers or config.settings.parallel
    intended = IntendedStudy(
        problem, config.settings, algorithm, tried, workers, seconds, _earlier(config), compare
    )
    shown = NoProgress() if quiet else progress_for(sys.stderr)
    effort = Patience(limit) if runs is None else Patience(math.inf, runs)
    effort = replace(effort, progress=shown, processes=processes or cores())
    costs = expected_costs(intended, gap or GAPS, effort)
    _print(intended, costs)


def _size(problem: RobustProblem, modelled: bool) -> str:
    """Say how large the problem is; features count only where a model is trusted."""
    pairs = f"{problem.n_arms} arms, {problem.n_pairs} pairs of an arm and a perturbation"
    if not modelled:
        return pairs
    return f"{pairs}, {problem.features.shape[1]} features of rank {problem.dimension}"


def _pilot(config: StudyConfig, file: Path | None, try_out: bool) -> Pilot | None:
    from surefoot.errors import InputError
    from surefoot.study.before.pilot import Pilot, run_pilot

    problem = config.problem()
    if file is not None:
        try:
            return Pilot.from_json(file.read_text(encoding="utf-8"), problem)
        except (OSError, UnicodeDecodeError) as error:
            raise InputError(f"{file} cannot be read ({error})") from None
    if try_out:
        say_where(config.values.run.dask)
        simulator = config.simulator(problem)
        return run_pilot(problem, simulator, OWN_PAIRS, OWN_PULLS, seed=0, outputs=config.outputs)
    return None


def _earlier(config: StudyConfig) -> Durations | None:
    """Return how long pulls of the study took, if there are any."""
    from surefoot.study.file.reader import StudyReader

    if not config.file.exists():
        return None
    with StudyReader(config.file) as reader:
        return reader.durations(config.problem())


def _print(intended: IntendedStudy, costs: list[Cost]) -> None:
    from rich.table import Table

    names = list(costs[0].pulls)
    timed = _timed(intended.algorithm.name, costs[0])
    in_unit = ["gap"] if intended.knows_unit else []
    headings = [name.replace("-", "-\n").replace(", ", "\n") for name in names]
    hardness = ["hardness\nH*"] if intended.settings.modelled else []
    table = Table("gap /\nnoise", *in_unit, *hardness, "lower\nbound", *headings)
    for cost in costs:
        table.add_row(
            f"{cost.gap:g}",
            *([f"{cost.gap * intended.typical:.3g}"] if in_unit else []),
            *([_number(cost.hardness)] if hardness else []),
            _number(cost.lower_bound),
            *(_spread(cost, name, name in timed) for name in names),
        )
    print_table(table)
    runs = [spread.runs for cost in costs for spread in cost.pulls.values()]
    for line in [*_words(intended, max(runs)), _times(intended), *_advice(intended, costs)]:
        print(line)


def _number(value: float) -> str:
    if value != value:
        return "–"
    return f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"


def _spread(cost: Cost, name: str, timed: bool) -> str:
    """Return the mean and, below it, the range of 80 % and the mean time."""
    from surefoot.system.progress import duration

    spread, seconds = cost.pulls[name], cost.seconds[name].mean
    if not spread.runs:
        return "not simulated"
    if spread.unanswered == spread.runs:
        return "no answer"
    without = f"\n{spread.unanswered} without answer" if spread.unanswered else ""
    between = f"\n{spread.low:,.0f} to {spread.high:,.0f}" if spread.runs >= ENOUGH else ""
    took = f"\n{duration(seconds)}" if timed and not math.isnan(seconds) else ""
    return f"{spread.mean:,.0f}{between}{without}{took}"


def _words(intended: IntendedStudy, runs: int) -> list[str]:
    from surefoot.study.before.intended import left_out

    settings = intended.settings
    said = [
        f"Pulls at delta = {settings.delta:g}: {_simulated(runs)}; the gap is {_gap(settings)}. "
        "--time 60 simulates more."
    ]
    if settings.limits:
        said.append(
            "The best two arms keep the limits, as does one in two of the others; none is closer "
            "to a limit than the gap, in the noise of that output."
        )
        unknown = [
            each.output for each in settings.limits if intended.scale_of(each.output) is None
        ]
        if unknown and any(each.slack for each in settings.limits):
            said.append(
                f"The slack of {', '.join(dict.fromkeys(unknown))} is not counted, since its noise "
                "is unknown: --try, or --pilot FILE, says how large it is."
            )
    if settings.tolerance and intended.knows_unit:
        said.append(
            f"They end with an arm that is best to within {settings.tolerance:g}. The lower bound "
            "is for the best arm itself, so it is left out."
        )
    elif settings.tolerance:
        said.append(
            f"The tolerance of {settings.tolerance:g} is not counted, since the noise is unknown "
            "in the unit of the rewards: --try, or --pilot FILE, says how large it is."
        )
    else:
        said.append("A tolerance or a budget bounds the cost when arms are nearly equal.")
    if settings.noise.limits:
        said.append("Rewards with a range are simulated as normal ones.")
    if intended.compare and left_out(intended.problem):
        said.append(f"Left out, because the problem is too large: {left_out(intended.problem)[0]}.")
    return said


def _gap(settings: Settings) -> str:
    """Name the arms between which the gap lies."""
    if settings.aim == "beat baseline":
        return f"that by which the best arm is ahead of {settings.baseline}, less the gain"
    words = settings.measure.words
    return f"that in the {words} between the best two arms"


def _simulated(runs: int) -> str:
    if runs <= 1:
        return "one simulated study with random rewards, and its time"
    if runs < ENOUGH:
        return (
            f"the mean of {runs} simulated studies with random rewards, so a rough one, and their "
            "mean time"
        )
    return (
        f"the mean of up to {runs} simulated studies with random rewards, what 80 % of them took, "
        "and their mean time"
    )


def _times(intended: IntendedStudy) -> str:
    """Name the source of the times."""
    from surefoot.system.progress import duration

    known, seconds, workers = intended.durations, intended.seconds, intended.workers
    usual = known.mean if known is not None and seconds is None else seconds
    if usual is None:
        pulls = "pulls of one second, since nobody said how long they take (--seconds-per-pull)"
    else:
        pulls = f"pulls of {usual:.3g} s" if usual < 60 else f"pulls of {duration(usual)}"
    if intended.earlier is not None:
        pulls += f", which vary as {len(intended.earlier.pairs):,} pulls of the study did"
    elif known is not None:
        pulls += ", which vary as those of the pilot"
    waits = "" if workers == 1 else " Workers wait where no pull can be chosen yet."
    return f"Times are for {pulls}, {workers} at a time.{waits}"


def _advice(intended: IntendedStudy, costs: list[Cost]) -> list[str]:
    """Say which other numbers of workers and of phases in flight are worth setting."""
    own = intended.algorithm.name
    known = [cost for cost in costs if all(cost.seconds[n].mean > 0 for n in _timed(own, cost))]
    said = []
    for name in _timed(own, costs[0])[1:] if known else ():
        time, pulls = (
            sum(values[name].mean for values in each) / sum(values[own].mean for values in each)
            for each in ([c.seconds for c in known], [c.pulls for c in known])
        )
        key, _, value = name.rpartition(", ")[2].partition(" ")
        runs, advice = min(cost.pulls[name].runs for cost in known), "set it"
        if key == "no":
            key, value, advice = value, "none", "leave it out"
        if runs < FOR_ADVICE:
            advice = f"{runs} simulated studies are too few to advise (--time 60)"
        elif time >= WORTHWHILE:
            advice = "leave it as it is"
        said.append(
            f"{key} = {value} would take {time:.2f} times the time and {pulls:.2f} times the "
            f"pulls: {advice}."
        )
    return said


def _timed(own: str, cost: Cost) -> list[str]:
    """Return the study itself, and variants with other phases or other shares of pulls."""
    others = tuple(f"{own}, {kind}" for kind in ("parallel", "in_flight", "no cost"))
    return [name for name in cost.pulls if name == own or name.startswith(others)]
