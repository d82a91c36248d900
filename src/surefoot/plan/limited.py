"""How PRIME chooses where arms must keep limits, and against a baseline alone.

The leader is the best of the arms that seem to qualify. Three kinds of claims settle the rest: its
own points keep every limit; an arm misses a limit; the leader beats an arm. An arm is excluded by
the limit that it misses or by the leader, whichever takes fewer pulls, and pulls are shared so that
the claim that lacks most of them is settled soonest. One phase serves all certifiers.

Where all that is asked is an arm that is as good as the baseline, one arm challenges it: the one
that is expected to need the fewest pulls. Another takes its place only where it would need half as
many, for every challenger begins anew.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from surefoot.algorithms.planner import Past, Proposal
from surefoot.algorithms.verdict import StopReason
from surefoot.arrays import Array, IntArray
from surefoot.certify import Certifier, Claims, LimitedCertifier, Question, Rows, Stakes, Uses
from surefoot.certify.walk import EASED, PLAIN
from surefoot.problem.grouping import smallest_of
from surefoot.statistics import Counts

FIRST = 6  # pulls of every pair
GROWTH = 0.1  # of the pulls so far, that the next phase has
LEAST_BATCHES, MOST_BATCHES, MOST_BETS = 6, 20, 2000  # of a phase
STEPS, TURNS = 60, 3  # of the search for shares; of the choice of how arms are excluded
SHAKEN = 0.5  # standard errors that a gap is at least
LEAST_LACKING = 0.1  # of the evidence
LONGEST = 30.0  # phases like the next one that a clock is begun for, at most
NEEDED = 1e-3  # of the largest share: pairs with less are left out
GOLDEN = 0.6180339887  # turns by it are spread evenly
BOLD = 0.8  # of what can be lost, that a bet stakes at most


class _Output(NamedTuple):
    """One certifier, and what data say of the rewards that it sees.

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
        """(n_points,)"""
        return self.question.points.dot(self.means[:, None])[:, 0]

    def spread(self, pulls: Array) -> Array:
        """(n_points,) variances of the points' means after these pulls of each pair."""
        each = np.where(pulls > 0, self.variances / np.maximum(pulls, 1e-300), np.inf)
        return self.question.points.dot(each[:, None], power=2)[:, 0]

    @property
    def can_go_on(self) -> Array:
        """(n_arms,) whether clocks have points of the grid left."""
        last = len(self.certifier.walks.boundary.times) - 1
        return np.asarray((self.certifier.promised < last) | (last == 0))

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


