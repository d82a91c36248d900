"""The expected cost of a study, before any pull: whole studies are simulated, by size of gap."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from surefoot.algorithms import Algorithm, Settings
from surefoot.arrays import Array
from surefoot.design.hardness import Complexity, complexity, complexity_by_pairs
from surefoot.simulate import SeveralOutputs, Simulator, TableSimulator
from surefoot.study.before.intended import IntendedStudy, unit_gap_theta
from surefoot.study.before.timetable import timed
from surefoot.system.processes import ProcessPool
from surefoot.system.progress import JobProgress, JobsSnapshot, NoProgress

GAPS = (2.0, 1.0, 0.5, 0.2, 0.1)
KEEP = 0.5  # the share of arms that keep all limits, beside the best two
MOST_OWN = 400  # pairs up to which their own hardness is worked out: each is a dimension
COMPILED = 8.0  # a gap so wide that its studies are short: they load compiled code before the clock
START_UP = 2.0  # seconds that processes take to begin
TITLE = "simulating studies"


class Quantiles(NamedTuple):
    """The cost of simulated studies, as quantiles.

    Attributes:
        mean: of runs that ended with an answer; NaN without any.
        low, high: their 10 and 90 % quantiles.
        runs: how many were simulated.
        unanswered: how many runs ended without an answer.
    """

    mean: float
    low: float
    high: float
    runs: int
    unanswered: int

    @classmethod
    def of(cls, values: Sequence[float]) -> Quantiles:
        """Infinite values are of studies without an answer."""
        answered = [value for value in values if math.isfinite(value)]
        if not answered:
            return cls(math.nan, math.nan, math.nan, len(values), len(values))
        low, high = np.quantile(answered, [0.1, 0.9])
        left = len(values) - len(answered)
        return cls(float(np.mean(answered)), float(low), float(high), len(values), left)


class Cost(NamedTuple):
    """The cost to expect if the best arm's worst case is better than the second best by `gap`.

    Attributes:
        gap: in standard deviations of the noise.
        hardness: H*, in pulls; NaN where it would take too long.
        lower_bound: no algorithm with this confidence needs fewer pulls on average; NaN with a
            tolerance, where that is not so.
        pulls: by the name of the algorithm.
        seconds: likewise, until the answer, on as many workers as there are to be.
    """

    gap: float
    hardness: float
    lower_bound: float
    pulls: dict[str, Quantiles]
    seconds: dict[str, Quantiles]


@dataclass(frozen=True)
class Patience:
    """The limits of a simulation.

    Attributes:
        seconds: no simulated study begins later, but for the very first.
        most_runs: of each kind.
        clock: gives the time.
        processes: that simulate at the same time; results do not depend on their number.
    """

    seconds: float = 6.0
    most_runs: int = 40
    progress: JobProgress = field(default_factory=NoProgress)
    clock: Callable[[], float] = time.monotonic
    processes: int = 1


def expected_costs(
    intended: IntendedStudy, gaps: Sequence[float] = GAPS, effort: Patience | None = None
) -> list[Cost]:
    """Return the costs for each gap, over random parameters θ that are scaled to it.

    Only the study itself finds the true θ; random ones show the order of magnitude.
    Gaps for which the time did not suffice have no runs.
    """
    effort, gaps = effort or Patience(), sorted(gaps, reverse=True)
    try:
        rounds = _rounds(intended, gaps, effort)
    finally:
        effort.progress.close()
    return [_cost(intended, gap, rounds) for gap in gaps]


class _Round(NamedTuple):
    """Simulated studies of one θ: pulls and seconds, by gap and algorithm."""

    hardness: Complexity | None
    found: dict[tuple[float, str], tuple[float, float]]


def _round(
    intended: IntendedStudy,
    gaps: Sequence[float],
    number: int,
    enough: Callable[[float], bool] = lambda gap: False,
) -> _Round:
    """Simulate a study for every gap and algorithm, from streams of this number alone.

    Args:
        enough: is asked before each study, with its gap: whether to end the round there.
    """
    source = np.random.SeedSequence(intended.seed, spawn_key=(number,))
    contestants = intended.contestants()
    of_theta, *of_contestants = source.spawn(1 + len(contestants))
    generator = np.random.default_rng(of_theta)
    theta = unit_gap_theta(intended.problem, generator, intended.settings.measure)
    theta = theta * intended.typical
    done = _Round(_hardness(intended, theta), {})
    for gap in gaps:
        for (name, contestant), child in zip(contestants.items(), of_contestants, strict=True):
            if enough(gap):
                return done
            done.found[gap, name] = _simulated(intended, contestant, gap * theta, gap, child)
    return done


def _rounds(intended: IntendedStudy, gaps: Sequence[float], effort: Patience) -> list[_Round]:
    """Return rounds of simulated studies: in each a new θ, for every gap and algorithm.

    The first round ends when the time is up; all later ones are whole, so that rows can be
    compared.
    """
    _round(intended, [COMPILED], 0)
    begun = effort.clock()

    def late(gap: float) -> bool:
        return gap != gaps[0] and effort.clock() - begun > effort.seconds

    effort.progress.update(JobsSnapshot(TITLE, effort.most_runs, 0, None))
    rounds = [_round(intended, gaps, 0, late)]
    more, processes = _affordable(effort, effort.clock() - begun)
    for each in _later(intended, gaps, more, processes):
        rounds.append(each)
        left = (effort.clock() - begun) / len(rounds) * (1 + more - len(rounds))
        effort.progress.update(JobsSnapshot(TITLE, 1 + more, len(rounds), left))
    return rounds


def _affordable(effort: Patience, took: float) -> tuple[int, int]:
    """Return how many rounds there is time for after the first, and on how many processes.

    Args:
        took: the seconds of the first round.
    """
    left, most = effort.seconds - took, effort.most_runs - 1
    if left <= 0 or not most:
        return 0, 1
    processes, took = min(effort.processes, most), max(took, 1e-9)
    more = int(min(most, max(left, processes * (left - START_UP)) / took))
    faster = START_UP + more * took / processes < more * took
    return more, processes if faster else 1


def _later(
    intended: IntendedStudy, gaps: Sequence[float], more: int, processes: int
) -> Iterator[_Round]:
    """Yield the rounds after the first, in their order; rounds that fail in other processes are
    made here, where their errors show.
    """
    numbers = list(range(1, 1 + more))
    if processes > 1:
        pool = ProcessPool(processes)
        try:
            for made in [pool.submit(_round, intended, gaps, number) for number in numbers]:
                yield made.result()
                numbers.pop(0)
        except Exception:  # a process has died, or its arguments cannot be sent
            pass
        finally:
            pool.stop()
    for number in numbers:
        yield _round(intended, gaps, number)


def _cost(intended: IntendedStudy, gap: float, rounds: list[_Round]) -> Cost:
    known = [each.hardness for each in rounds if each.hardness is not None]
    exact = np.mean([h.exact for h in known]) if known else math.nan
    delta, eased = intended.settings.delta, intended.settings.tolerance > 0
    bound = np.mean([h.lower_bound(delta) for h in known]) if known else math.nan
    found = {
        name: [each.found[gap, name] for each in rounds if (gap, name) in each.found]
        for name in intended.contestants()
    }
    return Cost(
        gap,
        float(exact) / gap**2,
        math.nan if eased else float(bound) / gap**2,
        {name: Quantiles.of([pulls for pulls, _ in each]) for name, each in found.items()},
        {name: Quantiles.of([took for _, took in each]) for name, each in found.items()},
    )


def _hardness(intended: IntendedStudy, theta: Array) -> Complexity | None:
    """Return the complexity of the features' problem, or if no model is trusted of the pairs'
    own.
    """
    problem, scales = intended.problem, intended.scales
    if not intended.plain:
        return None
    if intended.settings.modelled:
        return complexity(problem, theta, 1e-2, problem.pairs / scales[:, None])
    if problem.n_pairs > MOST_OWN:
        return None
    return complexity_by_pairs(problem, problem.pairs @ theta, 1e-2, scales)


def _simulated(
    intended: IntendedStudy,
    contestant: tuple[Algorithm, Settings],
    theta: Array,
    gap: float,
    seed: np.random.SeedSequence,
) -> tuple[float, float]:
    """Return pulls and seconds of one simulated study; infinite if it ends without an answer.

    The streams are the same for every gap, so that a larger one is hardly ever dearer.
    """
    algorithm, settings = contestant
    common = intended.pilot.common_share if intended.pilot and settings.common_random_numbers else 0
    fresh = np.random.SeedSequence(seed.entropy, spawn_key=seed.spawn_key)
    of_rewards, of_times, of_outputs = fresh.spawn(3)
    means = _means(intended, settings, theta, gap)
    simulator: Simulator = TableSimulator(means, intended.scales, of_rewards, correlation=common)
    if settings.limits:
        others = _outputs(intended, settings, means, gap, of_outputs)
        simulator = SeveralOutputs(simulator, others)
    clock = np.random.default_rng(of_times)
    run = algorithm.start(intended.problem, settings)
    took = timed(run, simulator, intended.workers, intended.lengths(clock), clock)
    answered = took.result.certified or took.result.reason.selects
    return (float(took.pulls), took.seconds) if answered else (math.inf, math.inf)


def _means(intended: IntendedStudy, settings: Settings, theta: Array, gap: float) -> Array:
    """Return (n_pairs,) mean rewards; a baseline to be beaten is behind by its gain and the gap."""
    problem = intended.problem
    means = np.asarray(problem.pairs @ theta)
    if settings.aim != "beat baseline" or settings.baseline is None:
        return means
    arm = problem.arm_names.index(settings.baseline)
    values, own = settings.measure.points(problem).values_of(means), problem.pairs_of(arm)
    wanted = np.delete(values, arm).max() - gap * intended.typical - settings.gain
    means[own] += wanted - values[arm]
    return means


def _outputs(
    intended: IntendedStudy,
    settings: Settings,
    means: Array,
    gap: float,
    seed: np.random.SeedSequence,
) -> dict[str, Simulator]:
    """Return simulators of outputs that have limits: the best two arms keep them all, of the others
    one in two misses one; no arm is closer to a limit than the gap, in the output's own noise.
    """
    problem, found = intended.problem, dict[str, Simulator]()
    best = np.argsort(settings.measure.points(problem).values_of(means))[-2:]
    generator = np.random.default_rng(seed)
    kept = np.isin(np.arange(problem.n_arms), best) | (generator.random(problem.n_arms) < KEEP)
    misses = generator.integers(len(settings.limits), size=problem.n_arms)
    for place, limit in enumerate(settings.limits):
        scale = intended.scale_of(limit.output) or 1.0
        sizes = gap * scale * (1 + np.abs(generator.standard_normal(problem.n_arms)))
        margins = np.where(kept | (misses != place), sizes, -sizes)[problem.arm_of_pair]
        values = limit.value + limit.sign * margins
        found[limit.output] = TableSimulator(values, scale, seed.spawn(1)[0])
    return found
