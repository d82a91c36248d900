"""What a study will cost, before anything is spent: whole studies are simulated, by size of gap."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from concurrent.futures import BrokenExecutor, Future
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
from surefoot.system.processes import ProcessPool
from surefoot.system.progress import JobProgress, JobsSnapshot, NoProgress

GAPS = (2.0, 1.0, 0.5, 0.2, 0.1)
KEEP = 0.5  # the share of arms that keep all limits, beside the best two
MOST_OWN = 400  # pairs up to which their own hardness is worked out: each is a dimension
WORTHWHILE = 5.0  # seconds of work left that are worth a process, which takes two to begin


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
        processes: that simulate at the same time, this one among them; what they find does not
            depend on how many there are.
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

    What the true θ is, only the study itself finds out; random ones show the order of magnitude.
    Gaps for which the time did not suffice have no runs.
    """
    return _Simulation(intended, sorted(gaps, reverse=True), effort or Patience()).costs()


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


class _Simulation:
    """Rounds of simulated studies: in each a new θ, for every gap and algorithm.

    The first round is made here, and ends when the time is up; all later ones are whole, so that
    rows can be compared. While this process makes a round, others make the next ones.
    """

    def __init__(self, intended: IntendedStudy, gaps: Sequence[float], effort: Patience) -> None:
        self.intended, self.gaps, self.effort = intended, gaps, effort
        self.contestants = intended.contestants()
        self.rounds: dict[int, _Round] = {}
        self._took, self._studies = 0.0, 0
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
        pool = None
        try:
            self._here(0)
            work = min(self.effort.seconds, (self.effort.most_runs - 1) * self._took)
            beside = min(self.effort.processes, self.effort.most_runs) - 1
            if beside > 0 and work - self._elapsed > WORTHWHILE:
                pool = ProcessPool(beside)
            self._others(pool, beside)
        finally:
            if pool is not None:
                pool.stop()
            self.effort.progress.close()
        return [self._cost(gap) for gap in self.gaps]

    def _others(self, pool: ProcessPool | None, beside: int) -> None:
        """Make rounds after the first, as many as there is time for."""
        running: dict[int, Future[_Round]] = {}
        numbers = iter(range(1, self.effort.most_runs))
        while self._elapsed + self._took <= self.effort.seconds:
            while pool is not None and len(running) < beside:
                if (number := next(numbers, None)) is None:
                    break
                try:
                    running[number] = pool.submit(_round, self.intended, self.gaps, number)
                except BrokenExecutor:
                    pool = None
                    self._here(number)
            if (number := next(numbers, None)) is None:
                break
            self._here(number)
            for number in [number for number, future in running.items() if future.done()]:
                self._there(number, running.pop(number))
        for number, future in running.items():
            self._there(number, future)

    def _here(self, number: int) -> None:
        """Make a round in this process."""
        before = self._elapsed

        def enough(gap: float) -> bool:
            self._show()
            self._studies += 1
            return number == 0 and gap != self.gaps[0] and self._elapsed > self.effort.seconds

        self.rounds[number] = _round(self.intended, self.gaps, number, enough)
        self._took = self._elapsed - before
        self._show()

    def _there(self, number: int, future: Future[_Round]) -> None:
        """Take a round of another process, or make it here, where it is seen what is wrong."""
        try:
            self.rounds[number] = future.result()
        except Exception:  # the process has died, or what it needs does not travel
            self._here(number)
        else:
            self._studies += len(self.rounds[number].found)
            self._show()

    @property
    def _elapsed(self) -> float:
        return self.effort.clock() - self.begun

    def _show(self) -> None:
        whole = self.effort.most_runs * len(self.gaps) * len(self.contestants)
        elapsed = self._elapsed
        share = min(1.0, max(elapsed / max(self.effort.seconds, 1e-9), self._studies / whole))
        left = elapsed * (1 - share) / share if share else None
        self.effort.progress.update(JobsSnapshot("simulating studies", 1.0, share, left))

    def _cost(self, gap: float) -> Cost:
        rounds = [self.rounds[number] for number in sorted(self.rounds)]
        known = [each.hardness for each in rounds if each.hardness is not None]
        exact = np.mean([h.exact for h in known]) if known else math.nan
        delta, eased = self.intended.settings.delta, self.intended.settings.tolerance > 0
        bound = np.mean([h.lower_bound(delta) for h in known]) if known else math.nan
        found = {
            name: [each.found[gap, name] for each in rounds if (gap, name) in each.found]
            for name in self.contestants
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
