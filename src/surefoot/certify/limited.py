"""Limits: the best arm of those that qualify, by certifiers of the same pulls' outputs.

An output is seen as a margin: by how much it is on the right side of its limit. An arm qualifies if
the value of every output, the least margin of its points, is 0 or more. Beside the objective each
limit has two certifiers of the one theorem:

    unfit  the constant 0 challenges arms: only the best qualifying arm needs protection
    fit    the constant 0 challenges the negated margins of single points, less the slack: an arm
           whose points have all been eliminated is *shown* to qualify, to within the slack

In the objective an arm's challenge counts in full once the arm is shown. docs/certificate.md has
the proof that all errors together have probability δ at most.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from surefoot.arrays import Array, IntArray
from surefoot.certify.boundary import Boundary
from surefoot.certify.certifier import Certifier, Commitment, Lower, Uses
from surefoot.certify.contrast import Claims, Question
from surefoot.certify.score import Scores
from surefoot.errors import InputError
from surefoot.statistics import Outcome, Phase, shifted

ABOVE = 1 + 1e-9  # rounding of a sum of levels


class LimitedBoundary(Boundary):
    """The boundaries of an objective and of limits, with the level of each.

    Attributes:
        parts: of the objective; of arms shown to qualify, None where that makes no difference; and
            for each limit of the unfit and of the fit ones.
        deltas: the level of each; that of shown arms and of fit ones is for each arm.
    """

    def __init__(self, parts: Sequence[Boundary | None], deltas: Sequence[float]) -> None:
        fit = len(parts) == len(deltas) >= 4 and not len(parts) % 2
        if not fit or parts[0] is None or None in parts[2:]:
            raise InputError("limits need two boundaries each, beside two of the objective")
        self.parts, self.deltas = tuple(parts), tuple(map(float, deltas))
        self.objective = parts[0]
        self.times, self.level = self.objective.times, self.objective.level

    def spent(self, n_arms: int) -> float:
        """Return the probability of any error, for so many arms."""
        objective, shown = self.deltas[:2]
        several = shown * n_arms if self.parts[1] is not None else 0.0
        return objective + several + sum(self.deltas[2::2]) + n_arms * max(self.deltas[3::2])

    def check(self, delta: float) -> None:
        self.objective.check(delta)

    def strength(self, places: IntArray, walk: Array) -> Array:
        return self.objective.strength(places, walk)

    def p_value(self, strength: float, group: int = 0) -> float:
        return self.objective.p_value(strength, group)


@dataclass(frozen=True, eq=False)
class Limited:
    """An output that has a limit.

    Attributes:
        name: of the output.
        limit, sign: margins are sign (y − limit).
        slack: by how much an arm that is shown to qualify may miss the limit.
        question: arms by the points of this output.
        unfit, fit: rules of the noise of margins, and of their negatives less the slack.
    """

    name: str
    limit: float
    sign: int
    slack: float
    question: Question
    unfit: Scores
    fit: Scores

    def margins(self, outcome: Outcome) -> Outcome:
        """Return the margins of the output."""
        return shifted(outcome.others[self.name], self.limit, self.sign)

    def shortfalls(self, outcome: Outcome) -> Outcome:
        """Return the negated margins, less the slack."""
        zero = self.limit - self.sign * self.slack
        return shifted(outcome.others[self.name], zero, -self.sign)


class LimitedCertifier(Certifier):
    """The certifier of an objective among arms that qualify.

    Attributes:
        limited: the outputs that have limits.
        unfit_by, fit_by: their certifiers; the last arm of each is the constant.
        shown: (n_arms,) arms that are shown to qualify.
        unfit: (n_arms,) arms that are shown not to.
    """

    def __init__(
        self,
        question: Question,
        scores: Scores,
        boundary: LimitedBoundary,
        limited: Sequence[Limited],
        *,
        delta: float,
        tolerance: float = 0.0,
    ) -> None:
        n, (parts, deltas) = question.n_arms, (boundary.parts, boundary.deltas)
        if len(parts) != 2 * len(limited) + 2 or not boundary.spent(n) <= ABOVE * delta:
            raise InputError(f"the boundaries of limits spend more than delta = {delta:g}")
        strict = parts[1]
        if strict is None and any(each.slack for each in limited):
            raise InputError("with slack, arms that are shown to qualify need their own boundary")
        if strict is not None:
            strict.check(deltas[1])
            if not np.array_equal(strict.times, boundary.times):
                raise InputError("the boundaries of an objective need one grid")
        super().__init__(
            question,
            scores,
            boundary.objective,
            delta=deltas[0],
            tolerance=tolerance,
            strict=strict,
        )
        self.limited, self.whole = tuple(limited), boundary
        self.unfit_by, self.fit_by = list[Certifier](), list[Certifier]()
        for k, each in enumerate(limited):
            same = each.question.n_arms == n and each.question.averages
            if not same or not 0 <= each.slack < np.inf:
                raise InputError(
                    f"{each.name}: give the same arms, means and no model, a slack >= 0"
                )
            for by, rule, place, asked in (
                (self.unfit_by, each.unfit, 2 * k + 2, each.question),
                (self.fit_by, each.fit, 2 * k + 3, each.question.each_point()),
            ):
                bound = parts[place]
                assert bound is not None
                by.append(Certifier(asked.beside_zero(), rule, bound, delta=deltas[place]))
        self.shown, self.unfit = np.zeros((2, n), dtype=bool)
        self.walks.counted[:] = False

    @property
    def parts(self) -> list[Certifier]:
        """The certifiers of the limits: unfit and fit of each."""
        return [each for both in zip(self.unfit_by, self.fit_by, strict=True) for each in both]

    def commit(
        self,
        phase: Phase,
        claims: Sequence[Claims] = (),
        variances: Array | None = None,
        others: Sequence[Uses] = (),
    ) -> Commitment:
        """Fix the claims of a phase; see `Certifier.commit`.

        Args:
            others: the claims of `parts`; left out where they do not use the phase.
        """
        parts = self.parts
        if others and len(others) != len(parts):
            raise InputError(f"{len(parts)} certifiers of limits need as many uses of a phase")
        uses = others or [Uses()] * len(parts)
        constants = [part.question.n_arms - 1 for part in parts]
        for constant, use in zip(constants, uses, strict=True):
            if any(each.challenger != constant for each in use.claims):
                raise InputError("arms are held against limits by the constant alone")
        beside = [part._fixed(phase, *use) for part, use in zip(parts, uses, strict=True)]
        mine = self._fixed(phase, claims, variances)  # all is checked before anything is fixed
        begun = [part._begin(each) for part, each in zip(parts, beside, strict=True)]
        return self._begin(mine, tuple(begun))

    def update(
        self, commitment: Commitment, outcome: Outcome, lower: Lower | None = None
    ) -> list[Array | None]:
        """Score the oldest open commitment: limits first, then the objective.

        Returns:
            The limits of sums, for each of `Commitment.scored`.
        """
        outcome = replace(self._own(self._oldest(commitment), outcome), others=outcome.others)
        seen = list[Outcome]()
        for each in self.limited:
            if each.name not in outcome.others:
                raise InputError(f"the outcome has no {each.name}, which has a limit")
            seen += each.margins(outcome), each.shortfalls(outcome)
        beside = zip(self.parts, commitment.others, seen, strict=True)
        counts = [part._score(made, own, lower) for part, made, own in beside]
        objective = self._score(commitment, outcome, lower)  # all is scored before anything counts
        lowered = [limit for count in counts for limit in count()]
        self.shown |= self._fit() & self.survivors
        self.walks.count(self.shown)
        self.unfit |= self._missed() & ~self.shown
        return [*lowered, *objective()]

    def _fit(self) -> NDArray[np.bool_]:
        """Return (n_arms,) whether all points of all outputs have been eliminated."""
        found = np.ones(self.question.n_arms, dtype=bool)
        for each, fit in zip(self.limited, self.fit_by, strict=True):
            gone = ~fit.survivors[:-1]
            found &= np.logical_and.reduceat(gone, each.question.offsets[:-1])
        return found

    def _missed(self) -> NDArray[np.bool_]:
        """Return (n_arms,) whether the constant has eliminated an arm in any output."""
        gone = [~unfit.survivors[:-1] for unfit in self.unfit_by]
        return np.asarray(np.logical_or.reduce(gone))

    @property
    def survivors(self) -> NDArray[np.bool_]:
        """(n_arms,) arms that may be the best of those that qualify."""
        return self.walks.survivors & ~self.unfit

    @property
    def nobody(self) -> bool:
        """True if every arm is shown not to qualify."""
        return bool(self.unfit.all())

    def answer(self, preferred: int = 0) -> int | None:
        """Return an arm that is certified: shown to qualify, without a rival left."""
        arms = np.flatnonzero(self.shown & self.survivors).tolist()
        arms.sort(key=lambda arm: arm != preferred)
        return next((arm for arm in arms if not self.rivals(arm).any()), None)
