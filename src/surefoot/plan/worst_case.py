"""PRIME for the best worst case: the pulls of each pair, and the claims on them."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from scipy import special

from surefoot.algorithms.base import Proposal
from surefoot.algorithms.certified import clock_boundary
from surefoot.algorithms.planner import Past
from surefoot.algorithms.settings import Settings
from surefoot.algorithms.tally import Tally
from surefoot.algorithms.verdict import StopReason
from surefoot.arrays import Array, IntArray
from surefoot.certify import Boundary, Claims, Commitment, Rows
from surefoot.design.whitening import measured_root
from surefoot.guides import Seen, checked, first_pairs_of, guide_from
from surefoot.plan.clocks import Clocks, CommonClocks, NoClocks, OwnClocks
from surefoot.plan.contrasts import Compared, Measured, Race, by_model, directly, pulls_of
from surefoot.plan.evidence import evidence_for
from surefoot.plan.pilot import (
    PosteriorDraws,
    draw_best_arms,
    first_of_guide,
    first_of_model,
    in_blocks,
    next_round,
    spares_one,
    witness,
)
from surefoot.plan.shares import (
    CHECKS,
    MOST_RIVALS,
    Outlook,
    Pullable,
    climbed,
    completing,
    cumulative,
    explored,
    in_batches,
)
from surefoot.plan.strategy import Strategy
from surefoot.plan.streams import CommonShifts, Streams
from surefoot.plan.tuning import Tuning
from surefoot.plan.view import Space, View
from surefoot.problem.problem import RobustProblem
from surefoot.statistics import Counts, Outcome

REPLICATES = 12  # pulls of a unit beyond the dimension at least, to check the model with
BATCHED_UNIT = 5  # pulls of a unit for each dimension at least, where pulls are put into batches
MARGIN = 2.0  # by which the evidence that a tolerance asks for at most exceeds 2 log(1/δ)
EXPLORED = 30.0  # units of data after which the share that explores falls
TURNS = 2  # of choosing contrasts for shares, and shares for contrasts
AFRESH = 0.05  # share of the pulls that begin on all candidates, so that all stay possible
UNDER_SAMPLED = 60.0  # ratio of an arm's most pulls of a pair to this pair's, beyond which
NEGLECT = 1.5  # standard errors are added to its mean's, for each factor e (squares add up)
MANY = 1000  # pairs beyond which only some are candidates


class WorstCase(Strategy):
    """Claims that every pair of a leader beats a mixture of the pairs of each survivor.

    Args:
        boundary: of a run that is resumed; None: a new one is planned.
    """

    def __init__(
        self,
        problem: RobustProblem,
        settings: Settings,
        tuning: Tuning,
        boundary: Boundary | None,
    ) -> None:
        self.problem, self.settings, self.tuning = problem, settings, tuning
        n_pairs, self.modelled = problem.n_pairs, settings.modelled
        self.suspicion = tuning.suspicion._replace(shared=bool(settings.common_random_numbers))
        self.rule = evidence_for(settings, tuning)
        self.space = Space.of(problem, settings.noise.scales(n_pairs), settings.misfit)
        unit = max(tuning.unit * problem.dimension, problem.dimension + REPLICATES)
        if self.rule.least_batches:
            unit = max(unit, BATCHED_UNIT * problem.dimension)
        self.unit = max(round(unit), settings.least_pulls)
        self.clocks = self._clocks(boundary)
        self.boundary = self.clocks.boundary
        self.guide = None if self.modelled else guide_from(settings.guide, problem)
        self.streams, self.common = Streams(n_pairs, tuning), CommonShifts()
        self.order: IntArray = np.arange(problem.n_arms)
        self.beaten_by = np.full(problem.n_arms, -1)
        self.shares, self.first_pulls = self.space.spread, 0

    def propose(self, past: Past) -> Proposal | StopReason | None:
        if not past.tally.samples:
            return self._meanwhile(past) if past.certifier.open else self._first_pulls(past)
        if self.settings.aim == "guess":
            return self._spend(past)
        pilot = None if self.modelled else self._pilot(past)
        found = self._compare(past) if pilot is None else pilot
        return self._last_pulls(past) if found is StopReason.BUDGET else found

    def committed(self, past: Past, commitment: Commitment) -> None:
        counts = commitment.phase.counts
        if not past.tally.samples:
            self.first_pulls = self.first_pulls or int(counts.sum())
            return
        if commitment.claims and self.modelled:
            self.shares = counts / counts.sum()
        for claims in () if self.modelled else commitment.claims[:1]:
            self.beaten_by[claims.arms] = claims.challenger
            race, rivals = self._raced(past, claims)
            pairs = np.concatenate([race.own, rivals])
            compared = directly(self.view, race, rivals, self.view.noise / np.maximum(counts, 1))
            self.clocks.count(compared, float(counts[pairs].mean()))

    def learned(self, past: Past, commitment: Commitment, outcome: Outcome) -> None:
        if commitment.phase.shared:
            self.streams.add(outcome)
            self.common.add(outcome)
        self.view = self._viewed(past.tally)
        alive = np.flatnonzero(past.certifier.survivors)
        if not len(alive):
            return
        values = self.problem.worst_of(self.view.means)[alive]
        # a leader that is good enough stays: else its evidence would be lost
        margin = self.tuning.loyalty * self.settings.tolerance
        led = [claims.challenger for claims in commitment.claims[:1]]
        values = values + np.where(np.isin(alive, led), margin, 0.0)
        self.order = alive[np.argsort(-values, kind="stable")]

    def best_guess(self, past: Past) -> int:
        return int(self.order[0])

    def _clocks(self, boundary: Boundary | None) -> Clocks:
        settings, tuning = self.settings, self.tuning
        if self.modelled:
            enough = self._enough() / self.unit
            return CommonClocks(settings, tuning, self.unit, enough, boundary)
        middle, rise = tuning.grid_middle, tuning.grid_rise
        boundary = boundary or clock_boundary(settings, middle, rise)
        if settings.noise.evidence == "wealth":
            return NoClocks(boundary, tuning)
        return OwnClocks(boundary, self.problem.n_arms, settings.tolerance, tuning)

    def _enough(self) -> float:
        """Return the pulls that no run with a model needs more of, by its budget or tolerance."""
        settings, tolerance = self.settings, self.settings.tolerance
        budget = math.inf if settings.budget is None else float(settings.budget)
        if not (tolerance > 0 and settings.noise.known):
            return budget
        scales = settings.noise.scales(self.problem.n_pairs)
        weights = np.sqrt(self.space.spread) / scales
        root, _ = measured_root(self.space.features * weights[:, None])
        furthest = 4 * float(((self.space.features @ root) ** 2).sum(axis=1).max())
        evidence = 2 * math.log(1 / settings.delta) + MARGIN
        return min(evidence * furthest / tolerance**2, budget)

    def _viewed(self, tally: Tally) -> View:
        """Return estimates of the means from all data so far."""
        if self.guide is None:
            return self.space.fitted(tally.counts, tally.sums, self.rule.variances(tally))
        own_share = self.common.own_share if self._may_share else 1.0
        means = tally.sums / np.maximum(tally.counts, 1)
        if own_share < 1:  # the common part of pairs cancels in differences
            means = self.common.taken_out(tally.counts.astype(np.float64), tally.sums)
        noise = own_share * self.rule.variances(tally)
        guess = checked(self.guide, Seen(self.problem, tally.counts, means, noise))
        return self.space.guessed(guess, noise)

    # -- pulls outside any claim -------------------------------------------------------------------

    @property
    def _may_share(self) -> bool:
        return bool(self.settings.common_random_numbers)

    def _first_pulls(self, past: Past) -> Proposal:
        parallel, remaining = self.settings.least_pulls, past.remaining
        if self.guide is None:
            batched = self.rule.least_batches > 0
            return Proposal(first_of_model(self.space, batched, parallel, remaining))
        pairs = first_pairs_of(self.guide, self.problem)
        pulls = max(self.tuning.pilot_pulls, -(-parallel // len(pairs)))
        counts = first_of_guide(pairs, self.problem.n_pairs, pulls, remaining)
        shared = self._may_share and bool(counts.max() == pulls)
        return Proposal(counts, pulls if shared else 0, shared)

    def _meanwhile(self, past: Past) -> Proposal | None:
        """Return pulls for workers that would wait for the last of the first phase."""
        pulls = int(min(self.settings.least_pulls, past.remaining))
        shares = self.space.spread
        if self.guide is not None:
            shares = np.zeros(self.problem.n_pairs)
            shares[first_pairs_of(self.guide, self.problem)] = 1.0
        return Proposal(cumulative(shares, pulls)) if pulls else None

    def _pilot(self, past: Past) -> Proposal | None:
        """Return a round that does not count, until it is fairly clear which arm leads."""
        tuning, samples = self.tuning, past.tally.samples
        most = max(tuning.pilot_most * self.first_pulls, tuning.pilot_pulls * self.problem.n_pairs)
        if samples >= most or (past.places >= 0).any():
            return None
        draws = self._draws(past)
        if draws.best.max() >= tuning.pilot_sure:
            return None
        pulls = next_round(tuning, samples, self.settings.least_pulls, past.remaining)
        if self._may_share and self.common.own_share < tuning.streams_pay and pulls >= 2:
            return Proposal(*in_blocks(draws.interest, pulls), True)
        return Proposal(cumulative(draws.interest / np.sqrt(past.tally.prices), pulls))

    def _last_pulls(self, past: Past) -> Proposal:
        """Return pulls that improve the guess, where too few are left for a phase that counts."""
        pulls = next_round(
            self.tuning, past.tally.samples, self.settings.least_pulls, past.remaining
        )
        return Proposal(
            cumulative(self.space.spread if self.modelled else self._draws(past).interest, pulls)
        )

    def _spend(self, past: Past) -> Proposal:
        """Spend a budget on the best guess, by top-two Thompson sampling; the last on comparisons,
        which serve the guess and are evidence too.
        """
        assert self.settings.budget is not None
        samples, remaining = int(self.settings.budget - past.remaining), past.remaining
        learning = int(self.tuning.guess_share * (samples + remaining)) - samples
        may_compare = bool(past.can_go_on[self.order[1:]].any())
        if learning < 1 and may_compare:
            compared = self._compare(past)
            if isinstance(compared, Proposal):
                return compared
        most = learning if learning >= 1 else int(remaining)
        pulls = next_round(self.tuning, samples, 1, most)
        interest = self._draws(past).interest / np.sqrt(past.tally.prices)
        return Proposal(cumulative(interest, pulls))

    def _draws(self, past: Past) -> PosteriorDraws:
        alive, seed = past.certifier.survivors, past.tally.samples
        return draw_best_arms(self.view, self.problem.offsets, alive, seed)

    # -- pulls that count ------------------------------------------------------------------------

    def _compare(self, past: Past) -> Proposal | StopReason:
        """Propose a phase in which the leader's pairs should beat those of every rival."""
        if self.clocks.spent(past):
            return StopReason.LOOKS_SPENT
        race = self._race(past, int(self.order[0]))
        rivals = np.zeros(0, dtype=np.int64) if self.modelled else self._rivals(past, race)
        pairs = self._candidates(race, rivals)
        if self.modelled:
            lowest = self.rule.least_phase(self.space.dimension)
        else:
            lowest = self.rule.least_pulls(past, race, rivals) * len(pairs)
        planned = self.clocks.planned(past, len(pairs))
        pulls = min(max(planned, lowest, self.settings.least_pulls), past.remaining)
        if pulls < lowest:
            return StopReason.BUDGET
        if not self.modelled and self._shares_streams(race, rivals):
            return self._in_blocks(past, race, rivals, pulls / len(pairs))
        shares, size = self._chosen(past, race, rivals, pairs, pulls)
        if not self.modelled:
            return self._directly(past, race, rivals, shares, pulls, lowest // len(pairs))
        shares, size = self._bought(past, shares, size)
        pulls = int(
            min(max(round(size * pulls), lowest, self.settings.least_pulls), past.remaining)
        )
        return self._by_model(past, race, shares, pulls)

    def _bought(self, past: Past, shares: Array, size: float) -> tuple[Array, float]:
        """Return shares of pulls from those of costs, and a phase's size in pulls."""
        if self.settings.cost is None:
            return shares, size
        bought = shares / past.tally.prices
        return bought / bought.sum(), size * float(bought.sum())

    def _race(self, past: Past, leader: int) -> Race:
        """Return the leader's open pairs, and every arm that it has yet to be told from."""
        arms = np.flatnonzero(past.certifier.rivals(leader) & past.can_go_on)
        held = past.held(leader)[arms]
        places = np.flatnonzero(np.isfinite(held).any(axis=0))
        return Race(leader, self.problem.offsets[leader] + places, arms, held[:, places].T)

    def _raced(self, past: Past, claims: Claims) -> tuple[Race, IntArray]:
        """Return who was compared, and by which pair of every arm, mainly."""
        offsets, shares = self.problem.offsets, claims.shares
        rivals = offsets[claims.arms].copy()
        row = np.repeat(np.arange(len(shares.sizes)), shares.sizes) % max(len(claims.arms), 1)
        order = np.argsort(shares.values, kind="stable")
        rivals[row[order]] = shares.columns[order]
        places = claims.points - offsets[claims.challenger]
        held = past.held(claims.challenger)[np.ix_(claims.arms, places)].T
        return Race(claims.challenger, claims.points, claims.arms, held), rivals

    def _rivals(self, past: Past, race: Race) -> IntArray:
        """Return (n_tested,) the pair of each arm that is worth most to compare with directly.

        That is the one with the largest expected square of its gap below the leader, in units of
        its noise, for its price. A pair that may be much worse than it seems is worth a try, and
        the more so once another of its arm was pulled far more often: no wrong choice stays for
        ever.
        """
        view, counts, offsets = self.view, np.maximum(past.tally.counts, 1), self.problem.offsets
        beaten = float(view.means[race.own].min())
        most = np.repeat(np.maximum.reduceat(counts, offsets[:-1]), np.diff(offsets))
        neglect = np.maximum(np.log(most / (UNDER_SAMPLED * counts)), 0.0)
        doubt = self.tuning.own_doubt**2 + NEGLECT**2 * neglect
        spread = np.sqrt(view.alone + doubt * view.noise / counts)
        z = (beaten - view.means) / spread
        density = np.exp(-(z**2) / 2) / math.sqrt(2 * math.pi)
        worth = spread**2 * ((1 + z**2) * special.ndtr(z) + z * density)
        worth = worth / (view.noise * past.tally.prices)
        return self.problem.worst_pairs_of(-worth)[race.arms]

    def _candidates(self, race: Race, rivals: IntArray) -> IntArray:
        """Return the pairs that may be worth a pull, in their order."""
        if not self.modelled:
            return np.sort(np.concatenate([race.own, rivals]))
        n_pairs = self.problem.n_pairs
        if n_pairs <= MANY:
            return np.arange(n_pairs)
        wanted = (self.space.spread > 0) | (self.shares > 0)
        wanted[race.own] = True
        wanted[self.problem.worst_pairs_of(self.view.means)[self.order[: MOST_RIVALS + 1]]] = True
        return np.flatnonzero(wanted)

    def _chosen(
        self, past: Past, race: Race, rivals: IntArray, pairs: IntArray, pulls: float
    ) -> tuple[Array, float]:
        """Return (n_pairs,) shares of costs that make it likeliest that all is settled, and the
        size of the phase in planned ones.

        A pull's information for its price is that of a pull with so many times the variance: shares
        of costs are then chosen like shares of pulls.
        """
        tuning, prices, size = self.tuning, past.tally.prices[pairs], 1.0
        shares = np.full(len(pairs), 1 / len(pairs))
        if self.modelled:
            last = self.shares[pairs] * prices
            shares = (1 - AFRESH) * last / last.sum() + AFRESH * shares
        candidates = Pullable(pairs, self.view.noise[pairs] * prices, self.space.features, pulls)
        for _ in range(TURNS if self.modelled else 1):
            compared = self._compared(race, rivals, pairs, shares * pulls / prices)
            ahead = self.clocks.ahead(past, compared)
            tolerance, slight = self.settings.tolerance, tuning.slight
            outlook = Outlook.of(compared, ahead, tolerance, slight, tuning.doubt).pressing()
            if not len(outlook.gaps):
                return self.space.spread, 1.0  # the leader shares every pair that matters
            horizon = outlook.horizon(tuning.hope)
            shares, lengths = climbed(outlook, compared, candidates, shares, horizon)
            size = outlook.size(lengths) if self.clocks.flexible else 1.0
        chosen = np.zeros(self.problem.n_pairs)
        chosen[pairs] = shares
        return chosen, size

    def _compared(self, race: Race, rivals: IntArray, pairs: IntArray, pulls: Array) -> Compared:
        """Return the contrasts of a phase with these pulls of each pair."""
        variances = self.view.noise[pairs] / pulls
        if self.modelled:
            pulled = Measured(pairs, variances)
            return by_model(self.space, self.view, race, pulled, cautious=False)
        every = np.full(self.problem.n_pairs, np.inf)
        every[pairs] = variances
        return directly(self.view, race, rivals, every)

    # -- phases that compare directly ------------------------------------------------------------

    def _shares_streams(self, race: Race, rivals: IntArray) -> bool:
        if not self._may_share:
            return False
        if self.settings.noise.evidence == "batches" and self.streams.silent(race, rivals):
            return False
        always = self.settings.common_random_numbers is True
        return always or self.streams.pay(race, rivals)

    def _in_blocks(self, past: Past, race: Race, rivals: IntArray, pace: float) -> Proposal:
        """Pull all pairs equally often: differences within a block count."""
        pairs = np.concatenate([race.own, rivals])
        pace = max(pace, float(self._unripe(past, pairs).max()))
        batches = int(min(max(math.floor(pace), 2), self.rule.most_batches))
        counts = np.zeros(self.problem.n_pairs, dtype=np.int64)
        counts[pairs] = batches * max(round(pace / batches), 1)
        return self._claimed(past, race, rivals, counts, batches, shared=True)

    def _directly(
        self, past: Past, race: Race, rivals: IntArray, shares: Array, pulls: float, least: int
    ) -> Proposal:
        """Pull where it makes it likeliest that all comparisons are settled, and all of them."""
        pairs, remaining = np.flatnonzero(shares), past.remaining
        shares = np.maximum(shares[pairs], self.tuning.least_share / len(pairs))
        bought = shares / past.tally.prices[pairs]
        wanted = cumulative(bought, round(pulls * bought.sum() / shares.sum()))
        wanted = np.maximum(wanted, least)
        wanted = np.maximum(wanted, self._unripe(past, pairs))
        if wanted.sum() > remaining:
            wanted = np.full(len(pairs), int(pulls / len(pairs)))
        batches = self.rule.batches_for(wanted)
        if self.rule.whole:
            nearest = batches * np.rint(wanted / batches).astype(np.int64)
            fits = nearest.sum() <= remaining
            wanted = nearest if fits else batches * (wanted // batches)
        elif (raised := np.maximum(wanted, batches)).sum() <= remaining:
            wanted = raised
        counts = np.zeros(self.problem.n_pairs, dtype=np.int64)
        counts[pairs] = wanted
        return self._claimed(past, race, rivals, counts, min(batches, int(wanted.min())))

    def _unripe(self, past: Past, pairs: IntArray) -> IntArray:
        """Return (n_compared,) pulls that pairs lack before they may decide; phases double them at
        most, for another arm may lead by then.
        """
        counts = past.tally.counts[pairs]
        return np.minimum(np.maximum(past.pulls_asked - counts, 0), counts)

    def _claimed(
        self,
        past: Past,
        race: Race,
        rivals: IntArray,
        counts: Counts,
        batches: int,
        shared: bool = False,
    ) -> Proposal:
        noise = self.view.noise
        compared = directly(self.view, race, rivals, noise / np.maximum(counts, 1))
        batch = batches * compared.lengths**2
        tolerance = self.settings.tolerance
        stakes = self.rule.stakes(compared.gaps, compared.doubts, batch, tolerance)
        claims = compared.claims(self.clocks.steps(past, compared), stakes)
        return Proposal(counts, batches, shared, [claims, *self._in_question_again(past)], noise)

    def _in_question_again(self, past: Past) -> list[Claims]:
        """Return claims that test eliminated arms again whose estimate now exceeds that of their
        challenger. Clocks stand still, so a lowered walk may restore an arm, and no more.
        """
        if past.doubt is None:
            return []
        found, means, beaten_by = list[Claims](), self.view.means, self.beaten_by
        values, lowest = self.problem.worst_of(means), self.problem.worst_pairs_of(means)
        for ell in np.unique(beaten_by[beaten_by >= 0]).tolist():
            better = values > values[ell] + self.settings.tolerance
            arms = np.flatnonzero((beaten_by == ell) & better & ~past.certifier.rivals(ell))
            if len(arms):
                own = np.arange(*self.problem.offsets[ell : ell + 2])
                shares = Rows(np.arange(len(arms) + 1), lowest[arms], np.ones(len(arms)))
                found.append(Claims(ell, own, arms, past.places[arms], shares, np.array(np.inf)))
        return found

    # -- phases that a model is fitted to --------------------------------------------------------

    def _by_model(self, past: Past, race: Race, shares: Array, pulls: int) -> Proposal:
        """Pull by these shares, a few pulls aside to learn θ and to notice a wrong model."""
        rule, space, samples = self.rule, self.space, past.tally.samples
        share = self.tuning.exploration * min(1.0, EXPLORED * self.unit / samples)
        least = 0 if rule.least_batches else CHECKS
        aside = min(max(round(share * pulls), least), pulls // 2)
        counts = cumulative(shares, pulls - aside)
        used = in_batches(counts, space.features)
        if aside:
            wanted = (space.spread + 1 / len(shares)) / 2 * share * (samples + pulls)
            counts = counts + explored(wanted - counts, past.tally.counts, aside)
        batches = 0
        if rule.least_batches:
            batches = rule.batches_for(counts[used])
            raised = np.where(used, np.maximum(counts, batches), counts)
            if raised.sum() <= past.remaining:
                counts = self._with_witness(raised, batches, past)
            else:
                batches = max(int(counts[used].min()), 2)
        compared = self._seen_by(race, counts, batches)
        if batches:
            counts, compared = self._in_sight(counts, batches, race, compared, past)
        unit = rule.unit(self.view.noise)
        claims = []
        for each in (compared, self._seen_by(self._against_leader(past), counts, batches)):
            in_units = replace(each, deviation=each.deviation / unit)
            claims.append(in_units.claims(self.clocks.steps(past, each)))
        return Proposal(counts, batches, False, claims, self.view.noise)

    def _against_leader(self, past: Past) -> Race:
        """Return the runner-up's pairs, which should beat the leader's."""
        leader, runner_up = self.order[:1], int(self.order[1])
        first, last = self.problem.offsets[runner_up : runner_up + 2]
        held = past.held(runner_up)[leader].T
        return Race(runner_up, np.arange(first, last), leader, held)

    def _seen_by(self, race: Race, counts: Counts, batches: int) -> Compared:
        """Return the clearest contrasts of a phase as it will be pulled, with caution."""
        pulled = pulls_of(counts, batches, self.view.noise)
        return by_model(self.space, self.view, race, pulled, cautious=self.space.exact)

    def _with_witness(self, counts: Counts, batches: int, past: Past) -> Counts:
        """Return the counts with a pair more in the batches, where the model's test needs one."""
        used = np.flatnonzero(counts >= batches)
        if self.space.exact and spares_one(self.problem.pairs, used):
            return counts
        pair = witness(self.problem.pairs, past.tally.strayed, used, batches)
        if pair is None or counts.sum() - counts[pair] + batches > past.remaining:
            return counts
        counts = counts.copy()
        counts[pair] = batches
        return counts

    def _in_sight(
        self, counts: Counts, batches: int, race: Race, compared: Compared, past: Past
    ) -> tuple[Counts, Compared]:
        """Add pairs in all directions where the phase would see nothing of an open comparison.

        A design of few pairs may miss a direction by a hair, and one phase after another.
        """

        def blind(compared: Compared) -> int:
            return int((np.isfinite(race.held) & (compared.lengths == 0)).sum())

        if not blind(compared):
            return counts, compared
        used = np.flatnonzero(counts >= batches)
        joining = completing(self.space.features, used, np.flatnonzero(self.space.spread))
        wider = counts.copy()
        wider[joining] = np.maximum(wider[joining], batches)
        seeing = self._seen_by(race, wider, batches)
        better = wider.sum() <= past.remaining and blind(seeing) < blind(compared)
        return (wider, seeing) if better else (counts, compared)