class _Task(NamedTuple):
    """A claim that would settle something.

    Attributes:
        output: the place of its certifier: 0 is the objective.
        challenger, own: who claims, by which point.
        arm, point: who is tested, by which point.
        gap: what is expected of the contrast, half a standard error at least.
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


def propose(past: Past) -> Proposal | StopReason | None:
    """Return the next phase: first some pulls of every pair, then claims; None: to wait."""
    kernel, counts = past.certifier, past.tally.counts
    assert isinstance(kernel, LimitedCertifier)
    if (counts == 0).any():
        if kernel.open:
            return None
        first = np.where(counts == 0, FIRST, 0)
        return Proposal(first) if first.sum() <= past.remaining else StopReason.BUDGET
    outputs = _outputs_of(past, kernel)
    leader = _leader_of(past, kernel, outputs)
    groups = list(_groups(past, kernel, outputs, leader))
    if not groups:
        return None if kernel.open else StopReason.LOOKS_SPENT
    chosen, shares = _shared_out(groups)
    wanted = max(GROWTH * past.tally.samples, float(past.settings.least_pulls), 1.0)
    phase, batches, shared = _counts_by(past, outputs, shares, min(wanted, past.remaining))
    if phase.sum() > past.remaining:
        return StopReason.BUDGET
    uses = [_uses_of(outputs, place, chosen, phase, batches) for place in range(len(outputs))]
    return Proposal(phase, batches, shared, *uses[0], others=uses[1:])


def _outputs_of(past: Past, kernel: LimitedCertifier) -> list[_Output]:
    """Return what data say of the objective and, for each limit, of margins and of shortfalls."""
    tally = past.tally
    found = [_Output(kernel, tally.averages, _positive(past.variances), tally.counts)]
    for k, limit in enumerate(past.settings.limits):
        other = tally.others[limit.output]
        margins = limit.sign * (other.averages - limit.value)
        variances = _positive(limit.noise.variances(other.scatter, other.freedom))
        unfit, fit = kernel.unfit_by[k], kernel.fit_by[k]
        found.append(_Output(unfit, margins, variances, tally.counts))
        found.append(_Output(fit, -margins - limit.slack, variances, tally.counts))
    return found


def _positive(variances: Array) -> Array:
    return np.where((variances > 0) & np.isfinite(variances), variances, 1.0)


def _leader_of(past: Past, kernel: LimitedCertifier, outputs: list[_Output]) -> int | None:
    """Return the best of the arms that seem to qualify; None if none does."""
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
    # of two that are good enough, one that is shown: what is known of it would be lost
    values = values + 0.5 * past.settings.tolerance * kernel.shown
    return int(np.where(seems, values, -np.inf).argmax())


def _groups(
    past: Past, kernel: LimitedCertifier, outputs: list[_Output], leader: int | None
) -> Iterator[list[list[_Task]]]:
    """Yield what must be settled: for each, ways to do it, each a list of claims."""
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
    """Return a claim and what it lacks.

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
    gap = max(float(means[own] - means[point] + eased), SHAKEN * float(error))
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
    """(n_pairs,) squared weights of a contrast: points of two arms have no pair in common."""
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
        shares = _best_shares(np.array([task.weights for task in chosen]))
    return chosen, shares


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
    batched = any(each.certifier.scores.least_batches for each in outputs)
    shared = past.settings.common_random_numbers is True
    if shared or bets:
        turn = past.tally.samples * GOLDEN % 1.0
        among = needed if shared else shares >= turn * shares.max()
        each = int(np.clip(wanted / among.sum(), LEAST_BATCHES, MOST_BETS))
        batches = each if bets else min(each, MOST_BATCHES)
        return np.where(needed & among, each // batches * batches, 0), batches, shared
    counts = np.where(needed, np.maximum(np.ceil(shares * wanted), 1), 0).astype(np.int64)
    if not batched:
        return counts, 0, False
    batches = int(np.clip(wanted / needed.sum() // 2, LEAST_BATCHES, MOST_BATCHES))
    return np.where(needed, np.maximum(counts, batches), 0), batches, False


def _uses_of(
    outputs: list[_Output], place: int, chosen: list[_Task], counts: Counts, batches: int
) -> Uses:
    """Return what a certifier will use a phase for: its claims, as far as their pairs are in it."""
    output, least = outputs[place], max(batches, 1)
    mine = [t for t in chosen if t.output == place and (counts[t.weights > 0] >= least).all()]
    if not mine:
        return Uses()
    arms = np.unique([task.arm for task in mine])
    asked = [task for task in mine if task.arm in arms]
    own = np.unique([task.own for task in asked])
    points = np.array([next(t.point for t in asked if t.arm == arm) for arm in arms])
    claims = _claims(output, asked[0].challenger, own, arms, points, counts, batches)
    gaps = np.array([min(t.gap for t in asked if t.arm == arm) for arm in arms])
    clocks = _clocks_of(output, arms, own, points, counts, gaps)
    guess = output.variances if output.certifier.scores.guesses else None
    return Uses([claims._replace(clocks=clocks)], guess)


def _claims(
    output: _Output,
    challenger: int,
    own: IntArray,
    arms: IntArray,
    points: IntArray,
    counts: Counts,
    batches: int,
) -> Claims:
    shares = Rows(np.arange(len(arms) + 1), points, np.ones(len(arms)))
    stakes = None
    if output.certifier.scores.bets:
        means = output.point_means
        behind, batch = (
            output.spread(pulls.astype(np.float64))
            for pulls in (output.counts, counts // max(batches, 1))
        )
        stakes = Stakes(
            means[own][:, None] - means[points],
            np.sqrt(behind[own][:, None] + behind[points]),
            batch[own][:, None] + batch[points],
            0.7 * output.certifier.tolerance,
        )
    return Claims(challenger, own, arms, arms, shares, np.array(np.inf), stakes)


def _clocks_of(
    output: _Output, arms: IntArray, own: IntArray, points: IntArray, counts: Counts, gaps: Array
) -> IntArray:
    """Return where clocks go on to, as variances fall: a new one so that it is in the middle when
    the evidence may be enough.
    """
    walks, times = output.certifier.walks, output.certifier.walks.boundary.times
    last, now = len(times) - 1, output.certifier.promised[arms]
    if not last:
        return np.zeros_like(now)
    pulls = output.counts.astype(np.float64), (output.counts + counts).astype(np.float64)
    worst = int(own[output.spread(pulls[1])[own].argmax()])
    before, after = (output.spread(n)[worst] + output.spread(n)[points] for n in pulls)
    phases = output.enough / gaps**2 / np.maximum(1 / after - 1 / before, 1e-300)
    middle = int((walks.boundary.level / np.sqrt(times)).argmin())
    begun = np.searchsorted(times, times[middle] / np.clip(phases, 1.0, LONGEST))
    later = np.searchsorted(times, times[np.maximum(now, 0)] * before / after)
    return np.asarray(np.where(now < 0, begun, np.clip(later, now + 1, last)))


LOYAL = 0.5  # of its pulls, that a challenger must need at most to take another's place


def propose_against_baseline(past: Past) -> Proposal | StopReason | None:
    """Return the next phase: first some pulls of every pair, then claims; None: to wait."""
    kernel, counts, settings = past.certifier, past.tally.counts, past.settings
    if (counts == 0).any():
        if kernel.open:
            return None
        first = np.where(counts == 0, FIRST, 0)
        return Proposal(first) if first.sum() <= past.remaining else StopReason.BUDGET
    assert settings.baseline is not None
    baseline = past.problem.arm_names.index(settings.baseline)
    output = _Output(kernel, past.tally.averages, _positive(past.variances), counts)
    if not output.can_go_on[baseline]:
        return None if kernel.open else StopReason.LOOKS_SPENT
    claims = _challenge(past, output, baseline)
    shares = _best_shares(np.array([task.weights for task in claims]))
    wanted = max(GROWTH * past.tally.samples, float(settings.least_pulls), 1.0)
    phase, batches, shared = _counts_by(past, [output], shares, min(wanted, past.remaining))
    if phase.sum() > past.remaining:
        return StopReason.BUDGET
    return Proposal(phase, batches, shared, *_uses_of([output], 0, claims, phase, batches))


def _challenge(past: Past, output: _Output, baseline: int) -> list[_Task]:
    """Return the claims of the arm that is expected to beat the baseline by the fewest pulls."""
    best, fewest = list[_Task](), np.inf
    for arm in range(past.problem.n_arms):
        if arm == baseline:
            continue
        claims = _challenger_claims(past, output, arm, baseline)
        shares = _best_shares(np.array([task.weights for task in claims]))
        needed = max(float((task.weights / shares).sum()) for task in claims)
        needed *= LOYAL if arm == past.led else 1.0
        if needed < fewest:
            best, fewest = claims, needed
    return best


def _challenger_claims(past: Past, output: _Output, arm: int, baseline: int) -> list[_Task]:
    offsets, means = output.question.offsets, output.point_means
    first, last = offsets[baseline : baseline + 2]
    point, gain = int(first + means[first:last].argmin()), past.settings.gain
    own = range(offsets[arm], offsets[arm + 1])
    return [_task_of(output, 0, (arm, each), (baseline, point), -gain, held=False) for each in own]
