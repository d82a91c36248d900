"""Simulate a batch of lanes with the bolus calculator, or one patient with any controller."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, get_args, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from surefoot.arrays import Array, IntArray
from surefoot.errors import InputError
from surefoot.paper.glucose.day import (
    MINUTES_A_DAY,
    Calculator,
    Diet,
    Patient,
    Patients,
    Scenario,
    find_patient,
    object_array,
    patient_array,
    pump_rate,
)
from surefoot.paper.glucose.lanes import WIDTH, boluses, responses, run_lanes
from surefoot.paper.glucose.metrics import (
    STATISTICS,
    Histories,
    Statistic,
    Statistics,
    fill_statistics,
    shown,
)
from surefoot.paper.glucose.model import (
    ClosedLoop,
    Meals,
    advance_window,
    fresh_patient,
    run_states,
)
from surefoot.paper.glucose.sensor import Sensor, fill_normals, find_sensor, sensor_errors

Words = NDArray[np.uint64]
Scenarios = Scenario | Diet | Sequence[Scenario | Diet] | NDArray[Any]
Seeds = (
    int | np.random.SeedSequence | Sequence[int] | Sequence[np.random.SeedSequence] | NDArray[Any]
)


@dataclass(frozen=True)
class _Group:
    """Lanes that share a patient and a scenario, by their places in the flat batch."""

    patient: Patient
    scenario: Scenario
    lanes: IntArray


@dataclass(frozen=True)
class _Batch:
    """Every lane's inputs, flat.

    Attributes:
        shape: Of the broadcast inputs; lanes are numbered in its C order.
        horizon: Minutes that every lane lasts.
        settings: Carb factor, correction factor, target, threshold, (n_lanes, 4).
        words: Each lane's 64-bit seed, (n_lanes,).
        groups: Lanes of one patient and scenario.
    """

    shape: tuple[int, ...]
    horizon: int
    settings: Array
    words: Words
    groups: tuple[_Group, ...]

    def chunks(self, size: int) -> Iterator[_Group]:
        """Return groups cut into pieces of at most `size` lanes, so that work space stays small."""
        for group in self.groups:
            for start in range(0, len(group.lanes), size):
                yield _Group(group.patient, group.scenario, group.lanes[start : start + size])


def _make_batch(
    patients: Patients, calculators: Calculator, scenario: Scenarios, seeds: Seeds, sensor: Sensor
) -> _Batch:
    """Check and broadcast the inputs of `simulate`."""
    people = patient_array(patients)
    plans = object_array(scenario, (Scenario, Diet), "scenario")
    if not isinstance(calculators, Calculator):
        raise InputError(
            f"calculators is a {type(calculators).__name__}: give one Calculator; its "
            f"fields may be arrays"
        )
    words = None if _is_root(seeds) else _seed_words(seeds)
    arrays = [people, plans, *calculators.columns, *([] if words is None else [words])]
    shape = _common_shape(arrays)
    if words is None:
        words = lane_seeds(seeds, shape)  # type: ignore[arg-type]
    groups = _groups(people, plans, shape)
    horizons = {group.scenario.horizon for group in groups}
    if len(horizons) > 1:
        raise InputError(
            f"scenarios last {sorted(horizons)} min: lanes of one call must last equally long"
        )
    horizon = horizons.pop()
    if horizon % sensor.sample_minutes:
        raise InputError(
            f"the horizon of {horizon} min is not a whole number of the sensor's "
            f"{sensor.sample_minutes} min windows"
        )
    settings = np.stack(
        [np.broadcast_to(column, shape).ravel() for column in calculators.columns], axis=1
    )
    return _Batch(shape, horizon, settings, np.broadcast_to(words, shape).ravel(), groups)


def lane_seeds(root: int | np.random.SeedSequence, shape: int | tuple[int, ...]) -> Words:
    """Return independent 64-bit seeds for lanes of that shape, from one root."""
    sequence = (
        root if isinstance(root, np.random.SeedSequence) else np.random.SeedSequence(_natural(root))
    )
    count = int(np.prod(shape))
    return np.asarray(sequence.generate_state(count, np.uint64), dtype=np.uint64).reshape(shape)


def _seed_words(seeds: Any) -> Words:
    """Return one 64-bit word for each given seed: integers as they are, sequences by their first
    state.
    """
    # else 2**63 turns into a float
    values = seeds if isinstance(seeds, np.ndarray) else np.array(seeds, dtype=object)
    if values.dtype.kind in "iu":
        if values.size and values.min() < 0:
            raise InputError(f"the seed {values.min()} is negative: seeds run from 0 to 2**64 - 1")
        return values.astype(np.uint64)
    words = [_word(seed) for seed in values.ravel().tolist()]
    return np.array(words, dtype=np.uint64).reshape(values.shape)


def _word(seed: Any) -> int:
    if isinstance(seed, np.random.SeedSequence):
        return int(seed.generate_state(1, np.uint64)[0])
    if _natural(seed) >= 2**64:
        raise InputError(
            f"the seed {seed} needs more than 64 bits: a lane's seed runs from 0 to 2**64 - 1"
        )
    return int(seed)


def _natural(seed: Any) -> int:
    if isinstance(seed, int | np.integer) and not isinstance(seed, bool) and seed >= 0:
        return int(seed)
    raise InputError(
        f"the seed is {seed!r}: give a whole number from 0 up, or a numpy SeedSequence"
    )


def _is_root(seeds: Any) -> bool:
    return isinstance(seeds, int | np.integer | np.random.SeedSequence)


def _common_shape(arrays: list[NDArray[Any]]) -> tuple[int, ...]:
    try:
        shape = np.broadcast_shapes(*(array.shape for array in arrays))
    except ValueError:
        given = ", ".join(str(array.shape) for array in arrays)
        raise InputError(
            f"patients, scenario, calculator's fields and seeds have shapes {given}, which do not "
            "broadcast: give each as one value, or as arrays that NumPy can broadcast together"
        ) from None
    if 0 in shape:
        raise InputError(f"the inputs broadcast to the shape {shape}: there is nothing to simulate")
    return shape or (1,)


def _groups(
    people: NDArray[np.object_], plans: NDArray[np.object_], shape: tuple[int, ...]
) -> tuple[_Group, ...]:
    patients, person = _numbered(list(people.ravel()))
    scenarios, plan = _numbered(list(plans.ravel()))
    keys = person.reshape(people.shape) * len(scenarios) + plan.reshape(plans.shape)
    flat = np.broadcast_to(keys, shape).ravel()
    present, first = np.unique(flat, return_inverse=True)
    order = np.argsort(first, kind="stable")
    pieces = np.split(order, np.flatnonzero(np.diff(first[order])) + 1)
    return tuple(
        _Group(
            patients[key // len(scenarios)],
            _meals(scenarios[key % len(scenarios)], patients[key // len(scenarios)]),
            lanes,
        )
        for key, lanes in zip(present.tolist(), pieces, strict=True)
    )


def _meals(plan: Scenario | Diet, patient: Patient) -> Scenario:
    return plan.scenario(patient) if isinstance(plan, Diet) else plan


def _numbered(values: list[Any]) -> tuple[list[Any], IntArray]:
    """Return the distinct values and, for each value, which of them it is.

    Comparing patients is slow and most lanes share the very same objects: those are told apart
    first.
    """
    objects = {id(value): value for value in values}
    numbers: dict[Any, int] = {}
    number_of_object = {
        key: numbers.setdefault(value, len(numbers)) for key, value in objects.items()
    }
    return list(numbers), np.array(
        [number_of_object[id(value)] for value in values], dtype=np.int64
    )


Reading = Literal["cgm", "bg"]
Kernel = Literal["lanes", "states"]

WORK_BYTES = 16e6  # room for the histories of the lanes at work
GLUCOSE_STATES = (3, 4, 12)


@dataclass(frozen=True)
class _Call:
    """The inputs that all lanes of a call share."""

    batch: _Batch
    sensor: Sensor
    reading: Reading
    kernel: Kernel
    normals: Array | None
    threads: int

    @property
    def n_samples(self) -> int:
        return self.sensor.samples(self.batch.horizon)

    def each(self, work: Callable[[_Group], None]) -> None:
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
        reading: Seen by the calculator: the sensor ("cgm") or the truth ("bg").
        kernel: "lanes" is fast; "states" solves all 13 states of every lane.
        normals: Standard normal draws behind the sensor noise, (*lanes, n_normals), in place of the
            seeds' own; `Sensor.normals_needed` says how many.
        threads: How many chunks of lanes to work on at once; the results are the same for any
            number.

    Returns:
        `Histories`, or `Statistics` if `statistics` names any.
    """
    chosen = find_sensor(sensor)
    batch = _make_batch(patients, calculators, scenario, seeds, chosen)
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
    with_indices = any("bgi" in name for name in names)

    def work(group: _Group) -> None:
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

    def work(group: _Group) -> None:
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


