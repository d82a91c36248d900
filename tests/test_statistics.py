from __future__ import annotations

import numpy as np
import pytest

from surefoot.errors import InputError
from surefoot.statistics import Outcome, Phase


class TestOutcome:
    def test_single_rewards_are_summed_by_pair(self) -> None:
        outcome = Outcome.from_rewards(2, 4, [1, 3, 1, 1], [1.0, 5.0, 2.0, 6.0])
        assert outcome.phase == 2
        assert outcome.counts.tolist() == [0, 3, 0, 1]
        assert outcome.sums.tolist() == [0.0, 9.0, 0.0, 5.0]
        assert outcome.scatter.tolist() == [0.0, 14.0, 0.0, 0.0]

    def test_large_rewards_keep_their_scatter(self) -> None:
        rewards = 1e9 + np.array([-1.0, 0.0, 1.0])
        assert Outcome.from_rewards(0, 1, [0, 0, 0], rewards).scatter[0] == pytest.approx(2.0)

    def test_no_rewards(self) -> None:
        assert Outcome.from_rewards(0, 3, [], []).counts.tolist() == [0, 0, 0]

    def test_pairs_that_do_not_exist_are_refused(self) -> None:
        with pytest.raises(InputError, match="numbered 0 to 3"):
            Outcome.from_rewards(0, 4, [0, 4], [1.0, 1.0])
        with pytest.raises(InputError, match="numbered 0 to 3"):
            Outcome.from_rewards(0, 4, [-1], [1.0])

    def test_one_reward_for_each_pull(self) -> None:
        with pytest.raises(InputError, match="1 rewards were given for 2 pairs"):
            Outcome.from_rewards(0, 4, [0, 1], [1.0])

    def test_a_phase_knows_its_size(self) -> None:
        assert Phase(0, np.array([1, 0, 5])).samples == 6


def test_pulls_are_put_into_batches_in_the_order_of_their_numbers() -> None:
    """Two batches of counts // 2; what is left over belongs to none, wherever pulls arrive."""
    phase = Phase(4, np.array([5, 2, 0, 1]), 2)
    pairs = [0, 1, 0, 3, 0, 1, 0, 0]
    rewards = [1.0, 10.0, 2.0, 7.0, 3.0, 20.0, 4.0, 100.0]
    outcome = Outcome.from_rewards(phase, 4, pairs, rewards)
    assert outcome.phase == 4
    assert outcome.batch_sums.tolist() == [[3.0, 10.0, 0.0, 0.0], [7.0, 20.0, 0.0, 0.0]]
    assert outcome.sums.tolist() == [110.0, 30.0, 0.0, 7.0]


def test_batches_and_extras_make_up_the_total() -> None:
    rng, counts = np.random.default_rng(1), np.array([12, 17, 6, 40])
    pairs = rng.permutation(np.repeat(np.arange(4), counts))
    rewards = rng.standard_normal(len(pairs))
    outcome = Outcome.from_rewards(Phase(0, counts, 6), 4, pairs, rewards)
    whole = 6 * (counts // 6)
    for pair, n in enumerate(whole):
        assert np.isclose(outcome.batch_sums[:, pair].sum(), rewards[pairs == pair][:n].sum())


def test_only_an_index_gives_no_batches() -> None:
    outcome = Outcome.from_rewards(2, 3, [0, 1, 2, 0], [1.0, 2.0, 3.0, 4.0])
    assert outcome.phase == 2
    assert outcome.batch_sums.shape == (0, 3)


def test_a_phase_without_batches_gives_none() -> None:
    outcome = Outcome.from_rewards(Phase(0, np.array([1, 1])), 2, [0, 1], [1.0, 2.0])
    assert len(outcome.batch_sums) == 0
