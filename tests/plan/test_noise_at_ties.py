"""The best arm is excluded in at most a share δ of the runs, whatever the noise: at exact ties,
where it is most likely.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

import surefoot as sf
from surefoot.testing import LEVEL

DELTA, RUNS, BUDGET = 0.1, 40, 220
TABULAR = sf.RobustProblem.from_pairs(np.eye(6), np.repeat(np.arange(3), 2))
TIED = np.array([0.0, 0.0, 0.0, 2.0, -1.0, 0.0])  # arms 0 and 1 are best; one pair of 1 decides
FIRST = [0.0, 0.3, 0.0, 0.5, -0.5, 0.2, -0.5, 0.1]  # arms 0 and 1 again
LINEAR = sf.RobustProblem.from_pairs(
    np.column_stack([FIRST, np.random.default_rng(0).standard_normal((8, 2))]),
    np.repeat(np.arange(4), 2),
)
KINDS: dict[str, tuple[sf.RobustProblem, NDArray[np.float64], dict[str, Any]]] = {
    "linear": (LINEAR, np.array([1.0, 0.0, 0.0]), {}),
    "tabular": (TABULAR, TIED, {}),
    "pairs": (TABULAR, TIED, {"misfit": math.inf}),
}
Simulators = Callable[[int], Any]


def excluded(problem: sf.RobustProblem, simulator: Simulators, **options: Any) -> int:
    """In how many runs arm 0, which is as good as any, was excluded."""
    usual = {
        "delta": DELTA,
        "noise": sf.Gaussian(),
        "misfit": 0.0,
        "budget": BUDGET,
        "on_misfit": "ignore",
    }
    results = [
        sf.identify(problem, simulator(seed), **(usual | options))  # type: ignore[arg-type]
        for seed in range(RUNS)
    ]
    return sum(0 not in result.candidates for result in results)


def too_many(errors: int) -> bool:
    return bool(stats.binom.sf(errors - 1, RUNS, DELTA) < LEVEL)


def noisy(problem: sf.RobustProblem, best: float, others: float) -> NDArray[np.float64]:
    return np.where(problem.arm_of_pair == 0, best, others)


@pytest.mark.statistical
@pytest.mark.parametrize(("best", "others"), [(1, 1), (4, 1), (25, 1), (1, 25)])
@pytest.mark.parametrize("kind", KINDS)
def test_noise_levels_need_not_be_known_nor_equal(kind: str, best: float, others: float) -> None:
    problem, theta, options = KINDS[kind]
    scales = noisy(problem, best, others)
    errors = excluded(
        problem, lambda seed: sf.LinearSimulator(problem, theta, scales, seed=seed), **options
    )
    assert not too_many(errors)


@pytest.mark.statistical
def test_equal_noise_where_it_is_not_fails_the_same_test() -> None:
    """The best arm 25 times as noisy as the others: what `Gaussian()` used to mean."""
    scales = noisy(TABULAR, 25, 1)
    errors = excluded(
        TABULAR,
        lambda seed: sf.LinearSimulator(TABULAR, TIED, scales, seed=seed),
        noise=sf.Gaussian(equal=True),
    )
    assert too_many(errors)


ROOT = np.sqrt(0.5)
CORRELATIONS: dict[str, Any] = {
    "−0.5": np.where(TABULAR.arm_of_pair == 0, ROOT, -ROOT),
    "0.9": 0.9,
    "different by pair": np.array([0.9, 0.2, -0.8, 0.5, 0.0, 0.95]),
}


@pytest.mark.statistical
@pytest.mark.parametrize("correlation", CORRELATIONS)
def test_common_random_numbers_may_correlate_in_any_way(correlation: str) -> None:
    scales = np.array([1.0, 2.0, 1.0, 1.0, 1.0, 3.0])

    def simulator(seed: int) -> sf.LinearSimulator:
        return sf.LinearSimulator(
            TABULAR, TIED, scales, seed=seed, correlation=CORRELATIONS[correlation]
        )

    errors = excluded(TABULAR, simulator, misfit=math.inf, common_random_numbers=True)
    assert not too_many(errors)


def test_shared_streams_may_be_quieter_than_their_pairs() -> None:
    """What differs between them is all that counts, however noisy each is by itself."""
    means = np.array([0.0, 0.3, -0.1, 0.3, -0.2, 0.2])
    settings = {"delta": 0.05, "noise": sf.Gaussian(), "misfit": math.inf}
    simulator = sf.LinearSimulator(TABULAR, means, seed=3, correlation=0.999)
    found = sf.identify(TABULAR, simulator, common_random_numbers=True, **settings)
    assert found.samples < 300


class Rare:
    """Rewards of 1, or seldom 0: both arms that are best fail once in 50 pulls."""

    def __init__(self, seed: int) -> None:
        self.generator = np.random.default_rng(seed)
        self.means = np.array([0.98, 0.98, 0.98, 1.0, 0.5, 0.98])

    def pull(self, phase: sf.Phase) -> sf.Outcome:
        pairs = np.repeat(np.arange(6), phase.counts)
        rewards = self.generator.random(len(pairs)) < self.means[pairs]
        return sf.Outcome.from_rewards(phase, 6, pairs, rewards.astype(float))


class Falling:
    """A pair that always gives the same, but for falls in one of 20 pulls, against a quiet arm."""

    def __init__(self, seed: int) -> None:
        self.generator = np.random.default_rng(seed)
        self.means = np.array([0.0, 0.0, 0.2, 1.0, -1.0, 0.0])
        self.scales = np.array([0.05, 0.05, 0.0, 1.0, 1.0, 1.0])

    def pull(self, phase: sf.Phase) -> sf.Outcome:
        pairs = np.repeat(np.arange(6), phase.counts)
        fallen = (pairs == 2) & (self.generator.random(len(pairs)) < 0.05)
        rewards = self.generator.normal(self.means[pairs], self.scales[pairs]) - 4 * fallen
        return sf.Outcome.from_rewards(phase, 6, pairs, rewards)


@pytest.mark.statistical
def test_a_pair_that_never_varied_is_not_believed_at_once() -> None:
    usual = {"misfit": math.inf, "budget": 3 * BUDGET}
    assert not too_many(excluded(TABULAR, Falling, **usual))
    credulous = sf.Prime(tuning=sf.Tuning(quiet_pulls=0))
    assert too_many(excluded(TABULAR, Falling, algorithm=credulous, **usual))


COINS = np.array([0.5, 0.5, 0.5, 0.9, 0.2, 0.5])
BOUNDED: dict[str, Simulators] = {
    "coins": lambda seed: sf.LinearSimulator(TABULAR, COINS, seed=seed, family="bernoulli"),
    "a rare failure": Rare,
}


@pytest.mark.statistical
@pytest.mark.parametrize("kind", BOUNDED)
def test_nothing_but_the_range_need_be_known(kind: str) -> None:
    errors = excluded(TABULAR, BOUNDED[kind], noise=sf.Bounded(0, 1), misfit=math.inf)
    assert not too_many(errors)


@pytest.mark.parametrize(
    "noise",
    [
        sf.Gaussian(),
        sf.Gaussian(0.5),
        sf.Gaussian(equal=True),
        sf.SubGaussian(0.5),
        sf.Bounded(0, 1),
    ],
    ids=repr,
)
def test_with_a_tolerance_ties_come_to_an_end(noise: sf.Noise) -> None:
    """Nobody is better than the others, so there is nothing to win but by the tolerance."""
    ties = sf.RobustProblem.from_pairs(np.eye(6), np.repeat(np.arange(3), 2))
    for seed in range(10):
        coins = sf.LinearSimulator(ties, np.full(6, 0.5), seed=seed, family="bernoulli")
        result = sf.identify(
            ties, coins, delta=0.05, noise=noise, misfit=math.inf, tolerance=0.15, budget=20_000
        )
        assert result.reason is sf.StopReason.WITHIN_TOLERANCE


@pytest.mark.statistical
@pytest.mark.parametrize("noise", [sf.Gaussian(), sf.SubGaussian(1.0), sf.Bounded(-5, 5)], ids=repr)
def test_attained_confidence_is_seldom_high_for_a_wrong_arm(noise: sf.Noise) -> None:
    """Arm 1 lacks a hair. One stops where it looks best: in at most a share α of the runs it is
    shown with a confidence of 1 − α.
    """
    means = np.array([0.0, 0.0, -1e-9, 2.0, -1.0, 0.0])
    highest = []
    for seed in range(RUNS):
        family = "gaussian" if noise.evidence == "batches" else "rademacher"
        simulator = sf.LinearSimulator(TABULAR, means, seed=seed, family=family)
        settings = sf.Settings(delta=0.05, noise=noise, misfit=math.inf, budget=120)
        run, shown = sf.Prime().start(TABULAR, settings), 0.0
        while phase := run.next_phase():
            run.update(simulator.pull(phase))
            if run.leader != 0:
                shown = max(shown, run.result.attained_confidence)
        highest.append(shown)
    for alpha in (0.05, 0.2, 0.5):
        high = int((np.array(highest) >= 1 - alpha).sum())
        assert stats.binom.sf(high - 1, RUNS, alpha) > LEVEL
