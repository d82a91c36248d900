"""PRIME for other questions than the best worst case: phases that are shared out among claims.

Every pair is pulled a few times first. Then sizes of phases grow with the data, pulls are shared
so that the claim that lacks most of them is settled soonest, and every clock goes on as the
variance of the contrasts with its arm falls.

- `ByMeasure`: arms are compared by mixtures of their pairs, such as means and CVaR. Points of the
  leader are claimed to beat the lowest point of every rival.
- `WithLimits`: the leader is the best of the arms that seem to qualify. Three kinds of claims
  settle the rest: its own points keep every limit, an arm misses a limit, the leader beats an arm.
  An arm is excluded by the limit that it misses or by the leader, whichever takes fewer pulls. One
  phase serves all certifiers.
- `AgainstBaseline`: one arm challenges the baseline, the one that is expected to need the fewest
  pulls. Another takes its place only where it would need half as many, for every challenger begins
  anew.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from surefoot.algorithms.base import Proposal
from surefoot.algorithms.planner import Past, can_go_on, guessed_variances, lowest_shares
from surefoot.algorithms.verdict import StopReason
from surefoot.arrays import Array, IntArray
from surefoot.certify import (
    Boundary,
    Certifier,
    Claims,
    LimitedCertifier,
    Question,
    Rows,
    Stakes,
    Uses,
)
from surefoot.certify.walk import EASED, PLAIN
from surefoot.plan.strategy import Strategy
from surefoot.problem.grouping import smallest_of
from surefoot.problem.measures import values_of
from surefoot.statistics import Counts

FIRST = 6  # pulls of every pair
GROWTH = 0.1  # of the pulls so far, that the next phase has
LEAST_BATCHES, MOST_BATCHES, MOST_BETS = 6, 20, 2000  # of a phase
STEPS = 60  # of the search for shares
LEAST_GAP = 0.5  # standard errors that a gap is at least
LEAST_LACKING = 0.1  # of the evidence
LONGEST = 30.0  # phases like the next one that a clock is begun for, at most
# by measures
MOST_OWN, MOST_RIVALS = 40, 60  # points and rivals that shares are chosen by: the most pressing
ENOUGH = 9.0  # squared deviations that a comparison takes, about
SLIGHT = 1e-6  # share of the pulls up to which a pair is left out
# with limits, and against a baseline
TURNS = 3  # of the choice of how arms are excluded
NEEDED = 1e-3  # share below which a pair is left out, in the largest
GOLDEN = 0.6180339887  # turns by it are spread evenly
BOLD = 0.8  # largest share of the possible loss that a bet stakes
SWITCH = 0.5  # of its pulls, that a challenger must need at most to take another's place


class _ByClaims(Strategy):
    """Pulls every pair first, and then the pairs that claims lack. Subclasses choose the claims."""

    @abstractmethod
    def claimed(self, past: Past) -> Proposal | None:
        """Return a phase with claims, once every pair was pulled; None where no clock can go on."""

    def propose(self, past: Past) -> Proposal | StopReason | None:
        unpulled, waits = past.tally.counts == 0, len(past.certifier.open) > 0
        if unpulled.any() and waits:
            return None
        found = Proposal(np.where(unpulled, FIRST, 0)) if unpulled.any() else self.claimed(past)
        if found is None:
            return None if waits else StopReason.LOOKS_SPENT
        return found if found.counts.sum() <= past.remaining else StopReason.BUDGET


def _wanted(past: Past, least: int) -> float:
    """Return the pulls of the next phase."""
    return min(max(GROWTH * past.tally.samples, float(least), 1.0), past.remaining)


def _spread_out(shares: Array, wanted: float, needed: NDArray[np.bool_]) -> Counts:
    """Return (n_pairs,) whole pulls by shares: one at least of each pair that is needed."""
    return np.where(needed, np.maximum(np.ceil(shares * wanted), 1), 0).astype(np.int64)


def _evenly(pairs: NDArray[np.bool_], each: int, bets: bool) -> tuple[Counts, int]:
    """Return about so many pulls of each of these pairs, in whole batches, and the batches."""
    batches = each if bets else min(each, MOST_BATCHES)
    return np.where(pairs, each // batches * batches, 0), batches


def _in_batches(counts: Counts, wanted: float) -> tuple[Counts, int]:
    """Return counts with a pull of each pair in every batch, and the batches."""
    needed = counts > 0
    batches = int(np.clip(wanted / needed.sum() // 2, LEAST_BATCHES, MOST_BATCHES))
    return np.where(needed, np.maximum(counts, batches), 0), batches


def _clocks(boundary: Boundary, now: IntArray, phases: Array, then: Array) -> IntArray:
    """Return where clocks go on to, as variances fall.

    Args:
        now: (n_tested,) grid points; −1 where a clock begins.
        phases: (n_tested,) after which the evidence may be enough: a new clock begins so that it is
            in the middle then.
        then: (n_tested,) times that clocks which have begun show after the phase.
    """
    times, last = boundary.times, len(boundary.times) - 1
    if not last:
        return np.zeros_like(now)
    middle = int((boundary.level / np.sqrt(times)).argmin())
    begun = np.searchsorted(times, times[middle] / np.clip(phases, 1.0, LONGEST))
    later = np.searchsorted(times, then)
    return np.asarray(np.where(now < 0, begun, np.clip(later, now + 1, last)))


# -- by measures -----------------------------------------------------------------------------------


class ByMeasure(_ByClaims):
    """Compares arms by mixtures of their pairs."""

    def claimed(self, past: Past) -> Proposal | None:
        lead, scores = _lead(past), past.certifier.scores
        if not len(lead.arms):
            return None
        guess = past.variances if scores.guesses else None
        unit = scores.scales**2 if guess is None else guess
        wanted = _wanted(past, past.settings.parallel)
        counts, batches, shared = _layout(past, _shares(past, lead, unit), wanted)
        claims = _claims_of(past, lead, unit, counts, batches)
        return Proposal(counts, batches, shared, [claims], guess)


class _Lead(NamedTuple):
    """A leader against its rivals.

    Attributes:
        own: points of the leader, the lowest first.
        arms: (n_tested,) rivals, the most pressing first.
        shares: (n_tested) rows: the lowest point of each, or its lowest mixture of points.
        mine: (n_own, n_pairs) these points; one row that stands for all mixtures of them.
        gaps: (n_own, n_tested) estimated leads, the tolerance added.
        theirs: (n_tested, n_pairs) the mixture of each rival's pairs.
        held: (n_own, n_tested) evidence so far, as a share of the boundary.
    """

    leader: int
    own: IntArray
    arms: IntArray
    shares: Rows
    mine: Array
    theirs: Array
    gaps: Array
    held: Array


def _means(past: Past) -> Array:
    """Return (n_points,) means by the pairs' own rewards, unless a model is exact: claims rest on
    these."""
    question = past.certifier.question
    means = past.tally.averages if question.misfit else past.means
    return question.points.dot(means[:, None])[:, 0]


def _lead(past: Past) -> _Lead:
    certifier, question = past.certifier, past.certifier.question
    offsets, most, n_pairs = question.offsets, question.most, question.n_pairs
    walks, means = certifier.walks, _means(past)
    values = np.where(certifier.survivors, values_of(means, offsets, most), -np.inf)
    leader = int(values.argmax())
    arms = np.flatnonzero(certifier.rivals(leader) & past.can_go_on)
    held, levels = walks.held(leader)[arms], walks.levels[arms]
    urgent = np.argsort(-values_of(means, offsets, most)[arms])
    shares = lowest_shares(question, means).take(arms[urgent])
    theirs = shares.through(question.points).on(np.arange(n_pairs), n_pairs)[:, :-1]
    own = np.arange(offsets[leader], offsets[leader + 1])
    own = own[np.isfinite(held).any(axis=0)] if len(arms) else own
    own, arms = own[np.argsort(means[own])], arms[urgent]
    mine = question.points.take(own).on(np.arange(n_pairs), n_pairs)[:, :-1]
    low, rivals = means[own], shares.totals(shares.values * means[shares.columns])
    seen_by = own - offsets[leader]
    if most is not None:  # all points alike, as noisy as the mixtures are
        mine = most[own] @ mine / np.sqrt(most[own].sum())
        mine, low, seen_by = mine[None], values[[leader]], seen_by[:1]
    gaps = low[:, None] - rivals + past.settings.tolerance
    share = held[urgent][:, seen_by].T / levels[urgent]
    held = np.where(np.isnan(share), 0.0, share)
    return _Lead(leader, own, arms, shares, mine, theirs, gaps, held)


def _shares(past: Past, lead: _Lead, unit: Array) -> Array:
    """Return (n_pairs,) shares of pulls at which the hardest claim is as clear as it can be.

    The slope of a contrast's variance along a share λ_i is −(a_i σ_i / λ_i)², however the contrast
    depends on shares: λ ← λ √slope, with more weight on claims that need more pulls, serves all.
    """
    question = past.certifier.question
    n_own, n_tested = np.minimum(lead.gaps.shape, (MOST_OWN, MOST_RIVALS))
    own, arms = np.divmod(np.arange(n_own * n_tested), n_tested)
    c = lead.mine[own] - lead.theirs[arms]
    errors = np.sqrt(_variances(question, c, past.tally.counts / unit)[0])
    gaps = np.maximum(lead.gaps[own, arms], LEAST_GAP * errors)
    lacking = np.maximum(1 - lead.held[own, arms] ** 2, LEAST_LACKING) / gaps**2
    lacking = np.where(np.isfinite(lead.held[own, arms]), lacking, 0.0)
    shares, weights = np.full(question.n_pairs, 1 / question.n_pairs), np.ones(len(c))
    for _ in range(STEPS):
        variances, a = _variances(question, c, shares / unit)
        needs = variances * lacking
        weights *= needs / max(needs.max(), 1e-300)
        weights /= weights.sum()
        slopes = (weights * lacking) @ (a**2) * unit / shares**2
        shares = np.maximum(shares * np.sqrt(slopes), 1e-12)
        shares /= shares.sum()
    return shares


def _variances(question: Question, c: Array, precisions: Array) -> tuple[Array, Array]:
    """Return (n,) variances of contrasts that claim c, and (n, n_pairs) their weights."""
    if question.misfit:
        return c**2 @ (1 / precisions), c
    U = question.basis
    inverse = np.linalg.pinv((U * precisions[:, None]).T @ U, hermitian=True)
    a = (c @ U) @ inverse @ (U * precisions[:, None]).T
    return np.einsum("ki,ki->k", a @ np.diag(1 / precisions), a), a


def _layout(past: Past, shares: Array, wanted: float) -> tuple[Counts, int, bool]:
    """Return pulls of pairs, batches, and whether streams are shared."""
    rule, needed = past.certifier.scores, shares > SLIGHT
    if past.certifier.question.misfit == 0:
        needed = shares * wanted >= 0.5
        basis = past.certifier.question.basis
        if np.linalg.matrix_rank(basis[needed]) < basis.shape[1]:
            needed = np.ones(len(shares), dtype=bool)
    if past.settings.common_random_numbers is True:
        each = max(int(wanted / needed.sum()), LEAST_BATCHES)
        return *_evenly(needed, each, rule.bets), True
    counts = _spread_out(shares, wanted, needed)
    if not rule.least_batches:
        return counts, 0, False
    if not rule.bets:
        return *_in_batches(counts, wanted), False
    batches = int(np.clip(counts[needed].min(), 4, MOST_BETS))
    return np.where(needed, np.maximum(counts, batches), 0), batches, False


def _claims_of(past: Past, lead: _Lead, unit: Array, counts: Counts, batches: int) -> Claims:
    """Claim that the leader's points win; clocks go on as variances fall."""
    question, pulls = past.certifier.question, past.tally.counts
    tested = np.arange(len(lead.arms))
    hardest = np.where(np.isfinite(lead.held), lead.gaps, np.inf).argmin(axis=0)
    c = lead.mine[hardest] - lead.theirs
    before, after = (_variances(question, c, n / unit)[0] for n in (pulls, pulls + counts))
    gaps = np.maximum(lead.gaps[hardest, tested], LEAST_GAP * np.sqrt(before))
    phases = ENOUGH / gaps**2 / np.maximum(1 / after - 1 / before, 1e-300)
    boundary, now = past.certifier.walks.boundary, past.places[lead.arms]
    clocks = _clocks(boundary, now, phases, boundary.times[now] * (before / after))
    deviation = np.array(np.inf if question.misfit else 0.0)
    stakes = past.stakes(lead.own, lead.shares.columns, counts // max(batches, 1))
    return Claims(lead.leader, lead.own, lead.arms, clocks, lead.shares, deviation, stakes)


# -- with limits, and against a baseline -----------------------------------------------------------


class WithLimits(_ByClaims):
    """Finds the best of the arms that keep all limits, or shows that no arm does."""

    def claimed(self, past: Past) -> Proposal | None:
        kernel = past.certifier
        assert isinstance(kernel, LimitedCertifier)
        outputs = _outputs_of(past, kernel)
        leader = _leader_of(past, kernel, outputs)
        groups = list(_groups(past, kernel, outputs, leader))
        return _phase_for(past, outputs, *_shared_out(groups)) if groups else None


class AgainstBaseline(_ByClaims):
    """Finds an arm that is as good as the baseline."""

    def claimed(self, past: Past) -> Proposal | None:
        assert past.settings.baseline is not None
        baseline = past.problem.arm_names.index(past.settings.baseline)
        output = _objective(past)
        if not output.can_go_on[baseline]:
            return None
        tasks = _challenge(past, output, baseline)
        return _phase_for(past, [output], tasks, _best_shares(_weights(tasks)))

    def best_guess(self, past: Past) -> int | None:
        """Return the arm that challenges the baseline."""
        return past.led


class _Output(NamedTuple):
    """One certifier, and estimates of the rewards that it sees.

    Attributes:
        certifier: of the objective, or of a limit.
        means, variances: (n_pairs,) of single pulls, as this certifier sees them.
        counts: (n_pairs,) pulls so far.
    """

    certifier: Certifier
    means: Array
    variances: Array
    counts: Counts

    @property
    def question(self) -> Question:
        return self.certifier.question

    @property
    def point_means(self) -> Array:
        """(n_points,) means of the points by which arms are compared."""
        return self.question.points.dot(self.means[:, None])[:, 0]

    def spread(self, pulls: Array) -> Array:
        """Return (n_points,) variances of the points' means after these pulls of each pair."""
        each = np.where(pulls > 0, self.variances / np.maximum(pulls, 1e-300), np.inf)
        return self.question.points.dot(each[:, None], power=2)[:, 0]

    @property
    def can_go_on(self) -> NDArray[np.bool_]:
        """(n_arms,) whether clocks have points of the grid left."""
        return can_go_on(self.certifier)

    @property
    def enough(self) -> float:
        """The squared deviations, or twice the log-wealth, that a claim takes at least."""
        boundary = self.certifier.walks.boundary
        if self.certifier.scores.bets:
            return 2 * float(boundary.level[0])
        return float((boundary.level**2 / boundary.times).min())

    def rounds(self, gap: float, variance: float) -> float:
        """Return about how often each pair of a contrast must be pulled until it is settled."""
        rule = self.certifier.scores
        if not rule.bets:
            return self.enough * variance / gap**2
        loss = 2 * float(rule.scales.max()) if rule.loss is None else rule.loss
        square = variance + gap**2
        stake = min(gap / square, BOLD / loss)
        return self.enough / (2 * stake * gap - stake**2 * square)

    def stakes(self, own: IntArray, points: IntArray, size: Counts) -> Stakes | None:
        """Return guesses for bets on points against points, in batches of so many pulls."""
        if not self.certifier.scores.bets:
            return None
        means, behind = self.point_means, self.spread(self.counts.astype(np.float64))
        batch = self.spread(size.astype(np.float64))
        return Stakes(
            means[own][:, None] - means[points],
            np.sqrt(behind[own][:, None] + behind[points]),
            batch[own][:, None] + batch[points],
            0.7 * self.certifier.tolerance,
        )


class _Task(NamedTuple):
    """A claim that would settle something.

    Attributes:
        output: the place of its certifier: 0 is the objective.
        challenger, own: the claiming arm, and its point.
        arm, point: the tested arm, and its point.
        gap: the expected contrast, half a standard error at least.
        weights: (n_pairs,) rounds that it lacks, if it were pulled alone, by pair: with shares λ of
            the pulls it lacks Σ weights / λ of them.
    """

    output: int
    challenger: int
    own: int
    arm: int
    point: int
    gap: float
    weights: Array


def _phase_for(past: Past, outputs: list[_Output], tasks: list[_Task], shares: Array) -> Proposal:
    """Return a phase by these shares, with each certifier's claims."""
    wanted = _wanted(past, past.settings.least_pulls)
    counts, batches, shared = _counts_by(past, outputs, shares, wanted)
    uses = [_uses_of(outputs, place, tasks, counts, batches) for place in range(len(outputs))]
    return Proposal(counts, batches, shared, *uses[0], others=uses[1:])


def _objective(past: Past) -> _Output:
    """Return estimates of the objective."""
    tally = past.tally
    return _Output(past.certifier, tally.averages, past.variances, tally.counts)


def _outputs_of(past: Past, kernel: LimitedCertifier) -> list[_Output]:
    """Return estimates of the objective and, for each limit, of margins and of shortfalls."""
    found, counts = [_objective(past)], past.tally.counts
    for k, limit in enumerate(past.settings.limits):
        other = past.tally.others[limit.output]
        margins = limit.margins(other.averages)
        variances = guessed_variances(limit.noise, other)
        found.append(_Output(kernel.unfit_by[k], margins, variances, counts))
        found.append(_Output(kernel.fit_by[k], -margins - limit.slack, variances, counts))
    return found


def _leader_of(past: Past, kernel: LimitedCertifier, outputs: list[_Output]) -> int | None:
    """Return the best of the arms that seem to qualify; None if no arm does."""
    seems = kernel.survivors.copy()
    for k, limit in enumerate(past.settings.limits):
        unfit, fit = outputs[2 * k + 1], outputs[2 * k + 2]
        settled = ~kernel.fit_by[k].survivors[:-1]
        margins = np.where(settled, np.inf, -fit.point_means[: len(settled)] - limit.slack / 2)
        seems &= smallest_of(margins, unfit.question.offsets[:-1]) >= 0
    seems |= kernel.shown & kernel.survivors
    if not seems.any():
        return None
    own = outputs[0]
    values = smallest_of(own.point_means, own.question.offsets)
    # of two that are good enough, one that is shown: else its evidence would be lost
    values = values + 0.5 * past.settings.tolerance * kernel.shown
    return int(np.where(seems, values, -np.inf).argmax())


def _groups(
    past: Past, kernel: LimitedCertifier, outputs: list[_Output], leader: int | None
) -> Iterator[list[list[_Task]]]:
    """Yield the open questions: for each, the ways to settle it, each a list of claims."""
    if leader is not None and not kernel.shown[leader]:
        own = [task for place in _places(past, 2) for task in _fits(outputs, place, leader)]
        yield from [[own]] if own else []
    rivals = kernel.survivors if leader is None else kernel.rivals(leader)
    for arm in np.flatnonzero(rivals).tolist():
        ways = [way for place in _places(past, 1) if (way := _misses(outputs, place, arm))]
        if leader is not None and (beaten := _beats(past, outputs[0], leader, arm)):
            ways.append(beaten)
        if ways:
            yield ways


def _places(past: Past, first: int) -> range:
    """Return the places of the certifiers of one kind."""
    return range(first, 2 * len(past.settings.limits) + 1, 2)


def _fits(outputs: list[_Output], place: int, leader: int) -> Iterator[_Task]:
    """Yield the claims that an arm's points keep a limit, those that are not settled."""
    output, offsets = outputs[place], outputs[place - 1].question.offsets
    constant, zero = output.question.n_arms - 1, len(output.question.points.sizes) - 1
    for point in range(offsets[leader], offsets[leader + 1]):
        if output.certifier.survivors[point] and output.can_go_on[point]:
            yield _task_of(output, place, (constant, zero), (point, point), 0.0)


def _misses(outputs: list[_Output], place: int, arm: int) -> list[_Task]:
    """Return the claim that an arm misses a limit, if it seems to."""
    output = outputs[place]
    constant, zero = output.question.n_arms - 1, len(output.question.points.sizes) - 1
    first, last = output.question.offsets[arm : arm + 2]
    point = int(first + output.point_means[first:last].argmin())
    if output.point_means[point] >= 0 or not output.can_go_on[arm]:
        return []
    return [_task_of(output, place, (constant, zero), (arm, point), 0.0)]


def _beats(past: Past, output: _Output, leader: int, arm: int) -> list[_Task]:
    """Return the claims that all points of the leader beat an arm, if they seem to."""
    offsets, means, tolerance = output.question.offsets, output.point_means, past.settings.tolerance
    first, last = offsets[arm : arm + 2]
    point = int(first + means[first:last].argmin())
    own = np.arange(offsets[leader], offsets[leader + 1])
    own = own[np.isfinite(past.held(leader)[arm])]
    lead = means[own] - means[point] + tolerance
    if not output.can_go_on[arm] or not len(own) or lead.min() <= 0:
        return []
    return [_task_of(output, 0, (leader, int(each)), (arm, point), tolerance) for each in own]


def _task_of(
    output: _Output,
    place: int,
    mine: tuple[int, int],
    theirs: tuple[int, int],
    eased: float,
    held: bool = True,
) -> _Task:
    """Return a claim and the rounds that it lacks.

    Args:
        place: of its certifier.
        mine, theirs: an arm and a point of it: who claims, who is tested.
        eased: added to the contrast.
        held: whether the evidence so far counts.
    """
    (challenger, own), (arm, point) = mine, theirs
    means, points = output.point_means, output.question.points
    squares = _squares(points, own, point, len(output.means))
    variance = float(squares @ output.variances)
    error = np.sqrt(output.spread(output.counts.astype(np.float64))[[own, point]].sum())
    gap = max(float(means[own] - means[point] + eased), LEAST_GAP * float(error))
    lacking = _lacking(output, mine, arm, eased > 0) if held else 1.0
    rounds = lacking * output.rounds(gap, variance)
    weights = rounds * squares * output.variances / variance
    return _Task(place, challenger, own, arm, point, gap, weights)


def _lacking(output: _Output, mine: tuple[int, int], arm: int, eased: bool) -> float:
    """Return the share of the evidence that a claim lacks."""
    walks, (challenger, own) = output.certifier.walks, mine
    kind = EASED if eased else PLAIN
    held = walks.held(challenger, kind)[arm, own - walks.offsets[challenger]]
    share = held / walks.levels[arm] if np.isfinite(held) else 1.0
    power = 1 if output.certifier.scores.bets else 2
    return max(1 - max(float(share), 0.0) ** power, LEAST_LACKING)


def _squares(points: Rows, own: int, point: int, n_pairs: int) -> Array:
    """Return (n_pairs,) squared weights of a contrast: points of two arms have no pair in
    common."""
    found, rows = np.zeros(n_pairs), points.take(np.array([own, point]))
    np.add.at(found, rows.columns, rows.values**2)
    return found


def _shared_out(groups: list[list[list[_Task]]]) -> tuple[list[_Task], Array]:
    """Return the claims of the cheapest ways, and (n_pairs,) the shares that serve them best."""
    weights = [np.array([np.max([t.weights for t in way], axis=0) for way in g]) for g in groups]
    n_pairs = weights[0].shape[1]
    shares = np.full(n_pairs, 1 / n_pairs)
    chosen = list[_Task]()
    for turn in range(TURNS):
        mixed = shares if not turn else (shares + 1 / n_pairs) / 2
        picked = [int((each / mixed).sum(axis=1).argmin()) for each in weights]
        chosen = [task for g, k in zip(groups, picked, strict=True) for task in g[k]]
        shares = _best_shares(_weights(chosen))
    return chosen, shares


def _weights(tasks: list[_Task]) -> Array:
    """Return (n_tasks, n_pairs) rounds that claims lack."""
    return np.array([task.weights for task in tasks])


def _best_shares(weights: Array) -> Array:
    """Return (n_pairs,) shares λ at which the largest Σ_i weights_ki / λ_i is as small as can be.

    For a mixture w of the claims the best λ is √(w · weights); claims that lack more weigh more.
    """
    mixture = np.full(len(weights), 1 / len(weights))
    shares = np.ones(weights.shape[1])
    for _ in range(STEPS):
        shares = np.maximum(np.sqrt(mixture @ weights), 1e-12)
        shares /= shares.sum()
        lacking = weights @ (1 / shares)
        mixture *= lacking / lacking.max()
        mixture /= mixture.sum()
    return shares


def _counts_by(
    past: Past, outputs: list[_Output], shares: Array, wanted: float
) -> tuple[Counts, int, bool]:
    """Return pulls of pairs, batches, and whether streams are shared.

    A bet on a batch of many pulls gains little more than one on a single pull. So where there are
    bets, all pairs of a phase are pulled equally often, and those with small shares in few phases.
    """
    needed = shares > NEEDED * shares.max()
    bets = any(each.certifier.scores.bets for each in outputs)
    shared = past.settings.common_random_numbers is True
    if shared or bets:
        turn = past.tally.samples * GOLDEN % 1.0
        among = needed if shared else shares >= turn * shares.max()
        each = int(np.clip(wanted / among.sum(), LEAST_BATCHES, MOST_BETS))
        return *_evenly(needed & among, each, bets), shared
    counts = _spread_out(shares, wanted, needed)
    if not any(each.certifier.scores.least_batches for each in outputs):
        return counts, 0, False
    return *_in_batches(counts, wanted), False


def _uses_of(
    outputs: list[_Output], place: int, chosen: list[_Task], counts: Counts, batches: int
) -> Uses:
    """Return a certifier's claims on a phase, as far as their pairs are in it."""
    output, least = outputs[place], max(batches, 1)
    mine = [t for t in chosen if t.output == place and (counts[t.weights > 0] >= least).all()]
    if not mine:
        return Uses()
    arms = np.unique([task.arm for task in mine])
    asked = [task for task in mine if task.arm in arms]
    own = np.unique([task.own for task in asked])
    points = np.array([next(t.point for t in asked if t.arm == arm) for arm in arms])
    gaps = np.array([min(t.gap for t in asked if t.arm == arm) for arm in arms])
    clocks = _clocks_of(output, arms, own, points, counts, gaps)
    shares = Rows(np.arange(len(arms) + 1), points, np.ones(len(arms)))
    stakes = output.stakes(own, points, counts // least)
    every = Claims(asked[0].challenger, own, arms, clocks, shares, np.array(np.inf), stakes)
    return Uses([every], output.variances if output.certifier.scores.guesses else None)


def _clocks_of(
    output: _Output, arms: IntArray, own: IntArray, points: IntArray, counts: Counts, gaps: Array
) -> IntArray:
    """Return where the clocks of an output go on to."""
    boundary, now = output.certifier.walks.boundary, output.certifier.promised[arms]
    pulls = output.counts.astype(np.float64), (output.counts + counts).astype(np.float64)
    worst = int(own[output.spread(pulls[1])[own].argmax()])
    before, after = (output.spread(n)[worst] + output.spread(n)[points] for n in pulls)
    phases = output.enough / gaps**2 / np.maximum(1 / after - 1 / before, 1e-300)
    return _clocks(boundary, now, phases, boundary.times[now] * before / after)


def _challenge(past: Past, output: _Output, baseline: int) -> list[_Task]:
    """Return the claims of the arm that is expected to beat the baseline by the fewest pulls."""
    best, fewest = list[_Task](), np.inf
    for arm in range(past.problem.n_arms):
        if arm == baseline:
            continue
        claims = _challenger_claims(past, output, arm, baseline)
        shares = _best_shares(_weights(claims))
        needed = max(float((task.weights / shares).sum()) for task in claims)
        needed *= SWITCH if arm == past.led else 1.0
        if needed < fewest:
            best, fewest = claims, needed
    return best


def _challenger_claims(past: Past, output: _Output, arm: int, baseline: int) -> list[_Task]:
    offsets, means = output.question.offsets, output.point_means
    first, last = offsets[baseline : baseline + 2]
    point, gain = int(first + means[first:last].argmin()), past.settings.gain
    own = range(offsets[arm], offsets[arm + 1])
    return [_task_of(output, 0, (arm, each), (baseline, point), -gain, held=False) for each in own]
