"""simulate(): patients × calculators × meals × seeds, in lanes; whole histories or only
statistics.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Literal, get_args, overload

import numpy as np
from numpy.typing import ArrayLike

from surefoot.arrays import Array, IntArray
from surefoot.errors import InputError
from surefoot.paper.glucose.batch import Batch, Group, Scenarios, Seeds, make_batch
from surefoot.paper.glucose.calculator import Calculator, pump_rate
from surefoot.paper.glucose.closed_loop import ClosedLoop
from surefoot.paper.glucose.draws import fill_normals, sensor_errors
from surefoot.paper.glucose.histories import Histories, Statistics, shown
from surefoot.paper.glucose.lanes import WIDTH, run_lanes
from surefoot.paper.glucose.meals import MINUTES_A_DAY
from surefoot.paper.glucose.metrics import STATISTICS, Statistic, fill_statistics
from surefoot.paper.glucose.patients import Patients
from surefoot.paper.glucose.responses import boluses, responses
from surefoot.paper.glucose.sensor import Sensor, find_sensor
from surefoot.paper.glucose.states import Meals, run_states

Reading = Literal["cgm", "bg"]
Kernel = Literal["lanes", "states"]

WORK_BYTES = 16e6  # room for the histories of the lanes at work
GLUCOSE_STATES = (3, 4, 12)


@dataclass(frozen=True)
class _Call:
    """What all lanes of a call share."""

    batch: Batch
    sensor: Sensor
    reading: Reading
    kernel: Kernel
    normals: Array | None
    threads: int

    @property
    def n_samples(self) -> int:
        return self.sensor.samples(self.batch.horizon)

    def each(self, work: Callable[[Group], None]) -> None:
        """Do the work for all lanes, a chunk at a time; compiled code leaves the interpreter to
        other threads.
        """
        share = -(-len(self.batch.words) // self.threads)
        room = int(WORK_BYTES / (8 * 2 * self.n_samples))
        chunks = self.batch.chunks(max(WIDTH, min(room, share) // WIDTH * WIDTH))
        if self.threads == 1:
            for chunk in chunks:
                work(chunk)
        else:
            with ThreadPoolExecutor(self.threads) as pool:
                list(pool.map(work, chunks))


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
    threads: int = 1,
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
    threads: int = 1,
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
    threads: int = 1,
) -> Histories | Statistics:
    """Simulate lanes: one lane is a patient, a calculator's setting, a scenario and a seed.

    `patients`, the calculator's fields, `scenario` and `seeds` broadcast together as NumPy arrays
    do: a single value serves every lane, arrays of one length go side by side, and (30, 1) against
    (1, 20) makes 600 lanes of shape (30, 20). Results have that shape (a lone lane has shape (1,)),
    histories one axis more for samples.

    A lane's sensor noise depends on its own seed alone, neither on the batch nor on its place
    there. One integer or SeedSequence is a root: every lane gets a seed of its own from it. An
    array of seeds is taken as given, one a lane: equal seeds mean equal noise.

    Args:
        patients: Names ("adult#001"), `Patient` objects, or an array of them.
        calculators: The bolus calculators.
        scenario: Meals; a `Diet` sizes them for each patient. All must last equally long.
        seeds: A root, or one seed a lane.
        statistics: Keep only these, and no histories: a million lanes then fit in memory.
        sensor: "Dexcom" (3 min), "GuardianRT" (5 min) or "Navigator" (1 min).
        reading: What the calculator sees: the sensor ("cgm") or the truth ("bg").
        kernel: "lanes" is fast; "states" solves all 13 states of every lane.
        normals: Standard normal draws behind the sensor noise, (*lanes, n_normals), in place of the
            seeds' own; `Sensor.normals_needed` says how many.
        threads: How many chunks of lanes to work on at once; the results are the same for any
            number.

    Returns:
        `Histories`, or `Statistics` if `statistics` names any.
    """
    chosen = find_sensor(sensor)
    batch = make_batch(patients, calculators, scenario, seeds, chosen)
    _check_choice("reading", reading, get_args(Reading))
    _check_choice("kernel", kernel, get_args(Kernel))
    if threads < 1:
        raise InputError(f"threads is {threads}: give at least 1")
    call = _Call(batch, chosen, reading, kernel, _given_normals(normals, batch, chosen), threads)
    if statistics is None:
        return _histories(call)
    if isinstance(statistics, str):
        raise InputError(
            f"statistics is {statistics!r}: give a list of names, such as [{statistics!r}]"
        )
    for name in statistics:
        _check_choice("statistics", name, STATISTICS)
    return _statistics(call, statistics)


def _statistics(call: _Call, names: Sequence[Statistic]) -> Statistics:
    table = np.empty((len(call.batch.words), len(STATISTICS)))
    with_indices = "lbgi" in names or "hbgi" in names

    def work(group: Group) -> None:
        run = _run(call, group, _errors(call, group, _at_boluses(call, group)))
        scores = np.empty((len(group.lanes), len(STATISTICS)))
        fill_statistics(run.bg, with_indices, scores)
        table[group.lanes] = scores

    call.each(work)
    columns = {name: table[:, STATISTICS.index(name)] for name in names}
    return Statistics(
        {name: column.reshape(call.batch.shape).copy() for name, column in columns.items()}
    )


def _histories(call: _Call) -> Histories:
    sensor, window, size = call.sensor, call.sensor.sample_minutes, call.n_samples
    bg, cgm, insulin, carbohydrates = (np.zeros((len(call.batch.words), size)) for _ in range(4))

    def work(group: Group) -> None:
        errors = _errors(call, group, np.arange(size + 1))
        run = _run(call, group, errors[:, _at_boluses(call, group)])
        bg[group.lanes] = run.bg
        cgm[group.lanes] = shown(sensor, run.instant, errors)
        delivered = np.full((len(group.lanes), size), pump_rate(group.patient.basal))
        delivered[:, 0] = 0.0
        delivered[:, boluses(group.scenario, window)[0] + 1] += run.rates
        insulin[group.lanes] = delivered
        carbohydrates[group.lanes, 1:] = group.scenario.announced().reshape(-1, window).mean(axis=1)

    call.each(work)
    shape = (*call.batch.shape, size)
    minutes = np.arange(size) * window
    return Histories(
        minutes, *(array.reshape(shape) for array in (bg, cgm, insulin, carbohydrates))
    )


def _run(call: _Call, group: Group, errors: Array) -> ClosedLoop:
    """Simulate one group; `errors` are those at the two ends of every meal's window, in pairs."""
    patient, scenario, window = group.patient, group.scenario, call.sensor.sample_minutes
    windows, grams = boluses(scenario, window)
    n_lanes, n_boluses = len(group.lanes), len(windows)
    pairs = np.ascontiguousarray(errors).reshape(n_lanes, n_boluses, 2)
    loop = ClosedLoop(
        settings=call.batch.settings[group.lanes],
        errors=pairs if call.reading == "cgm" else np.empty((n_lanes, n_boluses, 0)),
        limits=np.array([call.sensor.lowest, call.sensor.highest]),
        window=window,
        bg=np.empty((n_lanes, call.n_samples)),
        instant=np.empty((n_lanes, call.n_samples)),
        rates=np.empty((n_lanes, n_boluses)),
    )
    initial = np.array(patient.initial_state)
    if call.kernel == "lanes":
        tables = responses(patient, scenario, window)
        run_lanes(patient.physiology, initial[list(GLUCOSE_STATES)], tables, loop)
    else:
        meals = Meals(scenario.announced(), windows, grams)
        run_states(patient.physiology, initial, patient.basal, meals, loop)
    return loop


