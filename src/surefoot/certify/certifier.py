"""The certifier: commitments before a phase, and the proofs from its rewards.

`commit` is the only way to a score, so that no choice can follow the rewards. Under the
assumptions of the noise and of the trust, the best arm is ever eliminated with probability δ at
most, for any choice of phases, claims and clocks, and any lowering of scores.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from surefoot.arrays import Array, IntArray, fixed, fixed_integers
from surefoot.certify.boundary import Boundary
from surefoot.certify.contrast import RANK, Claims, Contrasts, Pulled, Question, contrasts
from surefoot.certify.score import LARGEST, Scores, repeating
from surefoot.certify.walk import PLAIN, Walks
from surefoot.errors import InputError
from surefoot.statistics import Outcome, Phase

Lower = Callable[[Claims, Array, Contrasts, Array], Array | None]


class Uses(NamedTuple):
    """The use that one of several certifiers has for a phase: claims, and variances as guessed."""

    claims: Sequence[Claims] = ()
    variances: Array | None = None


@dataclass(frozen=True, eq=False)
class Commitment:
    """The choices that were fixed before a phase. Only `Certifier.commit` makes one that counts.

    Attributes:
        phase: the pulls, batches and streams.
        claims: what the phase is to prove; an arm is tested by one challenger at most.
        variances: (n_pairs,) of single pulls, as guessed; None where scales are given.
        others: of the certifiers that look at other outputs of the same pulls.
    """

    phase: Phase
    claims: tuple[Claims, ...]
    variances: Array | None = None
    others: tuple[Commitment, ...] = ()

    @property
    def uses(self) -> tuple[Sequence[Claims], Array | None, tuple[Uses, ...]]:
        """The arguments of `Certifier.commit` beside the phase."""
        others = tuple(Uses(each.claims, each.variances) for each in self.others)
        return self.claims, self.variances, others

    @property
    def scored(self) -> tuple[Claims, ...]:
        """All claims in the order in which they are scored: those on other outputs first."""
        return (*(claims for each in self.others for claims in each.claims), *self.claims)


class Scored(NamedTuple):
    """The contrasts of some claims in one phase.

    Attributes:
        claims: what was committed.
        said: the contrasts.
        less: (n_own, n_tested) reduction of the sums of scores by doubt.
    """

    claims: Claims
    said: Contrasts
    less: Array


class Certifier:
    """Eliminates arms that are not best, with probability 1 − δ never the best one.

    Attributes:
        question: the points compared, and the trust in a model.
        scores: the rules of the noise.
        walks: the evidence so far.
        delta, tolerance: of the answer.
        leader: the last challenger of a commitment; None before the first.
    """

    def __init__(
        self,
        question: Question,
        scores: Scores,
        boundary: Boundary,
        *,
        delta: float,
        tolerance: float = 0.0,
        strict: Boundary | None = None,
    ) -> None:
        if not 0 < delta < 1 or not 0 <= tolerance < np.inf:
            raise InputError(f"delta={delta} must be between 0 and 1, tolerance={tolerance} finite")
        if scores.scales.shape != (question.n_pairs,):
            raise InputError(f"{question.n_pairs} pairs need as many scales of their noise")
        if not all(isinstance(each, scores.boundaries) for each in (boundary, strict or boundary)):
            kinds = " or ".join(kind.__name__ for kind in scores.boundaries)
            raise InputError(f"{type(scores).__name__} need a boundary of another kind: {kinds}")
        if scores.bets and not question.averages:
            raise InputError("a wealth compares means of pairs, without a model: weights of sum 1")
        if question.most is not None and not scores.adds_up:
            raise InputError("mixtures of points need scores that add up: noise of known scales")
        boundary.check(delta)
        self.question, self.scores = question, scores
        self.delta, self.tolerance = float(delta), float(tolerance)
        self._shifts = (0.0, tolerance) if tolerance > 0 else (0.0,)
        n_kinds = len(self._shifts)
        self.walks = Walks(question.offsets, boundary, n_kinds, strict, question.most)
        self._promised = self.walks.places.copy()
        self._open: deque[tuple[Commitment, Commitment]] = deque()  # as shown, and as it counts
        self._counts, self._sums = np.zeros((2, question.n_pairs))
        self._taken: list[tuple[Commitment, Outcome, Array, list[Array]]] = []
        self.leader: int | None = None

    def commit(
        self,
        phase: Phase,
        claims: Sequence[Claims] = (),
        variances: Array | None = None,
        others: Sequence[Uses] = (),
    ) -> Commitment:
        """Fix the claims of a phase before its rewards are known.

        Raises:
            InputError: a score of it would not have the law that the proof needs. Nothing is fixed.
        """
        if others:
            raise InputError("claims on other outputs need limits, and there are none")
        return self._begin(self._fixed(phase, claims, variances))

    def _fixed(self, phase: Phase, claims: Sequence[Claims], variances: Array | None) -> Commitment:
        """Return a validated, immutable commitment."""
        rule, n_pairs, n_points = self.scores, self.question.n_pairs, self.question.offsets[-1]
        index, batches = fixed_integers([phase.index, phase.batches]).tolist()
        counts, shared = fixed_integers(phase.counts), bool(phase.shared)
        phase = replace(phase, index=index, counts=counts, batches=batches, shared=shared)
        claims = tuple(each.fixed(n_points) for each in claims)
        if phase.index != len(self._taken) + len(self._open):
            raise InputError(f"phase {phase.index} is not the next: phases are numbered from 0")
        if phase.counts.shape != (n_pairs,) or not (phase.counts >= 0).all():
            raise InputError(f"a phase needs {n_pairs} counts, none below 0")
        for each in claims:
            self.question.check(each)
            self._check(each)
        arms = [arm for each in claims for arm in each.arms.tolist()]
        if len(set(arms)) < len(arms):
            raise InputError("an arm can be tested by one challenger in a phase")
        if arms and phase.shared and not rule.least_batches:
            raise InputError("claims on shared streams need batches: this noise has none")
        if arms and phase.batches < rule.least_batches:
            raise InputError(f"claims need {rule.least_batches} batches or more")
        guess = None
        if rule.guesses and arms:
            guess = fixed(0.0 if variances is None else variances)
            if guess.shape != (n_pairs,) or not 0 < guess.min() <= guess.max() < np.inf:
                raise InputError(f"claims need a guess of {n_pairs} variances of pairs, above 0")
        return Commitment(phase, claims, guess)

    def _begin(self, mine: Commitment, others: tuple[Commitment, ...] = ()) -> Commitment:
        """Open a commitment, and return it as it is shown."""
        shown = replace(deepcopy(mine), others=others)
        for each in mine.claims:
            self._promised[each.arms], self.leader = each.clocks, each.challenger
        self._open.append((shown, mine))
        return shown

    def _check(self, claims: Claims) -> None:
        """Refuse invalid clocks and stakes."""
        n, clocks, old = len(self.walks.boundary.times), claims.clocks, self._promised[claims.arms]
        if clocks.shape != old.shape or not ((np.maximum(old, 0) <= clocks) & (clocks < n)).all():
            raise InputError(f"clocks never go back: give each arm a later one of {n} points")
        if self.scores.loss is not None and self.question.points.sizes[claims.points].any():
            raise InputError("these bets are of a constant alone: no other arm can challenge")
        if self.scores.bets and claims.stakes is None:
            raise InputError("claims need guesses that stakes follow from: give them")

    def update(
        self, commitment: Commitment, outcome: Outcome, lower: Lower | None = None
    ) -> list[Array | None]:
        """Score the oldest open commitment, and eliminate arms.

        Args:
            lower: gives limits of a challenger's sums, one for each of its scores, from copies of
                its claims, scores, contrasts and the factors of its scores; see `Walks.add`. Any
                rule is allowed.

        Returns:
            The limits, for each of the claims.
        """
        return self._score(commitment, outcome, lower)()

    def _score(
        self, commitment: Commitment, outcome: Outcome, lower: Lower | None
    ) -> Callable[[], list[Array | None]]:
        """Score the oldest open commitment, and return a function that counts its scores."""
        mine = self._oldest(commitment)
        outcome, centre = self._own(mine, outcome), self._centre()
        scored, limits = list[tuple[Claims, Array]](), list[Array | None]()
        for claims in mine.claims:
            with np.errstate(over="ignore", invalid="ignore"):  # NaN counts against
                said = self._contrasts(mine, claims, outcome, centre)
                found = np.stack([self.scores.scores(said, shift) for shift in self._shifts])
            scores = np.clip(np.where(np.isnan(found), -LARGEST, found), -LARGEST, LARGEST)
            root = self.walks.boundary.root(self.walks.places[claims.arms], claims.clocks)
            scored.append((claims, scores))
            limit = lower and lower(*deepcopy((claims, scores, said, root)))
            if limit is not None and np.shape(limit) != scores.shape:
                raise InputError(f"limits of shape {np.shape(limit)} for {scores.shape} sums")
            limits.append(None if limit is None else fixed(limit))

        def count() -> list[Array | None]:
            """Add scores up, and eliminate arms."""
            self._oldest(commitment)  # the rule may have had it counted meanwhile
            both = zip(scored, limits, strict=True)
            less = [self.walks.add(*each, limit)[PLAIN] for each, limit in both]
            if less:
                self.walks.look()
            self._counts, self._sums = self._counts + outcome.counts, self._sums + outcome.sums
            self._open.popleft()
            self._taken.append((mine, outcome, centre, less))
            return limits

        return count

    def _oldest(self, commitment: Commitment) -> Commitment:
        """Return the part of the oldest open commitment that counts."""
        if not self._open or commitment is not self._open[0][0]:
            raise InputError("phases are scored in the order in which they were committed")
        return self._open[0][1]

    def _own(self, commitment: Commitment, outcome: Outcome) -> Outcome:
        """Return a validated, immutable copy of a commitment's outcome."""
        phase = commitment.phase
        sums, scatter, batches = map(fixed, (outcome.sums, outcome.scatter, outcome.batch_sums))
        if outcome.phase != phase.index or not np.array_equal(outcome.counts, phase.counts):
            raise InputError("the outcome holds other pulls than were committed")
        if not all(np.isfinite(each).all() for each in (sums, scatter, batches)):
            raise InputError("the outcome holds rewards that are no finite numbers")
        if self.scores.least_batches and commitment.claims and len(batches) != phase.batches:
            raise InputError(f"the outcome has {len(batches)} batches, not {phase.batches}")
        return Outcome(phase.index, phase.counts, sums, scatter, batches)

    def _contrasts(
        self, commitment: Commitment, claims: Claims, outcome: Outcome, centre: Array
    ) -> Contrasts:
        phase, rule, question = commitment.phase, self.scores, self.question
        pairs = np.flatnonzero(phase.counts >= max(phase.batches * (rule.least_batches > 0), 1))
        variances = rule.scales**2 if commitment.variances is None else commitment.variances
        each = 1 / phase.counts[pairs]
        pulled = Pulled(pairs, variances[pairs] * each, centre)
        means = rule.means(outcome, pairs, phase.shared)
        sizes = np.minimum(np.abs(means).max(axis=0), LARGEST)
        noise = np.stack([pulled.variances, each, repeating(outcome, pairs), sizes**2])
        said = contrasts(question, claims, pulled, means, noise)
        return said._replace(
            variances=said.variances[:2],
            spread=rule.spread(question, pulled, outcome),
            stakes=claims.stakes,
            varied=said.variances[2] == 0,
            size=np.sqrt(said.variances[3]),
        )

    def _centre(self) -> Array:
        """Fit θ to the phases before: what is new in rewards then keeps its digits."""
        if np.isinf(self.question.misfit):
            return np.zeros(0)
        pulled, basis = np.flatnonzero(self._counts), self.question.basis
        weights = np.sqrt(self._counts[pulled])
        rows, sums = basis[pulled] * weights[:, None], self._sums[pulled] / weights
        return np.asarray(np.linalg.lstsq(rows, sums, rcond=RANK)[0])

    @property
    def open(self) -> tuple[Commitment, ...]:
        """Commitments whose rewards are not known, the oldest first."""
        return tuple(shown for shown, _ in self._open)

    @property
    def promised(self) -> IntArray:
        """(n_arms,) the grid points where clocks will be after all open commitments."""
        return self._promised.copy()

    @property
    def survivors(self) -> NDArray[np.bool_]:
        """(n_arms,) arms that may be best."""
        return self.walks.survivors.copy()

    def rivals(self, leader: int) -> NDArray[np.bool_]:
        """Return (n_arms,) arms that may be better than the leader by more than the tolerance."""
        rivals = self.survivors & ~self.walks.near.get(leader, np.zeros_like(self.survivors))
        rivals[leader] = False
        return rivals

    def answer(self, preferred: int = 0) -> int | None:
        """Return an arm that is certified: no other survivor may be better beyond the tolerance."""
        arms = np.flatnonzero(self.survivors).tolist()
        if len(arms) > 1:  # then one that has shown others to be no better
            arms = sorted(arm for arm in self.walks.near if self.survivors[arm])
        arms.sort(key=lambda arm: arm != preferred)
        return next((arm for arm in arms if not self.rivals(arm).any()), None)

    def scored(self) -> list[list[Scored]]:
        """Score all phases again, for questions other than elimination."""
        found: list[list[Scored]] = []
        for mine, outcome, centre, less in self._taken:
            said = [self._contrasts(mine, each, outcome, centre) for each in mine.claims]
            found.append(list(map(Scored, mine.claims, said, less)))
        return found

    def confidence(self, leader: int) -> Callable[[], float]:
        """Return a function that computes how sure rewards make one now, whenever it is called,
        that the leader is best within the tolerance.

        It is one minus the largest p-value of the other arms, at most δ for those that are out.
        """
        if not self.survivors[leader]:
            return lambda: 0.0
        rivals, others = self.rivals(leader), np.arange(self.question.n_arms) != leader
        weakest = [self.walks.weakest(leader, arms) for arms in (rivals, others & ~rivals)]

        def confidence() -> float:
            p_value = self.walks.boundary.p_value
            rival, out = (max((p_value(*each) for each in arms), default=0.0) for arms in weakest)
            return 1 - max(rival, min(self.delta, out))

        return confidence
