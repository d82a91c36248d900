"""From what the caller gave to lanes: broadcasting, seeds, and groups that share a patient and a
scenario.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from surefoot.arrays import Array, IntArray
from surefoot.errors import InputError
from surefoot.paper.glucose.calculator import Calculator
from surefoot.paper.glucose.meals import Diet, Scenario
from surefoot.paper.glucose.patients import Patient, Patients, object_array, patient_array
from surefoot.paper.glucose.sensor import Sensor

Words = NDArray[np.uint64]
Scenarios = Scenario | Diet | Sequence[Scenario | Diet] | NDArray[Any]
Seeds = (
    int | np.random.SeedSequence | Sequence[int] | Sequence[np.random.SeedSequence] | NDArray[Any]
)


@dataclass(frozen=True)
class Group:
    """Lanes that share a patient and a scenario, by their places in the flat batch."""

    patient: Patient
    scenario: Scenario
    lanes: IntArray


@dataclass(frozen=True)
class Batch:
    """Every lane's inputs, flat.

    Attributes:
        shape: What the inputs broadcast to; lanes are numbered in its C order.
        horizon: Minutes that every lane lasts.
        settings: Carb factor, correction factor, target, threshold, (n_lanes, 4).
        words: Each lane's 64-bit seed, (n_lanes,).
        groups: Who shares what.
    """

    shape: tuple[int, ...]
    horizon: int
    settings: Array
    words: Words
    groups: tuple[Group, ...]

    def chunks(self, size: int) -> Iterator[Group]:
        """Groups cut into pieces of at most `size` lanes, so that work space stays small."""
        for group in self.groups:
            for start in range(0, len(group.lanes), size):
                yield Group(group.patient, group.scenario, group.lanes[start : start + size])


def make_batch(
    patients: Patients, calculators: Calculator, scenario: Scenarios, seeds: Seeds, sensor: Sensor
) -> Batch:
    """Check and broadcast the inputs of `simulate`."""
    people = patient_array(patients)
    plans = object_array(scenario, (Scenario, Diet), "scenario")
    if not isinstance(calculators, Calculator):
        raise InputError(
            f"calculators is a {type(calculators).__name__}: give one Calculator; its "
            f"fields may be arrays"
        )
    words = None if _is_root(seeds) else seed_words(seeds)
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
    return Batch(shape, horizon, settings, np.broadcast_to(words, shape).ravel(), groups)


def lane_seeds(root: int | np.random.SeedSequence, shape: int | tuple[int, ...]) -> Words:
    """Independent 64-bit seeds for lanes of that shape, from one root."""
    sequence = (
        root if isinstance(root, np.random.SeedSequence) else np.random.SeedSequence(_natural(root))
    )
    count = int(np.prod(shape))
    return np.asarray(sequence.generate_state(count, np.uint64), dtype=np.uint64).reshape(shape)


def seed_words(seeds: Any) -> Words:
    """One 64-bit word for each given seed: integers as they are, sequences by their first state."""
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
) -> tuple[Group, ...]:
    patients, person = _numbered(list(people.ravel()))
    scenarios, plan = _numbered(list(plans.ravel()))
    keys = person.reshape(people.shape) * len(scenarios) + plan.reshape(plans.shape)
    flat = np.broadcast_to(keys, shape).ravel()
    present, first = np.unique(flat, return_inverse=True)
    order = np.argsort(first, kind="stable")
    pieces = np.split(order, np.flatnonzero(np.diff(first[order])) + 1)
    return tuple(
        Group(
            patients[key // len(scenarios)],
            _meals(scenarios[key % len(scenarios)], patients[key // len(scenarios)]),
            lanes,
        )
        for key, lanes in zip(present.tolist(), pieces, strict=True)
    )


def _meals(plan: Scenario | Diet, patient: Patient) -> Scenario:
    return plan.scenario(patient) if isinstance(plan, Diet) else plan


def _numbered(values: list[Any]) -> tuple[list[Any], IntArray]:
    """The distinct values and, for each value, which of them it is.

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
