from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from surefoot.algorithms.robust_rage import RobustRage
from surefoot.errors import InputError
from surefoot.experiments.instances import classic
from surefoot.noise import Gaussian
from surefoot.simulate import LARGE, Family, LinearSimulator, identify
from surefoot.statistics import Phase

PROBLEM, THETA = classic(3, 0.3)
FAMILIES: list[Family] = ["gaussian", "uniform", "rademacher"]


def draws(family: Family, n: int, runs: int, scale: float = 1.0) -> tuple[np.ndarray, np.ndarray]:
    """Standardised noise sums, and scatters over n − 1, of the first pair."""
    simulator = LinearSimulator(PROBLEM, THETA, scale, seed=1, family=family)
    outcomes = [simulator.pull(Phase(0, np.array([n, 0, 0, 0]))) for _ in range(runs)]
    sums = np.array([(o.sums[0] - n * 2.0) / (scale * np.sqrt(n)) for o in outcomes])
    return sums, np.array([o.scatter[0] / (scale**2 * (n - 1)) for o in outcomes])


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("n", [2, 50, 3 * LARGE])
def test_sums_and_scatter_have_the_right_moments(family: Family, n: int) -> None:
    sums, scatter = draws(family, n, 1500, scale=3.0)
    assert abs(sums.mean()) < 4 / np.sqrt(1500)
    assert sums.var() == pytest.approx(1.0, abs=0.2)
    assert scatter.mean() == pytest.approx(1.0, abs=0.2)


def test_gaussian_statistics_have_exactly_their_distributions() -> None:
    sums, scatter = draws("gaussian", 6, 1500)
    assert stats.kstest(sums, "norm").pvalue > 1e-3
    assert stats.kstest(5 * scatter, stats.chi2(5).cdf).pvalue > 1e-3


def test_rademacher_sums_are_those_of_coin_flips() -> None:
    simulator = LinearSimulator(PROBLEM, THETA, 1.0, seed=1, family="rademacher")
    outcome = simulator.pull(Phase(0, np.array([1, 2, 3, 4])))
    noise = outcome.sums - np.array([1, 2, 3, 4]) * simulator.means
    assert np.isin(np.round(noise).astype(int), range(-4, 5)).all()
    assert noise == pytest.approx(np.round(noise))
    assert outcome.scatter[0] == 0.0


def test_pairs_have_their_own_means_and_scales() -> None:
    scales = np.array([0.1, 1.0, 10.0, 2.0])
    simulator = LinearSimulator(PROBLEM, THETA, scales, seed=0)
    outcome = simulator.pull(Phase(0, np.full(4, 10**6)))
    assert outcome.sums / 1e6 == pytest.approx(PROBLEM.pair_means(THETA), abs=0.05)
    assert np.sqrt(outcome.scatter / 1e6) == pytest.approx(scales, rel=0.01)


def test_only_what_was_asked_for_is_pulled() -> None:
    outcome = LinearSimulator(PROBLEM, THETA, seed=0).pull(Phase(3, np.array([0, 5, 0, 0])))
    assert outcome.phase == 3
    assert np.flatnonzero(outcome.sums).tolist() == [1]
    assert np.flatnonzero(outcome.scatter).tolist() == [1]


def test_a_billion_pulls_are_drawn_as_statistics() -> None:
    """No array as long as the pulls is ever made: 10¹⁵ rewards would not fit into memory."""
    outcome = LinearSimulator(PROBLEM, THETA, seed=0).pull(Phase(0, np.full(4, 10**15)))
    assert outcome.sums / 1e15 == pytest.approx(PROBLEM.pair_means(THETA), abs=1e-6)


@pytest.mark.parametrize("family", FAMILIES)
def test_a_seed_gives_the_same_rewards(family: Family) -> None:
    phase = Phase(0, np.array([3, 1, 0, 7]))
    first, second, other = (
        LinearSimulator(PROBLEM, THETA, seed=seed, family=family).pull(phase).sums.tobytes()
        for seed in (5, 5, 6)
    )
    assert first == second != other


def test_unknown_families_and_noise_are_refused() -> None:
    with pytest.raises(InputError, match="family='cauchy' is not known"):
        LinearSimulator(PROBLEM, THETA, family="cauchy")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="positive number"):
        LinearSimulator(PROBLEM, THETA, noise=0.0)


def test_identify_takes_a_name_or_an_algorithm() -> None:
    by_name, by_instance = (
        identify(
            PROBLEM,
            LinearSimulator(PROBLEM, THETA, seed=0),
            choice,
            delta=0.05,
            noise=Gaussian(1.0),
        )
        for choice in ("robust-rage", RobustRage())
    )
    assert by_name.samples == by_instance.samples
    assert by_name.arm == PROBLEM.best_arm(THETA)


def test_identify_passes_its_settings_on() -> None:
    result = identify(
        PROBLEM,
        LinearSimulator(PROBLEM, THETA, seed=0),
        "robust-static",
        delta=0.2,
        noise=Gaussian(1.0),
        budget=9,
        confidence="paper",
        on_misfit="ignore",
    )
    settings = result.settings
    assert (settings.delta, settings.budget, settings.confidence, settings.on_misfit) == (
        0.2,
        9,
        "paper",
        "ignore",
    )


def test_an_unknown_algorithm_is_refused_with_the_choices() -> None:
    with pytest.raises(
        InputError, match="algorithm 'rage' is not known: choose prime, robust-rage"
    ):
        identify(PROBLEM, LinearSimulator(PROBLEM, THETA), "rage", delta=0.05, noise=Gaussian(1.0))
