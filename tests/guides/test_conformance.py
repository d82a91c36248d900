"""What every guide keeps to, and what becomes of one that does not."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from scipy import stats
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import BayesianRidge, LinearRegression
from sklearn.neighbors import KNeighborsRegressor

import surefoot as sf
from surefoot.algorithms import Algorithm, algorithm_from
from surefoot.arrays import IntArray
from surefoot.errors import InputError
from surefoot.guides import (
    GUIDES,
    Guess,
    Guide,
    Regressor,
    Seen,
    Tabular,
    Trend,
    checked,
    guide_from,
)
from surefoot.guides.mixed_kernel import _OnCategories, mixed_kernel
from surefoot.testing import LEVEL

ALL: dict[str, Callable[[], Guide]] = dict(GUIDES.items()) | {
    "forest": lambda: Regressor(RandomForestRegressor(n_estimators=5, random_state=0)),
    "ridge with deviations": lambda: Regressor(BayesianRidge()),
    "neighbours, which take no weights": lambda: Regressor(KNeighborsRegressor(2)),
}


def _problem() -> sf.RobustProblem:
    rng = np.random.default_rng(1)
    return sf.RobustProblem.paper(
        rng.standard_normal((5, 3)), [0.3 * rng.standard_normal((4, 3))] * 5
    )


def _seen(problem: sf.RobustProblem, every: int = 1, scale: float = 0.1) -> Seen:
    """One of `every` pairs pulled some times, from a linear truth."""
    rng, n = np.random.default_rng(2), problem.n_pairs
    counts = np.where(np.arange(n) % every == 0, rng.integers(2, 9, n), 0)
    truth = problem.pair_means(np.array([1.0, -2.0, 0.5]))
    errors = scale * rng.standard_normal(n) / np.sqrt(np.maximum(counts, 1))
    return Seen(problem, counts, np.where(counts > 0, truth + errors, 0.0), np.full(n, scale**2))


def _models() -> sf.RobustProblem:
    """Models of four kinds, of which one is worse, and which suffer from a shift alike."""
    arms = [{"model": model, "depth": depth} for model in "abcd" for depth in (1, 2, 3)]
    shifts = [{"shift": 0.1 * k, "clean": k % 2 == 0} for k in range(4)]
    around = {"shift": 0.0, "clean": True}
    return sf.RobustProblem.from_lists(arms, shifts, environment=around)


@pytest.mark.parametrize("name", ALL)
def test_words_and_truth_values_are_learnt_from(name: str) -> None:
    problem = _models()
    model = np.array([problem.values_of(pair)["model"] for pair in range(problem.n_pairs)])
    shift = problem.parameters[:, problem.parameter_names.index("shift")]
    truth = np.where(model == "c", -1.0, 1.0) - shift
    counts = np.where(np.arange(problem.n_pairs) % 3 > 0, 9, 0)
    seen = Seen(problem, counts, np.where(counts > 0, truth, 0.0), np.full(len(truth), 1e-4))
    guess = checked(ALL[name](), seen)
    assert np.isfinite(guess.means).all()
    if name not in ("tabular", "neighbours, which take no weights"):
        unseen = counts == 0
        assert (guess.means[unseen & (model == "c")] < -0.5).all()
        assert (guess.means[unseen & (model != "c")] > 0.0).all()
    wanted = ALL[name]().first_pairs(problem)
    assert 0 < len(wanted) <= problem.n_pairs


@pytest.mark.parametrize("every", [1, 2, 3])
@pytest.mark.parametrize("name", ALL)
def test_a_guess_has_a_finite_mean_and_deviation_for_each_pair(name: str, every: int) -> None:
    problem = _problem()
    guess = checked(ALL[name](), _seen(problem, every))
    assert guess.means.shape == guess.deviations.shape == (problem.n_pairs,)
    assert np.isfinite(guess.means).all()
    assert (guess.deviations >= 0).all()


@pytest.mark.parametrize("name", ALL)
def test_rewards_that_hardly_vary_are_no_trouble(name: str) -> None:
    """A simulator may give the same reward again and again, but for the last digits."""
    doses = np.linspace(40, 60, 9)
    arms = np.column_stack([np.full(9, 150.0), doses, 500 / doses])
    errors = [[0, 0, error] for error in (-0.5, -0.2, 0.1, 0.4)]
    problem = sf.RobustProblem.paper(arms, [np.array(errors)] * 9, features="quadratic")
    means, n = -((problem.parameters[:, 1] - 50) ** 2), problem.n_pairs
    guess = checked(ALL[name](), Seen(problem, np.full(n, 3), means, np.full(n, 1e-30)))
    assert np.isfinite(guess.means).all()
    assert np.isfinite(guess.deviations).all()


@pytest.mark.parametrize("name", ALL)
def test_the_same_data_give_the_same_guess_and_are_left_alone(name: str) -> None:
    guide, seen = ALL[name](), _seen(_problem(), 2)
    before = seen.counts.copy(), seen.means.copy(), seen.variances.copy()
    first, second = checked(guide, seen), checked(guide, seen)
    assert np.array_equal(first.means, second.means)
    assert np.array_equal(first.deviations, second.deviations)
    for kept, now in zip(before, (seen.counts, seen.means, seen.variances), strict=True):
        assert np.array_equal(kept, now)


@pytest.mark.parametrize("name", ALL)
def test_the_first_pairs_are_pairs_each_once(name: str) -> None:
    problem = _problem()
    first = ALL[name]().first_pairs(problem)
    assert len(np.unique(first)) == len(first) > 0
    assert first.min() >= 0
    assert first.max() < problem.n_pairs


@pytest.mark.parametrize("name", ALL)
def test_equal_rewards_break_nothing(name: str) -> None:
    """Nothing to learn: no spread between pairs, and hardly any noise."""
    problem = _problem()
    n = problem.n_pairs
    guess = checked(ALL[name](), Seen(problem, np.full(n, 3), np.full(n, 2.0), np.full(n, 1e-300)))
    assert np.allclose(guess.means, 2.0, atol=1e-3)


@pytest.mark.parametrize("name", ALL)
def test_a_run_is_certified_and_right(name: str) -> None:
    problem, theta = _problem(), np.array([1.0, -2.0, 0.5])
    result = sf.identify(
        problem,
        sf.LinearSimulator(problem, theta, 0.3, seed=4),
        delta=0.05,
        noise=sf.Gaussian(),
        misfit=math.inf,
        guide=ALL[name](),
    )
    assert result.certified
    assert result.arm == problem.best_arm(theta)


def test_a_trend_knows_pairs_that_were_never_pulled() -> None:
    problem = _problem()
    truth = problem.pair_means(np.array([1.0, -2.0, 0.5]))
    seen = _seen(problem, 2, scale=0.01)
    unseen = seen.counts == 0
    assert np.allclose(checked(Trend(), seen).means[unseen], truth[unseen], atol=0.1)
    assert not np.allclose(checked(Tabular(), seen).means[unseen], truth[unseen], atol=0.1)


def test_a_trend_gives_way_where_pairs_do_not_follow_it() -> None:
    problem = _problem()
    rough = np.random.default_rng(5).standard_normal(problem.n_pairs)
    n = problem.n_pairs
    guess = checked(Trend(), Seen(problem, np.full(n, 50), rough, np.full(n, 0.01)))
    assert np.allclose(guess.means, rough, atol=0.05)


class Broken(Guide):
    """A guide that does as it is told, once it has been asked a few times."""

    name = "broken"

    def __init__(self, guess: Callable[[Seen], object], after: int = 0) -> None:
        self.answer, self.after, self.asked = guess, after, 0

    def guess(self, seen: Seen) -> Guess:
        self.asked += 1
        if self.asked <= self.after:
            return Tabular().guess(seen)
        return self.answer(seen)  # type: ignore[return-value]


def _raise(seen: Seen) -> object:
    raise ZeroDivisionError("no luck")


FAULTS: dict[str, tuple[Callable[[Seen], object], str]] = {
    "raises": (_raise, "ZeroDivisionError: no luck"),
    "NaN": (lambda s: (np.full(20, np.nan), np.ones(20)), "means that are not finite"),
    "infinite doubt": (lambda s: (np.ones(20), np.full(20, np.inf)), "deviations that are not"),
    "wrong shape": (lambda s: (np.ones(3), np.ones(20)), r"means of shape \(3,\)"),
    "no pair of arrays": (lambda s: None, "failed"),
    "text": (lambda s: ("a", "b"), "failed"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_guide_that_fails_is_one_clear_error(fault: str) -> None:
    guess, message = FAULTS[fault]
    with pytest.raises(InputError, match=message) as caught:
        checked(Broken(guess), _seen(_problem()))
    assert "no reward is lost" in str(caught.value)
    assert "\n" not in str(caught.value)


class Beginner(Tabular):
    """Wants to begin with what it is told to want."""

    def __init__(self, first: Callable[[], object]) -> None:
        self.first = first

    def first_pairs(self, problem: sf.RobustProblem) -> IntArray:
        return self.first()  # type: ignore[return-value]


def _no_pairs() -> object:
    raise ZeroDivisionError("no luck")


@pytest.mark.parametrize(
    ("first", "message"),
    [
        (_no_pairs, "ZeroDivisionError: no luck"),
        (lambda: [0, 20], r"\[0, 20\].*from 0 to 19"),
        (lambda: [-1, 3], r"\[-1, 3\].*from 0 to 19"),
        (list, r"\[\].*one at least"),
        (lambda: [0.5, 1.0], "numbers of pairs"),
        (lambda: [[0], [1]], "a list of numbers"),
        (lambda: None, "numbers of pairs"),
    ],
)
def test_pairs_to_begin_with_that_are_none_are_one_clear_error(
    first: Callable[[], object], message: str
) -> None:
    with pytest.raises(InputError, match=message) as caught:
        _started(_problem(), Beginner(first)).next_phase()
    assert "'tabular'" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_pairs_to_begin_with_are_taken_in_any_order_and_once() -> None:
    phase = _started(_problem(), Beginner(lambda: [7, 3, 7])).next_phase()
    assert phase is not None
    assert np.flatnonzero(phase.counts).tolist() == [3, 7]


@pytest.mark.parametrize("guide", ["trend", "gaussian-process"])
def test_a_large_smooth_problem_does_not_begin_with_all_its_pairs(guide: str) -> None:
    """200 arms of 20 perturbations: 4 000 pairs, of which a guide needs a few dozen first."""
    x, y = np.meshgrid(np.linspace(0, 1, 200), np.linspace(0, 1, 20), indexing="ij")
    points = np.column_stack([x.ravel(), y.ravel()])
    problem = sf.RobustProblem.from_pairs(
        points, np.repeat(np.arange(200), 20), features="quadratic"
    )
    phase = _started(problem, guide_from(guide, problem)).next_phase()
    assert phase is not None
    assert phase.samples <= 200


def test_no_reward_is_lost_when_a_guide_fails() -> None:
    """The outcomes told before are fed with another guide, and the run goes on from there."""
    problem, theta = _problem(), np.array([1.0, -2.0, 0.5])
    simulator, outcomes = sf.LinearSimulator(problem, theta, 3.0, seed=6), []
    run = _started(problem, Broken(FAULTS["NaN"][0], after=3))
    with pytest.raises(InputError, match="not finite"):
        _finish(run, simulator, outcomes)
    again = _started(problem, Tabular())
    for outcome in outcomes:
        phase = again.next_phase()
        assert phase is not None
        assert np.array_equal(phase.counts, outcome.counts)
        again.update(outcome)
    _finish(again, simulator, [])
    assert again.result.certified


def _finish(run: Algorithm, simulator: sf.LinearSimulator, outcomes: list[sf.Outcome]) -> None:
    while phase := run.next_phase():
        outcomes.append(simulator.pull(phase))
        run.update(outcomes[-1])


def _started(problem: sf.RobustProblem, guide: Guide) -> Algorithm:
    settings = sf.Settings(delta=0.05, noise=sf.Gaussian(), misfit=math.inf, guide=guide)
    return algorithm_from("prime").start(problem, settings)


class Adversary(Guide):
    """Names the worst arm as the best, quite sure of it, and the best as the worst."""

    name = "adversary"

    def guess(self, seen: Seen) -> Guess:
        honest = Tabular().guess(seen)
        return Guess(-honest.means, 0.1 * honest.deviations)


@pytest.mark.statistical
@pytest.mark.parametrize("noise", [sf.Gaussian(), sf.Bounded(-6, 6)])
def test_an_adversarial_guide_never_costs_validity(noise: sf.Noise) -> None:
    """The best arm is tied with another; it goes in at most a share δ of the runs."""
    problem = sf.RobustProblem.from_pairs(np.eye(6), np.repeat(np.arange(3), 2))
    theta, scales = np.array([0.0, 0.0, 0.0, 2.0, -1.0, 2.0]), np.array([3, 1, 1, 1, 1, 1.0])
    runs, delta, out = 60, 0.1, 0
    for seed in range(runs):
        simulator = sf.LinearSimulator(problem, theta, scales, seed=seed, family="uniform")
        result = sf.identify(
            problem,
            simulator,
            delta=delta,
            noise=noise,
            misfit=math.inf,
            guide=Adversary(),
            budget=400,
        )
        out += int(0 not in result.candidates)
    assert stats.binom.sf(out - 1, runs, delta) > LEVEL


def test_an_adversarial_guide_costs_pulls() -> None:
    problem, theta = _problem(), np.array([1.0, -2.0, 0.5])
    pulls = {}
    for guide in (Adversary(), Tabular()):
        simulator = sf.LinearSimulator(problem, theta, 0.5, seed=7)
        result = sf.identify(
            problem, simulator, delta=0.05, noise=sf.Gaussian(), misfit=math.inf, guide=guide,
            budget=5000,
        )  # fmt: skip
        pulls[guide.name] = result.samples
    assert pulls["adversary"] > 1.5 * pulls["tabular"]


def test_a_guide_is_chosen_by_name_or_given_or_found() -> None:
    problem = _problem()
    assert isinstance(guide_from(None, problem), Trend)
    assert isinstance(guide_from("tabular", problem), Tabular)
    assert isinstance(guide_from(LinearRegression(), problem), Regressor)
    own = Adversary()
    assert guide_from(own, problem) is own
    tabular = sf.RobustProblem.from_pairs(np.eye(4), [0, 0, 1, 1])
    assert isinstance(guide_from(None, tabular), Tabular)


@pytest.mark.parametrize("choice", ["oracle", 3, LinearRegression])
def test_an_unknown_guide_is_refused_with_the_choices(choice: object) -> None:
    with pytest.raises(InputError, match="'tabular', 'trend', 'gaussian-process'"):
        guide_from(choice, _problem())


# Kernels for numbers and categories beside each other.

ROWS = np.array([[0.1, 0.0, 1.0], [0.1, 1.0, 1.0], [-0.7, 2.0, 1.0], [0.1, 0.0, 0.0]])


def test_values_of_a_category_are_equally_far_from_each_other() -> None:
    alike = _OnCategories(1, np.array([2.0, 4.0]))(ROWS)
    assert np.diag(alike).tolist() == [1, 1, 1, 1]
    assert alike[0, 1] == alike[0, 2] == alike[1, 2] == pytest.approx(np.exp(-1 / 2))
    assert alike[0, 3] == pytest.approx(np.exp(-1 / 4))
    assert alike[1, 3] == pytest.approx(np.exp(-1 / 2 - 1 / 4))


@pytest.mark.parametrize(("numbers", "categories"), [(1, 2), (3, 0), (0, 3)])
def test_gradients_are_right_and_the_kernel_is_positive(numbers: int, categories: int) -> None:
    kernel = mixed_kernel(numbers, categories)
    theta = kernel.theta + 0.3 * np.arange(len(kernel.theta))
    value, gradient = kernel.clone_with_theta(theta)(ROWS, eval_gradient=True)
    assert (np.linalg.eigvalsh(value) > -1e-12).all()
    for k in range(len(theta)):
        step = 1e-6 * np.eye(len(theta))[k]
        above, below = (kernel.clone_with_theta(theta + s)(ROWS) for s in (step, -step))
        assert gradient[:, :, k] == pytest.approx((above - below) / 2e-6, abs=1e-7)


def test_new_rows_are_compared_with_old_ones() -> None:
    kernel = mixed_kernel(1, 2)
    assert kernel(ROWS[:1], ROWS) == pytest.approx(kernel(ROWS)[:1])
