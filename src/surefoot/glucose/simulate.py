"""simulate(): patients × calculators × meals × seeds, in lanes; whole histories or only statistics."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from surefoot.errors import InputError
from surefoot.glucose.batch import Batch, Group, Scenarios, Seeds, make_batch
from surefoot.glucose.calculator import Calculator, pump_rate
from surefoot.glucose.draws import errors_from_normals, fill_normals
from surefoot.glucose.histories import Histories, Statistic, Statistics, shown
from surefoot.glucose.lanes import run_lanes
from surefoot.glucose.meals import MINUTES_A_DAY
from surefoot.glucose.metrics import STATISTICS, fill_statistics
from surefoot.glucose.patients import Patients
from surefoot.glucose.responses import boluses, responses
from surefoot.glucose.sensor import Sensor, find_sensor, spline_weights
from surefoot.glucose.states import run_states

Array = NDArray[np.float64]
Reading = Literal["cgm", "bg"]
Kernel = Literal["lanes", "states"]

WORK_BYTES = 16e6  # room for the histories of the lanes at work
GLUCOSE_STATES = (3, 4, 12)


@dataclass(frozen=True)
class _Set:
    """What all lanes of a call share."""

    batch: Batch
    sensor: Sensor
    reading: Reading
    kernel: Kernel
    normals: Array | None

    @property
    def n_samples(self) -> int:
        return self.sensor.samples(self.batch.horizon)

    @property
    def chunk(self) -> int:
        """Lanes at work at once."""
        return max(64, int(WORK_BYTES / (8 * 2 * self.n_samples)) // 64 * 64)


@dataclass(frozen=True)
class _Run:
    """Histories of one group of lanes, before they are joined or scored."""

    bg: Array
    instant: Array
    rates: Array
    windows: NDArray[np.int64]


@overload
def simulate(
    patients: Patients,
    calculators: Calculator,
    scenario: Scenarios,
    seeds: Seeds,
    *,
    statistics: None = None,
    sensor: str | Sensor = "Dexcom",
    reading: Reading = "cgm",
    kernel: Kernel = "lanes",
    normals: ArrayLike | None = None,
) -> Histories: ...


@overload
def simulate(
    patients: Patients,
    calculators: Calculator,
    scenario: Scenarios,
    seeds: Seeds,
    *,
    statistics: Sequence[Statistic],
    sensor: str | Sensor = "Dexcom",
    reading: Reading = "cgm",
    kernel: Kernel = "lanes",
    normals: ArrayLike | None = None,
) -> Statistics: ...


def simulate(
    patients: Patients,
    calculators: Calculator,
    scenario: Scenarios,
    seeds: Seeds,
    *,
    statistics: Sequence[Statistic] | None = None,
    sensor: str | Sensor = "Dexcom",
    reading: Reading = "cgm",
    kernel: Kernel = "lanes",
    normals: ArrayLike | None = None,
) -> Histories | Statistics:
    """Simulate lanes: one lane is a patient, a calculator's setting, a scenario and a seed.

    `patients`, the calculator's fields, `scenario` and `seeds` broadcast together as NumPy arrays do: a single
    value serves every lane, arrays of one length go side by side, and (30, 1) against (1, 20) makes 600 lanes of
    shape (30, 20). Results have that shape (a lone lane has shape (1,)), histories one axis more for samples.

    A lane's sensor noise depends on its own seed alone, neither on the batch nor on its place there. One integer
    or SeedSequence is a root: every lane gets a seed of its own from it. An array of seeds is taken as given, one
    a lane: equal seeds mean equal noise.

    Args:
        patients: Names ("adult#001"), `Patient` objects, or an array of them.
        calculators: The bolus calculators.
        scenario: Meals; a `Diet` sizes them for each patient. All must last equally long.
        seeds: A root, or one seed a lane.
        statistics: Keep only these, and no histories: a million lanes then fit in memory.
        sensor: "Dexcom" (3 min), "GuardianRT" (5 min) or "Navigator" (1 min).
        reading: What the calculator sees: the sensor ("cgm") or the truth ("bg").
        kernel: "lanes" is fast; "states" solves all 13 states of every lane.
        normals: Standard normal draws behind the sensor noise, (*lanes, n_normals), in place of the seeds' own;
            `Sensor.normals_needed` says how many.

    Returns:
        `Histories`, or `Statistics` if `statistics` names any.
    """
    chosen = find_sensor(sensor)
    batch = make_batch(patients, calculators, scenario, seeds, chosen)
    _check_choice("reading", reading, ("cgm", "bg"))
    _check_choice("kernel", kernel, ("lanes", "states"))
    shared = _Set(batch, chosen, reading, kernel, _given_normals(normals, batch, chosen))
    if statistics is None:
        return _histories(shared)
    for name in statistics:
        _check_choice("statistics", name, STATISTICS)
    return _statistics(shared, statistics)


def _statistics(shared: _Set, names: Sequence[Statistic]) -> Statistics:
    table = np.empty((len(shared.batch.words), len(STATISTICS)))
    with_indices = "lbgi" in names or "hbgi" in names
    for group in shared.batch.chunks(shared.chunk):
        run = _run(shared, group, _errors(shared, group, _at_boluses(shared, group)))
        scores = np.empty((len(group.lanes), len(STATISTICS)))
        fill_statistics(run.bg, with_indices, scores)
        table[group.lanes] = scores
    columns = {name: table[:, STATISTICS.index(name)] for name in names}
    return Statistics({name: column.reshape(shared.batch.shape).copy() for name, column in columns.items()})


def _histories(shared: _Set) -> Histories:
    sensor, window, size = shared.sensor, shared.sensor.sample_minutes, shared.n_samples
    bg, cgm, insulin, carbohydrates = (np.zeros((len(shared.batch.words), size)) for _ in range(4))
    for group in shared.batch.chunks(shared.chunk):
        errors = _errors(shared, group, np.arange(size + 1))
        run = _run(shared, group, errors[:, _at_boluses(shared, group)])
        bg[group.lanes] = run.bg
        cgm[group.lanes] = shown(sensor, run.instant, errors)
        delivered = np.full((len(group.lanes), size), pump_rate(group.patient.basal))
        delivered[:, 0] = 0.0
        delivered[:, run.windows + 1] += run.rates
        insulin[group.lanes] = delivered
        carbohydrates[group.lanes, 1:] = group.scenario.announced().reshape(-1, window).mean(axis=1)
    shape = (*shared.batch.shape, size)
    minutes = np.arange(size) * window
    return Histories(minutes, *(array.reshape(shape) for array in (bg, cgm, insulin, carbohydrates)))


def _run(shared: _Set, group: Group, errors: Array) -> _Run:
    """Simulate one group; `errors` are those at the two ends of every meal's window, in pairs."""
    patient, scenario, window = group.patient, group.scenario, shared.sensor.sample_minutes
    windows, grams = boluses(scenario, window)
    n_lanes, settings = len(group.lanes), shared.batch.settings[group.lanes]
    limits = np.array([shared.sensor.lowest, shared.sensor.highest])
    pairs = np.ascontiguousarray(errors).reshape(n_lanes, len(windows), 2)
    pairs = pairs if shared.reading == "cgm" else np.empty((n_lanes, len(windows), 0))
    bg, instant = np.empty((n_lanes, shared.n_samples)), np.empty((n_lanes, shared.n_samples))
    rates = np.empty((n_lanes, len(windows)))
    results = (settings, pairs, limits, window, bg, instant, rates)
    initial = np.array(patient.initial_state)
    if shared.kernel == "lanes":
        tables = responses(patient, scenario, window)
        run_lanes(patient.physiology, initial[list(GLUCOSE_STATES)], tables, *results)
    else:
        announced = scenario.announced()
        run_states(patient.physiology, initial, announced, patient.basal, windows, grams, *results)
    return _Run(bg, instant, rates, windows)


