"""`python -m tests.paper.glucose.make_reference`: store simglucose's traces of every case.

BG and CGM are stored as whole millionths of mg/dL, insulin as whole billionths of U/min.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from tests.paper.glucose.cases import SETTINGS, Case, cases
from tests.paper.glucose.reference import Trace, calculator_for, run

FILE = Path(__file__).parents[2] / "data" / "glucose_reference.npz"
UNITS = {"bg": 1e-6, "cgm": 1e-6, "insulin": 1e-9}
WITH_CGM = {"odd", "high-guardian", "high-navigator"}


def trace_of(case: Case, stock: bool = False) -> Trace:
    """What simglucose gives for this case."""
    controller = calculator_for(case.patient, case.scale, case.reading)
    return run(case.patient, case.scenario, controller, case.seed, case.sensor, stock)


def main() -> None:
    arrays = {}
    for kind in SETTINGS:
        traces = [trace_of(case) for case in cases(kind)]
        for history in ("bg", "cgm", "insulin") if kind in WITH_CGM else ("bg", "insulin"):
            values = np.stack([getattr(trace, history) for trace in traces])
            whole = np.rint(values / UNITS[history])
            arrays[f"{kind}/{history}"] = whole.astype(
                np.int64 if history == "insulin" else np.int32
            )
        print(kind, len(traces), "runs", flush=True)
    np.savez_compressed(FILE, **arrays)


if __name__ == "__main__":
    main()
