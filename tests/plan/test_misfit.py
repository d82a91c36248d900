import math

import numpy as np
import pytest
from scipy import stats

import surefoot as sf
from surefoot.simulate import TableSimulator
from surefoot.testing import LEVEL
from tests.plan.worlds import MISFIT, RIVALS, parabola, worst_corner

DELTA, SCALE = 0.05, 0.3


def runs(world, noise, n_runs, **options):
    problem, means = world
    for seed in range(n_runs):
        simulator = TableSimulator(means, SCALE, np.random.SeedSequence((18, seed)))
        yield sf.identify(problem, simulator, delta=DELTA, noise=noise, **options)


def times_out(world, arm, noise, n_runs, **options):
    found = runs(world, noise, n_runs, budget=300, on_misfit="ignore", **options)
    return sum(arm not in result.candidates for result in found)


@pytest.mark.parametrize(
    "noise",
    [sf.Gaussian(SCALE), sf.Gaussian(equal=True), sf.Gaussian(), sf.SubGaussian(SCALE)],
    ids=["known", "equal", "unequal", "sub-gaussian"],
)
def test_at_the_worst_corner_a_tied_arm_is_seldom_eliminated(noise):
    n_runs, world = 40, worst_corner()
    out = times_out(world, RIVALS[1], noise, n_runs, misfit=MISFIT)
    assert stats.binom.sf(out - 1, n_runs, DELTA) >= LEVEL


def test_a_model_that_is_taken_as_exact_is_misled_there():
    assert times_out(worst_corner(), RIVALS[1], sf.Gaussian(SCALE), 10, misfit=0) >= 7


def test_with_a_tolerance_too_a_worse_arm_is_seldom_returned():
    """By a tolerance of half the misfit nothing is excused: arm 2 is 0.02 below arm 3 here."""
    problem, means = worst_corner()
    means = means + np.where(problem.arm_of_pair == RIVALS[0], -MISFIT, 0.0)
    options = {"misfit": 2 * MISFIT, "tolerance": MISFIT / 2, "budget": 300}
    wrong = sum(
        result.certified and result.arm != RIVALS[1]
        for result in runs((problem, means), sf.Gaussian(SCALE), 30, **options)
    )
    assert stats.binom.sf(wrong - 1, 30, DELTA) >= LEVEL


def mean_pulls(n_runs, **options):
    found = list(runs(parabola(), sf.Gaussian(SCALE), n_runs, budget=8_000, **options))
    assert all(result.certified and result.arm == RIVALS[0] for result in found)
    return np.mean([result.samples for result in found])


def test_pulls_rise_from_those_of_the_model_to_those_of_direct_comparisons():
    exact, slight, some, any_ = (mean_pulls(12, misfit=m) for m in (0.0, 1e-6, 0.005, 10.0))
    assert slight < 1.5 * exact
    assert exact < some < any_
    assert any_ < 3 * mean_pulls(12, misfit=math.inf)  # 1.9 times by more runs


def test_the_result_says_what_it_covers():
    (result,) = runs(parabola(), sf.Gaussian(SCALE), 1, misfit=0.005)
    assert result.misfit == 0.005
    assert "means are within 0.005 of the model" in result.sentence
    (direct,) = runs(parabola(), sf.Gaussian(SCALE), 1, misfit=math.inf, budget=50)
    assert direct.misfit == np.inf


def test_intervals_hold_the_means_of_every_reward_within_the_misfit():
    problem, means = worst_corner()
    for result in runs((problem, means), sf.Gaussian(SCALE), 5, misfit=MISFIT, budget=300):
        assert (result.pair_lower <= means).all()
        assert (means <= result.pair_upper).all()


def test_rewards_within_the_misfit_are_not_held_against_the_model_and_others_are():
    problem, means = worst_corner()
    far = means + 3.0 * (-1.0) ** np.arange(problem.n_pairs)
    options = {"misfit": MISFIT, "budget": 3000}
    for result in runs((problem, means), sf.Gaussian(SCALE), 3, **options):
        assert not result.model_check.rejected
    (result,) = runs((problem, far), sf.Gaussian(SCALE), 1, **options)
    assert result.model_check.rejected


def test_rewards_far_from_zero_and_tiny_units_do_no_harm():
    problem, means = parabola()
    tiny = sf.RobustProblem.paper(
        problem.arms * 1e-6, [[[-1e-7], [1e-7]]] * 7, features="quadratic"
    )
    for world in ((problem, means + 1e6), (tiny, means)):
        (result,) = runs(world, sf.Gaussian(SCALE), 1, misfit=0.005, budget=4000)
        assert result.certified
        assert result.arm == RIVALS[0]


def test_only_prime_with_a_model_has_a_misfit():
    problem, means = parabola()
    simulator = TableSimulator(means, SCALE, 1)
    known = {"delta": DELTA, "noise": sf.Gaussian(SCALE), "misfit": 0.1}
    with pytest.raises(sf.InputError, match="takes its model as exact"):
        sf.identify(problem, simulator, "robust-rage", **known)
    with pytest.raises(sf.InputError, match=r"misfit=-1 must be a number ≥ 0"):
        sf.identify(problem, simulator, **(known | {"misfit": -1}))


def test_a_pair_that_is_off_by_far_more_than_stated_is_found_without_a_noise_level():
    x = np.linspace(0, 1, 7)
    problem = sf.RobustProblem.from_pairs(np.column_stack([np.ones(7), x]), [0, 0, 1, 1, 2, 2, 2])
    means = np.array([0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6])
    means[3] += 1.0
    found = [
        sf.identify(
            problem,
            TableSimulator(means, 0.5, seed),
            delta=DELTA,
            noise=sf.Gaussian(),
            misfit=0.02,
            budget=1500,
        )
        for seed in range(16)
    ]
    assert all(result.model_check.lack_of_fit is not None for result in found)
    assert (
        sum(result.reason is sf.StopReason.MODEL_REJECTED for result in found) >= 4
    )  # runs are short
