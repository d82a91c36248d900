"""From shares to whole pulls: none is lost, neighbours share, and shortfalls are made up for."""

from __future__ import annotations

import numpy as np
import pytest

from surefoot.plan.shares import completing, cumulative, explored, in_batches


@pytest.mark.parametrize("pulls", [1, 2, 7, 50, 1000])
def test_a_phase_has_the_pulls_it_was_given(pulls: int) -> None:
    shares = np.random.default_rng(pulls).dirichlet(np.full(40, 0.05))
    counts = cumulative(shares, pulls)
    assert counts.sum() == pulls
    assert (np.abs(counts - pulls * shares) < 1).all()


def test_neighbours_that_want_less_than_a_pull_share_one() -> None:
    assert cumulative(np.array([0.9, 0.0, 0.04, 0.03, 0.03]), 10).tolist() == [9, 0, 0, 1, 0]


def test_shortfalls_are_levelled_in_the_end() -> None:
    wanted, past = np.full(7, 0.01), np.zeros(7, dtype=np.int64)
    for phase in range(1, 50):
        past = past + explored(phase * wanted, past, 2)
    assert past.sum() == 98
    assert past.max() - past.min() <= 1


def test_what_falls_short_most_comes_first() -> None:
    counts = explored(np.array([5.0, 2.0, 0.0]), np.array([0, 0, 0]), 3)
    assert counts.tolist() == [3, 0, 0]


def test_every_pair_that_a_fit_uses_is_in_every_batch() -> None:
    counts = np.array([400, 30, 1])
    assert in_batches(counts, np.eye(3)).all()  # two pairs alone would not span
    assert in_batches(counts, np.eye(3)[:, :2]).tolist() == [True, True, False]


def test_missing_directions_are_completed_by_as_few_pairs_as_it_takes() -> None:
    rows = np.array([[1.0, 0, 0], [2.0, 0, 0], [0, 1.0, 0], [0, 0.5, 0], [0, 0, 1.0]])
    joining = completing(rows, np.array([0]), np.array([1, 2, 3, 4]))
    assert sorted(joining.tolist()) == [2, 4]
