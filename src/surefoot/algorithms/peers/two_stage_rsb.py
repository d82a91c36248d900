"""Two-stage robust selection of the best, in the manner of Fan, Hong and Zhang (2020)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from scipy import special

from surefoot.algorithms.peers.base import Peer, positive, whole
from surefoot.algorithms.peers.rinott import rinott_constant
from surefoot.algorithms.reasons import StopReason
from surefoot.errors import InputError
from surefoot.statistics import Counts, Outcome

Rule = Literal["additive", "multiplicative", "one-sample"]


@dataclass(eq=False)
class TwoStageRsb(Peer):
    """Pull every pair n₀ times; their variances say how often each must be pulled in all; select.

    With k arms and m perturbations of each, N_ij = max{n₀, ⌈4 h² S²_ij / zone²⌉}, where h is
    Rinott's constant of two systems at 1 − β, and β = δ / (k + m − 2) (additive: m − 1 comparisons
    within the best arm, k − 1 with the others) or δ / (km − 1) (multiplicative). "one-sample"
    compares every mean with its own expectation, as Stein (1945) did: β = δ / (k + m − 1) and N_ij
    = max{n₀, ⌈(2 t S_ij / zone)²⌉}, t the quantile of Student's law at 1 − β.

    It promises the best arm with probability 1 − δ *only if its worst case is ahead of all others
    by the zone or more*; normal, independent rewards, of any variances. The counts are
    reconstructed from the idea; the original's could not be checked.

    Attributes:
        zone: the indifference zone, in the unit of the rewards.
        rule: "additive", "multiplicative" or "one-sample".
        first_pulls: n₀.
    """

    zone: float | None = None
    rule: Rule = "additive"
    first_pulls: int = 20
    name: ClassVar[str] = "two-stage-rsb"
    noises: ClassVar[tuple[str, ...]] = ("gaussian",)

    def begin(self) -> None:
        self._zone = positive(self.name, "zone", self.zone)
        self._first = whole(self.name, "first_pulls", self.first_pulls, 2)
        if self.rule not in ("additive", "multiplicative", "one-sample"):
            raise InputError(
                f'rule={self.rule!r:.60} is not known: choose "additive", "multiplicative" or '
                '"one-sample"'
            )

    def next_counts(self) -> Counts | StopReason:
        if not self.history:
            return np.full(self.problem.n_pairs, self._first)
        missing = self._wanted() - self.tally.counts
        if len(self.history) == 1 and missing.any():
            return missing
        self.only(self.leader)
        return StopReason.INDIFFERENCE_ZONE

    def learn(self, outcome: Outcome) -> None:
        if not hasattr(self, "_variances"):
            self._variances = self.tally.scatter / (self._first - 1)
        self.lead()

    def _wanted(self) -> Counts:
        """(n_pairs,) pulls in all."""
        factor = (2 * self._quantile() / self._zone) ** 2
        wanted = np.ceil(factor * self._variances).astype(np.int64)
        return np.asarray(np.maximum(wanted, self._first))

    def _quantile(self) -> float:
        """h, or t."""
        n_arms, delta = self.problem.n_arms, self.settings.delta
        most = int(np.diff(self.problem.offsets).max())
        if self.rule == "one-sample":
            beta = delta / (n_arms + most - 1)
            return float(special.stdtrit(self._first - 1, 1 - beta))
        additive, multiplicative = n_arms + most - 2, self.problem.n_pairs - 1
        comparisons = additive if self.rule == "additive" else multiplicative
        return rinott_constant(2, self._first, 1 - delta / max(comparisons, 1))
