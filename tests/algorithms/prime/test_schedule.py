"""The schedule's boundary: it spends its level, whatever the phases measure."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

import numpy as np
import pytest
from scipy import stats

from surefoot import boundaries
from surefoot.algorithms.prime.modelled import for_batches
from surefoot.algorithms.prime.schedule import ROUND_LOOKS, closed, continuation, first_schedule
from surefoot.algorithms.prime.tuning import Tuning
from surefoot.errors import InputError
from surefoot.noise import Gaussian, SubGaussian

TUNING = Tuning()


def walks(weights: np.ndarray, runs: int, seed: int, draw: str = "normal") -> np.ndarray:
    generator = np.random.default_rng(seed)
    steps = (
        generator.standard_normal((runs, len(weights)))
        if draw == "normal"
        else generator.choice([-1.0, 1.0], (runs, len(weights)))
    )
    return np.cumsum(np.sqrt(weights) * steps, axis=1) / np.sqrt(np.cumsum(weights))


@pytest.mark.parametrize("delta", [0.01, 0.05, 0.3])
def test_the_shipped_gaussian_boundary_spends_exactly_its_level(delta: float) -> None:
    planned = first_schedule(delta, Gaussian(1.0), TUNING)
    runs = 200_000
    crossed = int((walks(planned.weights, runs, 7) >= planned.boundary).any(axis=1).sum())
    low, high = stats.binom.interval(1 - 1e-4, runs, 0.98 * delta)
    assert low <= crossed <= high


@pytest.mark.parametrize("draw", ["normal", "rademacher"])
def test_the_mixture_boundary_holds_for_sub_gaussian_walks(draw: str) -> None:
    planned = first_schedule(0.05, SubGaussian(1.0), TUNING)
    runs = 100_000
    crossed = int((walks(planned.weights, runs, 8, draw) >= planned.boundary).any(axis=1).sum())
    assert stats.binom.sf(crossed - 1, runs, 0.049) > 1e-4


def test_the_mixture_is_better_than_a_union_over_the_looks() -> None:
    planned = first_schedule(0.05, SubGaussian(1.0), TUNING)
    assert (planned.boundary**2 < 2 * np.log(len(planned.weights) / 0.049)).all()


@pytest.mark.parametrize("delta", [0.001, 0.05, 0.15, 0.2, 0.3, 0.6, 0.95])
def test_phases_that_measure_nothing_cannot_raise_the_crossing_probability(delta: float) -> None:
    for looks in ROUND_LOOKS if delta <= boundaries.LARGE_DELTA else ():  # above: solved for it
        shorter = first_schedule(delta, Gaussian(1.0), replace(TUNING, looks=looks))
        steps = tuple(shorter.weights.tolist())
        worst = boundaries.worst_crossing_probability(steps, shorter.boundary)
        assert worst <= 0.98 * delta * (1 + 1e-6)
    first = first_schedule(delta, Gaussian(1.0), TUNING)
    later = continuation(1, float(first.sizes.sum()), delta, Gaussian(1.0), TUNING)
    for planned, level in ((first, 0.98 * delta), (later, 0.01 * delta)):
        worst = boundaries.worst_crossing_probability(
            tuple(planned.weights.tolist()), planned.boundary
        )
        assert worst <= level * (1 + 1e-6)


class Recording(SubGaussian):
    """Writes down at which levels it is asked for a boundary."""

    spent: ClassVar[list[float]] = []

    def boundary(
        self, weights: tuple[float, ...], delta: float, strictness: tuple[float, ...]
    ) -> np.ndarray:
        self.spent.append(delta)
        return np.ones(len(weights))


def test_levels_of_all_epochs_sum_to_delta() -> None:
    noise = Recording(1.0)
    first_schedule(0.05, noise, TUNING)
    for epoch in range(1, 40):
        continuation(epoch, 100.0, 0.05, noise, TUNING)
    assert sum(noise.spent) == pytest.approx(0.05)


@pytest.mark.parametrize("noise", [Gaussian(1.0), SubGaussian(1.0)])
@pytest.mark.parametrize("delta", [1e-12, 1e-7, 0.5, 0.97])
def test_any_delta_has_a_schedule(noise: Gaussian | SubGaussian, delta: float) -> None:
    for planned in (
        first_schedule(delta, noise, TUNING),
        continuation(8, 1e4, delta, noise, TUNING),
    ):
        assert np.isfinite(planned.boundary).all()
        assert (planned.boundary > 0).all()


@pytest.mark.parametrize("delta", [1e-12, 1e-6, 1e-3, 0.01, 0.05, 0.1, 0.15, 0.2, 0.3, 0.5, 0.9])
def test_phases_in_batches_have_a_schedule_for_any_delta(delta: float) -> None:
    """It is held against waiting when it is made, and none that ships is ever refused."""
    batched = for_batches(TUNING)
    assert len(first_schedule(delta, Gaussian(), batched).sizes) == batched.looks
    assert len(continuation(1, 5000.0, delta, Gaussian(), batched).sizes) == batched.looks


@pytest.mark.parametrize("noise", [Gaussian(1.0), Gaussian(), Gaussian(equal=True)])
def test_a_schedule_that_rewards_waiting_is_refused(noise: Gaussian) -> None:
    """Stricter looks for long make a boundary that falls."""
    waiting = Tuning(strict=100.0, strictness=10.0)
    with pytest.raises(InputError, match="could raise the error above delta"):
        first_schedule(0.05, noise, waiting)


@pytest.mark.parametrize("tuning", [Tuning(growth=1.5, looks=20), Tuning(looks=3, trust=1.0)])
def test_another_schedule_that_holds_is_taken(tuning: Tuning) -> None:
    other = first_schedule(0.05, Gaussian(1.0), tuning)
    assert len(other.sizes) == tuning.looks
    steps = tuple(other.weights.tolist())
    assert boundaries.crossing_probability(steps, other.boundary) == pytest.approx(0.049, rel=1e-5)


def test_looks_close_at_the_first_round_number_that_reaches_far_enough() -> None:
    ends = {looks: float(first_schedule(0.05, Gaussian(1.0), replace(TUNING, looks=looks))
                         .sizes.sum()) for looks in ROUND_LOOKS}  # fmt: skip
    for looks, end in ends.items():
        assert closed(TUNING, 0.999 * end).looks == looks
    assert closed(TUNING, 0.1).looks == ROUND_LOOKS[0]
    assert closed(TUNING, 1e12) == TUNING
    assert closed(Tuning(looks=7), 1.0).looks == 7


def test_fewer_looks_need_less_evidence() -> None:
    levels = [
        first_schedule(0.05, noise, replace(TUNING, looks=looks)).boundary.min()
        for noise in (Gaussian(1.0), SubGaussian(1.0))
        for looks in ROUND_LOOKS
    ]
    half = len(ROUND_LOOKS)
    assert (np.diff(levels[:half]) > 0).all()
    assert (np.diff(levels[half:]) > 0).all()
