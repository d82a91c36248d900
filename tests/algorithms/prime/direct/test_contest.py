"""Who is compared with whom, and what the batches say of it."""

from __future__ import annotations

import numpy as np

from surefoot.algorithms.prime.direct.contest import Contest
from surefoot.statistics import Outcome, Phase

# the first arm's pairs 0 and 2 against pair 4 of arm 1 and pair 6 of arm 2
CONTEST = Contest(0, np.array([0, 2]), np.array([0, 2]), np.array([1, 2]), np.array([4, 6]))
COUNTS = np.array([4, 0, 6, 0, 9, 0, 4])


def _outcome() -> Outcome:
    pairs = np.repeat(np.arange(7), COUNTS)
    rewards = np.random.default_rng(1).standard_normal(len(pairs)) + pairs
    return Outcome.from_rewards(Phase(0, COUNTS, 4), 7, pairs, rewards)


def test_gaps_are_own_less_rival() -> None:
    means = np.arange(7.0) ** 2
    assert CONTEST.gaps(means).tolist() == [[-16, -36], [-12, -32]]
    assert CONTEST.across(means).tolist() == [[16, 36], [20, 40]]
    assert CONTEST.pairs.tolist() == [0, 2, 4, 6]


def test_values_average_to_differences_of_the_means_of_all_pulls() -> None:
    outcome = _outcome()
    values = CONTEST.values(outcome, whole=False)
    assert values.shape == (4, 2, 2)
    means = outcome.sums / np.maximum(COUNTS, 1)
    assert np.allclose(values.mean(axis=0), CONTEST.gaps(means))


def test_shared_streams_use_whole_batches_only() -> None:
    """Pulls outside the batches change nothing."""
    outcome = _outcome()
    extra = np.where(COUNTS % 4 > 0, 1000.0, 0.0)
    changed = Outcome(0, COUNTS, outcome.sums + extra, outcome.scatter, outcome.batch_sums)
    whole = CONTEST.values(outcome, whole=True)
    assert np.array_equal(CONTEST.values(changed, whole=True), whole)
    assert not np.allclose(CONTEST.values(changed, whole=False), whole)


def test_the_layout_is_one_for_one_pull_in_each_batch() -> None:
    counts = np.array([4, 0, 4, 0, 4, 0, 8])
    assert CONTEST.layout(counts, 4).tolist() == [[1.0, 0.75], [1.0, 0.75]]
