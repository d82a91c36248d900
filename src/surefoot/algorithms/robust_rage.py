"""Robust RAGE: the paper's Algorithm 1."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from surefoot.algorithms.base import Algorithm
from surefoot.algorithms.confidence import (
    one_sided_events,
    paper_spending,
    paper_threshold,
    valid_spending,
)
from surefoot.algorithms.estimates import Frame
from surefoot.algorithms.verdict import StopReason
from surefoot.arrays import Array
from surefoot.design.designs import (
    g_weights,
    noise_key,
    on_all_pairs,
    remembered,
    robust_xy,
    round_design,
    rounding_minimum,
)
from surefoot.design.frank_wolfe import Solver, require_solver, robust_xy_by_frank_wolfe
from surefoot.statistics import MOST_PULLS, Counts, Outcome


@dataclass(eq=False)
class RobustRage(Algorithm):
    """Phase by phase: a design for the survivors, pulls that halve the gap, elimination.

    Attributes:
        epsilon: ε, the largest relative loss by rounding.
        mixture: how much of λ^G the valid policy mixes into each design, so that no direction stays
            unmeasured.
        solver: of λ*_t: "certified", or "frank-wolfe" as in the paper.
    """

    epsilon: float = 0.1
    mixture: float = 0.1
    solver: Solver = "certified"
    name: ClassVar[str] = "robust-rage"
    supports: ClassVar[frozenset[str]] = frozenset({"paper rules", "transductive"})

    def begin(self) -> None:
        require_solver(self.solver)
        self.frame = Frame.of(self.problem, self.tally.scales)
        self.t = 1  # line 1; X̂_t is self.survivors
        self.blocked = False  # E12: no design can tell anybody apart
        # the paper's noise has scale 1, and 2^(−t) is in that unit
        self.unit = float(np.median(self.tally.scales))

    def next_counts(self) -> Counts | StopReason:
        if self.survivors.sum() == 1:  # line 2
            return StopReason.IDENTIFIED
        if self.remaining < 1:
            return StopReason.BUDGET
        if self.blocked:
            return StopReason.SINGULAR_DESIGN
        c = self._threshold()  # line 3: √(2 log(|Z|²/δ_t)); valid: fewer events, E4
        lambda_, rho = self._design()  # lines 4, 5
        N = 2 ** (2 * self.t) * rho * (1 + self.epsilon) * c**2  # line 6
        N = max(N, rounding_minimum(lambda_, self.epsilon))
        # lines 7, 8
        return round_design(lambda_, math.ceil(min(N, self.remaining, MOST_PULLS + 1)))

    def learn(self, outcome: Outcome) -> None:
        arms, c = np.flatnonzero(self.survivors), self._threshold()
        estimates = self.frame.estimate(outcome.counts, outcome.sums).among(arms)  # line 9
        beaten_by = estimates.clearance(np.arange(len(arms)))
        np.fill_diagonal(beaten_by, -np.inf)
        against = beaten_by.max(axis=0)
        kept = arms[against <= c]  # line 10, with A_t as line 9 defines it
        self.survivors = np.isin(np.arange(self.problem.n_arms), kept)
        self.blocked = bool((against <= -c).all())
        self.leader = int(arms[np.argmax(estimates.robust_values)])
        self.boundary, self.evidence = c, np.full(self.problem.n_arms, np.inf)
        self.evidence[arms] = against
        self.t += 1  # line 11

    def _threshold(self) -> float:
        delta, offsets = self.settings.delta, self.problem.compared_offsets
        if self.settings.rules == "paper":
            return paper_threshold(int(offsets[-1]), paper_spending(delta, self.t))
        events = one_sided_events(offsets)
        return self.settings.noise.union_threshold(events, valid_spending(delta, self.t))

    def _design(self) -> tuple[Array, float]:
        """Return λ*_t and ρ(X̂_t) of `eq:eq14`, mixed with λ^G if valid: then A ⪰ (1 −
        mixture)·A_{λ*}."""
        problem, scales = self.problem, self.tally.scales
        rows = self.tally.rows[problem.pullable]
        candidates = np.flatnonzero(self.survivors)
        solve = robust_xy if self.solver == "certified" else robust_xy_by_frank_wolfe
        xy = remembered(
            problem,
            ("xy", self.solver, noise_key(scales), candidates.tobytes()),
            lambda: solve(
                problem.pairs[problem.compared_pairs], problem.compared_offsets, candidates, rows
            ),
        )
        weights = on_all_pairs(problem, xy.weights)
        if self.settings.rules == "paper":
            return weights, xy.value / self.unit**2
        mixed = (1 - self.mixture) * weights + self.mixture * g_weights(problem, scales)
        return mixed, xy.value / (1 - self.mixture) / self.unit**2
