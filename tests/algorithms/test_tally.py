"""The statistics so far, against the textbook and over many runs."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from surefoot.algorithms import Settings, StopReason, Tally, Verdict, algorithm_from
from surefoot.experiments.instances import random_robust
from surefoot.noise import Gaussian
from surefoot.problem import RobustProblem
from surefoot.simulate import LinearSimulator
from surefoot.statistics import Outcome, Phase
from tests.algorithms.families import settings_for

PROBLEM = RobustProblem.from_pairs([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], [0, 1, 1])
REWARDS = {0: [1.0, 3.0, 2.0], 1: [5.0, 7.0], 2: [8.0, 9.0]}


def tallied(noise: Gaussian, phases: int = 2) -> Tally:
    """The same rewards in each phase."""
    pairs = [pair for pair, rewards in REWARDS.items() for _ in rewards]
    rewards = [reward for rewards in REWARDS.values() for reward in rewards]
    tally = Tally.empty(PROBLEM, Settings(delta=0.05, noise=noise))
    for index in range(phases):
        tally = tally.after(Outcome.from_rewards(index, 3, pairs, rewards))
    return tally


def test_nothing_is_known_before_the_first_phase() -> None:
    tally = tallied(Gaussian(), phases=0)
    assert tally.samples == 0
    assert tally.noise_scales is None
    assert np.isnan(tally.averages).all()
    assert np.isnan(tally.standard_errors).all()
    assert np.isinf(tally.widths).all()
    assert np.isinf(tally.ellipsoid_radius)
    assert tally.model_check.lack_of_fit is None


def test_a_phase_leaves_the_tally_before_it_as_it_was() -> None:
    before = tallied(Gaussian(2.0), phases=1)
    after = before.after(Outcome.from_rewards(1, 3, [0, 1], [4.0, 4.0]))
    assert before.samples == 7
    assert after.samples == 9
    assert len(before.fits) == 1


@pytest.mark.parametrize("scale", [1.0, 2.0])
def test_known_noise_gives_weighted_least_squares_and_its_errors(scale: float) -> None:
    tally = tallied(Gaussian(scale))
    assert tally.averages == pytest.approx([2.0, 6.0, 8.5])
    assert tally.standard_errors == pytest.approx(scale / np.sqrt([6, 4, 4]))
    assert tally.noise_scales == pytest.approx(np.full(3, scale))
    root = np.sqrt([6.0, 4.0, 4.0])
    expected = np.linalg.lstsq(PROBLEM.pairs * root[:, None], root * [2, 6, 8.5], rcond=None)[0]
    assert tally.estimate == pytest.approx(expected)


def test_an_unknown_scale_comes_from_replicates_within_phases() -> None:
    tally = tallied(Gaussian(equal=True))
    variance = 2 * (2.0 + 2.0 + 0.5) / (2 * (2 + 1 + 1))
    assert tally.relative_variance == pytest.approx(variance)
    assert tally.noise_scales == pytest.approx(np.full(3, np.sqrt(variance)))


def test_without_replicates_the_noise_stays_unknown() -> None:
    empty = Tally.empty(PROBLEM, Settings(delta=0.05, noise=Gaussian()))
    tally = empty.after(Outcome.from_rewards(0, 3, [0, 1, 2], [1.0, 2.0, 3.0]))
    assert tally.noise_scales is None
    assert np.isnan(tally.standard_errors).all()


@pytest.mark.filterwarnings("error")
def test_strays_are_tested_once_replicates_say_what_chance_does() -> None:
    """After a pilot of single pulls a stray of any size may be chance; after a phase it is not."""
    empty = Tally.empty(PROBLEM, Settings(delta=0.05, noise=Gaussian()))
    pilot = empty.after(Outcome.from_rewards(0, 3, [0, 1, 2], [1.0, 2.0, 4.0]))
    phases = [Phase(index, np.array([4, 4, 4]), batches=4) for index in (1, 2)]
    rewards = [0.9, 1.1, 1.2, 0.8, 2.1, 1.9, 2.2, 1.8, 4.2, 3.9, 4.1, 3.8]
    pairs = np.repeat(np.arange(3), 4)
    first, second = (Outcome.from_rewards(phase, 3, pairs, rewards) for phase in phases)
    assert pilot.after(first).strays == ()
    (test,) = pilot.after(first).after(second).strays
    assert test.against_replicates is not None
    assert test.against_replicates < 0.01


def test_residuals_speak_where_replicates_do_not() -> None:
    """One pull a pair: the third pair is off the plane of the others by one."""
    empty = Tally.empty(PROBLEM, Settings(delta=0.05, noise=Gaussian(equal=True)))
    tally = empty.after(Outcome.from_rewards(0, 3, [0, 1, 2], [1.0, 2.0, 4.0]))
    assert tally.residual_variance == pytest.approx(1 / 3)


def test_a_result_joins_a_verdict_and_the_rewards() -> None:
    tally = tallied(Gaussian(2.0))
    survivors = np.array([False, True])
    result = tally.result(Verdict("mine", 1, StopReason.IDENTIFIED, survivors, []))
    assert (result.algorithm, result.arm, result.samples) == ("mine", 1, 14)
    assert result.certified
    assert result.candidates.tolist() == [1]
    assert result.pair_means == pytest.approx(PROBLEM.pairs @ tally.estimate)


@pytest.mark.statistical
def test_simultaneous_widths_cover_all_pairs_at_all_looks() -> None:
    problem, theta = random_robust(4, 3, 3)
    means, misses, runs = problem.pair_means(theta), 0, 60
    for seed in range(runs):
        run = algorithm_from("robust-lingape").start(
            problem, settings_for("robust-lingape", delta=0.1)
        )
        simulator = LinearSimulator(problem, theta, seed=seed)
        missed = False
        while phase := run.next_phase():
            run.update(simulator.pull(phase))
            result = run.result
            missed |= bool((np.abs(result.pair_means - means) > result.pair_widths).any())
        misses += missed
    assert stats.binom.sf(misses - 1, runs, 0.1) > 1e-3
