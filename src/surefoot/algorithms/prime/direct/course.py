"""The course of a run without a model: guess, choose, compare, eliminate."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from scipy import special

from surefoot.algorithms.planner import Past, Proposal
from surefoot.algorithms.prime.course import Course, Layout
from surefoot.algorithms.prime.direct.clocks import Forecast
from surefoot.algorithms.prime.direct.contest import Contest
from surefoot.algorithms.prime.direct.judges import JUDGES, BettingJudge, Judge, Outlook
from surefoot.algorithms.prime.direct.learning import Draws, Opinion, opinion
from surefoot.algorithms.prime.direct.shares import Comparisons, Need, Needs, climb, first_hope
from surefoot.algorithms.prime.direct.streams import CommonShifts, Streams
from surefoot.algorithms.prime.tuning import Tuning
from surefoot.algorithms.reasons import StopReason
from surefoot.algorithms.settings import Settings
from surefoot.algorithms.tally import Tally
from surefoot.arrays import Array, IntArray
from surefoot.certify import Boundary, Commitment
from surefoot.design.rounding import by_remainders
from surefoot.guides import Seen, checked, first_pairs_of, guide_from
from surefoot.problem.problem import RobustProblem
from surefoot.statistics import Counts, Outcome


class DirectCourse(Course):
    """Chooses phases without any model of the rewards."""

    def __init__(
        self, problem: RobustProblem, settings: Settings, tuning: Tuning, boundary: Boundary
    ) -> None:
        self.problem, self.settings, self.tuning = problem, settings, tuning
        self.boundary, self.guide = boundary, guide_from(settings.guide, problem)
        self.judge: Judge
        if settings.noise.evidence == "wealth":
            self.judge = BettingJudge(float(boundary.level[-1]), settings.tolerance, tuning)
        else:
            self.judge = JUDGES[settings.noise.evidence](boundary, problem.n_arms, tuning)
        self.order = np.arange(problem.n_arms)
        self.streams, self.common = Streams(problem.n_pairs, tuning), CommonShifts(tuning)
        self.per_pair = 0.0  # pulls of a compared pair, in all phases that count
        self.first_pulls: int | None = None

    def propose(self, past: Past) -> Proposal | StopReason | None:
        if past.certifier.open and not past.tally.samples:
            return self._meanwhile(past)
        layout = self._pilot(past)
        return self._compare(past) if layout is None else Proposal(*layout)

    def _meanwhile(self, past: Past) -> Proposal | None:
        """Propose pulls for workers that would wait for the last of the first phase."""
        pairs, pulls = (
            first_pairs_of(self.guide, self.problem),
            int(min(self._busy, past.remaining)),
        )
        counts, whole = np.zeros(self.problem.n_pairs, dtype=np.int64), pulls // len(pairs)
        counts[pairs] = whole
        left = pulls - whole * len(pairs)
        counts[pairs[np.linspace(0, len(pairs) - 1, left).round().astype(int)]] += 1
        return Proposal(counts) if pulls else None

    def committed(self, past: Past, commitment: Commitment) -> None:
        counts = commitment.phase.counts
        past = past._replace(remaining=past.remaining + counts.sum())  # as it was proposed
        if self.first_pulls is None:
            self.first_pulls = int(counts.sum())
        for claims in commitment.claims if past.tally.samples else ():
            contest = Contest.of(claims, self.problem.offsets)
            self.judge.count(contest, self._outlook(past, contest, counts).forecast)
            self.per_pair += self._pace(past, contest)

    def learned(self, past: Past, commitment: Commitment, outcome: Outcome) -> None:
        if commitment.phase.shared:
            self.streams.add(outcome)
            self.common.add(outcome)
        self.seen = self._what_was_seen(past.tally)
        self.guess = checked(self.guide, self.seen)
        challengers = [claims.challenger for claims in commitment.claims]
        self.order = self._ranked(past, challengers)

    def _ranked(self, past: Past, challengers: list[int]) -> IntArray:
        """The survivors, best guessed worst case first.

        A leader that is not much worse than the best guess, in terms of the tolerance, stays: what
        was gathered in its favour would be lost, and it is good enough.
        """
        alive = np.flatnonzero(past.certifier.survivors)
        values = self.problem.worst_of(self.guess.means)[alive]
        margin = self.tuning.loyalty * self.settings.tolerance
        values = values + np.where(np.isin(alive, challengers), margin, 0.0)
        return alive[np.argsort(-values, kind="stable")]

    def _pilot(self, past: Past) -> Layout | None:
        """Pulls that choose and do not count: a few of the guide's first pairs, then of those that
        may matter, until it is fairly clear which arm leads.
        """
        tuning, tally, remaining = self.tuning, past.tally, past.remaining
        if self.first_pulls is None:
            return self._first_pulls(remaining)
        most = max(tuning.pilot_most * self.first_pulls, tuning.pilot_pulls * self.problem.n_pairs)
        if self.per_pair or tally.samples >= most:
            return None
        view = self._opinion(past)
        if view.best.max() >= tuning.pilot_sure:
            return None
        wanted = max(tuning.pilot_share * tally.samples, tuning.pilot_least, self._busy)
        pulls = int(min(wanted, remaining))
        if self._may_share and self.common.own_share < tuning.streams_pay and pulls >= 2:
            return _round_of_blocks(view.interest, pulls)
        return Layout(by_remainders(pulls * view.interest, pulls))

    def _opinion(self, past: Past) -> Opinion:
        """Who may be best, by draws that depend on how much was pulled."""
        alive, draws = past.certifier.survivors, self.tuning.draws
        return opinion(self.guess, self.problem.offsets, alive, Draws(draws, past.tally.samples))

    def _first_pulls(self, remaining: float) -> Layout:
        pairs = first_pairs_of(self.guide, self.problem)
        pulls = max(self.tuning.pilot_pulls, -(-self._busy // len(pairs)))
        counts = np.zeros(self.problem.n_pairs, dtype=np.int64)
        if pulls * len(pairs) <= remaining:
            counts[pairs] = pulls
            return Layout(counts, pulls if self._may_share else 0, self._may_share)
        counts[pairs[np.linspace(0, len(pairs) - 1, int(remaining)).round().astype(int)]] = 1
        return Layout(counts)

    @property
    def _busy(self) -> int:
        """Pulls that a phase should have for workers' sake: fixed before any data."""
        return self.settings.least_pulls

    @property
    def _may_share(self) -> bool:
        return bool(self.settings.common_random_numbers)

    def _compare(self, past: Past) -> Proposal | StopReason:
        """Propose direct comparisons of the leader's pairs with a pair of every rival."""
        contest = self._next_contest(past)
        pace, least = self._pace(past, contest), self.judge.least_pulls(past, contest)
        if pace < least:
            return StopReason.BUDGET
        if self._shares_streams(contest):
            layout = self._blocks(past, contest, pace)
        else:
            layout = self._shared_out(past, contest, pace, least)
        outlook = self._outlook(past, contest, layout.counts)
        clocks = self.judge.clocks_after(past, contest, outlook.forecast)
        claims = contest.claims(clocks, self.judge.stakes(outlook, layout.batches))
        return Proposal(*layout, [claims], self.seen.variances)

    def _pace(self, past: Past, contest: Contest) -> float:
        """Return the pulls that each compared pair should have, on average."""
        tuning, n_compared = self.tuning, len(contest.pairs)
        growing, busy = (tuning.pair_growth - 1) * self.per_pair, self._busy / n_compared
        least = self.judge.least_pulls(past, contest)
        pace = max(tuning.pair_pulls, growing, float(least), busy)
        return min(pace, past.remaining / n_compared)

    def _shares_streams(self, contest: Contest) -> bool:
        if not self._may_share:
            return False
        silent = self.common.silent or self.streams.silent(contest)
        if self.settings.noise.evidence == "batches" and silent:
            return False
        return self.settings.common_random_numbers is True or self.streams.pay(contest)

    def _next_contest(self, past: Past) -> Contest:
        """Return the leader's open pairs against a pair of every arm whose clock can go on."""
        leader, last = int(self.order[0]), len(self.boundary.times) - 1
        arms = np.flatnonzero(past.certifier.rivals(leader) & ((past.places < last) | (last == 0)))
        places = np.flatnonzero(np.isfinite(past.held(leader)[arms]).any(axis=0))
        own = self.problem.offsets[leader] + places
        rivals = self._rivals(float(self.guess.means[own].min()))[arms]
        return Contest(leader, places, own, arms, rivals)

    def _held(self, past: Past, contest: Contest) -> Array:
        """(n_own, n_tested) the evidence so far, infinite where settled."""
        held = past.held(contest.challenger)
        return np.asarray(held[np.ix_(contest.arms, contest.places)].T)

    def _rivals(self, beaten: float) -> IntArray:
        """(n_arms,) the pair of each arm that is worth most to compare with.

        That is the one with the largest expected square of what it lies below `beaten`, in units of
        its noise. A pair that may be much worse than it seems is worth a try, so no wrong choice
        stays for ever.
        """
        means, deviations = self.guess
        alone = self.seen.variances / np.maximum(self.seen.counts, 1)
        spread = np.sqrt(deviations**2 + self.tuning.own_doubt**2 * alone)
        z = (beaten - means) / spread
        density = np.exp(-(z**2) / 2) / math.sqrt(2 * math.pi)
        worth = spread**2 * ((1 + z**2) * special.ndtr(z) + z * density) / self.seen.variances
        return self.problem.worst_pairs_of(-worth)

    def _blocks(self, past: Past, contest: Contest, pace: float) -> Layout:
        """Every pair as often as every other: differences within a block are what counts."""
        pace = max(pace, float(self._unripe(past, contest.pairs).max()))
        n_batches = int(min(max(math.floor(pace), 2), self.judge.most_batches))
        counts = np.zeros(self.problem.n_pairs, dtype=np.int64)
        counts[contest.pairs] = n_batches * max(round(pace / n_batches), 1)
        return Layout(counts, n_batches, True)

    def _shared_out(self, past: Past, contest: Contest, pace: float, least: int) -> Layout:
        """Pulls where they make it likeliest that all comparisons are settled."""
        pairs, judge, remaining = contest.pairs, self.judge, past.remaining
        shares = self._shares(past, contest, pace)
        wanted = np.maximum(np.rint(shares * pace * len(pairs)).astype(np.int64), least)
        wanted = np.maximum(wanted, self._unripe(past, pairs))
        if wanted.sum() > remaining:
            wanted = np.full(len(pairs), int(pace))
        n_batches = int(np.clip(wanted.min(), judge.least_batches, judge.most_batches))
        if judge.whole:
            nearest = n_batches * np.rint(wanted / n_batches).astype(np.int64)
            fits = nearest.sum() <= remaining
            wanted = nearest if fits else n_batches * (wanted // n_batches)
        counts = np.zeros(self.problem.n_pairs, dtype=np.int64)
        counts[pairs] = wanted
        return Layout(counts, n_batches if judge.least_batches else 0, False)

    def _unripe(self, past: Past, pairs: IntArray) -> IntArray:
        """(n_compared,) pulls that pairs lack before they may decide; phases double them at most,
        for another arm may lead by then.
        """
        counts = past.tally.counts[pairs]
        return np.minimum(np.maximum(past.pulls_asked - counts, 0), counts)

    def _shares(self, past: Past, contest: Contest, pace: float) -> Array:
        """(n_compared,) the share of each compared pair."""
        tuning, n_compared = self.tuning, len(contest.pairs)
        even = np.zeros(self.problem.n_pairs, dtype=np.int64)
        even[contest.pairs] = max(round(pace), 1)
        held, outlook = self._held(past, contest), self._outlook(past, contest, even)
        open_ = np.isfinite(held)
        own, tested = np.nonzero(open_)
        noise = self.seen.variances
        comparisons = Comparisons(
            own,
            len(contest.own) + tested,
            np.maximum(outlook.gaps + self.settings.tolerance, tuning.least_gap * outlook.doubts)[
                open_
            ],
            np.stack([noise[contest.own[own]], noise[contest.rivals[tested]]]),
        )
        shares = np.full(n_compared, 1 / n_compared)
        ahead = _horizons(tuning.furthest, tuning.pair_horizons)
        slope, evidence, wealth = self.judge.missing(past, contest, held, outlook, ahead)
        doubtful = 1 + tuning.doubt * ahead[:, None, None] * outlook.doubts**2 / outlook.variances
        rows = [np.ascontiguousarray(kind[:, open_]) for kind in (evidence, wealth, doubtful)]
        needs = Needs(ahead * pace * n_compared, slope, rows[0], rows[1], np.sqrt(rows[2]))
        k = first_hope(comparisons, needs, shares, math.log(tuning.hope))
        need = Need(needs.pulls[k], slope, needs.evidence[k], needs.wealth[k], needs.spreads[k])
        climb(comparisons, need, shares)
        shares = np.maximum(shares, tuning.least_share / n_compared)
        return np.asarray(shares / shares.sum())

    def _what_was_seen(self, tally: Tally) -> Seen:
        """Means and variances as they matter for differences: without what pairs have in common."""
        own_share = self.common.own_share if self._may_share else 1.0
        varying = 1.0 if self.common.silent else own_share
        variances = varying * self.settings.noise.variances(tally.scatter, tally.freedom)
        means = tally.sums / np.maximum(tally.counts, 1)
        if own_share < 1:
            means = self.common.taken_out(tally.counts.astype(np.float64), tally.sums)
        return Seen(self.problem, tally.counts, means, variances)

    def _outlook(self, past: Past, contest: Contest, counts: Counts) -> Outlook:
        """What past data say of the contest, if these are its pulls."""
        gaps = contest.gaps(self.guess.means)
        doubts = np.sqrt(contest.across(self.guess.deviations**2))
        variances = contest.across(self.seen.variances / np.maximum(counts, 1))
        open_ = np.isfinite(self._held(past, contest))
        precision = np.where(open_, 1 / variances, np.inf).min(axis=0)
        odds = special.ndtr((gaps + self.settings.tolerance) / np.maximum(doubts, 1e-300))
        hopeful = np.clip(np.where(open_, odds, 1.0).min(axis=0), self.tuning.least_hope, 1.0)
        likely = np.maximum(gaps + self.settings.tolerance, self.tuning.slight * doubts)
        scores = np.where(open_, likely / np.sqrt(variances), np.inf).min(axis=0)
        return Outlook(gaps, doubts, variances, Forecast(precision * hopeful**2, scores))


@lru_cache(maxsize=8)
def _horizons(furthest: float, number: int) -> Array:
    """(n_horizons,) phases ahead at which finishing is seen."""
    return np.geomspace(1.0, furthest, number)


def _round_of_blocks(interest: Array, pulls: int) -> Layout:
    """The most interesting pairs, each in every block: what differs within blocks is learnt."""
    chosen = np.argsort(-interest, kind="stable")[: max(2, min(pulls, int((interest > 0).sum())))]
    counts = np.zeros(len(interest), dtype=np.int64)
    counts[chosen] = n_blocks = max(pulls // len(chosen), 1)
    return Layout(counts, n_blocks, True)
