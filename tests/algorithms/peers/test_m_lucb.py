from __future__ import annotations

import math

import numpy as np
import pytest

from surefoot.algorithms import StopReason
from surefoot.algorithms.peers import MKlLucb, MLucb
from surefoot.errors import InputError
from surefoot.noise import Bounded
from surefoot.simulate import LinearSimulator
from tests.algorithms.families import settings_for
from tests.algorithms.peers.games import solved, table

GAME = [[0.7, 0.9], [0.3, 0.6], [0.5, 0.2]]


def test_each_turn_is_the_published_choice() -> None:
    problem, means = instance = table(GAME)
    run = MLucb(threshold="heuristic").start(problem, settings_for("m-lucb", delta=0.1))
    simulator = LinearSimulator(*instance, seed=1, family="bernoulli")
    phase = run.next_phase()
    assert phase is not None
    assert (phase.counts == 1).all()
    run.update(simulator.pull(phase))
    while phase := run.next_phase():
        counts, t = run.tally.counts, run.samples
        average = (run.tally.sums / counts).reshape(3, 2)
        width = np.sqrt(math.log((math.log(t) + 1) / 0.1) / (2 * counts)).reshape(3, 2)
        leader = int(np.argmax(average.min(axis=1)))
        worst = (average - width).argmin(axis=1)
        upper = np.array([average[i, worst[i]] + width[i, worst[i]] for i in range(3)])
        upper[leader] = -np.inf
        other = int(np.argmax(upper))
        expected = sorted([2 * leader + worst[leader], 2 * other + worst[other]])
        assert np.flatnonzero(phase.counts).tolist() == expected
        run.update(simulator.pull(phase))
    assert run.result.reason is StopReason.HEURISTIC
    assert not run.result.certified
    assert len(means) == 6


@pytest.mark.parametrize("make", [MLucb, MKlLucb])
def test_rewards_of_another_range_are_the_same_game(make: type[MLucb]) -> None:
    coins = solved(make(growth=0.3), table(GAME), family="bernoulli", noise=Bounded(0, 1))
    problem, means = table(GAME)
    run = make(growth=0.3).start(problem, settings_for("m-lucb", noise=Bounded(-3, 1)))
    simulator = LinearSimulator(problem, means, seed=0, family="bernoulli")
    while phase := run.next_phase():
        told = simulator.pull(phase)
        run.update(
            type(told)(told.phase, told.counts, 4 * told.sums - 3 * told.counts, 16 * told.scatter)
        )
    assert run.result.certified
    assert coins.certified
    assert run.samples == coins.samples


def test_a_tolerance_saves_pulls_and_is_said() -> None:
    instance = table([[0.50, 0.6], [0.45, 0.7]])
    options = {"family": "bernoulli", "noise": Bounded(0, 1)}
    result = solved(MKlLucb(growth=0.3), instance, tolerance=0.2, **options)
    assert result.reason is StopReason.WITHIN_TOLERANCE
    assert result.certified


def test_an_unknown_threshold_is_refused() -> None:
    with pytest.raises(InputError, match='choose "proved" or "heuristic"'):
        solved(MLucb(threshold="bold"), table(GAME), noise=Bounded(0, 1))  # type: ignore[arg-type]
