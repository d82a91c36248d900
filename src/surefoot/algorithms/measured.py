"""How PRIME chooses where arms are compared by mixtures of their pairs: means, CVaR.

Points of the leader are claimed to beat the lowest point of every rival. Pulls are shared so that
the claim that needs most of them is as clear as can be, sizes of phases grow with the data, and
every clock goes on as the variance of what is said about its arm falls.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from surefoot.algorithms.planner import Past, Proposal, lowest_shares
from surefoot.algorithms.verdict import StopReason
from surefoot.arrays import Array, IntArray
from surefoot.certify import Claims, Question, Rows
from surefoot.problem.measures import values_of
from surefoot.statistics import Counts

FIRST, LEAST_BATCHES, MOST_BATCHES = 6, 6, 20
GROWTH = 0.1  # of the pulls so far, that the next phase has
MOST_OWN, MOST_RIVALS = 40, 60  # points and rivals that shares are chosen by: the most pressing
STEPS, SHARPNESS = 60, 1.0  # of the search for shares
SHAKEN = 0.5  # standard errors that a gap is at least
ENOUGH = 9.0  # squared deviations that a comparison takes, about
LONGEST = 30.0  # phases like the next one that a clock is begun for, at most
LEAST_LACKING = 0.1  # of the evidence
WEALTH_MOST = 2000  # batches of a phase


class _Lead(NamedTuple):
    """A leader against its rivals.

    Attributes:
        own: points of the leader, the lowest first.
        arms: (n_tested,) rivals, the most pressing first.
        shares: (n_tested) rows: the lowest point of each, or its lowest mixture of points.
        mine: (n_own, n_pairs) these points; one row that stands for all mixtures of them.
        gaps: (n_own, n_tested) leads as data say, the tolerance added.
        theirs: (n_tested, n_pairs) what each rival is compared by.
        held: (n_own, n_tested) evidence so far, as a share of what is enough.
    """

    leader: int
    own: IntArray
    arms: IntArray
    shares: Rows
    mine: Array
    theirs: Array
    gaps: Array
    held: Array


def propose(past: Past) -> Proposal | StopReason | None:
    """Return the next phase: first some pulls of every pair, then claims; None: to wait."""
    counts, certifier = past.tally.counts, past.certifier
    if (counts == 0).any() and certifier.open:
        return None
    if (counts == 0).any():
        first = np.where(counts == 0, FIRST, 0)
        return Proposal(first) if first.sum() <= past.remaining else StopReason.BUDGET
    lead = _lead(past)
    if not len(lead.arms):
        return None if certifier.open else StopReason.LOOKS_SPENT
    unit = past.variances if certifier.scores.guesses else certifier.scores.scales**2
    spent = past.tally.samples
    shares = _shares(past, lead, unit)
    wanted = max(GROWTH * spent, past.settings.parallel, 1.0)
    phase, batches, shared = _layout(past, shares, min(wanted, past.remaining))
    if phase.sum() > past.remaining:
        return StopReason.BUDGET
    claims = _claims(past, lead, unit, phase, batches)
    guess = past.variances if certifier.scores.guesses else None
    return Proposal(phase, batches, shared, claims, guess)


def _means(past: Past) -> Array:
    """(n_points,) by the pairs' own rewards, unless a model is exact: claims rest on these."""
    question = past.certifier.question
    means = past.tally.averages if question.misfit else past.means
    return question.points.dot(means[:, None])[:, 0]


