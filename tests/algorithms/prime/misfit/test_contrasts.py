import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from surefoot.algorithms.prime.misfit.clearest import View
from surefoot.algorithms.prime.misfit.contrasts import Choices, to_be_pulled
from surefoot.algorithms.prime.misfit.predictors import guess
from tests.algorithms.prime.misfit.worlds import OWN


def drawn(seed, misfit, n_arms=4, n_own=3, dimension=3):
    generator = np.random.default_rng(seed)
    pairs = generator.normal(size=(n_arms * n_own, dimension))
    pairs /= np.linalg.norm(pairs, axis=1).max()
    noise = generator.uniform(0.5, 2.0, len(pairs))
    counts = generator.integers(1, 9, len(pairs))
    averages = pairs @ generator.normal(size=dimension) + generator.normal(size=len(pairs))
    offsets = np.arange(0, len(pairs) + 1, n_own)
    known = guess(pairs, np.arange(len(pairs)), noise / counts, averages, misfit**2 / 3)
    return generator, View(pairs, offsets, *known, noise, misfit, OWN, 0.5)


def chosen(seed, misfit, n_pulled):
    generator, view = drawn(seed, misfit)
    pulled = np.sort(generator.choice(len(view.pairs), n_pulled, replace=False))
    phase = to_be_pulled(view, pulled, generator.integers(1, 20, n_pulled))
    return generator, view, phase, Choices(view, phase).against(0, np.array([1, 2, 3]))


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 10**6), st.sampled_from([1e-3, 0.1, 1.0, 10.0]), st.integers(1, 12))
def test_means_of_contrasts_exceed_gaps_by_no_more_than_their_bias(seed, misfit, n_pulled):
    """For any θ and any deviations within the misfit, spans of pulled pairs that lack some too."""
    generator, view, phase, found = chosen(seed, misfit, n_pulled)
    for _ in range(5):
        deviations = misfit * generator.choice([-1.0, 1.0], len(view.pairs))
        means = view.pairs @ (10 * generator.normal(size=3)) + deviations
        for a, arm in enumerate((1, 2, 3)):
            members = slice(view.offsets[arm], view.offsets[arm + 1])
            for k in range(3):
                if not found.weights[k, a].any():
                    continue
                shares = found.shares[k, members]
                assert shares.min() >= 0
                assert shares.sum() == pytest.approx(1.0)
                gap = means[k] - shares @ means[members]
                excess = found.weights[k, a] @ means[phase.pairs] - gap
                assert excess <= found.bias[k, a] + 1e-7


@settings(deadline=None, max_examples=20)
@given(st.integers(0, 10**6))
def test_the_bias_is_reached_at_a_corner(seed):
    _, view, phase, found = chosen(seed, 0.1, 9)
    for k, a in zip(*np.nonzero(found.weights.any(axis=2)), strict=True):
        left = np.zeros(len(view.pairs))
        left[phase.pairs] = found.weights[k, a]
        left[k] -= 1
        members = slice(view.offsets[a + 1], view.offsets[a + 2])
        left[members] += found.shares[k, members]
        assert found.bias[k, a] == pytest.approx(0.1 * np.abs(left).sum())
        assert np.abs(view.pairs.T @ left).max() < 1e-9


def test_a_large_misfit_leaves_direct_differences_and_a_small_one_the_fit():
    _, _, _, large = chosen(3, 1e3, 12)
    assert (large.bias == 0).all()
    assert (np.count_nonzero(large.weights, axis=2)[large.weights.any(axis=2)] >= 2).all()
    assert np.count_nonzero(large.weights[large.weights.any(axis=2)], axis=1).max() <= 4
    _, _, _, small = chosen(3, 1e-9, 12)
    assert np.count_nonzero(small.weights[small.weights.any(axis=2)], axis=1).min() > 4
