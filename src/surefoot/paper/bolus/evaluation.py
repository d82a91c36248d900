"""What a setting does over five days: the metrics of the paper's tables, as found and under the
worst error.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from surefoot.paper.bolus.problem import Dosing, stream
from surefoot.paper.bolus.records import Profile
from surefoot.paper.glucose import Calculator, diet, lane_seeds, simulate
from surefoot.paper.glucose.metrics import HIGH, LOW, Statistic

PLANS = (diet("low", "high", "low", "high", "low"), diet("high", "low", "high", "low", "high"))
Setting = tuple[float, float]  # CarbF, CorrF
METRIC_TITLES = {
    "risk": "risk index",
    "below": f"% below {LOW:g}",
    "above": f"% above {HIGH:g}",
    "within": f"% in {LOW:g}–{HIGH:g}",
}
METRICS = tuple(METRIC_TITLES)
CASES = ("as found", "worst case")
DAYS_A_RUN = 5
BINS_AN_HOUR = 4
QUANTILES = {"p5": 0.05, "p25": 0.25, "p50": 0.5, "p75": 0.75, "p95": 0.95}


def evaluate(
    dosing: Dosing, settings: Sequence[Setting], runs: Sequence[int], seed: int
) -> list[dict[str, Any]]:
    """Metrics of one 5-day simulation for each setting and its run.

    Equal runs meet the same meals and the same sensor noise, so equal settings give equal figures.
    Even runs begin with a low-carb day, odd ones with a high-carb day: over all runs both are
    equally frequent.
    """
    carb, correction = np.array(settings).T
    number = np.array(runs)
    plans = np.array(PLANS, dtype=object)[number % 2]
    noise = lane_seeds(stream(seed, dosing.patient, "evaluation"), int(number.max()) + 1)[number]
    names: list[Statistic] = ["time_below", "time_above", "time_in_range", "lbgi", "hbgi"]
    calculators = Calculator(carb, correction)
    found = simulate(dosing.patient, calculators, plans, noise, statistics=names)
    columns = [
        found.risk_index,
        100 * found["time_below"],
        100 * found["time_above"],
        100 * found["time_in_range"],
    ]
    return [dict(zip(METRICS, row, strict=True)) for row in np.stack(columns, axis=1).tolist()]


def daily_profile(dosing: Dosing, setting: Setting, runs: int, seed: int) -> Profile:
    """How BG is spread over many simulated days, by the time of day: the ambulatory glucose
    profile.

    Runs last five days, low- and high-carb days in turn, and settings that are compared meet the
    same sensor noise. The first day does not count: it begins in one state for all.
    """
    noise = lane_seeds(stream(seed, dosing.patient, "profiles"), runs)
    plans = np.array(PLANS, dtype=object)[np.arange(runs) % 2]
    bg = simulate(dosing.patient, Calculator(*setting), plans, noise).bg[:, 1:]
    bins = 24 * BINS_AN_HOUR
    days = bg.reshape(runs, DAYS_A_RUN, bins, -1)[:, 1:]
    by_time = days.transpose(2, 0, 1, 3).reshape(bins, -1)
    ends = np.quantile(by_time, list(QUANTILES.values()), axis=1)
    hours = (np.arange(bins) + 0.5) / BINS_AN_HOUR
    return {
        "hour": hours.tolist(),
        **{name: np.round(row, 1).tolist() for name, row in zip(QUANTILES, ends, strict=True)},
    }
