from __future__ import annotations

import numpy as np
import pytest

from surefoot.design.hardness import binary_divergence
from surefoot.paper.peers import PeerContest, lower_bound


def test_two_arms_without_perturbations_are_a_textbook_case() -> None:
    """Gap 1, tolerance ½, deviation 3: two means, (σ₁ + σ₂)² / (gap + tolerance)² pulls a unit."""
    contest = PeerContest("two", np.array([[1.0], [0.0]]), 3.0, delta=0.1)
    exact = 2 * binary_divergence(0.1) * (3.0 + 3.0) ** 2 / 1.5**2
    assert lower_bound(contest, 0.5) == pytest.approx(exact, rel=2e-3)


def test_unequal_deviations_count() -> None:
    contest = PeerContest("two", np.array([[1.0], [0.0]]), np.array([[1.0], [3.0]]), delta=0.1)
    exact = 2 * binary_divergence(0.1) * (1.0 + 3.0) ** 2
    assert lower_bound(contest, 0.0) == pytest.approx(exact, rel=2e-3)
