"""The glucose simulator against simglucose 0.2.11, stock and with its pandas look-ups bypassed, in
one run.

Everything is included in our times: drawing the noise, solving the meals (the tables are forgotten
before each timing), all statistics, seeds for every lane. Compilation is reported apart.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator

import numpy as np
from tests.paper.glucose.cases import SETTINGS, cases
from tests.paper.glucose.compare import COLLAPSE, stored_traces
from tests.paper.glucose.compare import ours as ours_on
from tests.paper.glucose.reference import calculator_for, run

from benchmarks.table import Row, seconds
from surefoot.paper.glucose import (
    Calculator,
    all_patients,
    diet,
    find_patient,
    lane_seeds,
    simulate,
)
from surefoot.paper.glucose.lanes import insulin_responses, responses
from surefoot.paper.glucose.metrics import STATISTICS

PATIENT = "adult#001"
DAYS = ("low", "high")
IMPORT_AND_SIMULATE = (
    "from surefoot.paper import glucose as g; "
    "g.simulate('adult#001', g.Calculator.baseline('adult#001'), g.diet('low'), 0, "
    "statistics=('magni_risk',))"
)
MILLION = """
import resource
import numpy as np
from surefoot.paper import glucose as g
carb = np.linspace(5, 20, 1_000_000)
run = g.simulate('adult#001', g.Calculator(carb, 3.6 * carb), g.diet('high'), 0,
                 statistics=('min', 'max', 'time_below', 'time_in_range',
                              'time_above', 'magni_risk'))
assert run['min'].shape == (1_000_000,)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024**2)
"""


def rows() -> Iterator[Row]:
    one_day_of_each()  # compile
    stock, bypassed = ({day: reference_day(day, stock) for day in DAYS} for stock in (True, False))
    yield one_day(stock["high"])
    yield from thousand_settings(sum(stock.values()), sum(bypassed.values()))
    yield five_days()
    yield from fidelity()
    yield from first_use()
    yield million_lanes()


def forget_tables() -> None:
    responses.cache_clear()
    insulin_responses.cache_clear()


def reference_day(day: str, stock: bool) -> float:
    """Seconds that simglucose takes for one day of one patient."""
    scenario, controller = diet(day).scenario(find_patient(PATIENT)), calculator_for(PATIENT)
    return seconds(
        lambda: run(PATIENT, scenario, controller, 0, stock=stock), repeats=1 if stock else 3
    )


def one_day_of_each() -> None:
    for kernel in ("lanes", "states"):
        simulate(
            PATIENT,
            Calculator.baseline(PATIENT),
            diet("low"),
            0,
            statistics=STATISTICS,
            kernel=kernel,
        )


def one_day(stock: float) -> Row:
    def ours() -> None:
        simulate(
            PATIENT,
            Calculator.baseline(PATIENT),
            diet("high"),
            0,
            statistics=STATISTICS,
            kernel="states",
        )

    took = seconds(ours, repeats=20)
    measured = f"{1000 * took:.2f} ms, {stock / took:,.0f} × stock ({stock:.1f} s)"
    return Row(
        "one simulated day, one patient, 13 states",
        measured,
        "≥ 5 000 × stock",
        stock / took >= 5000,
    )


def thousand_settings(stock: float, bypassed: float) -> Iterator[Row]:
    carb = np.linspace(6, 16, 1000)

    def ours() -> None:
        forget_tables()
        for root, day in enumerate(DAYS):
            simulate(PATIENT, Calculator(carb, 3.6 * carb), diet(day), root, statistics=STATISTICS)

    work = "1 000 settings × (low-carb day + high-carb day)"
    took = seconds(ours)
    yield Row(work, f"{took:.3f} s", "≤ 0.3 s", took <= 0.3)
    ratio, other = 1000 * stock / took, 1000 * bypassed / took
    yield Row(work, f"{ratio:,.0f} × stock simglucose", "≥ 30 000 ×", ratio >= 30_000)
    yield Row(
        work, f"{other:,.0f} × simglucose without pandas look-ups", "≥ 3 000 ×", other >= 3000
    )


def five_days() -> Row:
    names = np.array([patient.name for patient in all_patients()])[:, None]
    calculators, plan, shape = (
        Calculator.baseline(names),
        diet("low", "high", "low", "high", "low"),
        (30, 20),
    )

    def ours() -> None:
        forget_tables()
        simulate(names, calculators, plan, lane_seeds(0, shape), statistics=STATISTICS)

    took = seconds(ours)
    return Row("30 patients × 20 × 5 days with metrics", f"{took:.3f} s", "≤ 1 s", took <= 1.0)


def fidelity() -> Iterator[Row]:
    """The largest difference from simglucose's stored traces, same noise draws, closed loop."""
    stored = stored_traces()
    worst = {
        (kernel, collapsed): 0.0 for kernel in ("lanes", "states") for collapsed in (False, True)
    }
    for kernel in ("lanes", "states"):
        for kind in SETTINGS:
            bg = stored[f"{kind}/bg"]
            difference = np.abs(ours_on(cases(kind), kernel).bg - bg).max(axis=1)
            for collapsed in (False, True):
                chosen = difference[(bg.min(axis=1) < COLLAPSE) == collapsed]
                worst[kernel, collapsed] = max(
                    worst[kernel, collapsed], float(chosen.max(initial=0.0))
                )
    for (kernel, collapsed), value in worst.items():
        bound = 0.2 if collapsed else 0.02
        what = "when BG collapses" if collapsed else "30 patients, up to 5 days"
        yield Row(
            f"max |ΔBG| of {kernel}, {what}",
            f"{value:.4f} mg/dL",
            f"≤ {bound} mg/dL",
            value <= bound,
        )


def first_use() -> Iterator[Row]:
    """Import and one small simulation in a new process: compiling everything, then from the cache
    on disk.
    """
    with tempfile.TemporaryDirectory() as cache:
        cold = seconds(
            lambda: in_new_process(IMPORT_AND_SIMULATE, NUMBA_CACHE_DIR=cache), repeats=1
        )
        warm = seconds(
            lambda: in_new_process(IMPORT_AND_SIMULATE, NUMBA_CACHE_DIR=cache), repeats=3
        )
    yield Row("first call ever: compilation", f"{cold:.1f} s", "reported apart", True)
    yield Row(
        "import and one small simulation, compiled before", f"{warm:.2f} s", "< 2 s", warm < 2
    )


def million_lanes() -> Row:
    gigabytes = float(in_new_process(MILLION))
    return Row(
        "a million lanes, statistics only: peak memory",
        f"{gigabytes:.2f} GB",
        "≤ 2 GB",
        gigabytes <= 2,
    )


def in_new_process(code: str, **environment: str) -> str:
    finished = subprocess.run(
        [sys.executable, "-c", code],
        check=True,
        capture_output=True,
        text=True,
        env={**os.environ, **environment},
    )
    return finished.stdout
