import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from surefoot.design import round_design, rounding_minimum
from surefoot.design.designs import by_remainders
from surefoot.errors import InputError

weights_lists = arrays(
    np.float64,
    st.integers(1, 30),
    elements=st.one_of(st.just(0.0), st.floats(1e-6, 1.0)),
).filter(lambda weights: weights.sum() > 0)


@given(weights_lists, st.integers(0, 500))
def test_sums_to_n_and_zero_weights_get_zero_pulls(weights, n):
    counts = round_design(weights, n)
    assert counts.dtype == np.int64
    assert counts.sum() == n
    assert (counts >= 0).all()
    assert (counts[weights == 0] == 0).all()


@given(weights_lists, st.integers(1, 500))
def test_is_the_efficient_apportionment(weights, n):
    """Counts round ν·w up, for one ν shared by all pairs (up to ties): no pull can move to a
    needier pair.
    """
    shares = weights / weights.sum()
    support = shares > 0
    if n < support.sum():
        return
    counts, shares = round_design(weights, n)[support], shares[support]
    assert np.max((counts - 1) / shares) <= np.min(counts / shares) * (1 + 1e-9)
    assert (counts >= 1).all()
    assert (np.abs(counts - np.ceil((n - shares.size / 2) * shares)) <= shares.size).all()


@given(weights_lists, st.floats(0.01, 1.0))
def test_efficiency_from_the_paper_s_minimum_on(weights, epsilon):
    n = rounding_minimum(weights, epsilon)
    shares = weights / weights.sum()
    support = shares > 0
    efficiency = np.min(round_design(weights, n)[support] / (n * shares[support]))
    assert efficiency >= (1 - 1e-9) / (1 + epsilon)


def test_a_small_case_by_hand():
    assert round_design([0.5, 0.3, 0.2], 10).tolist() == [5, 3, 2]
    assert round_design([0.45, 0.45, 0.1], 5).tolist() == [2, 2, 1]


def test_many_pairs_of_which_half_must_gain_are_rounded_at_once():
    """The worst case: everything is rounded down to 1, and half of the pairs have to gain one."""
    counts = round_design(np.ones(100_000), 150_000)
    assert counts.tolist() == [2] * 50_000 + [1] * 50_000


def test_fewer_pulls_than_support_go_to_the_largest_weights():
    assert round_design([0.1, 0.4, 0.3, 0.2], 2).tolist() == [0, 1, 1, 0]


def test_rounding_minimum_counts_the_support():
    assert rounding_minimum([0.5, 0.0, 0.5], 0.1) == 40


@pytest.mark.parametrize("weights", [[-0.1, 1.1], [0.0, 0.0], [np.nan, 1.0], [[0.5, 0.5]], []])
def test_bad_weights_are_refused(weights):
    with pytest.raises(InputError, match="non-negative"):
        round_design(weights, 3)


def test_bad_numbers_are_refused():
    with pytest.raises(InputError, match="whole number"):
        round_design([1.0], -1)
    with pytest.raises(InputError, match="whole number"):
        round_design([1.0], 1.5)
    with pytest.raises(InputError, match="above 0"):
        rounding_minimum([1.0], 0.0)


@pytest.mark.parametrize("n", [0, 1, 7, 100, 12345])
def test_remainders_add_up_and_stay_near_the_shares(n: int) -> None:
    shares = np.random.default_rng(1).dirichlet(np.ones(9))
    counts = by_remainders(n * shares, n)
    assert counts.sum() == n
    assert np.abs(counts - shares * n).max() < 1


def test_the_largest_remainders_are_rounded_up() -> None:
    assert by_remainders(np.array([1.2, 0.9, 2.5, 0.4]), 5).tolist() == [1, 1, 3, 0]
