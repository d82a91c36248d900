"""What past data say of the means: the posterior of a mixed model, and least squares at its end."""

from __future__ import annotations

import numpy as np
import pytest

import surefoot as sf
from surefoot.plan.view import UNIFORM, Space

PROBLEM = sf.RobustProblem.from_pairs(
    np.random.default_rng(5).normal(size=(8, 3)), np.repeat(np.arange(4), 2)
)
COUNTS = np.array([2, 1, 4, 0, 3, 0, 1, 0])
NOISE = np.random.default_rng(6).uniform(0.5, 2.0, 8)
AVERAGES = np.where(COUNTS > 0, np.random.default_rng(7).normal(size=8), 0.0)


@pytest.mark.parametrize("misfit", [0.0, 0.3, 3.0])
def test_means_and_covariances_are_those_of_a_normal_prior(misfit: float) -> None:
    """Against the posterior of (θ, η) with a nearly flat prior on θ."""
    space = Space.of(PROBLEM, np.ones(8), misfit)
    view = space.fitted(COUNTS, COUNTS * AVERAGES, NOISE)
    pulled = np.flatnonzero(COUNTS)
    prior = 1e5 * space.features @ space.features.T + UNIFORM * misfit**2 * np.eye(8)
    noise = np.diag(NOISE[pulled] / COUNTS[pulled])
    gain = np.linalg.solve(prior[np.ix_(pulled, pulled)] + noise, prior[pulled]).T
    posterior = prior - gain @ prior[pulled]
    assert view.means == pytest.approx(gain @ AVERAGES[pulled], abs=2e-3)
    covariance = view.located @ view.located.T + np.diag(view.alone)
    for first, second in ((0, 4), (1, 3), (5, 7)):
        contrast = np.eye(8)[first] - np.eye(8)[second]
        expected = contrast @ posterior @ contrast
        assert contrast @ covariance @ contrast == pytest.approx(expected, rel=2e-3)


def test_without_a_model_there_are_no_features() -> None:
    space = Space.of(PROBLEM, np.ones(8), np.inf)
    assert space.features.shape == (8, 0)
    assert not space.modelled
