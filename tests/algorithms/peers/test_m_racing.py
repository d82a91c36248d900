from __future__ import annotations

import math

import numpy as np

from surefoot.algorithms import StopReason
from surefoot.algorithms.peers import MRacing
from surefoot.simulate import LinearSimulator
from tests.algorithms.families import settings_for
from tests.algorithms.peers.games import table

GAME = [[0.6, 0.9], [0.3, 0.6], [0.5, 0.1]]


def entropy(p: float, q: float) -> float:
    parts = [(p, q), (1 - p, 1 - q)]
    return sum(a * math.log(a / b) for a, b in parts if a > 0)


def test_each_round_is_that_of_the_definition() -> None:
    """Loops over arms and pairs: drop pairs that are not the worst, then arms that are not best."""
    problem, means = table(GAME)
    run = MRacing(threshold="heuristic").start(problem, settings_for("m-racing", delta=0.1))
    simulator = LinearSimulator(problem, means, seed=1, family="bernoulli")
    left = {0: [0, 1], 1: [2, 3], 2: [4, 5]}
    rounds = 0
    while phase := run.next_phase():
        assert np.flatnonzero(phase.counts).tolist() == [p for a in left for p in left[a]]
        run.update(simulator.pull(phase))
        rounds += 1
        average = run.tally.sums / rounds
        needed = math.log((math.log(run.samples) + 1) / 0.1) / rounds

        def apart(low: float, high: float, needed: float = needed) -> bool:
            middle = (low + high) / 2
            far = entropy(low, middle) + entropy(high, middle) if high > low else 0.0
            return far >= needed

        worst = {arm: min(average[pairs]) for arm, pairs in left.items()}
        best = max(worst.values())
        left = {
            arm: [pair for pair in pairs if not apart(worst[arm], average[pair])]
            for arm, pairs in left.items()
            if not apart(worst[arm], best)
        }
    assert list(left) == [0]
    assert run.result.reason is StopReason.HEURISTIC
