"""What a certificate cannot have seen: said truly, and waited for where that is asked."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy.stats import binomtest

import surefoot as sf
from surefoot.algorithms.unseen import pulls_for, rarities
from surefoot.errors import InputError
from surefoot.simulate import TableSimulator
from surefoot.statistics import Outcome, Phase

PROBLEM = sf.RobustProblem.from_pairs(np.eye(4), [0, 0, 1, 1])
MEANS = np.array([0.0, 0.6, 0.5, -0.8])
EVENT, COST = 0.1, 8.5


class Falling:
    """Normal rewards; events of one pair cost more, and are counted."""

    def __init__(self, seed: int, pair: int, cost: float) -> None:
        self.rng, self.pair, self.cost, self.seen = np.random.default_rng(seed), pair, cost, 0

    def pull(self, phase: Phase) -> Outcome:
        pairs = np.repeat(np.arange(4), phase.counts)
        fallen = (self.rng.random(len(pairs)) < EVENT) & (pairs == self.pair)
        self.seen += int(fallen.sum())
        rewards = MEANS[pairs] + 0.001 * self.rng.standard_normal(len(pairs)) - self.cost * fallen
        return Outcome.from_rewards(phase, 4, pairs, rewards)


def _answer(simulator: Any, **options: Any) -> sf.Result:
    return sf.identify(PROBLEM, simulator, delta=0.05, noise=sf.Gaussian(), **options)


def test_what_was_never_seen_is_rare_whenever_pulls_end() -> None:
    """Pulls end at the least favourable moment: just before the first event, if that says most."""
    rng, alpha = np.random.default_rng(0), 0.05
    first = rng.geometric(EVENT, 2000) - 1  # pulls without an event
    wrong = rarities(first, alpha) < EVENT
    assert binomtest(int(wrong.sum()), len(first), alpha, "greater").pvalue > 0.001
    assert wrong.mean() > 0.03  # and it says no less than it may


def test_pulls_for_a_rarity_see_it() -> None:
    n = pulls_for(0.02, 0.05)
    assert (1 - 0.02) ** n <= 0.05 < (1 - 0.02) ** (n - 1)
    assert rarities(np.array([n]), 0.05)[0] <= 0.02 < rarities(np.array([n - 1]), 0.05)[0]


def test_a_statement_about_an_unseen_cost_is_seldom_false() -> None:
    """With its events arm 0 is worst; without them it leads by 0.8, and hardly varies."""
    values = PROBLEM.worst_of(MEANS - COST * EVENT * (np.arange(4) == 0))
    assert values.argmax() == 1
    false, unaware = 0, 0
    for seed in range(80):
        simulator = Falling(seed, 0, COST)
        result = _answer(simulator, budget=150, unseen=COST)
        assert result.unseen is None or simulator.seen or result.arm == 0
        unaware += not simulator.seen
        if result.unseen is not None and result.arm == 0:
            false += result.unseen.certified_cost >= COST
    assert unaware > 0
    assert binomtest(false, 80, 0.05, "greater").pvalue > 0.001


def test_the_line_names_pulls_rarity_and_cost() -> None:
    result = _answer(TableSimulator(MEANS, 0.5, seed=1))
    found = result.unseen
    assert found is not None
    deciding = result.counts[[0, 1, 3]]
    assert found.pulls == deciding.min()
    assert found.rarity == pytest.approx(1 - 0.05 ** (1 / found.pulls))
    averages, shares = result.pair_averages, rarities(result.counts, 0.05)
    by_hand = min((averages[i] - averages[3]) / max(shares[i], shares[3]) for i in (0, 1))
    assert found.cost == pytest.approx(by_hand)
    assert found.sentence in repr(result).splitlines()
    assert f"at least {found.pulls} times" in found.sentence


def test_a_rival_is_held_by_its_clearest_pair() -> None:
    """Its other pair may rise as it likes."""
    result = _answer(TableSimulator([0.0, 0.6, 5.0, -0.8], 0.5, seed=1))
    assert result.unseen is not None
    assert result.unseen.cost > 3


def test_under_a_model_every_pulled_pair_counts_by_its_weight() -> None:
    problem = sf.RobustProblem.from_pairs([[1.0, 0.0], [1.0, 1.0], [1.0, 2.0]], [0, 1, 2])
    result = sf.identify(
        problem,
        sf.LinearSimulator(problem, [0.0, 1.0], noise=0.5, seed=0),
        delta=0.05,
        noise=sf.Gaussian(),
        misfit=0,
    )
    assert result.unseen is not None
    assert result.arm == 2
    pulled = np.flatnonzero(result.counts)
    rows, counts = problem.pairs[pulled], result.counts[pulled]
    fit = np.linalg.pinv(np.sqrt(counts)[:, None] * rows) * np.sqrt(counts)
    shares, costs = rarities(result.counts, 0.05)[pulled], []
    for rival in (0, 1):
        lead = problem.pairs[2] - problem.pairs[rival]
        taken = (np.abs(lead @ fit) * shares).max()
        costs.append((result.pair_means[2] - result.pair_means[rival]) / taken)
    assert result.unseen.cost == pytest.approx(min(costs))
    assert result.unseen.certified_cost == 0


def test_no_line_where_the_range_is_known_or_nothing_is_certified() -> None:
    coins = TableSimulator([0.9, 0.8, 0.2, 0.1], seed=0, family="bernoulli")
    result = sf.identify(PROBLEM, coins, delta=0.05, noise=sf.Bounded(0, 1))
    assert result.certified
    assert result.unseen is None
    assert _answer(TableSimulator(MEANS, seed=0), budget=20).unseen is None


@pytest.mark.parametrize(
    ("noise", "sharing"),
    [
        (sf.Gaussian(), False),
        (sf.Gaussian(), True),
        (sf.Gaussian(0.1), False),
        (sf.Gaussian(equal=True), False),
    ],
)
def test_no_pair_decides_before_it_saw_what_is_rare(noise: Any, sharing: bool) -> None:
    result = sf.identify(
        PROBLEM,
        TableSimulator(MEANS, 0.1, seed=2),
        delta=0.05,
        noise=noise,
        rarest=0.05,
        common_random_numbers=sharing,
    )
    assert result.certified
    assert result.unseen is not None
    assert result.unseen.rarity <= 0.05
    assert result.samples < 6 * pulls_for(0.05, 0.05)


def test_a_run_goes_on_until_an_unseen_cost_is_large() -> None:
    usual = _answer(TableSimulator(MEANS, 0.5, seed=3))
    longer = _answer(TableSimulator(MEANS, 0.5, seed=3), unseen=8.0)
    assert longer.certified
    assert longer.unseen is not None
    assert usual.unseen is not None
    assert usual.unseen.certified_cost < 8 <= longer.unseen.certified_cost
    cut = _answer(TableSimulator(MEANS, 0.5, seed=3), unseen=8.0, budget=usual.samples + 5)
    assert cut.certified
    assert cut.samples <= usual.samples + 5


@pytest.mark.parametrize("asked", [{"rarest": 0.02}, {"unseen": 3.0}])
def test_what_cannot_be_waited_for_is_refused(asked: dict[str, float]) -> None:
    simulator = TableSimulator(MEANS, seed=0)
    with pytest.raises(InputError, match=r"misfit=math\.inf"):
        _answer(simulator, misfit=0.0, **asked)
    with pytest.raises(InputError, match="range of the rewards"):
        sf.identify(PROBLEM, simulator, delta=0.05, noise=sf.Bounded(0, 1), **asked)
    with pytest.raises(InputError, match="prime"):
        _answer(simulator, algorithm="equal", budget=50, **asked)


@pytest.mark.parametrize("rarest", [0, 1, -0.1, math.nan, "2 %"])
def test_impossible_rarities_are_refused(rarest: Any) -> None:
    with pytest.raises(InputError, match="1 of 50"):
        _answer(TableSimulator(MEANS, seed=0), rarest=rarest)
