"""The compiled choice of rivals against plain NumPy, and the caution it takes where gaps are
guesses.
"""

from __future__ import annotations

import numpy as np
import pytest

from surefoot.algorithms.prime.rivals import Prospect, rival_points

OFFSETS = np.array([0, 3, 7, 8])
ARMS = np.array([1, 2])
OWN = np.arange(3)


def points(
    measured: np.ndarray, means: np.ndarray, known: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Arm 0's pairs minus the points of the two others, and their gaps."""
    nothing, rank = np.empty((len(means), 0)), measured.shape[1]
    past = nothing if known is None else known
    sizes, both = np.linalg.norm(measured, axis=1), np.hstack([measured, past])
    prospect = Prospect(measured, past, nothing, sizes, means, OFFSETS, both)
    found = rival_points(prospect, 0, ARMS)
    assert found.ahead == pytest.approx(np.linalg.norm(found.differences[:, :, :rank], axis=2))
    assert found.behind == pytest.approx(np.linalg.norm(found.differences[:, :, rank:], axis=2))
    return found.differences[:, :, :rank], found.gaps


@pytest.mark.parametrize("seed", range(5))
def test_an_arm_of_one_pair_is_compared_at_it(seed: int) -> None:
    generator = np.random.default_rng(seed)
    pairs, means = generator.standard_normal((8, 3)), generator.standard_normal(8)
    differences, gaps = points(pairs, means)
    assert differences[:, 1] == pytest.approx(pairs[:3] - pairs[7])
    assert gaps[:, 1] == pytest.approx(means[:3] - means[7])


@pytest.mark.parametrize("seed", range(5))
def test_an_arm_ahead_everywhere_is_compared_where_it_is_least_so(seed: int) -> None:
    generator = np.random.default_rng(seed)
    pairs, means = generator.standard_normal((8, 3)), generator.uniform(0, 1, 8)
    means[3:7] += 2
    differences, gaps = points(pairs, means)
    for k in OWN:
        best = int(
            np.argmax((means[k] - means[3:7]) / np.linalg.norm(pairs[k] - pairs[3:7], axis=1))
        )
        assert differences[k, 0] == pytest.approx(pairs[k] - pairs[3 + best])
        assert gaps[k, 0] == pytest.approx(means[k] - means[3 + best])


@pytest.mark.parametrize("seed", range(5))
def test_no_mixture_of_an_arms_pairs_is_beaten_more_clearly(seed: int) -> None:
    generator = np.random.default_rng(seed)
    pairs = generator.standard_normal((8, 3))
    theta = generator.standard_normal(3)
    differences, gaps = points(pairs, pairs @ theta)
    mixtures = generator.dirichlet(np.full(4, 0.4), 5000)
    for k in OWN:
        v = pairs[k] - mixtures @ pairs[3:7]
        ratio = (v @ theta / np.linalg.norm(v, axis=1)).max()
        if ratio > 0:
            assert gaps[k, 0] / np.linalg.norm(differences[k, 0]) >= ratio - 1e-9
        assert gaps[k, 0] == pytest.approx(float(differences[k, 0] @ theta))


def test_a_gap_that_is_only_a_guess_counts_less() -> None:
    """Two vertices equally far in this phase; the one with the larger gap is hardly known from the
    past.
    """
    phase = np.array(
        [
            [0.0, 0.0],
            [0.0, 0.0],
            [0.0, 0.0],
            [1.0, 0.0],
            [0.0, 1.0],
            [1.0, 0.0],
            [0.0, 1.0],
            [3.0, 3.0],
        ]
    )
    means = np.array([0.0, 0.0, 0.0, -1.0, -1.2, -1.0, -1.2, -1.0])
    bold, bold_gap = points(phase, means)
    unsure = np.zeros((8, 1))
    unsure[[4, 6]] = 9.0
    wary, wary_gap = points(phase, means, unsure)
    assert bold[0, 0, 1] < bold[0, 0, 0] < 0  # leans towards the larger gap
    assert wary[0, 0, 0] < 10 * wary[0, 0, 1] < 0  # and away from it when it is a guess
    assert bold_gap[0, 0] > wary_gap[0, 0]
