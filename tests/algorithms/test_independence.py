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

    def __init__(self, means: Array, seed: int) -> None:
        self.means, self.rng, self.last = means, np.random.default_rng(seed), np.zeros(4)

    def pull(self, phase: Phase) -> Outcome:
        pairs = np.repeat(np.arange(4), phase.counts)
        rewards = np.empty(len(pairs))
        for k, pair in enumerate(pairs):
            self.last[pair] = 0.7 * self.last[pair] + 0.7 * self.rng.standard_normal()
            rewards[k] = self.means[pair] + self.last[pair]
        return Outcome.from_rewards(phase, 4, pairs, rewards)


def test_no_certificate_rests_on_pulls_that_depend() -> None:
    simulator = Following(np.array([0.0, 0.5, 0.1, -0.4]), 4)
    result = sf.identify(PROBLEM, simulator, delta=0.05, noise=sf.Gaussian())
    assert result.reason is sf.StopReason.PULLS_DEPEND
    assert not result.certified
    assert result.attained_confidence is None
    assert result.unseen is None
    assert "independent pulls rejected" in result.checks
    assert "pull.rng()" in repr(result)
