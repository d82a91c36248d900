"""PRIME as a whole: errors, ties, tolerance, budget, epochs, misfit."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

import surefoot as sf
from surefoot.experiments.instances import near_tie, random_robust
from surefoot.plan import Prime, Tuning
from surefoot.testing import LEVEL, error_test

MODELS = {
    "known": (sf.Gaussian(1.0), "gaussian"),
    "unknown": (sf.Gaussian(equal=True), "gaussian"),
    "sub-Gaussian": (sf.SubGaussian(1.0), "rademacher"),
}


def test_a_tie_of_three_with_all_its_designs_rarely_loses_one_of_them() -> None:
    problem = sf.RobustProblem.from_pairs(
        [[1.0, 0.0, 0.2], [0.0, 1.0, 0.1], [0.5, 0.5, -0.3], [1.0, 1.0, 0.0], [0.0, 0.2, 0.1]],
        [0, 1, 2, 2, 3],
    )
    theta = [1.0, 1.0, 0.0]
    eliminated, runs = np.zeros(4, dtype=int), 60
    for child in np.random.SeedSequence(12).spawn(runs):
        simulator = sf.LinearSimulator(problem, theta, 1.0, seed=child)
        result = sf.identify(
            problem,
            simulator,
            delta=0.1,
            noise=sf.Gaussian(1.0),
            misfit=0,
            budget=2000,
            on_misfit="ignore",
        )
        eliminated += ~np.isin(np.arange(4), result.candidates)
    assert (stats.binom.sf(eliminated[:3] - 1, runs, 0.1) > LEVEL).all()
    assert eliminated[3] > runs // 2


def test_tolerance_ends_a_tie() -> None:
    problem = sf.RobustProblem.from_pairs([[1.0, 0.0], [0.0, 1.0], [0.3, 0.3]], [0, 1, 2])
    simulator = sf.LinearSimulator(problem, [1.0, 1.0], 1.0, seed=4)
    result = sf.identify(
        problem, simulator, delta=0.05, noise=sf.Gaussian(1.0), misfit=0, tolerance=0.2
    )
    assert result.reason is sf.StopReason.WITHIN_TOLERANCE
    assert result.certified
    assert result.arm in (0, 1)
    assert "within 0.2" in result.sentence


def test_a_budget_leaves_a_confidence_set() -> None:
    problem, theta = near_tie(5, gap=0.01, rng=np.random.default_rng(5))
    simulator = sf.LinearSimulator(problem, theta, 1.0, seed=4)
    result = sf.identify(
        problem, simulator, delta=0.05, noise=sf.Gaussian(1.0), misfit=0, budget=400
    )
    assert result.reason is sf.StopReason.BUDGET
    assert not result.certified
    assert result.samples == 400
    assert problem.best_arm(theta) in result.candidates


def test_late_looks_follow_those_that_are_planned() -> None:
    problem, theta = near_tie(3, gap=0.2, rng=np.random.default_rng(5))
    few_looks = Tuning(looks=3)
    run = Prime(tuning=few_looks).start(
        problem, sf.Settings(delta=0.05, noise=sf.Gaussian(1.0), misfit=0)
    )
    simulator = sf.LinearSimulator(problem, theta, 1.0, seed=4)
    while phase := run.next_phase():
        run.update(simulator.pull(phase))
    assert run.certifier.walks.places.max() >= few_looks.looks
    assert run.result.certified
    assert run.result.arm == problem.best_arm(theta)


def test_no_survivor_is_reported() -> None:
    problem = sf.RobustProblem.from_pairs([[1.0, 0.0], [0.0, 1.0]], [0, 1])
    run = sf.Prime().start(problem, sf.Settings(delta=0.05, noise=sf.Gaussian(1.0), misfit=0))
    simulator = sf.LinearSimulator(problem, [1.0, 0.0], 1.0, seed=1)
    run.update(simulator.pull(run.next_phase()))  # type: ignore[arg-type]
    run.certifier.walks.survivors[:] = False
    assert run.next_phase() is None
    assert run.result.reason is sf.StopReason.NO_SURVIVOR
    assert not run.result.certified


def test_planned_weights_count_whatever_was_pulled() -> None:
    problem, theta = random_robust(6, 3, 4, rng=np.random.default_rng(2))
    changed = 0
    for seed in range(5):
        run = sf.Prime().start(problem, sf.Settings(delta=0.05, noise=sf.Gaussian(1.0), misfit=0))
        simulator = sf.LinearSimulator(problem, theta, 1.0, seed=seed)
        while phase := run.next_phase():
            run.update(simulator.pull(phase))
        looked = [record for record in run.history if record.boundary is not None]
        planned = run.strategy.clocks.boundary
        heights = (planned.level / np.sqrt(planned.times))[: len(looked)]
        assert [record.boundary for record in looked] == pytest.approx(heights)
        changed += sum(
            record.counts.sum() != round(size * run.strategy.unit)
            for record, size in zip(looked, run.strategy.clocks.sizes, strict=False)
        )
    assert changed  # some phase was larger or smaller than planned


def quadratic_world() -> tuple[sf.RobustProblem, sf.RobustProblem, np.ndarray]:
    """Rewards 1 − (x − 0.6)²·4: the best arm is in the middle, the best line points to an end."""
    x = np.linspace(-1.0, 1.0, 9)
    linear = sf.RobustProblem.paper(
        x[:, None], [np.array([[0.05], [-0.05]])] * 9, features="linear"
    )
    square = sf.RobustProblem.paper(
        x[:, None], [np.array([[0.05], [-0.05]])] * 9, features="quadratic"
    )
    return linear, square, 1 - 4 * (linear.parameters[:, 0] - 0.2) ** 2


class Means:
    """Gaussian rewards with given means, whatever the features say."""

    def __init__(self, means: np.ndarray, seed: int) -> None:
        tabular = sf.RobustProblem.paper(
            np.eye(len(means)), [np.zeros((1, len(means)))] * len(means)
        )
        self.simulator = sf.LinearSimulator(tabular, means, 0.3, seed=seed)

    def pull(self, phase: sf.Phase) -> sf.Outcome:
        return self.simulator.pull(phase)


@pytest.mark.parametrize("noise", [sf.Gaussian(0.3), sf.Gaussian(equal=True), sf.Gaussian()])
def test_a_wrong_linear_winner_is_caught(noise: sf.Gaussian) -> None:
    linear, square, means = quadratic_world()
    truth = int(np.argmax(linear.worst_of(means)))
    for seed in range(5):
        result = sf.identify(linear, Means(means, seed), delta=0.05, noise=noise, misfit=0)
        assert not result.certified
        assert result.reason is sf.StopReason.MODEL_REJECTED
        assert "misfit=math.inf" in result.reason.value
        assert result.sentence.endswith("not certified; 1 arm is still possible.")
        assert sf.identify(
            linear, Means(means, seed), delta=0.05, noise=noise, misfit=0, on_misfit="ignore"
        ).certified
        mended = sf.identify(
            square, Means(means, seed), delta=0.05, noise=noise, misfit=0, tolerance=0.02
        )
        assert mended.certified
        assert means[linear.pairs_of(mended.arm)].min() >= linear.worst_of(means)[truth] - 0.02


@pytest.mark.statistical
@pytest.mark.parametrize(
    ("noise", "wrong_if"),
    [(sf.Gaussian(equal=True), "two-sided"), (sf.Gaussian(), "greater")],
)
def test_a_right_model_is_rejected_no_more_often_than_its_level(
    noise: sf.Gaussian, wrong_if: str
) -> None:
    """By F as often as its level says; where noise levels are unknown p may be larger."""
    problem, theta = random_robust(5, 4, 3, rng=np.random.default_rng(3))
    p_values = []
    for child in np.random.SeedSequence(14).spawn(150):
        result = sf.identify(
            problem,
            sf.LinearSimulator(problem, theta, 1.0, seed=child),
            delta=0.05,
            noise=noise,
            misfit=0,
        )
        if result.model_check.lack_of_fit is not None:
            p_values.append(result.model_check.lack_of_fit)
    assert len(p_values) > 125
    assert stats.kstest(p_values, "uniform", alternative=wrong_if).pvalue > 1e-3
    rejections = int((np.array(p_values) < 0.001).sum())
    assert stats.binom.sf(rejections - 1, len(p_values), 0.001) > LEVEL


@pytest.mark.parametrize("size", [2.0**-10, 2.0**10])
def test_the_size_of_an_unknown_noise_does_not_matter(size: float) -> None:
    problem, theta = random_robust(5, 4, 3, rng=np.random.default_rng(3))
    results = [
        sf.identify(
            problem,
            sf.LinearSimulator(problem, scale * theta, scale, seed=4),
            delta=0.05,
            noise=sf.Gaussian(),
            misfit=0,
        )
        for scale in (1.0, size)
    ]
    assert results[0].samples == results[1].samples
    assert (results[0].counts == results[1].counts).all()


def test_unequal_noise_is_noticed() -> None:
    problem, theta = random_robust(5, 4, 3, rng=np.random.default_rng(3))
    scales = np.where(np.arange(problem.n_pairs) % 2 == 0, 0.2, 3.0)
    result = sf.identify(
        problem,
        sf.LinearSimulator(problem, theta, scales, seed=1),
        delta=0.05,
        noise=sf.Gaussian(),
        misfit=0,
        budget=4000,
    )
    assert result.model_check.equal_variances is not None
    assert result.model_check.equal_variances < 1e-4


def test_scales_that_differ_by_pair_are_used() -> None:
    problem, theta = random_robust(5, 4, 3, rng=np.random.default_rng(3))
    scales = np.where(np.arange(problem.n_pairs) % 2 == 0, 0.2, 3.0)
    test = error_test(
        lambda _: "prime", (problem, theta), runs=40, noise=sf.Gaussian(scales), true_scale=scales
    )  # type: ignore[arg-type]
    assert not test.rejected
    blind = error_test(
        lambda _: "prime", (problem, theta), runs=40, noise=sf.Gaussian(3.0), true_scale=scales
    )  # type: ignore[arg-type]
    assert test.samples < 0.5 * blind.samples


@pytest.mark.parametrize("noise", [sf.Gaussian(0.3), sf.Gaussian()])
@pytest.mark.parametrize("size", [1e-12, 1e6, 1e12])
def test_units_of_a_feature_do_not_matter(noise: sf.Gaussian, size: float) -> None:
    pairs = np.array([[0.2, 1.0], [1.0, 0.3], [0.5, 0.6], [0.9, 0.7], [0.1, 0.2]])
    counts = []
    for unit in (1.0, size):
        problem = sf.RobustProblem.from_pairs(pairs * [unit, 1.0], [0, 1, 2, 3, 3])
        simulator = sf.LinearSimulator(problem, [1 / unit, 1.0], 0.3, seed=5)
        result = sf.identify(problem, simulator, delta=0.05, noise=noise, misfit=0)
        assert result.certified
        assert result.arm == 1
        counts.append(result.samples)
    assert counts[0] == counts[1]


@pytest.mark.parametrize("theta", [[1.0, 0.5], [0.5, 1.0]])
@pytest.mark.parametrize("model", MODELS)
def test_arms_may_share_pairs(theta: list[float], model: str) -> None:
    problem = sf.RobustProblem.from_pairs(
        [[1.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 0.0], [0.5, 0.5]], [0, 0, 1, 2, 2]
    )
    for seed in range(4):
        simulator = sf.LinearSimulator(problem, theta, 1.0, seed=seed)
        result = sf.identify(
            problem, simulator, delta=0.05, noise=MODELS[model][0], misfit=0, budget=3000
        )
        assert problem.robust_values(theta)[result.arm] == problem.robust_values(theta).max()


def test_a_simulator_without_noise_is_no_evidence_of_a_winner_in_a_tie() -> None:
    problem = sf.RobustProblem.from_pairs([[1.0, 0.0], [0.0, 1.0], [0.3, 0.3]], [0, 1, 2])
    for theta in ([1.0, 1.0], [1 / 3, 1 / 3]):
        simulator = sf.LinearSimulator(problem, theta, 1e-200, seed=1)
        result = sf.identify(
            problem, simulator, delta=0.05, noise=sf.Gaussian(), misfit=0, budget=500
        )
        assert {0, 1} <= set(result.candidates.tolist())


def test_rewards_far_from_zero_keep_their_evidence() -> None:
    near, far = (
        sf.RobustProblem.from_pairs([[1.0, 0.0, 1.0], [0.0, 1.0, 1.0], [0.3, 0.3, 1.0]], [0, 1, 2]),
        [[0.0, 0.5, 0.0], [0.0, 0.5, 1e9]],
    )
    runs = [
        sf.identify(
            near,
            sf.LinearSimulator(near, theta, 1.0, seed=1),
            delta=0.05,
            noise=sf.Gaussian(1.0),
            misfit=0,
        )
        for theta in far
    ]
    assert runs[0].samples == runs[1].samples
    assert runs[0].history[-1].evidence == pytest.approx(runs[1].history[-1].evidence, abs=1e-4)
