"""Two-stage robust selection of the best, in the manner of Fan, Hong and Zhang (2020)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from scipy import special

from surefoot.algorithms.peers.base import Peer, positive, whole
from surefoot.algorithms.peers.rinott import rinott_constant
from surefoot.algorithms.verdict import StopReason
from surefoot.errors import InputError
from surefoot.statistics import Counts, Outcome

Rule = Literal["additive", "multiplicative", "one-sample", "direct"]
RULES: tuple[Rule, ...] = ("additive", "multiplicative", "one-sample", "direct")


@dataclass(eq=False)
class TwoStageRsb(Peer):
    """Pull every pair n₀ times; their variances say how often each must be pulled in all; select.

    With k arms and m perturbations of each, N_ij = max{n₀, ⌈4 h² S²_ij / zone²⌉}, where h is
    Rinott's constant of two systems at 1 − β, and β = δ / (k + m − 2) (additive: m − 1 comparisons
    within the best arm, k − 1 with the others) or δ / (km − 1) (multiplicative). "one-sample"
    compares every mean with its own expectation, as Stein (1945) did: β = δ / (k + m − 1) and N_ij
    = max{n₀, ⌈(2 t S_ij / zone)²⌉}, t the quantile of Student's law at 1 − β. "direct" compares the
    true worst pair of every rival with every pair of the best arm, as KN-RSB does: β = δ /
    ((k − 1) m), and N_ij = max{n₀, ⌈h² S²_ij / zone²⌉} without the factor 4, for here the whole
    zone lies between the two.

    With probability 1 − δ every rival that is worse than the best by more than the zone is behind
    it, *whatever the gaps*: good selection, and the best arm if it is ahead of all others by the
    zone. Normal, independent rewards, of any variances. The first three counts are reconstructed
    from the idea, the original's could not be checked; the last is ours.

    Attributes:
        zone: the indifference zone, in the unit of the rewards.
        rule: "additive", "multiplicative", "one-sample" or "direct".
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
        if self.rule not in RULES:
            names = ", ".join(f'"{rule}"' for rule in RULES)
            raise InputError(f"rule={self.rule!r:.60} is not known: choose {names}")

    def next_counts(self) -> Counts | StopReason:
        if not self.history:
            return np.full(self.problem.n_pairs, self._first)
        missing = self._wanted() - self.tally.counts
        if len(self.history) == 1 and missing.any():
            return missing
        self.only(self.leader)
        return StopReason.WITHIN_ZONE

    def learn(self, outcome: Outcome) -> None:
        if not hasattr(self, "_variances"):
            self._variances = self.tally.scatter / (self._first - 1)
        self.lead()

    def _wanted(self) -> Counts:
        """Return (n_pairs,) pulls in all."""
        half = 1 if self.rule == "direct" else 2  # a mean may be off by the zone, or half of it
        factor = (half * self._quantile() / self._zone) ** 2
        wanted = np.ceil(factor * self._variances).astype(np.int64)
        return np.asarray(np.maximum(wanted, self._first))

    def _quantile(self) -> float:
        """Return h, or t."""
        n_arms, delta = self.problem.n_arms, self.settings.delta
        most = int(np.diff(self.problem.offsets).max())
        if self.rule == "one-sample":
            beta = delta / (n_arms + most - 1)
            return float(special.stdtrit(self._first - 1, 1 - beta))
        comparisons = {
            "additive": n_arms + most - 2,
            "multiplicative": self.problem.n_pairs - 1,
            "direct": (n_arms - 1) * most,
        }[self.rule]
        return rinott_constant(2, self._first, 1 - delta / max(comparisons, 1))
