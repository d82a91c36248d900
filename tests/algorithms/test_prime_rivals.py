"""The compiled choice of rivals against plain NumPy, and the caution it takes where gaps are guesses."""

from __future__ import annotations

import numpy as np
import pytest

from surefoot.algorithms.prime_rivals import clearest_points, clearest_vertices

OFFSETS = np.array([0, 3, 7, 8])
ARMS = np.array([1, 2])
OWN = np.arange(3)


def points(cautious: np.ndarray, means: np.ndarray, rank: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Directions, lengths and gaps of arm 0's pairs against the two others."""
    directions, lengths, expected = np.empty((3, 2, rank)), np.empty((3, 2)), np.empty((3, 2))
    sizes = np.linalg.norm(cautious, axis=1)
    hidden = np.empty((len(means), 0))
    clearest_points(cautious, hidden, sizes, means, OWN, ARMS, OFFSETS, directions, lengths, expected)
    return directions, lengths, expected


@pytest.mark.parametrize("seed", range(5))
def test_vertices_are_the_ones_with_the_largest_ratio(seed: int) -> None:
    generator = np.random.default_rng(seed)
    pairs, means = generator.standard_normal((8, 3)), generator.standard_normal(8)
    chosen, lengths = np.empty((3, 2), dtype=np.int64), np.empty((3, 2))
    clearest_vertices(pairs, means, OWN, ARMS, OFFSETS, chosen, lengths)
    for k in OWN:
        for a, arm in enumerate(ARMS):
            others = np.arange(OFFSETS[arm], OFFSETS[arm + 1])
            distance = np.linalg.norm(pairs[k] - pairs[others], axis=1)
            best = int(np.argmax((means[k] - means[others]) / distance))
            assert chosen[k, a] == others[best]
            assert lengths[k, a] == pytest.approx(distance[best])


@pytest.mark.parametrize("seed", range(5))
def test_no_mixture_of_an_arms_pairs_is_beaten_more_clearly(seed: int) -> None:
    generator = np.random.default_rng(seed)
    pairs = generator.standard_normal((8, 3))
    theta = generator.standard_normal(3)
    directions, lengths, expected = points(pairs, pairs @ theta, 3)
    mixtures = generator.dirichlet(np.full(4, 0.4), 5000)
    for k in OWN:
        v = pairs[k] - mixtures @ pairs[3:7]
        ratio = (v @ theta / np.linalg.norm(v, axis=1)).max()
        if ratio > 0:  # an arm that is not expected to lose anywhere is compared at its best vertex
            assert expected[k, 0] / lengths[k, 0] >= ratio - 1e-9
        assert np.linalg.norm(directions[k, 0]) == pytest.approx(1.0)
        assert expected[k, 0] == pytest.approx(float(lengths[k, 0] * directions[k, 0] @ theta))


def test_a_gap_that_is_only_a_guess_counts_less() -> None:
    """Two vertices equally far in this phase; the one with the larger gap is hardly known from the past."""
    phase = np.array([[0.0, 0.0], [0.0, 0.0], [0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 0.0], [0.0, 1.0], [3.0, 3.0]])
    means = np.array([0.0, 0.0, 0.0, -1.0, -1.2, -1.0, -1.2, -1.0])
    bold, _, bold_gap = points(phase, means, 2)
    unsure = np.zeros((8, 1))
    unsure[[4, 6]] = 9.0
    wary, lengths, wary_gap = points(np.hstack([phase, unsure]), means, 2)
    assert bold[0, 0, 1] < bold[0, 0, 0] < 0  # leans towards the larger gap
    assert wary[0, 0, 0] < 10 * wary[0, 0, 1] < 0  # and away from it when it is a guess
    assert bold_gap[0, 0] > wary_gap[0, 0]
    assert lengths[0, 0] == pytest.approx(
        abs(wary_gap[0, 0] / (wary[0, 0] @ [1.0, 1.2])), rel=1e-9
    )  # in the phase only
