"""The fast kernel against the plain one, and a lane against its batch."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from surefoot.paper.glucose import Calculator, Scenario, all_patients, diet, simulate
from surefoot.paper.glucose.lanes import WIDTH

NAMES = [patient.name for patient in all_patients()]


def both(patients, calculators, scenario, seeds, **options):
    return [
        simulate(patients, calculators, scenario, seeds, kernel=kernel, **options)
        for kernel in ("lanes", "states")
    ]


def test_both_kernels_agree_for_every_patient_over_days():
    calculators = Calculator.baseline(NAMES)
    fast, plain = both(NAMES, calculators, diet("high", "low"), 12)
    np.testing.assert_allclose(fast.bg, plain.bg, atol=0.005)
    np.testing.assert_allclose(fast.cgm, plain.cgm, atol=0.005)
    np.testing.assert_allclose(fast.insulin, plain.insulin, atol=1e-4)
    np.testing.assert_array_equal(fast.carbohydrates, plain.carbohydrates)


MEALS = st.lists(
    st.tuples(st.integers(0, 719), st.floats(0, 150)), max_size=8, unique_by=lambda meal: meal[0]
)


@settings(max_examples=40)
@given(
    meals=MEALS,
    patient=st.sampled_from(NAMES),
    scale=st.floats(0.2, 4.0),
    sensor=st.sampled_from(["Dexcom", "GuardianRT", "Navigator"]),
    seed=st.integers(0, 2**64 - 1),
)
def test_both_kernels_agree_on_any_meals_and_settings(meals, patient, scale, sensor, seed):
    ordered = sorted(meals)
    scenario = Scenario(
        tuple(minute for minute, _ in ordered), tuple(grams for _, grams in ordered), horizon=720
    )
    calculator = Calculator.baseline(patient, scale)
    options = {
        "sensor": sensor,
        "reading": "bg",
    }  # the truth cannot flip a correction by a rounding of noise
    fast, plain = both(patient, calculator, scenario, [seed], **options)
    assert np.isfinite(fast.bg).all()
    corrected = np.abs(fast.insulin - plain.insulin).max() < 1e-3
    if corrected:  # a reading within rounding of the threshold may fall on either side
        np.testing.assert_allclose(fast.bg, plain.bg, atol=0.02)
    else:
        assert np.abs(plain.bg - 150).min() < 0.02


@pytest.mark.parametrize("n_lanes", [1, WIDTH - 1, WIDTH, WIDTH + 1, 3 * WIDTH + 5])
def test_a_lane_is_the_same_to_the_bit_in_any_batch(n_lanes):
    rng = np.random.default_rng(n_lanes)
    carb, correction = rng.uniform(5, 30, 100), rng.uniform(20, 90, 100)
    seeds, names = np.arange(100), [NAMES[k % 3] for k in range(100)]
    whole = simulate(names, Calculator(carb, correction), diet("low"), seeds)
    chosen = rng.choice(100, size=n_lanes, replace=False)
    part = simulate(
        [names[k] for k in chosen],
        Calculator(carb[chosen], correction[chosen]),
        diet("low"),
        seeds[chosen],
    )
    for history in ("bg", "cgm", "insulin", "carbohydrates"):
        np.testing.assert_array_equal(getattr(part, history), getattr(whole, history)[chosen])
