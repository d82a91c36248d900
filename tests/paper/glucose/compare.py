"""Our kernels on the reference's cases, and the reference's stored traces."""

from __future__ import annotations

import numpy as np

from surefoot.paper.glucose import Calculator, Histories, find_sensor, simulate
from tests.paper.glucose.cases import Case
from tests.paper.glucose.make_reference import FILE, UNITS

COLLAPSE = 10.0  # mg/dL: below it a history counts as collapsed


def stored_traces() -> dict[str, np.ndarray]:
    """Histories of the reference by "kind/history": BG and CGM in mg/dL, insulin in U/min."""
    with np.load(FILE) as arrays:
        return {key: arrays[key] * UNITS[key.rpartition("/")[2]] for key in arrays.files}


def ours(chosen: list[Case], kernel: str) -> Histories:
    """The same cases, with the same noise draws, through one of our kernels."""
    sensor, horizon = find_sensor(chosen[0].sensor), chosen[0].scenario.horizon
    count = sensor.normals_needed(horizon)
    normals = np.stack([np.random.RandomState(case.seed).randn(count) for case in chosen])
    names = [case.patient for case in chosen]
    return simulate(
        names,
        Calculator.baseline(names, chosen[0].scale),
        [case.scenario for case in chosen],
        0,
        sensor=sensor,
        reading=chosen[0].reading,
        normals=normals,
        kernel=kernel,
    )
