"""What PRIME pulls: every phase has the pulls it was given, and some of them check the model."""

from __future__ import annotations

import numpy as np
import pytest

from surefoot.algorithms.prime.allocation import Allocation
from surefoot.algorithms.prime.finishing import Rivals
from surefoot.algorithms.prime.rounding import Rounding, check_pulls, completing
from surefoot.algorithms.prime.tuning import Tuning


@pytest.mark.parametrize("pulls", [1, 2, 7, 50, 1000])
@pytest.mark.parametrize("units", [0.0, 10.0, 1e4])
def test_a_phase_has_the_pulls_it_was_given(pulls: int, units: float) -> None:
    generator = np.random.default_rng(pulls)
    weights, spread = generator.dirichlet(np.full(40, 0.05)), generator.dirichlet(np.ones(40))
    rivals = Rivals(
        generator.standard_normal((6, 4)), np.full(6, 0.3), np.full(6, 2.0), np.ones(6), 500.0
    )
    past, rows = generator.integers(0, 9, 40), generator.standard_normal((40, 4))
    rounding = Rounding(rows, spread, Tuning())
    counts = rounding.counts(Allocation(weights, pulls, rivals), past, units)
    assert counts.sum() == pulls
    assert (counts >= 0).all()


def test_weights_below_half_a_pull_get_none() -> None:
    weights = np.array([0.9, 0.096, 0.004])
    rounding = Rounding(np.eye(3), np.array([0.5, 0.5, 0.0]), Tuning())
    counts = rounding.counts(Allocation(weights, 100, None), np.array([1000, 1000, 1000]), 1e9)
    assert counts[2] <= 1  # at most a check of the model
    assert counts[0] > 80


def test_every_phase_pulls_something_off_its_design() -> None:
    weights = np.array([1.0, 0.0, 0.0, 0.0])
    rounding = Rounding(np.eye(4), np.full(4, 0.25), Tuning())
    counts = rounding.counts(Allocation(weights, 60, None), np.array([500, 40, 40, 40]), 1e6)
    assert counts[1:].sum() == 2


def test_checks_go_to_pairs_that_were_left_out() -> None:
    counts = check_pulls(np.array([3, 0, 2, 0, 0]), 2)
    assert counts.sum() == 2
    assert counts[[0, 2]].sum() == 0
    assert check_pulls(np.array([1, 1]), 5).sum() == 0


def test_every_pair_that_a_fit_uses_is_in_every_batch() -> None:
    rounding = Rounding(np.eye(3), np.full(3, 1 / 3), Tuning())
    weights, counts = np.array([0.6, 0.4, 0.0]), np.array([40, 3, 1])
    layout = rounding.in_batches(counts, weights, 1000)
    assert (layout.counts >= layout.batches).all()  # two pairs alone would not span
    assert np.array_equal(layout.tested, layout.counts)
    assert layout.counts[0] == 40


def test_a_pair_of_little_weight_does_without_batches() -> None:
    rounding = Rounding(np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]), np.ones(3) / 3, Tuning())
    layout = rounding.in_batches(np.array([40, 30, 1]), np.array([0.6, 0.4, 0.0]), 1000)
    assert layout.tested.tolist() == [*layout.counts[:2], 0]
    assert layout.counts.tolist() == [40, 30, 1]


def test_no_more_pulls_than_remain_are_put_into_batches() -> None:
    rounding = Rounding(np.eye(2), np.full(2, 0.5), Tuning())
    layout = rounding.in_batches(np.array([6, 3]), np.array([0.6, 0.4]), 9)
    assert layout.counts.tolist() == [6, 3]
    assert layout.batches == 3


@pytest.mark.parametrize("seed", range(5))
def test_as_few_pairs_join_as_it_takes_to_measure_all(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows = rng.standard_normal((20, 6))
    rows[3] = rows[:3].sum(axis=0)  # four pairs of rank three
    joining = completing(rows, np.arange(4), np.arange(5, 20))
    assert len(joining) == 3
    assert (joining >= 5).all()
    assert np.linalg.matrix_rank(rows[[0, 1, 2, 3, *joining]]) == 6
    assert not len(completing(rows, np.arange(12), np.arange(12, 20)))
