"""What a study will cost, before anything is spent: whole studies are simulated, by size of gap."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from surefoot.algorithms import Algorithm, Settings
from surefoot.arrays import Array
from surefoot.design.hardness import Complexity, complexity
from surefoot.problem.problem import RobustProblem
from surefoot.simulate import SeveralOutputs, Simulator, TableSimulator
from surefoot.study.before.intended import IntendedStudy, unit_gap_theta
from surefoot.study.before.timetable import timed
from surefoot.system.progress import JobProgress, JobsSnapshot, NoProgress

GAPS = (2.0, 1.0, 0.5, 0.2, 0.1)
KEEP = 0.5  # the share of arms that keep all limits, beside the best two
MOST_OWN = 400  # pairs up to which their own hardness is worked out: each is a dimension


class Quantiles(NamedTuple):
    """The cost of simulated studies, as quantiles.

    Attributes:
        mean: of those that ended with an answer; NaN if none did.
        low, high: what one in ten of them stayed below, and what one in ten exceeded.
        runs: how many were simulated.
        unanswered: how many of them ended without an answer.
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
        clock: what time it is.
    """

    seconds: float = 6.0
    most_runs: int = 40
    progress: JobProgress = field(default_factory=NoProgress)
    clock: Callable[[], float] = time.monotonic


def expected_costs(
    intended: IntendedStudy, gaps: Sequence[float] = GAPS, effort: Patience | None = None
) -> list[Cost]:
    """Costs for each gap, over random parameters θ that are scaled to it.

    What the true θ is, only the study itself finds out; random ones show the order of magnitude.
    Gaps for which the time did not suffice have no runs.
    """
    return _Simulation(intended, sorted(gaps, reverse=True), effort or Patience()).costs()


class _Simulation:
    """Rounds of simulated studies: in each a new θ, for every gap and algorithm."""

    def __init__(self, intended: IntendedStudy, gaps: Sequence[float], effort: Patience) -> None:
        self.intended, self.gaps, self.effort = intended, gaps, effort
        self.contestants = intended.contestants()
        self.pulls: dict[tuple[float, str], list[float]] = {
            (gap, name): [] for gap in gaps for name in self.contestants
        }
        self.seconds = {key: list[float]() for key in self.pulls}
        self.hardness: list[Complexity | None] = []
        self._compile()
        self.begun = effort.clock()

    def _compile(self) -> None:
        """Let compiled code be loaded before anything is timed."""
        source = np.random.SeedSequence(self.intended.seed)
        measure = self.intended.settings.measure
        theta = unit_gap_theta(self.intended.problem, np.random.default_rng(source), measure)
        for contestant in self.contestants.values():
            theta = 8 * self.intended.typical * theta
            _simulated(self.intended, contestant, theta, 8.0, source)

    def costs(self) -> list[Cost]:
        try:
            for number in range(self.effort.most_runs):
                before = self._elapsed
                self._round(np.random.SeedSequence(self.intended.seed, spawn_key=(number,)))
                if 2 * self._elapsed - before > self.effort.seconds:
                    break
        finally:
            self.effort.progress.close()
        return [self._cost(gap) for gap in self.gaps]

    def _round(self, source: np.random.SeedSequence) -> None:
        of_theta, *of_contestants = source.spawn(1 + len(self.contestants))
        intended = self.intended
        generator = np.random.default_rng(of_theta)
        theta = unit_gap_theta(intended.problem, generator, intended.settings.measure)
        theta = theta * intended.typical
        self.hardness.append(_hardness(intended, theta))
        for gap in self.gaps:
            for name, child in zip(self.contestants, of_contestants, strict=True):
                first = not self.pulls[gap, name]  # later rounds are whole: rows can be compared
                if first and self._elapsed > self.effort.seconds and gap != self.gaps[0]:
                    return
                contestant = self.contestants[name]
                pulls, took = _simulated(intended, contestant, gap * theta, gap, child)
                self.pulls[gap, name].append(pulls)
                self.seconds[gap, name].append(took)
                self._show()

    @property
    def _elapsed(self) -> float:
        return self.effort.clock() - self.begun

    def _show(self) -> None:
        done = min(self._elapsed, self.effort.seconds)
        left = self.effort.seconds - done
        snapshot = JobsSnapshot("simulating studies", self.effort.seconds, done, left)
        self.effort.progress.update(snapshot)

    def _cost(self, gap: float) -> Cost:
        known = [hardness for hardness in self.hardness if hardness is not None]
        exact = np.mean([h.exact for h in known]) if known else math.nan
        delta, eased = self.intended.settings.delta, self.intended.settings.tolerance > 0
        bound = np.mean([h.lower_bound(delta) for h in known]) if known else math.nan
        return Cost(
            gap,
            float(exact) / gap**2,
            math.nan if eased else float(bound) / gap**2,
            {name: Quantiles.of(self.pulls[gap, name]) for name in self.contestants},
            {name: Quantiles.of(self.seconds[gap, name]) for name in self.contestants},
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
    alone = RobustProblem.from_pairs(np.eye(problem.n_pairs), problem.arm_of_pair)
    means = problem.pairs @ theta
    return complexity(alone, alone.pairs.T @ means, 1e-2, alone.pairs / scales[:, None])


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
    """(n_pairs,) mean rewards; a baseline to be beaten is behind by its gain and the gap."""
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
    one in two misses one; nobody is closer to a limit than the gap, in the output's own noise.
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