def _lead(past: Past) -> _Lead:
    certifier, question = past.certifier, past.certifier.question
    offsets, most, n_pairs = question.offsets, question.most, question.n_pairs
    walks, means, last = certifier.walks, _means(past), len(certifier.walks.boundary.times) - 1
    values = np.where(certifier.survivors, values_of(means, offsets, most), -np.inf)
    leader = int(values.argmax())
    arms = np.flatnonzero(certifier.rivals(leader) & ((past.places < last) | (last == 0)))
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
    """(n_pairs,) shares of pulls at which the hardest claim is as clear as it can be.

    The slope of a contrast's variance along a share λ_i is −(a_i σ_i / λ_i)², however the contrast
    depends on shares: λ ← λ √slope, with more weight on claims that need more pulls, serves all.
    """
    question = past.certifier.question
    n_own, n_tested = np.minimum(lead.gaps.shape, (MOST_OWN, MOST_RIVALS))
    own, arms = np.divmod(np.arange(n_own * n_tested), n_tested)
    c = lead.mine[own] - lead.theirs[arms]
    errors = np.sqrt(_variances(question, c, past.tally.counts / unit)[0])
    gaps = np.maximum(lead.gaps[own, arms], SHAKEN * errors)
    lacking = np.maximum(1 - lead.held[own, arms] ** 2, LEAST_LACKING) / gaps**2
    lacking = np.where(np.isfinite(lead.held[own, arms]), lacking, 0.0)
    shares, weights = np.full(question.n_pairs, 1 / question.n_pairs), np.ones(len(c))
    for _ in range(STEPS):
        variances, a = _variances(question, c, shares / unit)
        needs = variances * lacking
        weights *= (needs / max(needs.max(), 1e-300)) ** SHARPNESS
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
    rule, needed = past.certifier.scores, shares > 1e-6
    if past.certifier.question.misfit == 0:
        needed = shares * wanted >= 0.5
        basis = past.certifier.question.basis
        if np.linalg.matrix_rank(basis[needed]) < basis.shape[1]:
            needed = np.ones(len(shares), dtype=bool)
    counts = np.where(needed, np.ceil(shares * wanted), 0).astype(np.int64)
    if past.settings.common_random_numbers is True:
        each = max(int(wanted / needed.sum()), LEAST_BATCHES)
        batches = each if rule.bets else min(each, MOST_BATCHES)
        return np.where(needed, each // batches * batches, 0), batches, True
    if not rule.least_batches:
        return np.where(needed, np.maximum(counts, 1), 0), 0, False
    typical = int(wanted / max(needed.sum(), 1))
    if rule.bets:
        batches = int(np.clip(counts[needed].min(), 4, WEALTH_MOST))
    else:
        batches = int(np.clip(typical // 2, LEAST_BATCHES, MOST_BATCHES))
    return np.where(needed, np.maximum(counts, batches), 0), batches, False


def _claims(past: Past, lead: _Lead, unit: Array, counts: Counts, batches: int) -> list[Claims]:
    """Claim that the leader's points win; clocks go on as variances fall."""
    question, pulls = past.certifier.question, past.tally.counts
    tested = np.arange(len(lead.arms))
    hardest = np.where(np.isfinite(lead.held), lead.gaps, np.inf).argmin(axis=0)
    c = lead.mine[hardest] - lead.theirs
    before, after = (_variances(question, c, n / unit)[0] for n in (pulls, pulls + counts))
    gaps = np.maximum(lead.gaps[hardest, tested], SHAKEN * np.sqrt(before))
    phases = ENOUGH / gaps**2 / np.maximum(1 / after - 1 / before, 1e-300)
    clocks = _clocks(past, lead.arms, np.clip(phases, 1.0, LONGEST), before / after)
    deviation = np.array(np.inf if question.misfit else 0.0)
    stakes = past.stakes(lead.own, lead.shares.columns, counts // max(batches, 1))
    return [Claims(lead.leader, lead.own, lead.arms, clocks, lead.shares, deviation, stakes)]


def _clocks(past: Past, arms: IntArray, phases: Array, growth: Array) -> IntArray:
    """Return where clocks go on to: a new one so that it is in the middle after these phases."""
    walks, times = past.certifier.walks, past.certifier.walks.boundary.times
    last, now = len(times) - 1, past.places[arms]
    if not last:
        return np.zeros_like(now)
    middle = int((walks.boundary.level / np.sqrt(times)).argmin())
    begun = np.searchsorted(times, times[middle] / phases)
    later = np.searchsorted(times, times[now] * growth)
    return np.asarray(np.where(now < 0, begun, np.clip(later, now + 1, last)))