def _run(call: _Call, group: _Group, errors: Array) -> ClosedLoop:
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


def _at_boluses(call: _Call, group: _Group) -> IntArray:
    """Number the sensor errors that the calculator meets: at the two ends of each meal's window.

    The reference draws one error for the record at minute 0, then one for the controller: the
    sample that ends window w uses error w + 1.
    """
    windows, _ = boluses(group.scenario, call.sensor.sample_minutes)
    return np.stack([windows, windows + 1], axis=1).ravel()


def _errors(call: _Call, group: _Group, wanted: IntArray) -> Array:
    """Return (n_lanes, n_wanted) sensor errors of the group's lanes."""
    if call.normals is not None:
        normals = call.normals[group.lanes]
    else:
        normals = np.empty((len(group.lanes), call.sensor.normals_needed(call.batch.horizon)))
        fill_normals(call.batch.words[group.lanes], normals)
    return sensor_errors(call.sensor, normals, wanted)


def _given_normals(normals: ArrayLike | None, batch: _Batch, sensor: Sensor) -> Array | None:
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


class Observation(NamedTuple):
    """The measurements that a controller sees when a window begins.

    Attributes:
        minute: Minutes since the start.
        window: Minutes that the action will last.
        cgm: Mean of the sensor over the last window, mg/dL.
        bg: The true mean over the last window, mg/dL.
        meal: Carbohydrates announced during the last window, g.
        patient: Name of the patient.
    """

    minute: int
    window: int
    cgm: float
    bg: float
    meal: float
    patient: Patient


