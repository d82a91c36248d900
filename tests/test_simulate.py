from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from surefoot.algorithms.robust_rage import RobustRage
from surefoot.algorithms.uniform import Uniform
from surefoot.errors import InputError
from surefoot.experiments.instances import classic
from surefoot.noise import Gaussian
from surefoot.problem.problem import RobustProblem
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
            misfit=0,
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
        rules="paper",
        on_misfit="ignore",
    )
    settings = result.settings
    assert (settings.delta, settings.budget, settings.rules, settings.on_misfit) == (
        0.2,
        9,
        "paper",
        "ignore",
    )


def test_where_pairs_have_features_one_must_say_how_far_they_are_trusted() -> None:
    simulator = LinearSimulator(PROBLEM, THETA, seed=0)
    with pytest.raises(InputError, match=r"misfit=0 .*, misfit=0\.1 .*, or misfit=math\.inf "):
        identify(PROBLEM, simulator, delta=0.05, noise=Gaussian(1.0))
    modelled = identify(PROBLEM, simulator, "robust-rage", delta=0.05, noise=Gaussian(1.0))
    assert modelled.settings.misfit == 0  # it cannot do without


def test_without_features_there_is_no_model_to_speak_of() -> None:
    problem = RobustProblem.from_pairs(np.eye(4), [0, 0, 1, 1])
    simulator = LinearSimulator(problem, [1.0, 1.0, -1.0, -1.0], seed=0)
    result = identify(problem, simulator, delta=0.05, noise=Gaussian())
    assert result.settings.misfit == np.inf
    assert result.certified
    assert "by direct comparisons" in result.sentence


def test_an_unknown_algorithm_is_refused_with_the_choices() -> None:
    settings = {"delta": 0.05, "noise": Gaussian(1.0)}
    for given, words in (
        ("xyz", "algorithm 'xyz' is not known: choose prime, robust-rage"),
        ("robust_rage", "did you mean 'robust-rage'"),
        (Uniform, r"Uniform is a class: give an instance, Uniform\(…\)"),
    ):
        with pytest.raises(InputError, match=words):
            identify(PROBLEM, LinearSimulator(PROBLEM, THETA), given, **settings)


BATCHED = Phase(0, np.array([12, 7, 30, 5]), 5)
SHARED = Phase(0, np.array([10, 20, 10, 5]), 5, shared=True)


@pytest.mark.parametrize("family", [*FAMILIES, "bernoulli"])
def test_batches_hold_their_share_of_the_pulls(family: Family) -> None:
    """Sums of batches and of the rest make up the total, and each has the mean of its pulls."""
    problem = PROBLEM if family != "bernoulli" else _coins([0.2, 0.5, 0.9, 0.01])
    theta = THETA if family != "bernoulli" else np.array([0.2, 0.5, 0.9, 0.01])
    simulator = LinearSimulator(problem, theta, seed=1, family=family)
    sizes = BATCHED.counts // 5
    sums = np.array([simulator.pull(BATCHED).batch_sums for _ in range(1500)])
    assert sums.shape == (1500, 5, 4)
    deviation = sums.std(axis=0) / np.sqrt(1500)
    assert (np.abs(sums.mean(axis=0) - sizes * simulator.means) < 5 * deviation + 1e-9).all()
    independent = np.corrcoef(sums[:, :, 0].T)[np.triu_indices(5, 1)]
    assert np.abs(independent).max() < 5 / np.sqrt(1500)


