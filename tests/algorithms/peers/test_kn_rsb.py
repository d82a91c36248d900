from __future__ import annotations

import numpy as np
import pytest

from surefoot.algorithms.peers import KnRsb
from surefoot.simulate import LinearSimulator
from surefoot.statistics import Outcome
from tests.algorithms.families import settings_for
from tests.algorithms.peers.games import errors, slippage, solved, table


def test_every_elimination_is_that_of_the_definition() -> None:
    """Single rewards, and loops over arms and pairs as the definition has them."""
    problem, means = table([[0.5, 0.8], [0.0, 0.3], [0.4, -0.2]])
    zone, first, delta = 0.4, 10, 0.05
    run = KnRsb(zone=zone, first_pulls=first).start(problem, settings_for("kn-rsb"))
    generator = np.random.default_rng(5)
    rewards = np.zeros((0, 6))
    eta = ((2 * delta / (2 * 2)) ** (-2 / (first - 1)) - 1) / 2
    alive, first_out = [0, 1, 2], {}
    while phase := run.next_phase():
        new = means + generator.standard_normal((int(phase.counts.max()), 6))
        rewards = np.vstack([rewards, new])
        pulled = np.flatnonzero(phase.counts)
        told = Outcome.from_rewards(phase, 6, np.tile(pulled, len(new)), new[:, pulled].reshape(-1))
        run.update(told)

        def ahead(a: int, b: int, rewards: np.ndarray = rewards) -> bool:
            difference = rewards[:, a] - rewards[:, b]
            variance = difference[:first].var(ddof=1)
            reach = 2 * eta * (first - 1) * variance / zone**2
            if abs(difference.sum()) > max(0, zone / 2 * (reach - len(rewards))):
                first_out.setdefault(frozenset((a, b)), a if difference.sum() > 0 else b)
            return first_out.get(frozenset((a, b))) == a

        pairs = [2 * arm + i for arm in alive for i in range(2)]
        for a in pairs:
            for b in pairs:
                ahead(a, b)

        beaten = [
            arm
            for arm in alive
            if any(
                all(any(ahead(2 * other + j, 2 * arm + i) for i in range(2)) for j in range(2))
                for other in alive
                if other != arm
            )
        ]
        alive = [arm for arm in alive if arm not in beaten]
        assert np.flatnonzero(run.survivors).tolist() == alive
    assert alive == [0]


def test_a_comparison_that_was_settled_stays_so() -> None:
    """The best arm waits for its noisy pair, and its quiet one falls behind meanwhile."""
    problem, _ = table([[1.0, 1.0], [0.0, 9.0]])
    run = KnRsb(zone=1.0, first_pulls=4).start(problem, settings_for("kn-rsb"))
    noise = np.array([1.0, -1.0, 1.0, -1.0])

    def pulled(rewards: np.ndarray) -> None:
        phase = run.next_phase()
        assert phase is not None
        pairs = np.tile(np.arange(4), len(rewards))
        run.update(Outcome.from_rewards(phase, 4, pairs, rewards.reshape(-1)))

    first = np.array([5.0, 0.0, 0.0, 9.0]) + noise[:, None] * [0.01, 40.0, 0.01, 0.01]
    pulled(first)
    assert run.ahead[0, 2]
    assert not run.ahead[1, 2]
    pulled(np.array([[-500.0, 400.0, 0.0, 9.0]]))
    assert run.tally.sums[0] < run.tally.sums[2]
    assert run.ahead[0, 2]
    assert not run.ahead[2, 0]
    assert run.survivors[0]


def test_shared_streams_save_pulls() -> None:
    instance = slippage(5, 2)
    apart, together = (
        np.mean(
            [
                solved(
                    KnRsb(zone=1.0),
                    instance,
                    scale=2.0,
                    seed=seed,
                    correlation=0.8,
                    common_random_numbers=shared,
                ).samples
                for seed in range(10)
            ]
        )
        for shared in (False, True)
    )
    assert together < 0.6 * apart


def test_only_arms_that_are_left_are_pulled() -> None:
    problem, means = table([[3.0], [0.0], [2.9]])
    run = KnRsb(zone=0.3).start(problem, settings_for("kn-rsb"))
    simulator = LinearSimulator(problem, means, seed=0)
    while phase := run.next_phase():
        assert ((phase.counts > 0) == run.survivors).all()
        run.update(simulator.pull(phase))
    assert run.tally.counts[1] < run.tally.counts[0]


@pytest.mark.statistical
@pytest.mark.parametrize("shared", [False, True])
def test_errors_where_all_gaps_are_the_zone(shared: bool) -> None:
    instance, scales = slippage(4, 2), np.linspace(1, 3, 8)
    test = errors(
        lambda seed: solved(
            KnRsb(zone=1.0, step=3),
            instance,
            scale=scales,
            seed=seed,
            correlation=0.5,
            common_random_numbers=shared,
        ),
        0,
        300,
    )
    assert not test.rejected
