"""The truth: found where it is clear, named where it is a tie."""

from __future__ import annotations

import numpy as np
import pytest

from surefoot.arrays import Array
from surefoot.paper.bolus import patient as bolus
from surefoot.paper.bolus.patient import find_truth
from surefoot.paper.bolus.problem import Dosing, make_dosing

DOSING = make_dosing("adult#001", n_arms=5, n_perturbations=2)
SOURCE = np.random.SeedSequence(0)


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> dict[str, Array]:
    """Days whose two rewards sum to a given mean with unit noise."""
    chosen: dict[str, Array] = {}

    def days(dosing: Dosing, pairs: Array, source: np.random.SeedSequence) -> Array:
        noise = np.random.default_rng(source).normal(scale=np.sqrt(0.5), size=(2, len(pairs)))
        return chosen["means"][pairs] / 2 + noise

    monkeypatch.setattr(bolus, "day_rewards", days)
    return chosen


def test_a_clear_winner_needs_no_more_than_the_first_round(world: dict[str, Array]) -> None:
    world["means"] = np.array([-5, -9, -2, -3, -1, -8, -6, -6, -4, -7.0])
    truth = find_truth(DOSING, SOURCE)
    assert truth.best == 1
    assert truth.tied.tolist() == [1]
    assert truth.worst_pairs.tolist()[:3] == [1, 3, 5]
    assert (truth.replicates == 300).all()
    assert truth.regret(1) == 0
    assert truth.regret(0) == pytest.approx(6, abs=0.3)
    assert truth.deviations == pytest.approx(np.ones(10), abs=0.2)


def test_a_close_race_is_simulated_more_where_it_matters(world: dict[str, Array]) -> None:
    world["means"] = np.array([-5, -9, -2, -3, -1, -3.15, -6, -6, -4, -7.0])
    truth = find_truth(DOSING, SOURCE)
    assert truth.best == 1
    assert truth.tied.tolist() == [1]
    assert truth.replicates.tolist() == [
        300,
        300,
        300,
        truth.replicates[3],
        300,
        truth.replicates[3],
        *[300] * 4,
    ]
    assert truth.replicates[3] in (1500, 6000)


def test_a_tie_is_named(world: dict[str, Array]) -> None:
    world["means"] = np.array([-5, -9, -2, -3, -1, -3, -6, -6, -4, -7.0])
    truth = find_truth(DOSING, SOURCE)
    assert truth.tied.tolist() == [1, 2]
    assert truth.best in (1, 2)
    assert truth.replicates.max() == 6000


def test_the_real_simulator_gives_the_same_twice() -> None:
    small = make_dosing("child#009", n_arms=3, n_perturbations=1)
    first, again = (find_truth(small, SOURCE, (20, 40)) for _ in range(2))
    assert (first.means == again.means).all()
    assert first.best == 0
