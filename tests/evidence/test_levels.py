"""The noise of pairs by all their pulls: one sample, whatever phases it came in."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from surefoot.evidence.levels import Levels
from surefoot.statistics import Outcome


@given(seed=st.integers(0, 10_000), size=st.sampled_from([1e-9, 1.0, 1e9]))
def test_phases_make_one_sample(seed: int, size: float) -> None:
    rng, levels = np.random.default_rng(seed), Levels.unknown(3)
    seen: list[list[float]] = [[], [], []]
    for index in range(5):
        pairs = rng.integers(0, 3, rng.integers(1, 8))
        rewards = size * (7 + rng.normal(size=len(pairs)))
        levels = levels.after(Outcome.from_rewards(index, 3, pairs, rewards))
        for pair, reward in zip(pairs, rewards, strict=True):
            seen[pair].append(reward)
    assert levels.counts.tolist() == [len(rewards) for rewards in seen]
    for pair, rewards in enumerate(seen):
        if len(rewards) > 1:
            assert levels.means[pair] == pytest.approx(np.mean(rewards))
            assert levels.deviations[pair] == pytest.approx(np.std(rewards, ddof=1), rel=1e-6)


def test_nothing_is_known_before_a_second_pull() -> None:
    one = Levels.unknown(2).after(Outcome.from_rewards(0, 2, [0], [3.0]))
    assert one.deviations.tolist() == [0.0, 0.0]
    assert not one.silent.any()


def test_a_fall_in_a_phase_of_one_pull_is_seen() -> None:
    levels = Levels.unknown(1)
    for index, reward in enumerate([1.0, 1.0, -5.0]):
        levels = levels.after(Outcome.from_rewards(index, 1, [0], [reward]))
    assert levels.deviations == pytest.approx([np.sqrt(12)])
    assert not levels.silent.any()


@pytest.mark.parametrize("reward", [0.0, 0.1, 1e9 / 3, -7e-9])
def test_a_pair_that_never_varies_is_silent_up_to_rounding(reward: float) -> None:
    levels = Levels.unknown(2)
    for index in range(50):
        varying = [reward + 1e-6 * abs(reward) * index, reward + 1e-6 * abs(reward)]
        rewards = [reward] * 7 + (varying if reward else [index, 1.0])
        outcome = Outcome.from_rewards(index, 2, [0] * 7 + [1] * 2, rewards)
        levels = levels.after(outcome)
    assert levels.silent.tolist() == [True, False]


def test_a_little_noise_on_large_rewards_is_none_the_less_noise() -> None:
    rewards = 1.7e9 + 1e-3 * np.random.default_rng(1).standard_normal(12)
    assert not Levels.unknown(1).after(Outcome.from_rewards(0, 1, [0] * 12, rewards)).silent[0]
    constant = Outcome.from_rewards(0, 1, [0] * 200_000, [0.1] * 200_000)
    assert Levels.unknown(1).after(constant).silent[0]
