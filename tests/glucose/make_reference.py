"""`python -m tests.glucose.make_reference`: run simglucose on every case and store the traces.

BG and CGM are stored as whole millionths of mg/dL, insulin as whole billionths of U/min.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from tests.glucose.cases import SETTINGS, Case, cases
from tests.glucose.reference import Trace, calculator_for, run

FILE = Path(__file__).parents[1] / "data" / "glucose_reference.npz"
BG_UNIT, INSULIN_UNIT = 1e-6, 1e-9
WITH_CGM = {"odd", "high-guardian", "high-navigator"}


def trace_of(case: Case, stock: bool = False) -> Trace:
    """What simglucose gives for this case."""
    controller = calculator_for(case.patient, case.scale, case.reading)
    return run(case.patient, case.scenario, controller, case.seed, case.sensor, stock)


def main() -> None:
    arrays = {}
    for kind in SETTINGS:
        traces = [trace_of(case) for case in cases(kind)]
        arrays[f"{kind}/bg"] = np.rint(np.stack([t.bg for t in traces]) / BG_UNIT).astype(np.int32)
        insulin = np.rint(np.stack([t.insulin for t in traces]) / INSULIN_UNIT).astype(np.int64)
        arrays[f"{kind}/insulin"] = insulin
        if kind in WITH_CGM:
            arrays[f"{kind}/cgm"] = np.rint(np.stack([t.cgm for t in traces]) / BG_UNIT).astype(np.int32)
        print(kind, len(traces), "runs", flush=True)
    np.savez_compressed(FILE, **arrays)


if __name__ == "__main__":
    main()
