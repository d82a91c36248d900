"""Perturbations as rows of named offsets: absolute or relative, for one arm or for all."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from surefoot.arrays import Array
from surefoot.errors import InputError
from surefoot.literals import exact_number, number_from_text

NAMES = ("name", "arm")  # keys of an entry that are no parameters


@dataclass(frozen=True)
class Row:
    """A named row of offsets, for one arm or (None) for all."""

    name: str
    offsets: dict[str, float | str]
    arm: str | None = None


def read_offset(value: Any) -> tuple[float, bool]:
    """The number, and whether it is relative to the arm's own value."""
    try:
        if not isinstance(value, str):
            return exact_number(value), False
        written = value.strip()
        if written.endswith("%"):
            return number_from_text(written.removesuffix("%")) / 100, True
        return number_from_text(written), False
    except InputError as error:
        raise InputError(
            f"{value!r:.60} is no offset: write a number, or a percentage such as '-10%' ({error})"
        ) from None


def rows_from(entries: Sequence[dict[str, Any]], where: str) -> list[Row]:
    """Rows from dictionaries with the keys `name`, `arm` and parameters."""
    for number, entry in enumerate(entries):
        for key, value in entry.items():
            if key in NAMES:
                require_text(value, f"{where}: {key} of entry {number}")
                continue
            try:
                read_offset(value)
            except InputError as error:
                raise InputError(f"{where}: in entry {number}, {key}: {error}") from None
    return [
        Row(entry.get("name") or label or "none", _parameters(entry), entry.get("arm"))
        for entry, label in zip(entries, labels(entries), strict=True)
    ]


def corners(box: dict[str, float | str]) -> list[Row]:
    """The corners of a box: enough for linear rewards, which are worst at one of them."""
    sides: list[list[tuple[str, float | str]]] = []
    for name, radius in box.items():
        number, relative = read_offset(radius)
        if number < 0:
            raise InputError(f"perturbations.box: {name} is {radius!r}: a half-width must be ≥ 0")
        far: float | str = str(radius).strip().removeprefix("+") if relative else number
        near: float | str = f"-{far}" if relative else -number
        sides.append([(name, near), (name, far)] if number else [(name, 0.0)])
    found = [dict(corner) for corner in itertools.product(*sides)]
    return [
        Row(label or "none", corner) for corner, label in zip(found, labels(found), strict=True)
    ]


def labels(entries: Sequence[dict[str, Any]]) -> list[str]:
    """A name for each entry from its parameters, with as many digits as tell them apart."""
    short = [_label(entry, "g") for entry in entries]
    return short if len(set(short)) == len(short) else [_label(entry, "") for entry in entries]


def require_text(value: Any, what: str) -> None:
    """Names are names: a number in their place might be written in another way than it is shown."""
    if not isinstance(value, str):
        raise InputError(f"{what} is {value!r}: write names in quotes, such as {str(value)!r}")


class OffsetTable:
    """Which offsets each arm has, as arrays.

    Attributes:
        rows: all rows, in the order in which they were given.
    """

    def __init__(self, rows: Sequence[Row], parameters: Sequence[str]) -> None:
        self.rows = rows
        self._for_all: list[int] = []
        self._for_arm: dict[str, list[int]] = {}
        for number, row in enumerate(rows):
            own = self._for_all if row.arm is None else self._for_arm.setdefault(row.arm, [])
            own.append(number)
        read = [[read_offset(row.offsets.get(name, 0.0)) for name in parameters] for row in rows]
        shape = (len(rows), len(parameters))
        self._numbers = np.array([[n for n, _ in row] for row in read]).reshape(shape)
        self._relative = np.array([[r for _, r in row] for row in read], dtype=bool).reshape(shape)

    def n_pairs(self, n_arms: int) -> int:
        """How many pairs that many arms have in all."""
        return n_arms * len(self._for_all) + sum(map(len, self._for_arm.values()))

    def of(self, arm: str, values: Array) -> tuple[Array, list[str]]:
        """(n_perturbations, n_parameters) what is added to this arm's values, and the names."""
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
        return np.where(self._relative[own], numbers * values, numbers), names


def first_repeated(names: Iterable[str]) -> str | None:
    """The first name that stood before."""
    seen: set[str] = set()
    for name in names:
        if name in seen:
            return name
        seen.add(name)
    return None


def _parameters(entry: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in entry.items() if key not in NAMES}


def _label(entry: dict[str, Any], style: str) -> str:
    return ", ".join(f"{key}={_show(value, style)}" for key, value in _parameters(entry).items())


def _show(value: Any, style: str) -> str:
    return value if isinstance(value, str) else f"{float(value):{style}}"
