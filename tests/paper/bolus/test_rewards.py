"""Rewards: each is what it says of two simulated days."""

from __future__ import annotations

import numpy as np
import pytest

from surefoot.errors import InputError
from surefoot.paper.bolus.problem import DAYS, REWARDS, day_rewards, find_reward, make_dosing
from surefoot.paper.glucose import STATISTICS, Calculator, diet, lane_seeds, simulate

NAME, PAIR = "child#008", 7
SOURCE = np.random.SeedSequence(4)


@pytest.mark.parametrize("name", REWARDS)
def test_a_pull_is_worth_what_its_two_days_say(name: str) -> None:
    dosing = make_dosing(NAME, reward=find_reward(name))
    reward = day_rewards(dosing, np.array([PAIR]), SOURCE).sum()
    calculator, seeds = Calculator(*dosing.pair_setting(PAIR)), lane_seeds(SOURCE, (2, 1))
    days = [
        simulate(NAME, calculator, diet(day), seed, statistics=STATISTICS)
        for day, seed in zip(DAYS, seeds, strict=True)
    ]
    expected = {
        "risk": sum(-day["magni_risk"][0] for day in days),
        "time-in-range": 100 * np.mean([day["time_in_range"] for day in days]),
        "time-below": -100 * np.mean([day["time_below"] for day in days]),
        "risk-index": -np.mean([day.risk_index for day in days]),
    }
    assert reward == pytest.approx(expected[name])


def test_an_unknown_reward_is_refused() -> None:
    with pytest.raises(InputError, match="risk, time-in-range, time-below, risk-index"):
        find_reward("comfort")
