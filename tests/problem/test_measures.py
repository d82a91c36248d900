"""Means, weights and CVaR in the place of the worst case: points, answers, files."""

from __future__ import annotations

import itertools
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

import surefoot as sf
from surefoot.algorithms import Settings, algorithm_from
from surefoot.arrays import Array
from surefoot.problem.measures import Measure, Points, Worst, measure_from, values_of
from surefoot.study.file.verified import certificate_of
from surefoot.study.toml.config import StudyConfig

NAMES = ["as planned", "flu", "frost"]
WEIGHTS = {"as planned": 0.7, "flu": 0.2, "frost": 0.1}


def problem(n_arms: int = 3, features: str = "tabular") -> sf.RobustProblem:
    """Return arms with three perturbations each, which have names."""
    parts = [np.arange(3.0)[:, None]] * n_arms
    names = [NAMES] * n_arms
    arms = np.arange(float(n_arms))[:, None]
    return sf.RobustProblem.paper(arms, parts, features=features, perturbation_names=names)


def points_of(measure: Any, n_arms: int = 3) -> Points:
    return measure_from(measure).points(problem(n_arms))


def expected(share: float, weights: Array, means: Array) -> float:
    """Return the mean of the worst share, by a sort."""
    left, total = 1.0, 0.0
    for i in np.argsort(means):
        taken = min(weights[i] / share, left)
        total, left = total + taken * means[i], left - taken
    return total


def test_points_of_a_share_have_the_least_mean_that_a_sort_finds() -> None:
    rng = np.random.default_rng(np.random.SeedSequence(1))
    for _ in range(150):
        n, share = int(rng.integers(1, 7)), float(rng.uniform(0.05, 1.0))
        weights = rng.dirichlet(np.ones(n)) if rng.random() < 0.5 else np.full(n, 1 / n)
        points = sf.CVaR(share).extreme_points(tuple(weights.tolist()))
        assert points.sum(axis=1) == pytest.approx(np.ones(len(points)))
        assert (points <= weights / share + 1e-9).all()
        means = rng.normal(size=n)
        assert (points @ means).min() == pytest.approx(expected(share, weights, means))


@pytest.mark.parametrize(("n", "share", "count"), [(10, 0.3, 120), (4, 0.5, 6), (3, 0.5, 6)])
def test_points_are_no_more_than_there_are(n: int, share: float, count: int) -> None:
    assert len(sf.CVaR(share).extreme_points((1 / n,) * n)) == count


def test_the_ends_of_a_share_are_worst_case_and_mean() -> None:
    means = np.random.default_rng(np.random.SeedSequence(2)).normal(size=9)
    for near, exact in ((sf.CVaR(1e-9), "worst"), (sf.CVaR(1.0), "mean")):
        found = near.points(problem()).values_of(means)
        assert found == pytest.approx(points_of(exact).values_of(means))


def test_weights_are_those_of_their_names() -> None:
    means = np.array([1.0, 2.0, 4.0] * 3)
    assert points_of(WEIGHTS).values_of(means) == pytest.approx(np.full(3, 1.5))
    worst_half = sf.CVaR(0.5, weights={"as planned": 0.3, "flu": 0.3, "frost": 0.4})
    assert worst_half.points(problem()).values_of(means) == pytest.approx(np.full(3, 1.4))


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ("median", "is a quantile, which is no mean of anything"),
        ("best", "is not known: give"),
        (3, "is not known: give"),
        ({}, "is not known: give"),
        ({"flu": 0.5, "frost": 0.4}, r"add up to 0.9: give weights that add up to 1"),
        ({"flu": 1.5, "frost": -0.5}, r"the weight of perturbation 'flu' is 1.5"),
        ({"cvar": 0.0}, "is the mean of no share"),
        ({"cvar": "a lot"}, "is the mean of no share"),
        ({"cvar": 0.5, "weights": 3}, "must be numbers by the names"),
    ],
)
def test_what_is_no_measure_is_refused(given: Any, words: str) -> None:
    with pytest.raises(sf.InputError, match=words):
        measure_from(given)


def test_weights_of_other_perturbations_are_refused() -> None:
    with pytest.raises(sf.InputError, match=r"'frost': give each of them a weight, by its name"):
        points_of({"as planned": 0.5, "flood": 0.5})


def test_too_many_points_are_refused_by_number() -> None:
    with pytest.raises(sf.InputError, match=r"CVaR\(0.5\) of 20 perturbations has more than 2,000"):
        sf.CVaR(0.5).extreme_points((0.05,) * 20)


def many(n_arms: int = 4, n: int = 20) -> sf.RobustProblem:
    """Return arms with so many perturbations that half of them are 184,756 points."""
    parts = [np.arange(float(n))[:, None]] * n_arms
    return sf.RobustProblem.paper(np.arange(float(n_arms))[:, None], parts, features="tabular")


