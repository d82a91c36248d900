"""Baselines of pure exploration: the pulls they want, against the weights of the exact H*."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from surefoot.algorithms.robust_frank_wolfe_sampling import RobustFrankWolfeSampling
from surefoot.algorithms.robust_lazy_track_and_stop import RobustLazyTrackAndStop
from surefoot.algorithms.robust_lingame import RobustLinGame
from surefoot.algorithms.robust_track_and_stop import RobustTrackAndStop
from surefoot.design import exact_separation
from surefoot.design.separation import Alternatives, squared_distances
from surefoot.experiments.instances import near_tie
from surefoot.simulate import LinearSimulator
from tests.algorithms.families import settings_for

PROBLEM, THETA = near_tie(3, gap=0.05, rng=np.random.default_rng(5))
BEST = PROBLEM.best_arm(THETA)
MEANS = PROBLEM.pairs @ PROBLEM.reduced(THETA)
GIVEN = (PROBLEM.pairs, PROBLEM.offsets, MEANS, PROBLEM.pairs, BEST)


def time_of(shares: np.ndarray) -> float:
    """1 / the smallest distance to an alternative at these shares; H* at the best ones."""
    return float(1 / Alternatives(*GIVEN).at(shares)[0].min())


def test_alternatives_are_those_of_the_likelihood_ratio() -> None:
    shares = np.random.default_rng(0).dirichlet(np.ones(PROBLEM.n_pairs))
    distances, squares = Alternatives(*GIVEN).at(shares)
    information = PROBLEM.pairs.T @ (shares[:, None] * PROBLEM.pairs)
    by_arm = squared_distances(PROBLEM.pairs, PROBLEM.offsets, MEANS, information, BEST)
    assert distances.min() == pytest.approx(by_arm[np.arange(3) != BEST].min())
    assert shares @ squares == pytest.approx(distances)
    assert Alternatives(*GIVEN).at(np.eye(PROBLEM.n_pairs)[0]) is None


@pytest.mark.parametrize(
    ("algorithm", "near"),
    [
        (RobustTrackAndStop(growth=1.5), 1.3),
        (RobustLazyTrackAndStop(growth=1.5), 1.3),
        (RobustFrankWolfeSampling(growth=1.5), 1.3),
        (RobustLinGame(growth=1.5), 3.0),
    ],
    ids=lambda value: getattr(value, "name", None),
)
def test_pulls_come_near_the_best_shares(algorithm: RobustTrackAndStop, near: float) -> None:
    least = exact_separation(PROBLEM.pairs, PROBLEM.offsets, PROBLEM.reduced(THETA)).value
    run = algorithm.start(PROBLEM, settings_for(algorithm.name, delta=1e-6))
    simulator = LinearSimulator(PROBLEM, THETA, 0.2, seed=1)
    while phase := run.next_phase():
        run.update(simulator.pull(phase))
    assert run.result.arm == BEST
    even = time_of(np.full(PROBLEM.n_pairs, 1 / PROBLEM.n_pairs))
    found = time_of(run.tally.counts / run.samples)
    assert least * 0.99 <= found <= near * least
    assert found < even


def test_lazy_weights_are_kept_until_the_pulls_have_doubled(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    renewed: list[int] = []
    usual = RobustTrackAndStop._weights

    def noted(self: RobustTrackAndStop) -> np.ndarray:
        renewed.append(self.samples)
        return usual(self)

    monkeypatch.setattr(RobustTrackAndStop, "_weights", noted)
    algorithm = RobustLazyTrackAndStop(growth=1.2)
    run = algorithm.start(PROBLEM, settings_for(algorithm.name))
    simulator = LinearSimulator(PROBLEM, THETA, seed=1)
    while phase := run.next_phase():
        run.update(simulator.pull(phase))
    assert len(renewed) > 2
    assert all(after >= 2 * before for before, after in itertools.pairwise(renewed))
    assert len(run.history) > 2 * len(renewed)
