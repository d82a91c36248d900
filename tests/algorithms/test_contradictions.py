"""No certificate against the evidence: what rewards contradict takes it away."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy import stats

import surefoot as sf
from surefoot.algorithms.assumptions import misfit_p_value
from surefoot.algorithms.tally import Tally
from surefoot.algorithms.verdict import StopReason
from surefoot.testing import LEVEL

PROBLEM = sf.RobustProblem.from_pairs(np.eye(6), np.repeat(np.arange(3), 2))
MEANS = np.array([1.0, 1.5, 0.0, 0.5, -1.0, 1.0])
UNEQUAL = np.array([4.0, 4.0, 0.2, 0.2, 1.0, 1.0])


def _run(noise: sf.Noise, scales: Any, seed: int = 1, **options: Any) -> sf.Result:
    simulator = sf.LinearSimulator(PROBLEM, MEANS, scales, seed=seed)
    return sf.identify(PROBLEM, simulator, delta=0.05, noise=noise, **options)


@pytest.mark.parametrize("misfit", [0.0, math.inf])
def test_pairs_that_are_not_equally_noisy_refute_equal_noise(misfit: float) -> None:
    result = _run(sf.Gaussian(equal=True), UNEQUAL, misfit=misfit)
    assert result.reason is StopReason.NOISE_NOT_EQUAL
    assert not result.certified
    assert "Start anew with Gaussian()" in result.reason.value


@pytest.mark.parametrize("misfit", [0.0, math.inf])
def test_noise_above_its_scale_refutes_the_scale(misfit: float) -> None:
    result = _run(sf.Gaussian(1.0), 1.6, misfit=misfit)
    assert result.reason is StopReason.NOISE_TOO_LARGE
    assert not result.certified
    assert "Gaussian(), which needs no scale" in result.reason.value


def test_one_noisy_pair_is_enough() -> None:
    scales = np.array([1.0, 1.0, 3.0, 1.0, 1.0, 1.0])
    assert _run(sf.Gaussian(1.0), scales, misfit=math.inf).reason is StopReason.NOISE_TOO_LARGE


@pytest.mark.parametrize("noise", [sf.Gaussian(equal=True), sf.Gaussian(0.5)])
def test_the_user_may_accept_it(noise: sf.Noise) -> None:
    assert _run(noise, UNEQUAL, misfit=0, on_misfit="ignore").certified


@pytest.mark.parametrize("misfit", [0.0, math.inf])
@pytest.mark.parametrize("noise", [sf.Gaussian(), sf.Gaussian(UNEQUAL), sf.Gaussian(6.0)])
def test_what_makes_no_such_claim_is_certified(noise: sf.Noise, misfit: float) -> None:
    assert _run(noise, UNEQUAL, misfit=misfit).certified


def test_rewards_outside_of_the_range_change_nothing() -> None:
    """One clear error, and the run goes on with the same phase."""
    settings = sf.Settings(delta=0.05, noise=sf.Bounded(0, 1), misfit=math.inf)
    run = sf.Prime().start(PROBLEM, settings)
    phase = run.next_phase()
    assert phase is not None
    pairs = np.repeat(np.arange(6), phase.counts)
    wrong = np.full(len(pairs), 0.5)
    wrong[0] = 7.0
    with pytest.raises(sf.InputError, match="nothing of this phase was taken"):
        run.update(sf.Outcome.from_rewards(phase, 6, pairs, wrong))
    assert run.samples == 0
    assert run.next_phase() is phase
    run.update(sf.Outcome.from_rewards(phase, 6, pairs, np.full(len(pairs), 0.5)))
    assert run.samples == len(pairs)


def test_an_outcome_without_batches_says_what_is_missing() -> None:
    settings = sf.Settings(delta=0.05, noise=sf.Gaussian(), misfit=math.inf)
    run, simulator = sf.Prime().start(PROBLEM, settings), sf.LinearSimulator(PROBLEM, MEANS, seed=1)
    while (phase := run.next_phase()) is not None and not phase.batches:
        run.update(simulator.pull(phase))
    assert phase is not None
    pairs = np.repeat(np.arange(6), phase.counts)
    rewards = np.random.default_rng(1).standard_normal(len(pairs))
    with pytest.raises(sf.InputError, match="giving the phase itself and not its index"):
        run.update(sf.Outcome.from_rewards(phase.index, 6, pairs, rewards))
    run.update(sf.Outcome.from_rewards(phase, 6, pairs, rewards))


def test_the_model_is_tested_without_noise_levels_where_they_are_unknown() -> None:
    """A right model, four pairs on a line, one of them a hundred times as noisy."""
    rows = np.array([[1.0, 0.0], [1.0, 1.0], [1.0, 2.0], [1.0, 3.0]])
    problem = sf.RobustProblem.from_pairs(rows, [0, 0, 1, 1])
    simulator = sf.LinearSimulator(problem, [1.0, 0.5], [1.0, 100.0, 1.0, 1.0], seed=1)
    tally = Tally.empty(problem, sf.Settings(delta=0.05, noise=sf.Gaussian(), misfit=0))
    for index in range(8):
        tally = tally.after(simulator.pull(sf.Phase(index, np.array([12, 6, 7, 20]), 6)))
    check = tally.model_check
    assert check.lack_of_fit == misfit_p_value(tally.strays)
    assert not check.rejected


LINEAR = sf.RobustProblem.from_pairs(
    np.column_stack(
        [
            [0.0, 0.3, 0.0, 0.5, -0.5, 0.2, -0.5, 0.1],
            np.random.default_rng(0).standard_normal((8, 2)),
        ]
    ),
    np.repeat(np.arange(4), 2),
)


@pytest.mark.statistical
@pytest.mark.parametrize("ratio", [1.0, 4.0, 10.0, 25.0])
@pytest.mark.parametrize("noisy", [True, False])
def test_a_right_model_is_seldom_doubted_however_unequal_the_noise(
    ratio: float, noisy: bool
) -> None:
    """Whole runs: p-values that end a run must not be small more often than they say."""
    scales = np.where((LINEAR.arm_of_pair == 0) == noisy, ratio, 1.0)
    runs, level = 30, 0.1
    doubted = 0
    for seed in range(runs):
        simulator = sf.LinearSimulator(LINEAR, [1.0, 0.0, 0.0], scales, seed=seed)
        result = sf.identify(
            LINEAR, simulator, delta=0.05, noise=sf.Gaussian(), misfit=0, budget=300
        )
        p = result.model_check.lack_of_fit
        doubted += p is not None and p <= level
    assert stats.binom.sf(doubted - 1, runs, level) > LEVEL


@pytest.mark.statistical
def test_a_bent_line_is_found_out_without_noise_levels() -> None:
    """Where it is plain: noise is a tenth of the bend, and pairs are not equally noisy."""
    arms, errors = np.linspace(0.2, 1.4, 7)[:, None], [[[-0.1], [0.1]]] * 7
    problem = sf.RobustProblem.paper(arms, errors, features="linear")
    x = problem.parameters[:, 0]
    table = sf.RobustProblem.from_pairs(np.eye(len(x)), np.arange(len(x)))
    scales = np.where(np.arange(len(x)) % 2 == 0, 0.02, 0.08)
    for seed in range(10):
        simulator = sf.LinearSimulator(table, 2.0 * x - 1.5 * x**2, scales, seed=seed)
        result = sf.identify(problem, simulator, delta=0.05, noise=sf.Gaussian(), misfit=0)
        assert result.reason is StopReason.MODEL_REJECTED
