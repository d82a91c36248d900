"""The one call: shapes, units, statistics, noise, and what it refuses."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from surefoot.errors import InputError
from surefoot.paper.glucose import (
    Calculator,
    Scenario,
    all_patients,
    diet,
    find_patient,
    lane_seeds,
    magni_risk,
    simulate,
)
from surefoot.paper.glucose.metrics import STATISTICS

NAMES = [patient.name for patient in all_patients()]
BASE = Calculator.baseline("adult#001")


def test_histories_have_a_row_a_lane_and_a_column_a_sample():
    patients = np.array(NAMES[:3])[:, None]
    run = simulate(patients, Calculator.baseline(patients), diet("low"), lane_seeds(1, (3, 2)))
    assert (
        run.bg.shape == run.cgm.shape == run.insulin.shape == run.carbohydrates.shape == (3, 2, 481)
    )
    assert run.minutes.tolist() == list(range(0, 1441, 3))
    for row, name in enumerate(NAMES[:3]):
        patient = find_patient(name)
        assert run.bg[row, :, 0] == pytest.approx(patient.initial_state[12] / patient.physiology.Vg)
        assert 3 * run.carbohydrates[row].sum(axis=1) == pytest.approx(
            0.75 * patient.daily_carbohydrates
        )
        assert run.insulin[row, :, 1:].min(axis=1) == pytest.approx(patient.basal, abs=1e-5)


def test_a_meal_and_its_bolus_stand_in_the_right_columns():
    scenario = Scenario((61,), (30.0,), horizon=240)
    run = simulate("adult#001", Calculator(10.0, 40.0, threshold=600.0), scenario, 0)
    assert np.flatnonzero(run.carbohydrates[0]).tolist() == [
        21
    ]  # minutes 60 to 63 end at column 21
    bolus = run.insulin[0] - run.insulin[0, 1]
    assert np.flatnonzero(bolus > 1e-9).tolist() == [22]
    assert 3 * bolus[22] == pytest.approx(3.0, abs=1e-4)


def test_statistics_are_those_of_the_histories_and_only_what_was_asked():
    patients = np.array(NAMES[::5])
    inputs = (patients, Calculator.baseline(patients, 0.6), diet("high"), 5)
    run, all_of_them = simulate(*inputs), simulate(*inputs, statistics=STATISTICS)
    for name in STATISTICS:
        np.testing.assert_array_equal(all_of_them[name], run.statistics[name])
    np.testing.assert_array_equal(all_of_them.risk_index, all_of_them["lbgi"] + all_of_them["hbgi"])
    few = simulate(*inputs, statistics=("magni_risk",))
    assert list(few.values) == ["magni_risk"]
    np.testing.assert_array_equal(few.reward, -run.statistics["magni_risk"])
    with pytest.raises(InputError, match="'lbgi' was not asked for"):
        few["lbgi"]


def test_many_lanes_go_through_in_chunks_without_a_trace(monkeypatch):
    inputs = (
        ["adult#001", "child#001"],
        Calculator(np.linspace(8, 20, 150)[:, None], 40.0),
        diet("low"),
        5,
    )
    whole = simulate(*inputs, statistics=("min", "max"))
    monkeypatch.setattr(sys.modules["surefoot.paper.glucose.simulate"], "WORK_BYTES", 1.0)
    pieces = simulate(*inputs, statistics=("min", "max"))
    assert whole["min"].shape == (150, 2)
    np.testing.assert_array_equal(whole["min"], pieces["min"])
    np.testing.assert_array_equal(whole["max"], pieces["max"])


@pytest.mark.parametrize("threads", [2, 5])
def test_threads_change_no_bit(threads):
    inputs = (
        ["adult#001", "child#001"],
        Calculator(np.linspace(8, 20, 50)[:, None], 40.0),
        diet("low"),
        5,
    )
    np.testing.assert_array_equal(simulate(*inputs, threads=threads).bg, simulate(*inputs).bg)


def test_noise_acts_only_through_the_sensor():
    seeds = np.arange(40)
    noisy = simulate("adult#001", BASE, diet("high"), seeds)
    assert np.ptp(noisy.bg, axis=0).max() > 1.0
    truthful = simulate("adult#001", BASE, diet("high"), seeds, reading="bg")
    assert np.ptp(truthful.bg, axis=0).max() == 0.0
    assert np.ptp(truthful.cgm, axis=0).min() > 0.0
    uncorrected = simulate(
        "adult#001", Calculator(10.0, 40.0, threshold=601.0), diet("high"), seeds
    )
    assert np.ptp(uncorrected.bg, axis=0).max() == 0.0


def test_equal_seeds_mean_equal_noise_and_a_root_means_independent_lanes():
    same = simulate("adult#001", BASE, diet("low"), [8, 8, 9])
    np.testing.assert_array_equal(same.cgm[0], same.cgm[1])
    assert np.abs(same.cgm[0] - same.cgm[2]).max() > 1
    rooted = simulate(["adult#001"] * 2, BASE, diet("low"), 8)
    assert np.abs(rooted.cgm[0] - rooted.cgm[1]).max() > 1
    again = simulate(["adult#001"] * 2, BASE, diet("low"), np.random.SeedSequence(8))
    np.testing.assert_array_equal(rooted.cgm, again.cgm)


def test_days_without_meals_or_with_one_at_the_very_end():
    quiet = simulate("adult#001", BASE, Scenario(), 0)
    assert np.ptp(quiet.bg) < 1.0
    late = simulate("adult#001", BASE, Scenario((1439,), (50.0,)), 0)
    assert late.carbohydrates[0, -1] > 0
    np.testing.assert_array_equal(late.insulin, quiet.insulin)  # its bolus would come after the end


@pytest.mark.parametrize("scale", [0.05, 0.3])
def test_a_collapse_never_gives_nan(scale):
    run = simulate(
        NAMES, Calculator.baseline(NAMES, scale), diet("high", "low"), 0, statistics=STATISTICS
    )
    assert run["min"].min() < 1.0
    for name in STATISTICS:
        assert np.isfinite(run[name]).all(), name


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"sensor": "Libre"}, "there is no sensor 'Libre'"),
        ({"reading": "truth"}, "reading is 'truth': choose among 'cgm', 'bg'"),
        ({"kernel": "fast"}, "kernel is 'fast'"),
        ({"statistics": ("mean",)}, "statistics is 'mean': choose among 'min'"),
        ({"statistics": "min"}, r"give a list of names, such as \['min'\]"),
        ({"normals": np.zeros((3, 101))}, r"but the lanes have the shape \(1,\)"),
        ({"threads": 0}, "threads is 0: give at least 1"),
        ({"normals": np.zeros(5)}, "normals has the shape"),
        ({"normals": np.full(101, np.nan)}, "give finite draws"),
    ],
)
def test_impossible_options_are_refused(options, message):
    with pytest.raises(InputError, match=message):
        simulate("adult#001", BASE, diet("low"), 0, **options)


def test_the_reward_of_many_settings_in_one_call():
    carb = np.linspace(8.0, 12.0, 5)
    days = np.array([diet("low"), diet("high")])[:, None]
    rewards = simulate(
        "adult#001", Calculator(carb, 3.6 * carb), days, 7, statistics=["magni_risk"]
    ).reward
    seeds = lane_seeds(7, (2, 5))
    for row, day in enumerate(("low", "high")):
        run = simulate("adult#001", Calculator(carb, 3.6 * carb), diet(day), seeds[row])
        np.testing.assert_array_equal(rewards[row], -magni_risk(run.bg).max(axis=1))
