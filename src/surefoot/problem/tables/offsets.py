"""Perturbations as rows of named offsets: absolute or relative, for one arm or for all."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from surefoot.arrays import Array
from surefoot.errors import InputError
from surefoot.problem.categories import Reader, Value
from surefoot.problem.literals import exact_number, number_from_text
from surefoot.problem.tables.labels import NO_PARAMETERS, labels, parameters_of


@dataclass(frozen=True)
class Row:
    """A named row of offsets, for one arm or (None) for all.

    Attributes:
        place: where it was written, for messages.
    """

    name: str
    offsets: dict[str, Value]
    arm: str | None = None
    place: str = "perturbations"


class Change(NamedTuple):
    """What a row does to a parameter: the number is added, as a share of the arm's own value if it
    is relative, or takes its place.
    """

    number: float = 0.0
    relative: bool = False
    replaces: bool = False


UNCHANGED = Change()


def read_offset(value: Any) -> Change:
    """What an offset does to a number."""
    try:
        if not isinstance(value, str):
            return Change(exact_number(value))
        written = value.strip()
        if written.endswith("%"):
            return Change(number_from_text(written.removesuffix("%")) / 100, relative=True)
        return Change(number_from_text(written))
    except InputError as error:
        raise InputError(
            f"{value!r:.60} is no offset: write a number, or a percentage such as '-10%' ({error})"
        ) from None


def rows_from(entries: Sequence[Mapping[str, Any]], where: str) -> list[Row]:
    """Rows from dictionaries with the keys `name`, `arm` and parameters."""
    for number, entry in enumerate(entries, start=1):
        for key in NO_PARAMETERS:
            if key in entry:
                require_text(entry[key], f"{where}: {key} of entry {number}")
    places = [f"{where}: in entry {number}" for number in range(1, len(entries) + 1)]
    return [
        Row(entry.get("name") or label or "none", parameters_of(entry), entry.get("arm"), place)
        for entry, label, place in zip(entries, labels(entries), places, strict=True)
    ]


def corners(box: Mapping[str, float | str]) -> list[Row]:
    """The corners of a box: enough for linear rewards, which are worst at one of them."""
    sides: list[list[tuple[str, Value]]] = []
    for name, radius in box.items():
        number, relative, _ = read_offset(radius)
        if number < 0:
            raise InputError(f"perturbations.box: {name} is {radius!r}: a half-width must be ≥ 0")
        far: float | str = str(radius).strip().removeprefix("+") if relative else number
        near: float | str = f"-{far}" if relative else -number
        sides.append([(name, near), (name, far)] if number else [(name, 0.0)])
    found = [dict(corner) for corner in itertools.product(*sides)]
    return [
        Row(label or "none", corner, place="perturbations.box")
        for corner, label in zip(found, labels(found), strict=True)
    ]


def require_text(value: Any, what: str) -> None:
    """Names are names: a number in their place might be written in another way than it is shown."""
    if not isinstance(value, str):
        raise InputError(f"{what} is {value!r}: write names in quotes, such as {str(value)!r}")


class OffsetTable:
    """Which offsets each arm has, as arrays.

    Attributes:
        rows: all rows, in the order in which they were given.

    Args:
        readers: of all parameters by name; those of categories learn words that no arm has.
    """

    def __init__(self, rows: Sequence[Row], readers: Mapping[str, Reader]) -> None:
        self.rows = rows
        self._for_all: list[int] = []
        self._for_arm: dict[str, list[int]] = {}
        for number, row in enumerate(rows):
            own = self._for_all if row.arm is None else self._for_arm.setdefault(row.arm, [])
            own.append(number)
        changes = [[_change(row, name, readers[name]) for name in readers] for row in rows]
        parts = np.array(changes, dtype=np.float64).reshape(len(rows), len(readers), len(UNCHANGED))
        self._numbers = parts[..., 0]
        self._relative, self._replaces = parts[..., 1] > 0, parts[..., 2] > 0

    def n_pairs(self, n_arms: int) -> int:
        """How many pairs that many arms have in all."""
        return n_arms * len(self._for_all) + sum(map(len, self._for_arm.values()))

    def pairs_of(self, arm: str, values: Array) -> tuple[Array, list[str]]:
        """(n_perturbations, n_parameters) the perturbed values of this arm, and their names."""
        own = sorted(self._for_all + self._for_arm.get(arm, []))
        if not own:
            raise InputError(
                f"perturbations: none for arm {arm!r}: give each arm at least one row "
                "(zeros will do)"
            )
        names = [self.rows[number].name for number in own]
        if len(set(names)) < len(names):
            raise InputError(
                f"perturbations: {first_repeated(names)!r} stands twice for arm {arm!r}: "
                "give each perturbation of an arm its own name"
            )
        numbers = self._numbers[own]
        added = values + np.where(self._relative[own], numbers * values, numbers)
        return np.where(self._replaces[own], numbers, added), names


def first_repeated(names: Iterable[str]) -> str | None:
    """The first name that stood before."""
    seen: set[str] = set()
    for name in names:
        if name in seen:
            return name
        seen.add(name)
    return None


def _change(row: Row, name: str, reader: Reader) -> Change:
    if name not in row.offsets:
        return UNCHANGED
    value = row.offsets[name]
    try:
        if reader.category is None:
            return read_offset(value)
        return Change(reader.number(value), replaces=True)
    except InputError as error:
        raise InputError(f"{row.place}, {name}: {error}") from None
