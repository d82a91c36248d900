"""Dependence between a pair's pulls is found, and chance is not taken for it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from scipy.stats import binomtest

import surefoot as sf
from surefoot.algorithms.independence import Independence
from surefoot.arrays import Array
from surefoot.simulate import TableSimulator
from surefoot.statistics import Outcome, Phase

Draw = Callable[[np.random.Generator, int], Array]
HONEST: dict[str, Draw] = {
    "normal": lambda rng, n: rng.standard_normal(n),
    "counts": lambda rng, n: rng.poisson(0.3, n).astype(np.float64),
    "t of 3": lambda rng, n: rng.standard_t(3, n),
    "log-normal": lambda rng, n: np.exp(rng.standard_normal(n)),
}
PROBLEM = sf.RobustProblem.from_pairs(np.eye(4), [0, 0, 1, 1])


def following(correlation: float) -> Draw:
    """Each value follows the one before it."""

    def draw(rng: np.random.Generator, n: int) -> Array:
        values = rng.standard_normal(n)
        for k in range(1, n):
            new = np.sqrt(1 - correlation**2) * values[k]
            values[k] = correlation * values[k - 1] + new
        return values

    return draw


def judged(draw: Draw, seed: int, pulls: int, phases: int = 3) -> float:
    """The p-value after phases of as many pulls of 4 pairs."""
    rng, found = np.random.default_rng(seed), Independence()
    rewards = np.stack([draw(rng, pulls * phases) for _ in range(4)])
    for phase in range(phases):
        now = rewards[:, phase * pulls : (phase + 1) * pulls]
        pairs = np.tile(np.arange(4), pulls)
        found = found.after(Outcome.from_rewards(phase, 4, pairs, now.T.ravel()))
    assert found.p_value is not None
    return found.p_value


@pytest.mark.parametrize("kind", HONEST)
def test_chance_is_seldom_taken_for_dependence(kind: str) -> None:
    values = np.array([judged(HONEST[kind], seed, 20) for seed in range(300)])
    for level in (0.2, 0.05, 0.01):
        assert binomtest(int((values <= level).sum()), 300, level, "greater").pvalue > 0.001


def test_a_common_drift_is_no_dependence() -> None:
    drifting = [judged(lambda rng, n: rng.standard_normal(n) + np.linspace(0, 1, n), s, 20)
                for s in range(60)]  # fmt: skip
    assert min(drifting) > 0.001


def test_pulls_that_follow_each_other_are_found() -> None:
    assert np.mean([judged(following(0.5), seed, 20) < 0.001 for seed in range(20)]) > 0.7
    assert np.mean([judged(following(0.9), seed, 20) < 0.001 for seed in range(20)]) > 0.9


def test_phases_make_no_difference() -> None:
    """What counts is a pair's own order."""
    assert judged(HONEST["normal"], 1, 60, 1) == judged(HONEST["normal"], 1, 20, 3)


def test_an_outcome_without_single_rewards_says_nothing() -> None:
    outcome = TableSimulator(np.zeros(4), seed=0).pull(Phase(0, np.full(4, 9)))
    assert Independence().after(outcome).p_value is None


class Following:
    """Each pair's own pulls follow each other, from phase to phase."""

    def __init__(self, means: Array, seed: int, follows: float = 0.7) -> None:
        self.means, self.follows = means, follows
        self.rng, self.last = np.random.default_rng(seed), np.zeros(4)

    def pull(self, phase: Phase) -> Outcome:
        pairs = np.repeat(np.arange(4), phase.counts)
        rewards = np.empty(len(pairs))
        for k, pair in enumerate(pairs):
            new = np.sqrt(1 - self.follows**2) * self.rng.standard_normal()
            self.last[pair] = self.follows * self.last[pair] + new
            rewards[k] = self.means[pair] + self.last[pair]
        return Outcome.from_rewards(phase, 4, pairs, rewards)


def first_pulls(draw: Draw, seed: int, pulls: int, shared: bool = False) -> Independence:
    rng = np.random.default_rng(seed)
    rewards = np.stack([draw(rng, pulls) for _ in range(4)])
    outcome = Outcome.from_rewards(0, 4, np.tile(np.arange(4), pulls), rewards.T.ravel())
    return Independence().after(outcome, shared)


@pytest.mark.parametrize("kind", HONEST)
@pytest.mark.parametrize("pulls", [4, 9, 30])
def test_few_honest_pulls_seldom_seem_to_follow_each_other(kind: str, pulls: int) -> None:
    """Beyond two standard errors: 2.3 % of the time, and 4 % where the ratio is skewed."""
    pairs = np.arange(4)
    seem = sum(first_pulls(HONEST[kind], s, pulls).seems_broken(pairs) for s in range(300))
    assert binomtest(seem, 300, 0.04, "greater").pvalue > 0.001


def test_few_pulls_that_follow_each_other_seem_to() -> None:
    pairs = np.arange(4)
    seem = sum(first_pulls(following(0.9), s, 9).seems_broken(pairs) for s in range(100))
    assert seem > 80
    assert not first_pulls(following(0.9), 0, 61).seems_broken(pairs)  # bets will tell by then
    assert not first_pulls(following(0.9), 0, 9).seems_broken(np.array([7]))


def test_noise_in_common_is_counted_once() -> None:
    """Under shared streams all pairs have the same order: it says no more than that of one."""
    order = np.array([0.0, 3.0, 1.0, 2.0, 6.0, 4.0, 8.0, 5.0, 7.0])
    rewards = np.repeat(order[:, None], 4, axis=1)
    outcome = Outcome.from_rewards(0, 4, np.tile(np.arange(4), 9), rewards.ravel())
    apart, shared = (Independence().after(outcome, choice) for choice in (False, True))
    assert apart.seems_broken(np.arange(4))
    assert not shared.seems_broken(np.arange(4))
    assert not apart.seems_broken(np.arange(1))


def test_nothing_is_concluded_from_pulls_that_seem_to_follow_each_other() -> None:
    """Until bets tell, or the user accepts it."""
    wrong = {"reject": 0, "ignore": 0}
    for on_misfit in wrong:
        for seed in range(40):
            simulator = Following(np.array([0.0, 0.5, 0.1, -0.4]), seed, 0.9)
            given = {"delta": 0.05, "noise": sf.Gaussian(), "on_misfit": on_misfit, "budget": 300}
            wrong[on_misfit] += sf.identify(PROBLEM, simulator, **given).certified
    assert wrong["reject"] <= 6
    assert wrong["ignore"] >= 20


def test_no_certificate_rests_on_pulls_that_depend() -> None:
    simulator = Following(np.array([0.0, 0.5, 0.1, -0.4]), 4)
    result = sf.identify(PROBLEM, simulator, delta=0.05, noise=sf.Gaussian())
    assert result.reason is sf.StopReason.PULLS_DEPEND
    assert not result.certified
    assert result.attained_confidence is None
    assert result.unseen is None
    assert "independent pulls rejected" in result.checks
    assert "pull.rng()" in repr(result)


def test_pairs_without_a_pull_count() -> None:
    """Whoever chooses how many pairs to begin with would choose the luckiest number."""
    rewards = np.repeat(np.arange(200.0), 2)  # of two pairs that rise all the time
    few, many = (
        Independence().after(Outcome.from_rewards(0, n, np.tile([0, 1], 200), rewards)).p_value
        for n in (2, 200)
    )
    assert few is not None
    assert many is not None
    assert few < many
