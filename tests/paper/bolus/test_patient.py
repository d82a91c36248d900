"""One patient, whole: the record that tables and reports are made of."""

from __future__ import annotations

import json
from dataclasses import asdict, replace

import numpy as np
import pytest

from surefoot.errors import InputError
from surefoot.paper.bolus.methods import (
    CALCULATOR,
    LABELS,
    METHODS,
    PRIME_SHARED,
    WORST_OF_ALL,
    Assignment,
)
from surefoot.paper.bolus.patient import (
    CASES,
    METRICS,
    PLANS,
    STEPS,
    FiveDays,
    PatientRecord,
    Plan,
    TrueValues,
    _linear_choice,
    study_patient,
)
from surefoot.paper.bolus.problem import make_dosing, stream
from surefoot.paper.glucose import STATISTICS, Calculator, lane_seeds, simulate

PLAN = Plan(
    seed=2, runs=3, runs_a_choice=2, arms=3, perturbations=2, question=Assignment(budget=400)
)
NAME = "adult#001"


@pytest.fixture(scope="module")
def told() -> list[str]:
    return []


@pytest.fixture(scope="module")
def record(told: list[str]) -> PatientRecord:
    return study_patient(NAME, PLAN, told.append)


def test_the_record_survives_json_and_comes_out_the_same(
    record: PatientRecord, told: list[str]
) -> None:
    read = PatientRecord.from_json(json.loads(json.dumps(asdict(record))))
    assert read == record == study_patient(NAME, PLAN)
    assert told == list(STEPS)


def test_methods_choose_anew_after_this_many_runs(record: PatientRecord) -> None:
    assert PLAN.choices == 2
    assert [(row.choice, row.method) for row in record.choices] == [
        (number, method.label) for number in range(2) for method in METHODS
    ]
    arms = {(row.choice, row.method): row.arm for row in record.choices}
    for row in record.outcomes:
        if row.method == WORST_OF_ALL:
            assert row.arm == int(np.argmin([arm.value for arm in record.arms]))
            continue
        expected = 1 if row.method == CALCULATOR else arms[row.run // 2, row.method]
        assert row.arm == expected


def test_choices_are_held_against_the_truth(record: PatientRecord) -> None:
    patient, values = record.patient, [row.value for row in record.arms]
    assert patient.best == int(np.argmax(values))
    assert patient.best in patient.tied
    assert patient.linear_regret == max(values) - values[patient.linear_best]
    for row in record.choices:
        assert row.regret == max(values) - values[row.arm]
        assert row.found == (row.arm in patient.tied)


def test_the_calculators_outcome_is_that_of_its_factors(record: PatientRecord) -> None:
    patient = make_dosing(NAME, 2, 3, 2).patient
    seed = lane_seeds(stream(2, patient, "evaluation"), 3)[1:2]
    direct = simulate(NAME, Calculator.baseline(NAME), PLANS[1], seed, statistics=STATISTICS)
    row = _outcome(record, CALCULATOR, CASES[0], 1)
    assert row.risk == pytest.approx(direct.risk_index[0])
    assert row.below == pytest.approx(100 * direct["time_below"][0])
    assert row.within == pytest.approx(100 * direct["time_in_range"][0])


def test_the_worst_case_is_the_arms_worst_pair(record: PatientRecord) -> None:
    arm = record.arms[1]
    patient = make_dosing(NAME, 2, 3, 2).patient
    seed = lane_seeds(stream(2, patient, "evaluation"), 3)[:1]
    calculator = Calculator(arm.worst_carb_factor, arm.worst_correction_factor)
    direct = simulate(NAME, calculator, PLANS[0], seed, statistics=STATISTICS)
    assert _outcome(record, CALCULATOR, CASES[1], 0).risk == pytest.approx(direct.risk_index[0])


def test_every_simulation_is_complete(record: PatientRecord) -> None:
    assert len(record.outcomes) == 3 * (len(LABELS) * len(CASES) + 1)
    for row in record.outcomes:
        assert row.below + row.above + row.within == pytest.approx(100)
        assert all(np.isfinite(getattr(row, metric)) for metric in METRICS)


def test_the_linear_choice_is_that_of_the_best_fit() -> None:
    dosing = make_dosing(NAME)
    means = dosing.linear.parameters @ np.array([0.0, 0.1, -1.0, 0.0, 0.0])
    values = dosing.linear.worst_of(means)
    zeros = np.zeros(75)
    truth = TrueValues(means, zeros, zeros.astype(int), values, zeros.astype(int), 0, np.array([0]))
    assert _linear_choice(dosing, truth) == 0
    flipped = TrueValues(
        -means, zeros, zeros.astype(int), values, zeros.astype(int), 0, np.array([0])
    )
    assert _linear_choice(dosing, flipped) == 14


def test_pulls_of_the_pilot_are_counted_where_scales_were_needed(record: PatientRecord) -> None:
    assert record.pilot is not None
    assert record.pilot.samples == 6 * 40
    needed = {method.label: method.needs_scales for method in METHODS}
    for row in record.choices:
        assert row.pilot == (record.pilot.samples if needed[row.method] else 0)
        assert row.pilot < row.samples <= row.pilot + 400


def test_no_pilot_is_run_where_nobody_needs_scales() -> None:
    plan = replace(PLAN, labels=(PRIME_SHARED.label,), runs=1)
    record = study_patient(NAME, plan)
    assert record.pilot is None
    assert {row.method for row in record.choices} == {PRIME_SHARED.label}
    assert {row.pilot for row in record.choices} == {0}
    assert PatientRecord.from_json(json.loads(json.dumps(asdict(record)))) == record


def test_a_reward_that_nobody_knows_is_refused() -> None:
    with pytest.raises(InputError, match="time-in-range"):
        Plan(reward="comfort")


def test_no_runs_are_refused() -> None:
    with pytest.raises(InputError, match="at least 1"):
        Plan(runs=0)


def _outcome(record: PatientRecord, method: str, case: str, run: int) -> FiveDays:
    return next(
        row for row in record.outcomes if (row.method, row.case, row.run) == (method, case, run)
    )