def _at_boluses(call: _Call, group: Group) -> IntArray:
    """Which sensor errors the calculator meets: at the two ends of each meal's window.

    The reference draws one error for the record at minute 0, then one for the controller: the
    sample that ends window w uses error w + 1.
    """
    windows, _ = boluses(group.scenario, call.sensor.sample_minutes)
    return np.stack([windows, windows + 1], axis=1).ravel()


def _errors(call: _Call, group: Group, wanted: IntArray) -> Array:
    """Sensor errors of the group's lanes, (n_lanes, n_wanted)."""
    if call.normals is not None:
        normals = call.normals[group.lanes]
    else:
        normals = np.empty((len(group.lanes), call.sensor.normals_needed(call.batch.horizon)))
        fill_normals(call.batch.words[group.lanes], normals)
    return sensor_errors(call.sensor, normals, wanted)


def _given_normals(normals: ArrayLike | None, batch: Batch, sensor: Sensor) -> Array | None:
    if normals is None:
        return None
    needed = sensor.normals_needed(batch.horizon)
    values = np.asarray(normals, dtype=np.float64)
    if values.ndim == 0 or values.shape[-1] < needed or not np.isfinite(values).all():
        raise InputError(
            f"normals has the shape {values.shape}: give finite draws, at least {needed} for each "
            f"lane of {batch.horizon / MINUTES_A_DAY:g} days"
        )
    try:
        lanes = np.broadcast_to(values[..., :needed], (*batch.shape, needed))
    except ValueError:
        raise InputError(
            f"normals has the shape {values.shape}, but the lanes have the shape {batch.shape}: "
            "give one row of draws for each lane, or one for all"
        ) from None
    return np.array(lanes.reshape(-1, needed))


def _check_choice(what: str, given: str, choices: Sequence[str]) -> None:
    if given not in choices:
        raise InputError(f"{what} is {given!r}: choose among {', '.join(map(repr, choices))}")
