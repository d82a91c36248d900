import numpy as np
import pytest

from surefoot.design.solver.families import Rivalry, equal_gaps, squared_lengths

PAIRS = np.array([[0.0, 0.0], [1.0, 0.0], [3.0, 0.0], [0.0, 2.0], [5.0, 5.0]])
OFFSETS = np.array([0, 2, 3, 5])


def comparison(theta):
    values = PAIRS @ theta
    return Rivalry(
        PAIRS,
        OFFSETS,
        np.array([0, 1]),
        np.array([1, 2]),
        values[:2],
        values,
    )


def test_rows_and_gaps_of_blocks():
    """Identity 1 * 2 + 1: the second apex against the second rival, arm 2."""
    blocks = comparison(np.array([-1.0, -1.0])).rows_of(np.array([3, 0]))
    np.testing.assert_array_equal(blocks.starts, [0, 2, 3])
    np.testing.assert_array_equal(blocks.rows, [[1, -2], [-4, -5], [-3, 0]])
    np.testing.assert_array_equal(blocks.gaps, [1, 9, 3])


def test_ratios_take_the_smallest_pair_with_a_positive_gap():
    ((first, ratios),) = comparison(np.array([-1.0, 0.0])).vertex_ratios(np.eye(2))
    assert first == 0
    np.testing.assert_allclose(ratios, [[9 / 3**2, 50 / 5**2], [4 / 2**2, 41 / 4**2]])


def test_gaps_of_rounding_size_are_none():
    nearly = comparison(np.array([0.0, 1e-20]))
    assert nearly.smallest_gap < 1e-20
    shifted = Rivalry(
        PAIRS,
        OFFSETS,
        np.array([0]),
        np.array([1]),
        np.array([1.0 + 1e-15]),
        np.ones(5),
    )
    ((_, ratios),) = shifted.vertex_ratios(np.eye(2))
    assert ratios[0, 0] == np.inf
    assert shifted.rows_of(np.array([0])).gaps.tolist() == [0.0]


def test_an_apex_is_never_compared_with_its_own_arm():
    ((_, ratios),) = equal_gaps(PAIRS, OFFSETS, np.array([0, 2])).vertex_ratios(np.eye(2))
    assert ratios.shape == (4, 2)
    assert ratios[0, 0] == ratios[1, 0] == ratios[2, 1] == ratios[3, 1] == 0.0
    assert ratios[0, 1] == pytest.approx(4.0)


def test_squared_lengths():
    np.testing.assert_array_equal(squared_lengths(np.array([[3.0, 4.0], [0.0, 1.0]])), [25.0, 1.0])
