"""StableOPT (Bogunovic et al., 2018), linear kernel: optimistic arm, pessimistic perturbation."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from surefoot.algorithms.base import Algorithm
from surefoot.algorithms.estimates import Estimates, Frame, decided
from surefoot.algorithms.verdict import StopReason
from surefoot.arrays import Array
from surefoot.design.designs import g_weights, round_design
from surefoot.errors import InputError
from surefoot.statistics import Counts, Outcome


@dataclass(eq=False)
class StableOpt(Algorithm):
    """Pull x_t = argmax_x min_y ucb with y_t = argmin_y lcb; report argmax_x min_y lcb.

    It stops by its budget alone. In place of a Gaussian-process prior it begins with one pull of
    each pair in the support of λ^G, so that nothing need be known about the size of θ. The widths
    are β‖z‖_{A⁻¹}, with β of Lemma 1 (paper) or of the self-normalised ellipsoid (valid).

    Attributes:
        batch_growth: a phase takes this share of the pulls so far, but at least one, so 10⁶ pulls
            stay quick; 0 chooses every single pull anew, as published.
        decisions: into how many choices a phase is split; each takes account of the phase's earlier
            pulls.
    """

    batch_growth: float = 0.1
    decisions: int = 4
    name: ClassVar[str] = "stableopt"
    stops_by_itself: ClassVar[bool] = False

    def begin(self) -> None:
        if self.settings.budget is None:
            raise InputError(
                'stableopt never stops by itself: give a budget, or use "prime", '
                "which stops when it is sure"
            )
        self.frame = Frame.of(self.problem, self.tally.scales)
        self.estimates: Estimates | None = None

    def next_counts(self) -> Counts | StopReason:
        if self.remaining < 1:
            return StopReason.NO_CERTIFICATE
        if self.estimates is None:
            return self._first_phase()
        pulls = int(min(max(1, self.batch_growth * self.samples), self.remaining))
        return decided(self._choose, self.estimates, self.tally.scales, pulls, self.decisions)

    def learn(self, outcome: Outcome) -> None:
        self.estimates = self.frame.estimate(self.tally.counts, self.tally.sums)
        self.beta = self._beta()
        lower, upper = self._bounds(self.estimates)
        surest = self.problem.worst_of(lower)
        known = np.isfinite(surest).any()
        self.leader = int(np.argmax(surest if known else self.estimates.robust_values))
        self.survivors = self.problem.worst_of(upper) >= surest.max()

    def _first_phase(self) -> Counts:
        weights = g_weights(self.problem, self.tally.scales)
        return round_design(weights, int(min(len(np.flatnonzero(weights)), self.remaining)))

    def _beta(self) -> float:
        if self.settings.rules == "paper":
            return math.sqrt(2 * math.log(self.problem.n_pairs / self.settings.delta))
        return self.tally.ellipsoid_radius

    def _bounds(self, estimates: Estimates) -> tuple[Array, Array]:
        """Return (n_pairs,) lcb and ucb."""
        finite = math.isfinite(self.beta)
        widths = self.beta * estimates.widths if finite else np.full(self.problem.n_pairs, np.inf)
        return estimates.means - widths, estimates.means + widths

    def _choose(self, estimates: Estimates, pulls: int) -> int:
        lower, upper = self._bounds(estimates)
        x = int(np.argmax(self.problem.worst_of(upper)))
        return self.problem.worst_pair(x, lower)
