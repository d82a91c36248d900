"""Broadcasting and seeds."""

from __future__ import annotations

import numpy as np
import pytest

from surefoot.errors import InputError
from surefoot.paper.glucose import Calculator, Scenario, diet, find_sensor, lane_seeds
from surefoot.paper.glucose.simulate import _make_batch, _seed_words

CALCULATOR, DEXCOM = Calculator(10.0, 40.0), find_sensor("Dexcom")


def test_inputs_broadcast_as_numpy_arrays_do():
    patients = np.array(["adult#001", "child#002", "adult#001"])[:, None]
    batch = _make_batch(patients, Calculator(np.arange(1.0, 5.0), 40.0), diet("low"), 0, DEXCOM)
    assert batch.shape == (3, 4)
    np.testing.assert_array_equal(batch.settings[:, 0], np.tile(np.arange(1.0, 5.0), 3))
    lanes = {group.patient.name: group.lanes.tolist() for group in batch.groups}
    assert lanes == {"adult#001": [0, 1, 2, 3, 8, 9, 10, 11], "child#002": [4, 5, 6, 7]}
    # each patient eats a day of their own size
    assert len({group.scenario for group in batch.groups}) == 2


def test_scenarios_broadcast_too():
    plans = [diet("low"), Scenario((60,), (20.0,))]
    batch = _make_batch("adult#001", CALCULATOR, plans, 0, DEXCOM)
    assert batch.shape == (2,)
    assert [group.scenario.minutes for group in batch.groups] == [
        diet("low").scenario(batch.groups[0].patient).minutes,
        (60,),
    ]


def test_chunks_keep_every_lane_once():
    batch = _make_batch(["adult#001", "child#002"] * 10, CALCULATOR, diet("low"), 0, DEXCOM)
    chunks = list(batch.chunks(3))
    assert max(len(chunk.lanes) for chunk in chunks) == 3
    assert sorted(np.concatenate([chunk.lanes for chunk in chunks]).tolist()) == list(range(20))


def test_a_root_gives_every_lane_a_seed_of_its_own():
    batch = _make_batch(["adult#001"] * 50, CALCULATOR, diet("low"), 3, DEXCOM)
    np.testing.assert_array_equal(batch.words, lane_seeds(np.random.SeedSequence(3), 50))
    assert len(set(batch.words.tolist())) == 50
    # more lanes do not change the first
    np.testing.assert_array_equal(lane_seeds(3, 50)[:20], lane_seeds(3, 20))


def test_given_seeds_are_taken_lane_by_lane():
    sequences = np.random.SeedSequence(1).spawn(3)
    expected = [sequence.generate_state(1, np.uint64)[0] for sequence in sequences]
    np.testing.assert_array_equal(_seed_words(sequences), expected)
    np.testing.assert_array_equal(
        _seed_words([0, 5, 2**64 - 1]), np.array([0, 5, 2**64 - 1], dtype=np.uint64)
    )
    assert _make_batch("adult#001", CALCULATOR, diet("low"), [4, 5, 6], DEXCOM).shape == (3,)


@pytest.mark.parametrize("seeds", [-1, [3, -1], 1.5, [0.5], [2**64], "seven", [None], True])
def test_impossible_seeds_are_refused(seeds):
    with pytest.raises(InputError, match="seed"):
        _make_batch("adult#001", CALCULATOR, diet("low"), seeds, DEXCOM)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"patients": "adult#1"}, "did you mean"),
        ({"patients": ["adult#001"] * 3, "seeds": [1, 2]}, "do not broadcast"),
        ({"patients": []}, "nothing to simulate"),
        ({"scenario": "low"}, "scenario holds 'low': give Scenario or Diet"),
        ({"scenario": [diet("low"), diet("low", "high")]}, r"scenarios last \[1440, 2880\] min"),
        ({"scenario": Scenario(horizon=100)}, "not a whole number of the sensor's 3 min windows"),
        ({"calculators": 10.0}, "calculators is a float"),
    ],
)
def test_impossible_inputs_are_refused(change, message):
    given = {
        "patients": "adult#001",
        "calculators": CALCULATOR,
        "scenario": diet("low"),
        "seeds": 0,
        "sensor": DEXCOM,
    }
    with pytest.raises(InputError, match=message):
        _make_batch(**{**given, **change})