def _at_boluses(shared: _Set, group: Group) -> NDArray[np.int64]:
    """Which sensor errors the calculator meets: at the two ends of each meal's window.

    The reference draws one error for the record at minute 0, then one for the controller: the sample that ends
    window w uses error w + 1.
    """
    windows, _ = boluses(group.scenario, shared.sensor.sample_minutes)
    return np.stack([windows, windows + 1], axis=1).ravel()


def _errors(shared: _Set, group: Group, wanted: NDArray[np.int64]) -> Array:
    """Sensor errors of the group's lanes, (n_lanes, n_wanted)."""
    sensor, count = shared.sensor, shared.sensor.normals_needed(shared.batch.horizon)
    if shared.normals is not None:
        normals = shared.normals[group.lanes]
    else:
        normals = np.empty((len(group.lanes), count))
        fill_normals(shared.batch.words[group.lanes], normals)
    errors = np.empty((len(group.lanes), len(wanted)))
    weights = spline_weights(sensor.sample_minutes)
    errors_from_normals(normals, wanted, sensor, weights, sensor.samples_a_block, errors)
    return errors


def _given_normals(normals: ArrayLike | None, batch: Batch, sensor: Sensor) -> Array | None:
    if normals is None:
        return None
    needed = sensor.normals_needed(batch.horizon)
    values = np.asarray(normals, dtype=np.float64)
    if values.ndim == 0 or values.shape[-1] < needed or not np.isfinite(values).all():
        raise InputError(
            f"normals has the shape {values.shape}: give finite draws, at least {needed} for each lane of "
            f"{batch.horizon / MINUTES_A_DAY:g} days"
        )
    lanes = np.broadcast_to(values[..., :needed], (*batch.shape, needed))
    return np.array(lanes.reshape(-1, needed))


def _check_choice(what: str, given: str, choices: Sequence[str]) -> None:
    if given not in choices:
        raise InputError(f"{what} is {given!r}: choose among {', '.join(map(repr, choices))}")
