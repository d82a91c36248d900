"""The 30 patients, their names, and the sizes of their meals."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from simglucose.patient.t1dpatient import PATIENT_PARA_FILE

from surefoot.errors import InputError
from surefoot.paper.glucose import all_patients, find_patient
from surefoot.paper.glucose.day import figures, patient_array


def test_every_figure_is_the_package_s_own():
    table = pd.read_csv(PATIENT_PARA_FILE).set_index("Name")
    assert [patient.name for patient in all_patients()] == list(table.index)
    for patient in all_patients():
        row = table.loc[patient.name]
        np.testing.assert_allclose(
            patient.initial_state, row.iloc[1:14].to_numpy(float), rtol=1e-14
        )
        for name, value in patient.physiology._asdict().items():
            assert value == pytest.approx(row[name], rel=1e-14), (patient.name, name)
        assert patient.basal == pytest.approx(row.u2ss * row.BW / 6000, rel=1e-14)


def test_the_data_file_names_its_source_and_licence():
    assert "simglucose 0.2.11" in figures()["source"]
    assert figures()["licence"].startswith("MIT")
    assert "Copyright (c) 2017 Jinyu Xie" in figures()["licence"]


@pytest.mark.parametrize(
    ("wrong", "nearest"),
    [("adult#0001", "adult#001"), ("Child#007", "child#007"), ("adolescant#003", "adolescent#003")],
)
def test_an_unknown_name_offers_the_nearest(wrong, nearest):
    with pytest.raises(InputError, match=f"did you mean '{nearest}'"):
        find_patient(wrong)


def test_patients_are_accepted_by_name_or_object_in_any_shape():
    names = np.array([["adult#001", "child#002"], ["adult#003", "child#004"]])
    found = patient_array(names)
    assert found.shape == (2, 2)
    assert found[1, 1] is find_patient("child#004")
    assert patient_array(found[0, 0]).shape == ()
    with pytest.raises(InputError, match="patients holds 7"):
        patient_array([7])


@pytest.mark.parametrize(
    ("name", "weight", "age", "height"),
    [
        ("adult#002", 111.1, 45, 177.0),
        ("child#008", 23.734, 7, 121.9),
        ("child#002", 28.533, 8, 128.0),
        ("child#010", 35.213, 10, 138.4),
        ("child#007", 45.540, 12, 149.1),
        ("adolescent#007", 37.898, 13, 156.2),
        ("adolescent#002", 51.046, 14, 163.8),
        ("adolescent#001", 68.706, 18, 175.7),
    ],
)
def test_age_and_height_for_meals_follow_from_weight(name, weight, age, height):
    patient = find_patient(name)
    assert patient.weight == pytest.approx(weight, abs=1e-3)
    assert patient.diet_age_and_height == (age, height)
    rate = 66.5 + 13.75 * patient.weight + 5.003 * height - 6.755 * age
    assert patient.basal_metabolic_rate == pytest.approx(rate)
    assert patient.daily_carbohydrates == pytest.approx(rate * 0.45 / 4)