class Action(NamedTuple):
    """Insulin for the coming window, both in U/min; the pump rounds each and stops at 30."""

    basal: float
    bolus: float = 0.0


Controller = Callable[[Observation], Action]


def simulate_controller(
    patient: str | Patient,
    controller: Controller,
    scenario: Scenario | Diet,
    seed: int | np.random.SeedSequence,
    *,
    sensor: str | Sensor = "Dexcom",
    normals: ArrayLike | None = None,
) -> Histories:
    """Run one patient under a controller; histories of shape (n_samples,).

    Args:
        patient: Whose model to run.
        controller: Called once a window.
        scenario: Meals, with their horizon.
        seed: Root of the sensor noise: the same as lane 0 of `simulate` with this root.
        sensor: The sensor, whose period is the length of a window.
        normals: Standard normal draws behind the noise, in place of the seed's own.
    """
    person, monitor = find_patient(patient), find_sensor(sensor)
    meals = scenario.scenario(person) if isinstance(scenario, Diet) else scenario
    window, size = monitor.sample_minutes, monitor.samples(meals.horizon)
    if meals.horizon % window:
        raise InputError(
            f"the horizon of {meals.horizon} min is not a whole number of {window} min windows"
        )
    errors = _sensor_errors(monitor, meals.horizon, seed, normals)
    announced = meals.announced()
    grams = announced.reshape(-1, window).sum(axis=1)
    body = fresh_patient(person.initial_state)
    bg, instant, insulin = np.empty(size), np.empty(size), np.zeros(size)
    bg[0] = instant[0] = body.state[12] / person.physiology.Vg
    for step in range(size - 1):
        reading = _reading(monitor, instant, errors, step)
        eaten = grams[step - 1] if step else 0.0
        seen = Observation(step * window, window, reading, float(bg[step]), float(eaten), person)
        insulin[step + 1] = _delivered(controller(seen), seen.minute)
        soon = announced[step * window : (step + 1) * window]
        bg[step + 1] = advance_window(body, soon, insulin[step + 1], person.physiology)
        instant[step + 1] = body.state[12] / person.physiology.Vg
    carbohydrates = np.concatenate([[0.0], grams / window])
    return Histories(
        np.arange(size) * window, bg, shown(monitor, instant, errors), insulin, carbohydrates
    )


def _reading(sensor: Sensor, instant: Array, errors: Array, step: int) -> float:
    """Return the value that the controller sees; at minute 0 the second of two measurements, the
    first being for the record.
    """
    held = max(step - 1, 0)
    fresh = np.clip(
        instant[[held, step]] + errors[[held + 1, step + 1]], sensor.lowest, sensor.highest
    )
    return float(((sensor.sample_minutes - 1) * fresh[0] + fresh[1]) / sensor.sample_minutes)


def _delivered(action: Action, minute: int) -> float:
    if not (np.isfinite(action.basal) and np.isfinite(action.bolus)):
        raise InputError(
            f"at minute {minute} the controller asked for {action}: rates must be finite, in U/min"
        )
    return float(pump_rate(action.basal) + pump_rate(action.bolus))


def _sensor_errors(
    sensor: Sensor, horizon: int, seed: int | np.random.SeedSequence, given: ArrayLike | None
) -> Array:
    needed = sensor.normals_needed(horizon)
    normals = np.empty((1, needed))
    if given is None:
        fill_normals(lane_seeds(seed, 1), normals)
    else:
        values = np.asarray(given, dtype=np.float64)
        if values.ndim != 1 or values.size < needed or not np.isfinite(values).all():
            raise InputError(
                f"normals has the shape {values.shape}: give at least {needed} finite "
                f"draws in one row"
            )
        normals[0] = values[:needed]
    return np.asarray(sensor_errors(sensor, normals, np.arange(sensor.samples(horizon) + 1))[0])
