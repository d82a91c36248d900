"""A study that might be made: its noise as known so far, and simulations of it."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from surefoot.algorithms import Algorithm, Settings, algorithm_from
from surefoot.arrays import Array
from surefoot.errors import InputError
from surefoot.limits import Limit
from surefoot.noise import Gaussian
from surefoot.problem.measures import Measure, Worst
from surefoot.problem.problem import RobustProblem
from surefoot.study.before.pilot import Pilot, deviations_of
from surefoot.study.forecast import Durations, Lengths

ALTERNATIVES = ("robust-rage", "robust-static")
WORST = Worst()
LEAVE_OUT = ("robust-rage",)  # compares every pair with every arm, in memory and time alike
MOST_COMPARISONS = 4_000_000  # of a pair with an arm, times the dimension: seconds for each run
MOST_PAIRS = 200_000  # a simulated study of more takes minutes


@dataclass(frozen=True, eq=False)
class IntendedStudy:
    """A study that might be made.

    Attributes:
        pilot: a few pulls' estimates of the noise; None without a pilot.
        workers: how many pulls run at the same time.
        seconds: a pull takes on average; None: as earlier pulls say, or 1.
        earlier: the time that earlier pulls of the study took; else the pilot's count.
        compare: whether other algorithms that trust the same model are simulated too.
    """

    problem: RobustProblem
    settings: Settings
    algorithm: Algorithm
    pilot: Pilot | None = None
    workers: int = 1
    seconds: float | None = None
    earlier: Durations | None = None
    compare: bool = False
    seed: int = 0

    def __post_init__(self) -> None:
        """Refuse a problem on which simulated studies take too long."""
        problem, name = self.problem, self.algorithm.name
        if problem.n_arms < 2:
            raise InputError("the problem has a single arm: nothing has to be pulled")
        if problem.n_pairs > MOST_PAIRS:
            raise InputError(
                f"a plan simulates whole studies, which takes too long with {problem.n_pairs:,} "
                f"pairs: plan for a part of at most {MOST_PAIRS:,}, such as every tenth arm"
            )
        if self.settings.aim == "guess":
            raise InputError(
                'aim = "guess" spends the budget it is given, no more and no less, so there '
                "is nothing to plan: `surefoot macroreplicate` says how often such a guess is right"
            )
        if not self.algorithm.stops_by_itself:
            raise InputError(
                f"{name!r} spends the budget it is given, no more and no less, so there is nothing "
                'to plan: choose algorithm = "prime" to see what a certificate costs'
            )
        if name in left_out(problem):
            raise InputError(
                f"{name!r} compares every pair with every arm, too much for "
                f'{problem.n_pairs:,} pairs and {problem.n_arms:,} arms: choose algorithm = "prime"'
            )

    @property
    def knows_unit(self) -> bool:
        """True if the noise is known in the unit of the rewards, so that a tolerance can count."""
        return self.settings.noise.known or self.pilot is not None

    @property
    def scales(self) -> Array:
        """(n_pairs,) of the noise: as given, as the pilot says, or 1."""
        if self.settings.noise.known:
            return self.settings.noise.scales(self.problem.n_pairs)
        if self.pilot is None:
            return np.ones(self.problem.n_pairs)
        return self.pilot.scales(self.problem.n_pairs)

    @property
    def typical(self) -> float:
        """The noise in which gaps are measured."""
        return float(np.mean(self.scales))

    def contestants(self) -> dict[str, tuple[Algorithm, Settings]]:
        """Return the algorithms that are simulated, by name: the study's own first."""
        own = {self.algorithm.name: (self.algorithm, self._simulated())}
        other = self.workers if self.settings.parallel == 1 else 1
        if other != self.settings.parallel and "parallel" in self.algorithm.supports:
            changed = replace(self._simulated(), parallel=other, in_flight=None)
            own[f"{self.algorithm.name}, parallel {other}"] = (self.algorithm, changed)
        if self.settings.phases_in_flight > 1:
            changed = replace(self._simulated(), in_flight=1)
            own[f"{self.algorithm.name}, in_flight 1"] = (self.algorithm, changed)
        if self._simulated().cost is not None:
            evenly = replace(self._simulated(), cost=None)
            own[f"{self.algorithm.name}, no cost"] = (self.algorithm, evenly)
        if self.settings.rarest is not None:
            sooner = replace(self._simulated(), rarest=None)
            own[f"{self.algorithm.name}, no rarest"] = (self.algorithm, sooner)
        if not (self.compare and self.settings.modelled and self.settings.worst_case):
            return own
        known = Settings(
            delta=self.settings.delta,
            noise=Gaussian(self.scales),
            misfit=0.0,
            on_misfit="ignore",
        )
        others = [name for name in ALTERNATIVES if name not in left_out(self.problem)]
        return own | {name: (algorithm_from(name), known) for name in others}

    @property
    def durations(self) -> Durations | None:
        """The time that pulls took, of the study itself or of the pilot."""
        if self.earlier is not None:
            return self.earlier
        return None if self.pilot is None else self.pilot.durations

    def lengths(self, generator: np.random.Generator) -> Lengths:
        """Return a function that draws how long pulls take."""
        known = self.durations
        if known is None:
            seconds = 1.0 if self.seconds is None else self.seconds
            return lambda pairs: np.full(len(pairs), seconds)
        drawn, usual = known.lengths(self.problem.n_pairs, generator), known.mean
        scale = 1.0 if self.seconds is None or not usual else self.seconds / usual
        return lambda pairs: scale * drawn(pairs)

    @property
    def plain(self) -> bool:
        """True if the best worst case of all arms is asked for: the lower bound is for that."""
        return (
            self.settings.worst_case
            and not self.settings.limits
            and self.settings.aim != "beat baseline"
        )

    def scale_of(self, output: str) -> float | None:
        """Return the noise of a further output by the pilot; None if unknown."""
        seen = None if self.pilot is None else self.pilot.others.get(output)
        if seen is None:
            return None
        deviations = deviations_of(seen)
        return float(np.median(deviations[deviations > 0])) if deviations.any() else None

    def _limits(self) -> list[Limit]:
        """Return one limit for each output, for noise that is normal."""
        found = dict[str, Limit]()
        for limit in self.settings.limits:
            slack = limit.slack if self.scale_of(limit.output) is not None else 0.0
            found.setdefault(limit.output, replace(limit, noise=Gaussian(), slack=slack))
        return list(found.values())

    def _simulated(self) -> Settings:
        """Return the study's settings, for rewards that are normal; lengths are all costs there
        are.
        """
        settings, beating = self.settings, self.settings.aim == "beat baseline"
        return replace(
            settings,
            noise=Gaussian() if settings.noise.limits else settings.noise,
            tolerance=settings.tolerance if self.knows_unit else 0.0,
            misfit=settings.misfit if self.knows_unit or not settings.modelled else 0.0,
            budget=None,
            aim="beat baseline" if beating else "certify",
            gain=settings.gain if self.knows_unit else 0.0,
            limits=self._limits(),
            unseen=None,
            on_misfit="ignore",
            cost="time" if settings.cost == "time" and self.durations else None,
        )


def left_out(problem: RobustProblem) -> tuple[str, ...]:
    """Return the algorithms that cannot be simulated on a problem of this size."""
    comparisons = problem.n_pairs * problem.n_arms * problem.dimension
    return LEAVE_OUT if comparisons > MOST_COMPARISONS else ()


def unit_gap_theta(
    problem: RobustProblem, generator: np.random.Generator, measure: Measure = WORST
) -> Array:
    """Return a random (dimension,) θ at which the values of the best two arms are 1 apart;
    whitened, so that all directions count alike.
    """
    whitening = np.linalg.pinv(problem.pairs) * np.sqrt(problem.n_pairs)
    points = measure.points(problem)
    for _ in range(100):
        theta = whitening @ generator.standard_normal(problem.n_pairs)
        second, best = np.sort(points.values_of(problem.pairs @ theta))[-2:]
        gap = best - second
        if gap > 1e-6 * np.abs(theta).max():
            return np.asarray(theta / gap)
    raise InputError(
        "two arms are best together for every parameter: remove arms whose pairs are "
        "those of another"
    )
