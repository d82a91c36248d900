"""Planners: algorithms that only choose, and are certified by the kernel."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from surefoot.algorithms.base import Algorithm, Proposal
from surefoot.algorithms.certified import (
    certifier_for,
    clock_boundary,
    completed,
    conclusion,
    in_one_unit,
    limited_boundary,
)
from surefoot.algorithms.settings import Settings
from surefoot.algorithms.tally import Tally
from surefoot.algorithms.unseen import pulls_beyond, pulls_for
from surefoot.algorithms.verdict import Known, StopReason, Verdict
from surefoot.arrays import Array, IntArray
from surefoot.certify import (
    Boundary,
    Certifier,
    Claims,
    Commitment,
    LimitedCertifier,
    Question,
    Rows,
    Stakes,
    Uses,
)
from surefoot.certify.contrast import Contrasts
from surefoot.doubt import Doubt, NormalityPenalty
from surefoot.noise import Noise
from surefoot.problem.grouping import least_mixtures_of, places_of_smallest, smallest_of
from surefoot.problem.measures import values_of
from surefoot.problem.problem import RobustProblem
from surefoot.statistics import Counts, Outcome, Phase

STEP = 2.0**-10  # of shares
BITS = 7  # of guesses
LIMIT_BITS = 14
TINY = 1e-12  # share of a mixture that is rounding


def _coarse(values: Array) -> Array:
    """Return values of a few significant bits, the nearest."""
    mantissa, exponent = np.frexp(values)
    return np.asarray(np.ldexp(np.rint(np.ldexp(mantissa, BITS)), exponent - BITS))


def _coarse_limits(limits: Array) -> Array:
    """Round limits down to a few significant bits."""
    mantissa, exponent = np.frexp(limits)
    return np.asarray(np.ldexp(np.floor(np.ldexp(mantissa, LIMIT_BITS)), exponent - LIMIT_BITS))


def _coarse_claims(claims: Claims, mixed: bool) -> Claims:
    """Round the guesses of claims, and their shares unless these have limits."""
    stakes = claims.stakes
    if stakes is not None:
        guesses = _coarse(stakes.means), _coarse(stakes.doubts), _coarse(stakes.variances)
        stakes = Stakes(*guesses, stakes.aim)
    shares = claims.shares if mixed else _coarse_shares(claims.shares)
    return claims._replace(shares=shares, stakes=stakes)


def _coarse_shares(shares: Rows) -> Rows:
    """Round shares; the largest of each row takes the remainder, so that they add up to 1."""
    if not len(shares.values):
        return shares
    n_rows, sizes = len(shares.sizes), shares.sizes
    row = np.repeat(np.arange(n_rows), sizes)
    rounded = STEP * np.rint(shares.values / STEP)
    order = np.lexsort((shares.values, row))
    filled = np.flatnonzero(sizes)
    largest = order[shares.starts[filled + 1] - 1]
    rounded[largest] += (1 - np.bincount(row, rounded, n_rows))[filled]
    kept = rounded > 0
    starts = np.concatenate([[0], np.cumsum(np.bincount(row[kept], minlength=n_rows))])
    return Rows(starts, shares.columns[kept], rounded[kept])


def _coarse_uses(uses: Uses, mixed: bool = False) -> Uses:
    """Round the numbers in the uses of a phase."""
    guessed = None if uses.variances is None else _coarse(uses.variances)
    return Uses([_coarse_claims(each, mixed) for each in uses.claims], guessed)


class Past(NamedTuple):
    """All that a planner may know.

    Attributes:
        problem, settings: the question.
        tally: counts, sums and scatter of all pulls so far, and estimates from them.
        certifier: the evidence so far; to be read, not changed.
        doubt: the shapes of the compared differences so far.
        remaining: pulls left in the budget.

    Of phases in flight all is known but their rewards: `certifier.open` holds them.
    """

    problem: RobustProblem
    settings: Settings
    tally: Tally
    certifier: Certifier
    doubt: Doubt | None
    remaining: float

    @property
    def places(self) -> IntArray:
        """(n_arms,) the grid point of each arm's clock after all phases in flight; or −1."""
        return self.certifier.promised

    @property
    def can_go_on(self) -> NDArray[np.bool_]:
        """(n_arms,) whether clocks have points of the grid left."""
        return can_go_on(self.certifier)

    def held(self, challenger: int) -> Array:
        """Return (n_arms, n_points) the walk as a challenger's points see it, ∞ if settled.

        Phases in flight are taken to go on as phases did so far: evidence grows like its clock.
        """
        walks = self.certifier.walks
        held, now, then = walks.held(challenger), walks.places, self.places
        times = walks.boundary.times
        begun = now >= 0
        pace = np.where(begun, times[then] / times[now], 1.0)
        return np.asarray(np.where(held > 0, held * pace[:, None], held))

    @property
    def led(self) -> int | None:
        """The last arm that challenged others; None before the first challenge."""
        return self.certifier.leader

    @property
    def means(self) -> Array:
        """(n_pairs,) mean rewards as the data say, by the model where one is trusted."""
        return self.tally.pair_means

    @property
    def point_means(self) -> Array:
        """(n_points,) of what arms are compared by; in the worst case points are pairs."""
        return self.certifier.question.points.dot(self.means[:, None])[:, 0]

    def challenge(
        self, challenger: int, counts: Counts, batches: int = 0, *, steps: int = 1
    ) -> list[Claims]:
        """Claim that all points of an arm beat every rival by the rival's lowest pulled point.

        In the worst case the points of an arm are its pairs; of a mean, each arm has one.

        Args:
            counts: (n_pairs,) of the phase; rivals without a pull are left out.
            batches: of the phase.
            steps: points of the grid by which clocks go on.

        Returns:
            The claims for a `Proposal`: empty if no arm can be tested.
        """
        question, places = self.certifier.question, self.places
        unpulled = question.points.dot((counts == 0)[:, None].astype(np.float64))[:, 0]
        low = np.where(unpulled > 0, np.inf, self.point_means)
        by = lowest_shares(question, low)
        seen = by.totals(by.values * unpulled[by.columns]) == 0
        last = len(self.certifier.walks.boundary.times) - 1
        tested = self.certifier.rivals(challenger) & self.can_go_on & seen
        arms = np.flatnonzero(tested)
        if not len(arms):
            return []
        own = np.arange(question.offsets[challenger], question.offsets[challenger + 1])
        shares = by.take(arms)
        deviation = np.array(0.0 if question.misfit == 0 else np.inf)
        stakes = self.stakes(own, shares.columns, counts // max(batches, 1))
        clocks = np.minimum(places[arms] + steps, last)
        return [Claims(challenger, own, arms, clocks, shares, deviation, stakes)]

    @property
    def pulls_asked(self) -> int:
        """Pulls of a pair before which it decides nothing: see `Settings.rarest`."""
        rarest = self.settings.rarest
        return 0 if rarest is None else pulls_for(rarest, self.settings.delta)

    @property
    def variances(self) -> Array:
        """(n_pairs,) estimated variances of single pulls, which claims under `Gaussian()` need."""
        return guessed_variances(self.settings.noise, self.tally)

    def stakes(self, own: IntArray, rivals: IntArray, size: Counts) -> Stakes | None:
        """Return guesses for bets on points against points, in batches of so many pulls.

        None where the noise has no bets.
        """
        if not self.certifier.scores.bets:
            return None
        points, means = self.certifier.question.points, self.point_means

        def across(values: Array) -> Array:
            each = points.dot(values[:, None], power=2)[:, 0]
            return np.asarray(each[own][:, None] + each[rivals])

        gaps = means[own][:, None] - means[rivals]
        doubts = np.sqrt(across(self.variances / np.maximum(self.tally.counts, 1)))
        batch = across(self.variances / np.maximum(size, 1))
        return Stakes(gaps, doubts, batch, 0.7 * self.settings.tolerance)


def can_go_on(certifier: Certifier) -> NDArray[np.bool_]:
    """Return (n_arms,) whether clocks have points of the grid left; those of bets never end."""
    last = len(certifier.walks.boundary.times) - 1
    return np.asarray((certifier.promised < last) | (last == 0))


def guessed_variances(noise: Noise, tally: Tally) -> Array:
    """Return (n_pairs,) variances of single pulls, as data say; 1 where they say nothing."""
    found = noise.variances(tally.scatter, tally.freedom)
    return np.where((found > 0) & np.isfinite(found), found, 1.0)


def lowest_shares(question: Question, point_means: Array) -> Rows:
    """Return (n_arms) rows of shares of each arm's points: its lowest point, or lowest mixture."""
    offsets, most = question.offsets, question.most
    if most is None:
        lowest = places_of_smallest(point_means, offsets)
        return Rows(np.arange(len(lowest) + 1), lowest, np.ones(len(lowest)))
    shares = least_mixtures_of(point_means, offsets, most)
    kept = shares > TINY
    sizes = np.add.reduceat(kept.astype(np.int64), offsets[:-1])
    return Rows(np.append(0, np.cumsum(sizes)), np.flatnonzero(kept), shares[kept])


class Planner(Algorithm):
    """An algorithm whose certificate comes from the kernel.

    Subclasses write `propose`. They may keep state in `begin_planning`, `committed` and `learned`,
    which a resumed study calls for all its phases, without asking for a proposal again.
    """

    supports: ClassVar[frozenset[str]] = frozenset(
        {
            "unknown scale",
            "in_flight",
            "no model",
            "tolerance",
            "misfit",
            "measure",
            "limits",
            "rarest",
            "unseen",
            "beat baseline",
        }
    )

    certifier: Certifier

    @abstractmethod
    def propose(self, past: Past) -> Proposal | StopReason | None:
        """Return the next phase, from the past alone, or the reason to stop.

        Return None, only while phases are in flight, to wait for the next outcome.
        """

    def begin_planning(self, past: Past) -> None:
        """Set up the state of a run."""

    def committed(self, past: Past, commitment: Commitment) -> None:
        """Take note of a phase that is to be pulled now, proposed by this planner or recalled."""

    def learned(self, past: Past, commitment: Commitment, outcome: Outcome) -> None:
        """Take note of an outcome; the past holds it already."""

    def make_boundary(self) -> Boundary:
        """Return the boundary of a new run, on whose grid clocks go on."""
        if self.settings.limits:
            return limited_boundary(self.settings, self.problem.n_arms)
        return clock_boundary(self.settings)

    def suspicion(self) -> NormalityPenalty:
        """Return how far shapes are doubted that were seen in few batches."""
        return NormalityPenalty()

    def begin(self) -> None:
        settings, problem = self.settings, self.problem
        boundary = self.given_boundary or self.make_boundary()
        self.certifier = certifier_for(problem, settings, boundary)
        self.doubt, self.doubts = None, list[Doubt | None]()
        if self.certifier.scores.guesses:
            paired = not settings.modelled and settings.worst_case
            offsets, tolerance = self.certifier.question.offsets, settings.tolerance
            self.doubt = Doubt(offsets, paired, tolerance, self.suspicion(), problem.n_pairs)
        for part in self.limited:
            offsets = part.question.offsets
            doubt = Doubt(offsets, False, 0.0, self.suspicion(), problem.n_pairs)
            self.doubts.append(doubt if part.scores.guesses else None)
        self.limits = ()
        self.begin_planning(self.past)

    @property
    def past(self) -> Past:
        return Past(
            self.problem, self.settings, self.tally, self.certifier, self.doubt, self.remaining
        )

    def next_counts(self) -> Proposal | StopReason | None:
        if reason := self._finished():
            return self._going_on(reason) or reason
        return self.propose(self.past)

    def _going_on(self, reason: StopReason) -> Proposal | None:
        """Return extra pulls of deciding pairs while an event of a cost below `unseen` could change
        the answer; None otherwise, or if the budget does not allow them.
        """
        asked = self.settings.unseen
        if asked is None or not reason.certifies:
            return None
        result = self.tally.result(Verdict(self.name, self.leader, reason, self.survivors, []))
        counts = pulls_beyond(result, asked)
        return Proposal(counts) if 0 < counts.sum() <= self.remaining else None

    def asked(self, phase: Phase, proposal: Proposal) -> None:
        own = Uses(proposal.claims, proposal.variances)
        own = _coarse_uses(own, self.certifier.question.most is not None)
        self._commit(phase, own, [_coarse_uses(each) for each in proposal.others])

    def recall(
        self,
        phase: Phase,
        claims: Sequence[Claims] = (),
        variances: Array | None = None,
        others: Sequence[Uses] = (),
    ) -> None:
        """Take up a phase as it was committed once; nothing is planned."""
        self.flying, self._stop = (*self.flying, phase), None
        self._commit(phase, Uses(claims, variances), others)

    def _commit(self, phase: Phase, uses: Uses, others: Sequence[Uses]) -> None:
        self.committed(self.past, self.certifier.commit(phase, *uses, others))

    @property
    def limited(self) -> list[Certifier]:
        """The certifiers of limits, in their order; empty without limits."""
        found = self.certifier
        return found.parts if isinstance(found, LimitedCertifier) else []

    def commitment_of(self, phase: Phase) -> Commitment | None:
        return next(made for made in self.certifier.open if made.phase.index == phase.index)

    def learn(self, outcome: Outcome) -> None:
        commitment, stored = self.certifier.open[0], self.stored_limits
        self._doubt(outcome)
        self.limits = self.certifier.update(commitment, outcome, self._lower(commitment, stored))
        self.survivors = self.certifier.survivors.copy()
        self._show()
        self.learned(self.past, commitment, outcome)
        self.leader = self.best_guess()

    def _doubt(self, outcome: Outcome) -> None:
        """Update the normality checks of the objective and of limited outputs."""
        if self.doubt is not None:
            self.doubt.see(outcome)
        for place, doubt in enumerate(self.doubts):
            if doubt is not None:
                doubt.see(self.settings.limits[place // 2].margins_of(outcome, place % 2 == 1))

    def _lower(
        self, commitment: Commitment, stored: Sequence[Array | None] | None
    ) -> Callable[[Claims, Array, Contrasts, Array], Array | None]:
        """Return limits by doubt; by those of the study file where it has some."""

        kept, every = iter(stored or ()), [*self.doubts, self.doubt]
        uses = [*commitment.others, commitment]
        doubts = iter([doubt for each, doubt in zip(uses, every, strict=True) for _ in each.claims])
        guessed = any(doubt is not None for doubt in every)
        waits = guessed and self.tally.waits_for(np.flatnonzero(commitment.phase.counts))

        def lower(claims: Claims, scores: Array, said: Contrasts, root: Array) -> Array | None:
            found, doubt = None, next(doubts)
            if doubt is not None:
                found = _coarse_limits(doubt.limits(claims, said, root, commitment.phase))
                if waits:
                    found = np.fmin(found, 0.0)
            if self.settings.rarest is not None:
                found = self._ripe(claims, scores.shape, found)
            return found if stored is None else next(kept)

        return lower

    def _ripe(self, claims: Claims, shape: tuple[int, ...], limits: Array | None) -> Array:
        """Return limits that are 0 at most while a pair was pulled less often than rare events ask.

        Args:
            shape: (n_kinds, n_own, n_tested) of the limits.
        """
        few = self.tally.counts < self.past.pulls_asked
        starts, columns = claims.shares.starts, claims.shares.columns
        of_rows = np.logical_or.reduceat(few[columns], starts[:-1])
        unripe = few[claims.points][:, None] | of_rows.reshape(-1, len(claims.arms))
        caps = np.where(np.broadcast_to(unripe, shape), 0.0, np.nan)
        return caps if limits is None else np.fmin(caps, limits)

    def best_guess(self) -> int:
        """Return the survivor of best estimated value, among those that seem to keep all limits if
        any does.
        """
        question = self.certifier.question
        values = values_of(self.past.point_means, question.offsets, question.most)
        alive = self.survivors if self.survivors.any() else np.ones_like(self.survivors)
        fit = alive & (self._margins >= 0)
        return int(np.where(fit if fit.any() else alive, values, -np.inf).argmax())

    @property
    def _margins(self) -> Array:
        """(n_arms,) by how much each arm seems to keep its limits; ∞ if it is shown to."""
        kernel, margins = self.certifier, np.full(self.problem.n_arms, np.inf)
        if not isinstance(kernel, LimitedCertifier):
            return margins
        for limit, each in zip(self.settings.limits, kernel.limited, strict=True):
            means = limit.margins(self.tally.others[limit.output].averages)
            means = np.where(np.isfinite(means), means, 0.0)
            own = smallest_of(each.question.points.dot(means[:, None])[:, 0], each.question.offsets)
            margins = np.minimum(margins, own + limit.slack / 2)
        return np.where(kernel.shown, np.inf, margins)

    def _show(self) -> None:
        """Record boundary and evidence for the history, in the unit that all arms share."""
        walks = self.certifier.walks
        if (walks.places < 0).all():
            return
        self.boundary, self.evidence = in_one_unit(walks, walks.walk(eased=self.leader))

    @property
    def rivals(self) -> NDArray[np.bool_]:
        """Survivors that may be better than the leader by more than the tolerance."""
        begun = hasattr(self, "certifier")
        return self.certifier.rivals(self.leader) if begun else super().rivals

    @property
    def weakest_evidence(self) -> float:
        rivals = self.rivals
        if not rivals.any() or self.evidence is None:
            return 0.0
        walks = self.certifier.walks
        _, evidence = in_one_unit(walks, walks.walk(eased=self.leader))
        return max(float(evidence[rivals].min()), 0.0)

    def verdict(self) -> Verdict:
        found = super().verdict()
        if not hasattr(self, "certifier"):  # a single arm: nothing to be unsure about
            return replace(found, confidence_later=Known(1.0))
        skewness = None if self.doubt is None else self.doubt.skewness(self.leader)
        found = replace(found, skewness=skewness)
        return completed(found, self.certifier, self.problem, self.settings)

    @property
    def exhausted(self) -> bool:
        """True if the clocks of all arms that might be eliminated have run down."""
        last = len(self.certifier.walks.boundary.times) - 1
        if self.settings.limits or self.settings.aim == "beat baseline":
            return False  # not all arms are tested, or by other clocks as well
        return last > 0 and bool((self.certifier.promised[self.rivals] == last).all())

    def settled(self) -> StopReason | None:
        return self._decided() if self.settings.unseen is None else None

    def _decided(self) -> StopReason | None:
        found = conclusion(self.certifier, self.problem, self.settings, self.leader)
        if found is None:
            return None
        reason, self.leader = found
        return reason

    def _finished(self) -> StopReason | None:
        if reason := self._decided():
            return reason
        if self.exhausted:
            return StopReason.LOOKS_SPENT
        if self.remaining >= 1:
            return None
        return StopReason.SPENT if self.settings.aim == "guess" else StopReason.BUDGET