def half(means: Array) -> Array:
    """Return the mean of the lower half of each row."""
    return np.asarray(np.sort(means, axis=1)[:, : means.shape[1] // 2].mean(axis=1))


def test_the_least_of_too_many_points_is_found_by_a_sort() -> None:
    rng = np.random.default_rng(np.random.SeedSequence(3))
    for _ in range(40):
        sizes, share = rng.integers(1, 10, 3), float(rng.uniform(0.05, 1.0))
        offsets, means = np.append(0, np.cumsum(sizes)), rng.normal(size=sizes.sum())
        weights = [rng.dirichlet(np.ones(n)) for n in sizes]
        most = np.minimum(np.concatenate(weights) / share, 1.0)
        each = zip(weights, np.split(means, offsets[1:-1]), strict=True)
        listed = [(sf.CVaR(share).extreme_points(tuple(w)) @ m).min() for w, m in each]
        assert values_of(means, offsets, most) == pytest.approx(listed)


@pytest.mark.parametrize("noise", [sf.Gaussian(1.0), sf.SubGaussian(1.5)])
@pytest.mark.parametrize("tolerance", [0.0, 0.3])
def test_half_of_twenty_perturbations_are_compared_as_brute_force_does(
    noise: sf.Gaussian, tolerance: float
) -> None:
    for seed in range(4):
        rng = np.random.default_rng(np.random.SeedSequence(4, spawn_key=(seed,)))
        means = rng.normal(size=(4, 20)) + rng.choice([0.0, 0.4, 0.8, 1.2], (4, 1), replace=False)
        simulator = sf.TableSimulator(means.ravel(), 1.0, seed=seed)
        result = sf.identify(
            many(), simulator, delta=0.05, noise=noise, measure=sf.CVaR(0.5), misfit=math.inf,
            tolerance=tolerance, baseline="arm 0", budget=400_000,
        )  # fmt: skip
        truth = half(means)
        assert result.certified
        assert truth[result.arm] >= truth.max() - tolerance
        over_all, over_baseline = result.leads.over_all, result.leads.over_baseline
        assert over_all <= truth[result.arm] - np.delete(truth, result.arm).max()
        assert over_baseline is None or over_baseline <= truth[result.arm] - truth[0]
        assert result.values == pytest.approx(truth, abs=1.5)


@pytest.mark.statistical
def test_a_tie_of_too_many_points_is_broken_with_probability_delta_at_most() -> None:
    """The planner's own runs, cut at a budget; the arms differ in all else."""
    rng = np.random.default_rng(np.random.SeedSequence(6))
    means = rng.normal(size=(2, 20)) * np.array([[0.2], [2.0]])
    means -= half(means)[:, None]
    runs, delta, wrong = 40, 0.2, 0
    for run in range(runs):
        seed = np.random.SeedSequence(7, spawn_key=(run,))
        result = sf.identify(
            many(2), sf.TableSimulator(means.ravel(), 1.0, seed=seed), delta=delta,
            noise=sf.Gaussian(1.0), measure=sf.CVaR(0.5), budget=1000, misfit=math.inf,
        )  # fmt: skip
        wrong += 0 not in result.candidates
    assert stats.binom.sf(wrong - 1, runs, delta) > 1e-3


@pytest.mark.parametrize(
    "changes",
    [
        {"noise": sf.Gaussian()},
        {"noise": sf.Gaussian(equal=True)},
        {"noise": sf.Bounded(0.0, 1.0)},
        {"misfit": 0.0},
        {"algorithm": algorithm_from("kn-rsb", zone=0.5)},
        {"aim": "beat baseline", "baseline": "arm 0"},
    ],
)
def test_too_many_points_that_no_sort_compares_are_refused(changes: dict[str, Any]) -> None:
    asked = {"noise": sf.Gaussian(1.0), "misfit": math.inf, "delta": 0.05, "budget": 100} | changes
    simulator = sf.TableSimulator(np.zeros(80), 1.0, seed=1)
    with pytest.raises(sf.InputError, match=r"CVaR\(0.5\) has more than 2,000 .* by a sort"):
        sf.identify(many(), simulator, measure=sf.CVaR(0.5), **asked)


def test_a_study_of_too_many_points_is_gone_on_with_and_verified(tmp_path: Path) -> None:
    rng = np.random.default_rng(np.random.SeedSequence(8))
    means = rng.normal(size=(3, 20)) + np.array([[0.0], [1.0], [-1.0]])

    def pulled(pull: sf.Pull) -> float:
        return float(means.ravel()[pull.pair] + pull.rng().normal())

    path, noise = tmp_path / "study.db", sf.Gaussian(1.0)
    asked: dict[str, Any] = {"delta": 0.05, "misfit": math.inf, "seed": 1, "budget": 500}
    with sf.Study.create(path, many(3), measure=sf.CVaR(0.5), noise=noise, **asked) as study:
        study.run(pulled, "serial")
        assert not study.result.certified
    with sf.Study.open(path) as study:
        study.change(budget=100_000)
        study.run(pulled, "serial")
    alone = tmp_path / "certificate.json"
    with sf.StudyReader(path) as reader:
        assert reader.recorded.arm == half(means).argmax()
        alone.write_text(json.dumps(certificate_of(reader)))
    for file in (path, alone):
        assert sf.verify(file).certified


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"aim": "guess", "budget": 10}, "aim"),
        ({"rarest": 0.1}, "rarest is for the best worst case"),
        ({"unseen": 1.0}, "unseen is for the best worst case"),
        ({"guide": "trend"}, "a guide is for the best worst case"),
        ({"common_random_numbers": "auto"}, "common_random_numbers"),
    ],
)
def test_what_only_the_worst_case_has_is_refused(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(sf.InputError, match=words):
        Settings(delta=0.05, noise=sf.Gaussian(), measure="mean", **changes)


def test_an_algorithm_for_the_worst_case_refuses_another_measure() -> None:
    simulator = sf.TableSimulator(np.zeros(9))
    with pytest.raises(sf.InputError, match='leave measure at "worst", or use "prime"'):
        sf.identify(
            problem(), simulator, "uniform", delta=0.1, noise=sf.Gaussian(1.0), measure="mean",
            misfit=0.0, budget=100,
        )  # fmt: skip


# worst cases put arm 0 first, means arm 1, weights arm 2, and each by far
MEANS = np.array([[1.0, 1.0, 1.0], [3.0, 3.0, -1.0], [3.4, 0.0, 0.0]])
ANSWERS: dict[str, tuple[Any, int]] = {
    "worst": ("worst", 0),
    "mean": ("mean", 1),
    "weights": ({"as planned": 0.9, "flu": 0.05, "frost": 0.05}, 2),
    "CVaR": (sf.CVaR(0.5), 0),
}
NOISES: dict[str, tuple[Any, dict[str, Any]]] = {
    "unknown": (sf.Gaussian(), {}),
    "known": (sf.Gaussian(0.5), {}),
    "equal": (sf.Gaussian(equal=True), {}),
    "sub-Gaussian": (sf.SubGaussian(0.5), {}),
    "shared streams": (sf.Gaussian(), {"common_random_numbers": True}),
}


# the worst case under shared streams has tests of its own
CASES = [each for each in itertools.product(ANSWERS, NOISES) if each != ("worst", "shared streams")]


@pytest.mark.parametrize(("name", "noise"), CASES)
def test_the_best_arm_by_each_measure_is_found(name: str, noise: str) -> None:
    (measure, arm), (known, changes) = ANSWERS[name], NOISES[noise]
    simulator = sf.TableSimulator(MEANS.ravel(), 0.5, seed=1)
    asked = {"misfit": math.inf, "budget": 20_000} | changes
    result = sf.identify(problem(), simulator, delta=0.05, noise=known, measure=measure, **asked)
    assert (result.arm, result.certified) == (arm, True)
    assert result.values[arm] == pytest.approx(
        measure_from(measure).points(problem()).values_of(MEANS.ravel())[arm], abs=0.7
    )
    assert f"has the best {measure_from(measure).words}, with 95 % confidence" in result.sentence


def modelled(worlds: int) -> tuple[sf.RobustProblem, Array]:
    """Return arms at −1, 1 and 0 with perturbations −1, 0 and 1, and θ of rewards that are
    quadratic: the first two arms tie by every measure, or (1) the second is better.
    """
    arms, offsets = np.array([[-1.0], [1.0], [0.0]]), np.array([[-1.0], [0.0], [1.0]])
    tied = sf.RobustProblem.paper(arms, [offsets] * 3, features="quadratic")
    x = tied.parameters[:, 0]
    nominal = np.repeat(arms[:, 0], 3)
    means = 2 * nominal**2 - 0.5 * (x - nominal) ** 2 + worlds * nominal
    return tied, np.linalg.lstsq(tied.pairs, means, rcond=None)[0]


@pytest.mark.parametrize("noise", [sf.Gaussian(0.5), sf.Gaussian(), sf.Gaussian(equal=True)])
@pytest.mark.parametrize("measure", ["mean", sf.CVaR(0.5)])
@pytest.mark.parametrize("misfit", [0.0, 0.1])
def test_a_model_finds_the_best_arm_by_each_measure(
    measure: Any, noise: sf.Gaussian, misfit: float
) -> None:
    asked, theta = modelled(1)
    means = asked.pairs @ theta
    simulator = sf.TableSimulator(means, 0.5, seed=1)
    result = sf.identify(
        asked, simulator, delta=0.05, noise=noise, measure=measure, misfit=misfit, budget=20_000
    )
    best = int(measure_from(measure).points(asked).values_of(means).argmax())
    assert (result.arm, result.certified) == (best, True)


def test_rewards_in_a_range_are_compared_by_their_mean() -> None:
    chances = np.array([[0.6, 0.7, 0.8], [0.5, 0.2, 0.1], [0.9, 0.0, 0.1]])
    simulator = sf.TableSimulator(chances.ravel(), seed=3, family="bernoulli")
    result = sf.identify(
        problem(), simulator, delta=0.05, noise=sf.Bounded(0.0, 1.0), measure=sf.CVaR(0.6),
        misfit=math.inf, budget=20_000,
    )  # fmt: skip
    assert (result.arm, result.certified) == (0, True)


TIES = {
    "mean": ("mean", [[0.0, 0.0, 0.0], [3.0, -1.0, -2.0], [-1.0, -1.0, -1.0]]),
    "CVaR": (sf.CVaR(2 / 3), [[0.0, 0.0, 0.0], [9.0, 1.0, -1.0], [-1.0, -1.0, -1.0]]),
}


@pytest.mark.statistical
@pytest.mark.parametrize("trust", ["pairs", "model"])
@pytest.mark.parametrize("name", TIES)
def test_a_tied_arm_is_eliminated_with_probability_delta_at_most(name: str, trust: str) -> None:
    """Arms 0 and 1 tie by the measure alone; the planner's own runs, cut at a budget."""
    measure, table = TIES[name]
    asked, means, misfit = problem(), np.array(table).ravel(), math.inf
    if trust == "model":
        asked, theta = modelled(0)
        means, misfit = asked.pairs @ theta, 0.0
    runs, delta, wrong = 60, 0.2, 0
    for run in range(runs):
        seed = np.random.SeedSequence(5, spawn_key=(run,))
        simulator = sf.TableSimulator(means, 0.5, seed=seed)
        result = sf.identify(
            asked, simulator, delta=delta, noise=sf.Gaussian(), measure=measure, budget=300,
            misfit=misfit,
        )  # fmt: skip
        wrong += 0 not in result.candidates
    assert stats.binom.sf(wrong - 1, runs, delta) > 1e-3


def reward(pull: sf.Pull) -> float:
    return float(MEANS.ravel()[pull.pair] + 0.3 * pull.rng().normal())


@pytest.mark.parametrize("name", ["mean", "weights", "CVaR"])
def test_a_study_keeps_its_measure_and_is_verified(tmp_path: Path, name: str) -> None:
    measure, arm = ANSWERS[name]
    asked: dict[str, Any] = {"delta": 0.05, "noise": sf.Gaussian(), "misfit": math.inf, "seed": 1}
    path = tmp_path / "study.db"
    with sf.Study.create(path, problem(), measure=measure, **asked) as study:
        study.ask(5)
    with sf.Study.open(path) as study:
        assert study.description.settings.measure == measure_from(measure)
        study.run(reward, "serial")
        assert study.result.certified
    found = sf.verify(path)
    assert found.certified
    assert measure_from(measure).words in found.sentence
    with sf.StudyReader(path) as reader:
        assert reader.recorded.arm == arm
    with sf.Study.create(tmp_path / "worst.db", problem(), **asked) as other:
        assert isinstance(other.description.settings.measure, Worst)
        assert other.description.head != study.description.head


TEXT = """
delta = 0.05
features = "tabular"
misfit = inf
measure = {}
arms.list = [{{ name = "one", x = 1.0 }}, {{ name = "two", x = 2.0 }}]
perturbations.list = [{{ name = "as planned" }}, {{ name = "flu", x = 0.1 }}]
"""


@pytest.mark.parametrize(
    ("text", "asked"),
    [
        ('"mean"', "mean"),
        ('{ "as planned" = 0.75, flu = 0.25 }', {"as planned": 0.75, "flu": 0.25}),
        ("{ cvar = 0.5 }", sf.CVaR(0.5)),
    ],
)
def test_study_toml_asks_for_a_measure(tmp_path: Path, text: str, asked: Any) -> None:
    path = tmp_path / "study.toml"
    path.write_text(TEXT.format(text))
    config = StudyConfig(path)
    measure: Measure = config.settings.measure
    assert measure == measure_from(asked)
    with config.open_study() as study:
        assert study.description.settings.measure == measure
    path.write_text(TEXT.format('"worst"'))
    with pytest.raises(sf.InputError, match="measure changed"):
        StudyConfig(path).open_study()


def test_study_toml_names_the_key_of_a_measure_that_is_none(tmp_path: Path) -> None:
    path = tmp_path / "study.toml"
    path.write_text(TEXT.format('"median"'))
    with pytest.raises(sf.InputError, match=r"study.toml: measure=.*is a quantile"):
        StudyConfig(path)