def _coins(means: list[float]) -> RobustProblem:
    return RobustProblem.from_pairs(np.eye(len(means)), np.arange(len(means)) // 2)


def test_coins_are_binomial_and_their_scatter_follows() -> None:
    problem = _coins([0.3, 0.0, 1.0, 0.7])
    simulator = LinearSimulator(problem, [0.3, 0.0, 1.0, 0.7], seed=2, family="bernoulli")
    outcomes = [simulator.pull(BATCHED) for _ in range(2000)]
    totals = np.array([o.sums[0] for o in outcomes])
    expected = 2000 * stats.binom.pmf(np.arange(13), 12, 0.3)
    seen = np.bincount(totals.astype(int), minlength=13)
    joined = [np.append(x[:7], x[7:].sum()) for x in (seen, expected)]
    assert stats.chisquare(*joined).pvalue > 1e-3
    for outcome in outcomes[:50]:
        assert np.allclose(outcome.scatter, outcome.sums - outcome.sums**2 / BATCHED.counts)
        assert outcome.sums[1] == 0
        assert outcome.sums[2] == 30


def test_means_that_are_no_probabilities_are_refused() -> None:
    with pytest.raises(InputError, match="are no probabilities"):
        LinearSimulator(_coins([0.5, 1.2]), [0.5, 1.2], family="bernoulli")


@pytest.mark.parametrize("shared", [True, False])
def test_streams_correlate_pairs_only_where_they_are_shared(shared: bool) -> None:
    """The correlation is that of single pulls, the variance the same whether shared or not."""
    problem, phase = _coins([0.0] * 4), Phase(0, np.full(4, 12), 6, shared)
    scales = np.array([1.0, 3.0, 0.5, 1.0])
    simulator = LinearSimulator(problem, np.zeros(4), scales, seed=3, correlation=0.8)
    means = np.concatenate([simulator.pull(phase).batch_sums / 2 for _ in range(1500)])
    assert np.allclose(means.var(axis=0) * 2 / scales**2, 1, rtol=0.08)
    found = np.corrcoef(means.T)[np.triu_indices(4, 1)]
    assert np.allclose(found, 0.8 if shared else 0.0, atol=0.05)


def test_parts_that_differ_by_pair_give_their_products() -> None:
    common = np.array([0.9, -0.5, 0.0, 1.0])
    simulator = LinearSimulator(_coins([0.0] * 4), np.zeros(4), seed=4, correlation=common)
    phase = Phase(0, np.full(4, 6), 6, shared=True)
    rewards = np.concatenate([simulator.pull(phase).batch_sums for _ in range(3000)])
    expected = np.outer(common, common)
    np.fill_diagonal(expected, 1.0)
    assert np.allclose(np.corrcoef(rewards.T), expected, atol=0.04)


def test_larger_batches_begin_with_the_streams_of_smaller_ones() -> None:
    """Sums of 2 and of 4 pulls with the same noise share the first two: correlation √(2/4)."""
    simulator = LinearSimulator(_coins([0.0] * 4), np.zeros(4), seed=5, correlation=1.0)
    sums = np.concatenate([simulator.pull(SHARED).batch_sums for _ in range(1500)])
    assert np.allclose(sums[:, 0], sums[:, 2])
    assert np.isclose(np.corrcoef(sums[:, 0], sums[:, 1])[0, 1], np.sqrt(2 / 4), atol=0.05)
    assert np.isclose(np.corrcoef(sums[:, 3], sums[:, 1])[0, 1], np.sqrt(1 / 4), atol=0.05)


@pytest.mark.parametrize("correlation", [-0.5, 1.5, [0.1, 0.2], [2.0, 0, 0, 0], np.nan])
def test_correlations_that_cannot_be_are_refused(correlation: object) -> None:
    with pytest.raises(InputError, match="correlation="):
        LinearSimulator(_coins([0.0] * 4), np.zeros(4), correlation=correlation)


def test_only_gaussian_noise_is_correlated() -> None:
    with pytest.raises(InputError, match="leave correlation at 0"):
        LinearSimulator(PROBLEM, THETA, family="uniform", correlation=0.5)


def test_a_billion_pulls_in_batches_cost_nothing() -> None:
    phase = Phase(0, np.full(4, 10**9), 30, shared=True)
    outcome = LinearSimulator(PROBLEM, THETA, seed=6, correlation=0.5).pull(phase)
    assert outcome.batch_sums.shape == (30, 4)
    assert np.allclose(outcome.scatter / 1e9, 1, rtol=1e-3)
