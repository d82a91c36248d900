"""The schedule's boundary: it spends its level, whatever the phases measure."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from surefoot.algorithms.settings import Settings
from surefoot.arrays import Array
from surefoot.errors import InputError
from surefoot.noise import Gaussian, Noise, SubGaussian
from surefoot.plan.clocks import HIGHEST, LATE_LOOKS, ROUND_LOOKS, STEEPNESS, CommonClocks
from surefoot.plan.tuning import Tuning

TUNING = Tuning()


def planned_for(
    delta: float, noise: Noise, tuning: Tuning = TUNING, enough: float = math.inf
) -> CommonClocks:
    settings = Settings(delta=delta, noise=noise, misfit=0)
    return CommonClocks(settings, tuning, 1, enough, None)


def crossed(planned: CommonClocks, looks: int, runs: int, draw: str = "normal") -> int:
    """How many of some walks reach the boundary within that many looks."""
    generator, times = np.random.default_rng(7), planned.boundary.times[:looks]
    steps: Array = (
        generator.standard_normal((runs, looks))
        if draw == "normal"
        else generator.choice([-1.0, 1.0], (runs, looks))
    )
    walks = np.cumsum(np.sqrt(np.diff(times, prepend=0.0)) * steps, axis=1)
    return int((walks >= planned.boundary.level[:looks]).any(axis=1).sum())


@pytest.mark.parametrize("delta", [0.01, 0.05, 0.3])
def test_the_shipped_gaussian_boundary_spends_exactly_its_level(delta: float) -> None:
    planned, runs = planned_for(delta, Gaussian(1.0)), 100_000
    low, high = stats.binom.interval(1 - 1e-4, runs, delta)
    assert low <= crossed(planned, TUNING.looks + LATE_LOOKS, runs) <= high


def test_the_boundary_rises_after_its_looks_and_never_jumps() -> None:
    boundary = planned_for(0.05, Gaussian(1.0)).boundary
    heights = (boundary.level**2 / boundary.times)[TUNING.looks - 1 :]
    assert len(heights) == LATE_LOOKS + 1
    step = STEEPNESS * np.log(TUNING.growth)
    assert heights - heights[0] == pytest.approx(np.minimum(step * np.arange(201), HIGHEST))


@pytest.mark.parametrize("draw", ["normal", "rademacher"])
def test_the_mixture_boundary_holds_for_sub_gaussian_walks(draw: str) -> None:
    planned, runs = planned_for(0.05, SubGaussian(1.0)), 50_000
    assert stats.binom.sf(crossed(planned, TUNING.looks, runs, draw) - 1, runs, 0.05) > 1e-4


def test_the_mixture_is_better_than_a_union_over_the_looks() -> None:
    boundary = planned_for(0.05, SubGaussian(1.0)).boundary
    heights = (boundary.level**2 / boundary.times)[: TUNING.looks]
    assert (heights < 2 * np.log(TUNING.looks / 0.049)).all()


@pytest.mark.parametrize("delta", [1e-12, 1e-3, 0.05, 0.15, 0.2, 0.3, 0.6, 0.95])
def test_phases_that_measure_nothing_cannot_raise_the_crossing_probability(delta: float) -> None:
    for looks in ROUND_LOOKS if delta == 0.05 else (TUNING.looks,):
        planned_for(delta, Gaussian(1.0), replace(TUNING, looks=looks)).boundary.check(delta)


@pytest.mark.parametrize("noise", [Gaussian(1.0), SubGaussian(1.0)])
@pytest.mark.parametrize("delta", [1e-12, 1e-7, 0.5, 0.97])
def test_any_delta_has_a_schedule(noise: Noise, delta: float) -> None:
    level = planned_for(delta, noise).boundary.level
    assert np.isfinite(level).all()
    assert (level > 0).all()


@pytest.mark.parametrize("delta", [1e-12, 1e-6, 0.01, 0.05, 0.2, 0.5, 0.9])
def test_phases_in_batches_have_a_schedule_for_any_delta(delta: float) -> None:
    """The kernel holds it against waiting, and refuses none that ships."""
    planned_for(delta, Gaussian()).boundary.check(delta)


@pytest.mark.parametrize("noise", [Gaussian(1.0), Gaussian(equal=True)])
def test_a_schedule_that_rewards_waiting_is_refused(
    noise: Gaussian, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Stricter looks for long make a boundary that falls."""
    monkeypatch.setattr("surefoot.plan.clocks.STRICTNESS", 10.0)
    waiting = Tuning(strict=100.0)
    with pytest.raises(InputError, match="stand still now and then"):
        planned_for(0.05, noise, waiting).boundary.check(0.05)


@pytest.mark.parametrize("tuning", [Tuning(growth=1.5, looks=20), Tuning(looks=3, trust=1.0)])
def test_another_schedule_that_holds_is_taken(tuning: Tuning) -> None:
    other = planned_for(0.05, Gaussian(1.0), tuning)
    assert len(other.boundary.times) == tuning.looks + LATE_LOOKS
    other.boundary.check(0.05)


def test_looks_close_at_the_first_round_number_that_reaches_far_enough() -> None:
    def looks(enough: float, tuning: Tuning = TUNING) -> int:
        planned = planned_for(0.05, Gaussian(1.0), tuning, enough)
        return len(planned.boundary.times) - LATE_LOOKS

    sizes = planned_for(0.05, Gaussian(1.0)).sizes
    for most in ROUND_LOOKS:
        assert looks(0.999 * float(sizes[:most].sum())) == most
    assert looks(0.1) == ROUND_LOOKS[0]
    assert looks(1e12) == TUNING.looks
    assert looks(1.0, Tuning(looks=7)) == 7


def test_fewer_looks_need_less_evidence() -> None:
    for noise in (Gaussian(1.0), SubGaussian(1.0)):
        heights = []
        for looks in ROUND_LOOKS:
            boundary = planned_for(0.05, noise, replace(TUNING, looks=looks)).boundary
            heights.append((boundary.level / np.sqrt(boundary.times))[:looks].min())
        assert (np.diff(heights) > 0).all()
