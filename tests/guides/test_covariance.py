"""Covariances that a guide gives: what they are, what they are used for, and wrong ones."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF

import surefoot as sf
from surefoot.arrays import Array
from surefoot.errors import InputError
from surefoot.guides import GaussianProcess, Guess, Guide, Regressor, Seen, Tabular, Trend, checked
from surefoot.guides.base import factored
from surefoot.guides.gaussian_process import _inputs
from surefoot.plan.contrasts import Race, directly
from surefoot.plan.view import Space
from surefoot.testing import LEVEL

FIXED = GaussianProcessRegressor(RBF(0.5), alpha=0.01, optimizer=None)


def _smooth(every: int = 2) -> Seen:
    """Ten arms of four perturbations on a wave, of which one of `every` pairs was pulled."""
    x, y = np.meshgrid(np.linspace(0, 1, 10), np.linspace(0, 1, 4), indexing="ij")
    points = np.column_stack([x.ravel(), y.ravel()])
    problem = sf.RobustProblem.from_pairs(points, np.repeat(np.arange(10), 4), features="quadratic")
    counts = np.where(np.arange(40) % every == 0, 4, 0)
    truth = np.sin(4 * points[:, 0] + points[:, 1])
    errors = 0.1 * np.random.default_rng(3).standard_normal(40)
    return Seen(problem, counts, np.where(counts > 0, truth + errors, 0.0), np.full(40, 0.04))


def _covariance(guess: Guess) -> Array:
    assert guess.factor is not None
    off = guess.factor @ guess.factor.T
    np.fill_diagonal(off, guess.deviations**2)
    return off


@pytest.mark.parametrize("guide", [Trend(), GaussianProcess(), Regressor(FIXED)])
def test_no_pair_has_more_in_common_than_its_own_variance(guide: Guide) -> None:
    guess = guide.guess(_smooth())
    assert guess.factor is not None
    assert ((guess.factor**2).sum(axis=1) <= guess.deviations**2 * (1 + 1e-9) + 1e-15).all()
    assert np.allclose(checked(guide, _smooth()).factor, guess.factor)


def test_a_gaussian_process_gives_its_posterior_covariance(monkeypatch: pytest.MonkeyPatch) -> None:
    from surefoot.guides import gaussian_process

    fitted, processes = gaussian_process._fitted, []
    monkeypatch.setattr(
        gaussian_process, "_fitted", lambda *given: processes.append(fitted(*given)) or processes[0]
    )
    seen = _smooth()
    guess = GaussianProcess().guess(seen)
    inputs, _ = _inputs(seen.problem)
    scale = float(seen.means[seen.pulled].std())
    means, covariance = processes[0].predict(inputs, return_cov=True)
    found, wanted = _covariance(guess), scale**2 * covariance
    assert np.allclose(guess.means, seen.means[seen.pulled].mean() + scale * means)
    assert np.allclose(found, wanted, atol=2e-3 * wanted.max())


def test_a_trend_gives_the_covariance_of_its_mixed_model() -> None:
    """The error of a prediction is that of the trend, and what is left of the deviation."""
    seen = _smooth()
    guess = Trend().guess(seen)
    far = np.flatnonzero(seen.counts == 0)
    own = guess.deviations[far] ** 2 - (guess.factor[far] ** 2).sum(axis=1)  # type: ignore[index]
    assert np.allclose(own, own[0])  # pairs without a pull keep all of their own deviation
    assert own[0] >= -1e-12


def test_a_model_that_gives_covariances_is_asked_for_them() -> None:
    guess = Regressor(FIXED).guess(_smooth())
    assert guess.factor is not None
    near, far = _covariance(guess)[20, 21], _covariance(guess)[0, 39]
    assert near > 10 * abs(far)


def test_a_covariance_of_low_rank_is_factored_exactly() -> None:
    root = np.random.default_rng(1).standard_normal((30, 4))
    covariance = root @ root.T
    factor = factored(np.diag(covariance), lambda pair: covariance[:, pair])
    assert factor.shape == (30, 4)
    assert np.allclose(factor @ factor.T, covariance)
    assert factored(np.zeros(5), lambda pair: np.zeros(5)).shape == (5, 0)


def test_doubts_of_differences_take_the_covariance_into_account() -> None:
    """Two pairs whose errors are the same differ by what is sure."""
    guess = Guess(np.array([1.0, 0.0, 0.0]), np.array([2.0, 2.0, 1.0]), np.array([[2.0], [2], [0]]))
    problem = sf.RobustProblem.from_pairs(np.eye(3), np.arange(3))
    view = Space.of(problem, np.ones(3), math.inf).guessed(guess, np.ones(3))
    race = Race(0, np.array([0]), np.array([1, 2]), np.zeros((1, 2)))
    compared = directly(view, race, np.array([1, 2]), np.ones(3))
    assert np.allclose(compared.doubts, [[0.0, math.sqrt(5)]])


class Entangled(Guide):
    """Says that guesses have in common what it is told, whatever the data say."""

    name = "entangled"

    def __init__(self, factor: object) -> None:
        self.factor = factor

    def guess(self, seen: Seen) -> Guess:
        means, deviations, _ = Tabular().guess(seen)
        return Guess(means, deviations, self.factor)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("factor", "message"),
    [
        (np.ones(40), r"a factor of shape \(40,\)"),
        (np.ones((3, 2)), r"a factor of shape \(3, 2\)"),
        (np.full((40, 1), np.nan), "finite"),
        ("much", "failed"),
    ],
)
def test_a_factor_that_is_none_is_one_clear_error(factor: object, message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        checked(Entangled(factor), _smooth())
    assert "no reward is lost" in str(caught.value)


@pytest.mark.parametrize("size", [1e-9, 1.0, 1e9])
def test_what_pairs_have_in_common_never_exceeds_their_deviations(size: float) -> None:
    factor = size * np.random.default_rng(4).standard_normal((40, 3))
    guess = checked(Entangled(factor), _smooth())
    assert guess.factor is not None
    assert (np.linalg.norm(guess.factor, axis=1) <= guess.deviations * (1 + 1e-9)).all()


@pytest.mark.statistical
@pytest.mark.parametrize("noise", [sf.Gaussian(), sf.Bounded(-6, 6)])
def test_a_wrong_covariance_costs_pulls_alone(noise: sf.Noise) -> None:
    """All errors are said to be one and the same, so that differences seem sure: runs end all the
    same, and the best arm, tied with another, goes in at most a share δ of them.
    """
    problem = sf.RobustProblem.from_pairs(np.eye(6), np.repeat(np.arange(3), 2))
    theta = np.array([0.0, 0.0, 0.0, 2.0, -1.0, 2.0])
    guide, runs, delta, out = Entangled(np.full((6, 1), 1e6)), 60, 0.1, 0
    for seed in range(runs):
        simulator = sf.LinearSimulator(problem, theta, 1.0, seed=seed, family="uniform")
        result = sf.identify(
            problem, simulator, delta=delta, noise=noise, misfit=math.inf, guide=guide, budget=400
        )
        out += int(0 not in result.candidates)
    assert stats.binom.sf(out - 1, runs, delta) > LEVEL
    apart = np.array([0.5, 0.5, 0.0, 2.0, -1.0, 2.0])
    for seed in range(5):
        simulator = sf.LinearSimulator(problem, apart, 0.5, seed=seed, family="uniform")
        result = sf.identify(
            problem, simulator, delta=delta, noise=noise, misfit=math.inf, guide=guide
        )
        assert (result.certified, result.arm) == (True, 0)
