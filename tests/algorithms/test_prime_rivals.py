"""The compiled choice of rivals against plain NumPy, and the caution it takes where gaps are guesses."""

from __future__ import annotations

import numpy as np
import pytest

from surefoot.algorithms.prime_rivals import clearest_points

OFFSETS = np.array([0, 3, 7, 8])
ARMS = np.array([1, 2])
OWN = np.arange(3)


def points(
    cautious: np.ndarray, means: np.ndarray, rank: int, own: np.ndarray = OWN, caution: float = 0.0
) -> tuple[np.ndarray, np.ndarray]:
    """Arm 0's pairs minus the points that they should beat, and their gaps."""
    differences, gaps = np.empty((len(own), 2, rank)), np.empty((len(own), 2))
    measured = np.ascontiguousarray(cautious[:, :rank])
    sizes, hidden = np.linalg.norm(cautious, axis=1), np.empty((len(means), 0))
    clearest_points(cautious, rank, hidden, sizes, means, own, ARMS, OFFSETS, measured, caution, differences, gaps)
    return differences, gaps


@pytest.mark.parametrize("seed", range(5))
def test_two_arms_of_one_pair_are_compared_at_it(seed: int) -> None:
    generator = np.random.default_rng(seed)
    pairs, means = generator.standard_normal((8, 3)), generator.standard_normal(8)
    differences, gaps = points(pairs, means, 3, OWN[:1])
    assert differences[:, 1] == pytest.approx(pairs[:1] - pairs[7])
    assert gaps[:, 1] == pytest.approx(means[:1] - means[7])


@pytest.mark.parametrize("seed", range(5))
def test_an_arm_ahead_everywhere_is_compared_where_it_is_least_so(seed: int) -> None:
    generator = np.random.default_rng(seed)
    pairs, means = generator.standard_normal((8, 3)), generator.uniform(0, 1, 8)
    means[3:7] += 2
    differences, gaps = points(pairs, means, 3, OWN[:1])
    best = int(np.argmax((means[0] - means[3:7]) / np.linalg.norm(pairs[0] - pairs[3:7], axis=1)))
    assert differences[0, 0] == pytest.approx(pairs[0] - pairs[3 + best])
    assert gaps[0, 0] == pytest.approx(means[0] - means[3 + best])


@pytest.mark.parametrize("caution", [0.0, np.inf])
@pytest.mark.parametrize("seed", range(5))
def test_no_mixture_of_the_pairs_allowed_is_beaten_more_clearly(seed: int, caution: float) -> None:
    generator = np.random.default_rng(seed)
    pairs = generator.standard_normal((8, 3))
    theta = generator.standard_normal(3)
    differences, gaps = points(pairs, pairs @ theta, 3, caution=caution)
    for k in OWN:
        allowed = np.delete(pairs[:7], k, axis=0) if caution == 0 else pairs[3:7]
        v = pairs[k] - generator.dirichlet(np.full(len(allowed), 0.4), 5000) @ allowed
        ratio = (v @ theta / np.linalg.norm(v, axis=1)).max()
        if ratio > 0:
            assert gaps[k, 0] / np.linalg.norm(differences[k, 0]) >= ratio - 1e-9
        assert gaps[k, 0] == pytest.approx(float(differences[k, 0] @ theta))


@pytest.mark.parametrize("caution", [0.0, np.inf])
@pytest.mark.parametrize("seed", range(20))
def test_for_the_challengers_worst_pair_no_point_is_worse_if_the_arm_is_best(seed: int, caution: float) -> None:
    """What the proof needs: whatever the guesses are, the true gap is at most 0; without fellows, minus the lead."""
    generator = np.random.default_rng(seed)
    pairs, theta = generator.standard_normal((8, 3)), generator.standard_normal(3)
    means = pairs @ theta
    pairs[3:7] += (means[:3].min() - means[3:7].min() + 0.1) * theta / (theta @ theta)  # arm 1 is better by 0.1
    differences, _ = points(pairs, pairs @ (theta + generator.standard_normal(3)), 3, caution=caution)
    true_gap = float(differences[int(np.argmin(means[:3])), 0] @ theta)
    assert true_gap <= (0.0 if caution == 0 else -0.1) + 1e-9


def test_a_gap_that_is_only_a_guess_counts_less() -> None:
    """Two vertices equally far in this phase; the one with the larger gap is hardly known from the past."""
    phase = np.array([[0.0, 0.0], [0.0, 0.0], [0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 0.0], [0.0, 1.0], [3.0, 3.0]])
    means = np.array([0.0, 0.0, 0.0, -1.0, -1.2, -1.0, -1.2, -1.0])
    bold, bold_gap = points(phase, means, 2)
    unsure = np.zeros((8, 1))
    unsure[[4, 6]] = 9.0
    wary, wary_gap = points(np.hstack([phase, unsure]), means, 2)
    assert bold[0, 0, 1] < bold[0, 0, 0] < 0  # leans towards the larger gap
    assert wary[0, 0, 0] < 10 * wary[0, 0, 1] < 0  # and away from it when it is a guess
    assert bold_gap[0, 0] > wary_gap[0, 0]
