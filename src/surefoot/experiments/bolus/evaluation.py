"""What a setting does over five days: the metrics of the paper's tables, as found and under the
worst error.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from surefoot.experiments.bolus.problem import DAYS, Dosing, stream
from surefoot.glucose import Calculator, diet, lane_seeds, simulate
from surefoot.glucose.metrics import HIGH, LOW

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
    names = ["time_below", "time_above", "time_in_range", "lbgi", "hbgi"]
    found = simulate(dosing.patient, Calculator(carb, correction), plans, noise, statistics=names)  # type: ignore[arg-type]
    columns = [
        found.risk_index,
        100 * found["time_below"],
        100 * found["time_above"],
        100 * found["time_in_range"],
    ]
    return [dict(zip(METRICS, row, strict=True)) for row in np.stack(columns, axis=1).tolist()]


def day_curves(
    dosing: Dosing, settings: dict[str, Setting], seed: int
) -> dict[str, dict[str, list[float]]]:
    """BG of one low- and one high-carb day under each named setting, every 3 minutes, with the same
    sensor noise.
    """
    carb, correction = np.array(list(settings.values())).T
    noise = lane_seeds(stream(seed, dosing.patient, "curves"), len(DAYS))
    curves = {}
    for day, word in zip(DAYS, noise, strict=True):
        bg = simulate(dosing.patient, Calculator(carb, correction), diet(day), np.array([word])).bg
        curves[day] = {
            name: np.round(row, 2).tolist() for name, row in zip(settings, bg, strict=True)
        }
    return curves
