"""AK-RSB: constrained selection of the best, in the manner of Andradóttir and Kim (2010)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from surefoot.algorithms.base import Proposal
from surefoot.algorithms.certified import question_of
from surefoot.algorithms.peers.base import positive
from surefoot.algorithms.peers.kn_rsb import KnRsb, reach_of
from surefoot.algorithms.verdict import StopReason
from surefoot.arrays import Array, IntArray
from surefoot.certify import Question
from surefoot.errors import InputError
from surefoot.limits import Limit
from surefoot.statistics import Outcome


class _Feasibility(NamedTuple):
    """The feasibility check of one limit.

    Attributes:
        limit: the limit.
        question: arms by the points of its output.
        reach: (n_points,) h² S² / ε of margins.
        fits, fails: (n_points,) what was declared first, for good.
    """

    limit: Limit
    question: Question
    reach: Array
    fits: NDArray[np.bool_]
    fails: NDArray[np.bool_]


@dataclass(eq=False)
class AkRsb(KnRsb):
    """Check limits and compare at the same time; only arms declared feasible drop others.

    The sum of a point's margins after r rounds declares it feasible above R(r) = max{0, (h² S² / ε
    − ε r) / 2} and infeasible below −R(r), whichever comes first. S² is the variance in the first
    stage, ε the limit's zone, h² = 2 η (n₀ − 1), η = ½ [(2β)^(−2 / (n₀ − 1)) − 1] and β = δ / (2 k
    p) for k arms of p points each, all limits together. An arm is infeasible once a point of it
    is, and feasible once all are. Comparisons are those of KN-RSB at δ / 2. This is the simplest
    form that is valid by Bonferroni's inequality, for any dependence between outputs: every sum of
    pairs or points goes on from the first round, and its first exit counts.

    It promises the best of the arms that keep all limits, with probability 1 − δ, *only if no arm's
    value is within ε of its limit, and the best that qualifies is ahead of all others that do by
    the zone or more*; that no arm qualifies only if none is within ε of its limit. Rewards and
    outputs are normal, of any variances. Without limits it is KN-RSB.

    Attributes:
        limit_zone: ε, in the unit of the outputs: one number for all limits.
    """

    limit_zone: float | None = None
    name: ClassVar[str] = "ak-rsb"
    supports: ClassVar[frozenset[str]] = KnRsb.supports | {"limits"}

    def begin(self) -> None:
        super().begin()
        self.checks: list[_Feasibility] | None = None
        self.feasible = np.full(self.problem.n_arms, not self.settings.limits)
        for limit in self.settings.limits:
            positive(self.name, "limit_zone", self.limit_zone)
            if limit.noise.kind not in self.noises:
                raise InputError(
                    f"{self.name} is not made for {limit.noise.kind} noise of {limit.output!r}: "
                    'give Gaussian(), or use "prime"'
                )

    def next_counts(self) -> Proposal | StopReason:
        alive = self.survivors
        if not alive.any():
            return StopReason.NONE_FEASIBLE
        if alive.sum() == 1 and self.feasible[alive].all():
            return StopReason.INDIFFERENCE_ZONE
        found = super().next_counts()  # a reason: one arm is left, and not declared feasible yet
        return self.next_round() if isinstance(found, StopReason) else found

    def learn(self, outcome: Outcome) -> None:
        if self.checks is None:
            self.checks = [self._begun(limit, outcome) for limit in self.settings.limits]
        for check in self.checks:
            self._look(check)
        self.feasible = self._kept() if self.checks else self.feasible
        self.survivors &= ~self._missed()
        if self.survivors.any():
            super().learn(outcome)
            shown = self.survivors & self.feasible
            among = shown if shown.any() else self.survivors
            self.leader = int(np.argmax(np.where(among, self.values, -np.inf)))

    def beaten(self, alive: IntArray) -> NDArray[np.bool_]:
        """Return (n,) whether another of these arms, one that is declared feasible, is ahead."""
        return np.array([any(self._ahead(one, arm) for one in alive) for arm in alive])

    def _ahead(self, one: int, arm: int) -> bool:
        """Return whether every point of a feasible arm is ahead of some point of another."""
        if one == arm or not self.feasible[one]:
            return False
        mine, theirs = (slice(*self.offsets[each : each + 2]) for each in (one, arm))
        return bool(self.ahead[mine, theirs].any(axis=1).all())

    @property
    def compared_at(self) -> float:
        return self.settings.delta / (2 if self.settings.limits else 1)

    def _begun(self, limit: Limit, outcome: Outcome) -> _Feasibility:
        """Begin a check by the variances of the first stage."""
        question = question_of(self.problem, limit.measure, np.inf)
        values = question.points.dot(limit.margins_of(outcome).batch_sums.T).T
        zone = positive(self.name, "limit_zone", self.limit_zone)
        points = sum(
            int(np.diff(question_of(self.problem, each.measure, np.inf).offsets).max())
            for each in self.settings.limits
        )
        beta = self.settings.delta / (2 * self.problem.n_arms * points)
        reach = reach_of(beta, self._first) * values.var(axis=0, ddof=1) / zone
        none = np.zeros(len(reach), dtype=bool)
        return _Feasibility(limit, question, reach, none, none.copy())

    def _look(self, check: _Feasibility) -> None:
        """Declare points feasible or infeasible, those that are open and still pulled."""
        limit, other = check.limit, self.tally.others[check.limit.output]
        margins = limit.sign * (other.sums - limit.value * other.counts)
        sums = check.question.points.dot(margins[:, None])[:, 0]
        alive = np.repeat(self.survivors, np.diff(check.question.offsets))
        zone = positive(self.name, "limit_zone", self.limit_zone)
        bound = np.maximum(0.0, (check.reach - zone * self.rounds) / 2)
        open_ = alive & ~check.fits & ~check.fails
        check.fits[open_ & (sums > bound)] = True
        check.fails[open_ & ~check.fits & (sums < -bound)] = True

    def _kept(self) -> NDArray[np.bool_]:
        """Return (n_arms,) whether all points of all outputs are feasible."""
        found = np.ones(self.problem.n_arms, dtype=bool)
        for check in self.checks or ():
            found &= np.logical_and.reduceat(check.fits, check.question.offsets[:-1])
        return found

    def _missed(self) -> NDArray[np.bool_]:
        """Return (n_arms,) whether a point of some output is infeasible."""
        found = np.zeros(self.problem.n_arms, dtype=bool)
        for check in self.checks or ():
            found |= np.logical_or.reduceat(check.fails, check.question.offsets[:-1])
        return found
