"""Scenarios: what is accepted, what is refused, and the paper's days."""

from __future__ import annotations

import numpy as np
import pytest

from surefoot.errors import InputError
from surefoot.paper.glucose import Scenario, diet, find_patient


def test_meals_appear_at_their_minutes():
    scenario = Scenario((0, 61, 1439), (1.5, 20.0, 3.0))
    announced = scenario.announced()
    assert announced.shape == (1440,)
    assert {minute: announced[minute] for minute in np.flatnonzero(announced)} == {
        0: 1.5,
        61: 20.0,
        1439: 3.0,
    }


def test_hours_become_minutes():
    scenario = Scenario.from_hours([(7, 40), (9.5, 6), (30.25, 8)], days=2)
    assert scenario == Scenario((420, 570, 1815), (40.0, 6.0, 8.0), horizon=2880)


@pytest.mark.parametrize(
    ("minutes", "grams", "horizon", "message"),
    [
        ((10,), (-1.0,), 1440, "a meal of -1.0 g"),
        ((10,), (float("nan"),), 1440, "a meal of nan g"),
        ((10,), (float("inf"),), 1440, "a meal of inf g"),
        ((20, 10), (1.0, 1.0), 1440, "list meals in order of time"),
        ((10, 10), (1.0, 1.0), 1440, "join meals of the same minute"),
        ((1440,), (1.0,), 1440, "lies outside the simulation"),
        ((-1,), (1.0,), 1440, "lies outside the simulation"),
        ((10.5,), (1.0,), 1440, "whole minutes"),
        ((float("nan"),), (1.0,), 1440, "whole minutes"),
        ((10,), (1.0, 2.0), 1440, "1 meal times but 2 amounts"),
        ((), (), 0, "must be positive"),
        (("noon",), (1.0,), 1440, "the meal time is 'noon': give a number"),
        ((10,), ("a lot",), 1440, "the amount of a meal is 'a lot'"),
        ((10,), (1.0,), float("inf"), "whole minutes"),
    ],
)
def test_impossible_scenarios_are_refused(minutes, grams, horizon, message):
    with pytest.raises(InputError, match=message):
        Scenario(minutes, grams, horizon)


def test_a_meal_at_no_hour_is_refused():
    with pytest.raises(InputError, match="times must be finite"):
        Scenario.from_hours([(float("nan"), 10.0)])


def test_low_and_high_carb_days_share_out_the_daily_carbohydrates():
    patient = find_patient("adolescent#004")
    scenario = diet("high", "low").scenario(patient)
    assert scenario.horizon == 2880
    assert scenario.minutes[:6] == (420, 570, 720, 900, 1080, 1290)
    assert scenario.minutes[6:] == tuple(1440 + minute for minute in scenario.minutes[:6])
    assert sum(scenario.grams[:6]) == pytest.approx(1.25 * patient.daily_carbohydrates)
    assert sum(scenario.grams[6:]) == pytest.approx(0.75 * patient.daily_carbohydrates)
    assert scenario.grams[4] == pytest.approx(0.35 * 1.25 * patient.daily_carbohydrates)


@pytest.mark.parametrize("days", [(), ("medium",), ("low", "High")])
def test_days_have_known_names(days):
    with pytest.raises(InputError, match="each 'low' or 'high'"):
        diet(*days)
