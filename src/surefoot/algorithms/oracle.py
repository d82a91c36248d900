"""Oracle: knows θ, pulls by `eq:oracle`, stops by `eq:57` of Appendix B."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from surefoot.algorithms.confidence import paper_threshold
from surefoot.algorithms.estimates import Estimates
from surefoot.algorithms.static_allocation import StaticAllocation
from surefoot.arrays import Array
from surefoot.design.designs import noise_key, remembered
from surefoot.design.frank_wolfe import Solver, require_solver, separation_by_frank_wolfe
from surefoot.design.separation import paper_separation
from surefoot.errors import InputError


@dataclass(eq=False)
class Oracle(StaticAllocation):
    """The paper's oracle: a yardstick, not a method, because it must be told θ.

    The number of pulls follows from θ alone; the answer is the best arm at the estimate.

    Attributes:
        theta: the true parameter, for the features: their reduced basis is another one on other
            processors, where a study may go on.
        growth: γ, by which the pulls grow from look to look; 1.1 as in the paper.
        keep: judge by all pulls so far; False: by those of the phase alone.
        solver: of λ*: "certified", or "frank-wolfe" as in the paper.
    """

    theta: ArrayLike | None = None
    growth: float = 1.1
    keep: bool = True
    solver: Solver = "certified"
    name: ClassVar[str] = "oracle"

    def begin(self) -> None:
        require_solver(self.solver)
        if self.theta is None:
            raise InputError(
                "the oracle must be told the true parameter: give Oracle(theta), or "
                "another algorithm"
            )
        given, n_features = np.shape(self.theta), self.problem.features.shape[1]
        if given == (self.problem.pairs.shape[1],) != (n_features,):
            raise InputError(
                f"theta has {given[0]} entries, for a basis of the features that is another one "
                f"on other machines: give one entry for each of the {n_features} features"
            )
        self.true_means = self.problem.pair_means(self.theta)
        self.best = self.problem.best_arm(self.theta)
        if not self.problem.robust_gaps(self.theta)[self.best] > 0:
            raise InputError(
                "under theta two arms are equally good: give the oracle a theta with one best arm"
            )
        super().begin()

    def allocation(self) -> Array:
        theta = self.problem.reduced(np.asarray(self.theta, dtype=np.float64))
        given = (self.problem.pairs, self.problem.offsets, theta, self.best)
        lambda_star = remembered(
            self.problem,
            ("oracle", self.solver, noise_key(self.tally.scales), theta.tobytes()),
            lambda: (
                paper_separation(*given, rows=self.tally.rows, tolerance=1e-3)
                if self.solver == "certified"
                else separation_by_frank_wolfe(*given, rows=self.tally.rows)
            ),
        )
        return lambda_star.weights

    def stop_by(self, estimates: Estimates) -> None:
        """`eq:57`: the true Δ exceed their widths for every pair of x* against every x'."""
        self.leader = int(np.argmax(estimates.robust_values))
        true = estimates.with_means(self.true_means)
        self.evidence = true.clearance(np.array([self.best]))[0]
        self.boundary = self.threshold()
        if (np.delete(self.evidence, self.best) >= self.boundary).all():
            self.survivors = np.arange(self.problem.n_arms) == self.leader

    def threshold(self) -> float:
        """|Y(x*)|(|X| − 1) one-sided events, once: pulls are not random, so looks are free."""
        if self.settings.rules == "paper":
            return paper_threshold(self.problem.n_pairs, self.settings.delta)
        own = self.problem.pairs_of(self.best)
        events = (own.stop - own.start) * (self.problem.n_arms - 1)
        return self.settings.noise.union_threshold(events, self.settings.delta)
