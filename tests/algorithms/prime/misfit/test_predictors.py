import numpy as np
import pytest

from surefoot.algorithms.prime.misfit.predictors import guess, predictor

PAIRS = np.random.default_rng(5).normal(size=(8, 3))
PULLED = np.array([0, 1, 2, 4, 6])
VARIANCES = np.array([0.5, 1.0, 2.0, 0.3, 1.0])


@pytest.mark.parametrize("own", [0.0, 0.1, 0.7, 1.0])
def test_what_is_linear_is_predicted_exactly(own):
    weights, hidden = predictor(PAIRS, PULLED, VARIANCES, own)
    assert weights @ PAIRS[PULLED] == pytest.approx(PAIRS)
    assert hidden.size == 0


def test_it_goes_from_weighted_least_squares_to_own_means():
    fit, _ = predictor(PAIRS, PULLED, VARIANCES, 0.0)
    root = 1 / np.sqrt(VARIANCES)[:, None]
    expected = PAIRS @ np.linalg.pinv(PAIRS[PULLED] * root) * root.T
    assert fit == pytest.approx(expected)
    own, _ = predictor(PAIRS, PULLED, VARIANCES, 1.0)
    assert own[PULLED] == pytest.approx(np.eye(5))


def test_pairs_outside_of_what_was_pulled_are_marked():
    weights, hidden = predictor(PAIRS, PULLED[:2], VARIANCES[:2], 0.3)
    assert hidden[PULLED[:2]] == pytest.approx(0.0)
    assert (np.linalg.norm(hidden[[2, 3, 4, 5, 6, 7]], axis=1) > 1e-3).all()
    assert weights.shape == (8, 2)


def test_guesses_are_those_of_a_normal_prior():
    """Against the posterior of (θ, η) with a nearly flat prior on θ."""
    deviation, averages = 0.4, np.random.default_rng(6).normal(size=5)
    found = guess(PAIRS, PULLED, VARIANCES, averages, deviation)
    prior = 1e5 * PAIRS @ PAIRS.T + deviation * np.eye(8)
    gain = np.linalg.solve(prior[np.ix_(PULLED, PULLED)] + np.diag(VARIANCES), prior[PULLED]).T
    posterior = prior - gain @ prior[PULLED]
    assert found.means == pytest.approx(gain @ averages, abs=1e-3)
    apart = ((found.located[0] - found.located[3]) ** 2).sum() + found.alone[0] + found.alone[3]
    contrast = np.eye(8)[0] - np.eye(8)[3]
    assert apart == pytest.approx(contrast @ posterior @ contrast, rel=1e-3)
