"""Scales from a pilot: upper limits, and a floor."""

from __future__ import annotations

import numpy as np
from scipy import stats

from surefoot.paper.bolus.methods import ERROR, LEAST_SCALE, _scales_from, run_pilot
from surefoot.paper.bolus.problem import day_rewards, make_dosing


def test_an_upper_limit_fails_as_often_as_it_says() -> None:
    draws = np.random.default_rng(0).normal(size=(4000, 20))
    limits = [_scales_from(np.array([row.std(ddof=1)]), 20)[0] for row in draws]
    failures = int((np.array(limits) < 1).sum())
    assert stats.binomtest(failures, 4000, ERROR).pvalue > 0.001


def test_quiet_pairs_are_raised_to_the_floor() -> None:
    deviations = np.linspace(0.1, 2.0, 20)
    scales = _scales_from(deviations, 40)
    assert scales.min() >= deviations[17]
    assert (scales >= deviations).all()
    assert scales[19] > scales[0]


def test_nothing_that_varied_is_still_a_scale() -> None:
    assert (_scales_from(np.zeros(5), 40) == LEAST_SCALE).all()


def test_the_pilot_covers_most_of_what_many_replicates_show() -> None:
    dosing = make_dosing("adult#001", n_arms=3, n_perturbations=2)
    pilot = run_pilot(dosing, np.random.SeedSequence(1))
    assert pilot.samples == 6 * 40
    many = (
        day_rewards(dosing, np.repeat(np.arange(6), 500), np.random.SeedSequence(2))
        .sum(axis=0)
        .reshape(6, 500)
    )
    assert pilot.covered(many.std(axis=1)) >= 5 / 6
    assert pilot.covered(10 * pilot.scales) == 0
