"""Arms and perturbations as a configuration writes them: lists, grids, boxes, tables; absolute or
relative offsets.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

import numpy as np
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from surefoot.arrays import Array
from surefoot.errors import InputError
from surefoot.problem import RobustProblem

if TYPE_CHECKING:
    import pandas as pd

Features = Literal["given", "linear", "quadratic", "tabular"]
NAMES = ("name", "arm")  # keys of an entry that are no parameters


def _finite(value: float) -> float:
    if not math.isfinite(value):
        raise ValueError("must be a finite number")
    return value


def _offset(value: float | str) -> float | str:
    read_offset(value)
    return value


Number = Annotated[float, AfterValidator(_finite)]
Offset = Annotated[float | str, AfterValidator(_offset)]


class Section(BaseModel):
    """A part of the configuration: keys that are not known are refused."""

    model_config = ConfigDict(extra="forbid", strict=False)


class Steps(Section):
    """Evenly spaced values, both ends included."""

    start: Number = Field(alias="from")
    stop: Number = Field(alias="to")
    steps: Annotated[int, Field(ge=2, le=10_000)]

    def values(self) -> list[float]:
        return [float(value) for value in np.linspace(self.start, self.stop, self.steps)]


class Arms(Section):
    """One of: a list of named parameters, a grid of values, or a CSV."""

    rows: list[dict[str, Number | str]] | None = Field(None, alias="list")
    grid: dict[str, list[Number] | Steps] | None = None
    csv: str | None = None

    @model_validator(mode="after")
    def _one_way(self) -> Self:
        ways = {"list": self.rows, "grid": self.grid, "csv": self.csv}
        given = [way for way, value in ways.items() if value is not None]
        if len(given) != 1:
            raise ValueError(
                f"has {' and '.join(given) or 'no arms'}: give exactly one of list, grid or csv"
            )
        return self


class Perturbations(Section):
    """One of: a list of offsets, a box round each arm, or a CSV; none of them: nothing goes wrong.

    What is simulated is arm + offset: an offset is a number, or relative to the arm as "10%".
    """

    rows: list[dict[str, float | str]] | None = Field(None, alias="list")
    box: dict[str, Offset] | None = None
    csv: str | None = None

    @model_validator(mode="after")
    def _one_way(self) -> Self:
        ways = {"list": self.rows, "box": self.box, "csv": self.csv}
        given = [way for way, value in ways.items() if value is not None]
        if len(given) > 1:
            raise ValueError(f"has {' and '.join(given)}: give exactly one of list, box or csv")
        for number, row in enumerate(self.rows or []):
            _check_offsets(row, f"in entry {number}, ")
        return self


@dataclass(frozen=True)
class _Row:
    """A named row of offsets, for one arm or (None) for all."""

    name: str
    offsets: dict[str, float | str]
    arm: str | None = None


def read_offset(value: float | str) -> tuple[float, bool]:
    """The number, and whether it is relative to the arm's own value."""
    relative = isinstance(value, str) and value.strip().endswith("%")
    try:
        number = float(value.strip().removesuffix("%") if isinstance(value, str) else value)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise InputError(f"{value!r} is no offset: write a number, or a percentage such as '-10%'")
    return (number / 100 if relative else number), relative


def _check_offsets(entry: dict[str, Any], where: str) -> None:
    for key, value in entry.items():
        if key not in NAMES:
            try:
                read_offset(value)
            except InputError as error:
                raise InputError(f"{where}{key}: {error}") from None


def build_problem(
    arms: Arms, perturbations: Perturbations, features: Features, folder: Path
) -> RobustProblem:
    """The problem that the two sections describe; CSV paths are relative to the folder."""
    names, arm_names, values = _read_arms(arms, folder)
    rows = _read_perturbations(perturbations, names, arm_names, folder)
    offsets, labels = [], []
    for arm_name, value in zip(arm_names, values, strict=True):
        own = [row for row in rows if row.arm in (None, arm_name)]
        if not own:
            raise InputError(
                f"perturbations: none for arm {arm_name!r}: give each arm at least "
                f"one row (zeros will do)"
            )
        offsets.append(np.array([_offset_of(row, names, value) for row in own]))
        labels.append([row.name for row in own])
    return RobustProblem(
        values,
        [-offset for offset in offsets],  # a pair is x − y: what is added here is subtracted there
        features=features,
        arm_names=arm_names,
        perturbation_names=labels,
        parameter_names=names,
    )


def _read_arms(arms: Arms, folder: Path) -> tuple[list[str], list[str], Array]:
    """Parameter names, arm names, and (n_arms, n_parameters) values."""
    if arms.grid is not None:
        names = list(arms.grid)
        axes = [axis.values() if isinstance(axis, Steps) else axis for axis in arms.grid.values()]
        rows: list[dict[str, Any]] = [
            dict(zip(names, point, strict=True)) for point in itertools.product(*axes)
        ]
    elif arms.csv is not None:
        rows = _records(_table(folder / arms.csv, "arms.csv"))
    else:
        rows = list(arms.rows or [])
    if not rows:
        raise InputError("arms: there are none: give at least two")
    names = [key for key in rows[0] if key != "name"]
    for number, row in enumerate(rows):
        keys = [key for key in row if key != "name"]
        if sorted(keys) != sorted(names) or not names:
            raise InputError(
                f"arms: entry {number} has parameters {keys}, the first has {names}: "
                f"all need the same"
            )
    values = np.array(
        [
            [_number(row[name], f"arms: {name} of entry {k}") for name in names]
            for k, row in enumerate(rows)
        ]
    )
    return names, [str(row.get("name") or _label(row)) for row in rows], values


def _read_perturbations(
    given: Perturbations, names: list[str], arm_names: list[str], folder: Path
) -> list[_Row]:
    if given.box is not None:
        rows = _corners(given.box)
    elif given.csv is not None:
        records = _records(_table(folder / given.csv, "perturbations.csv"))
        for number, record in enumerate(records):
            _check_offsets(record, f"perturbations.csv: in row {number}, ")
        rows = [_row(record) for record in records]
    elif given.rows is not None:
        rows = [_row(entry) for entry in given.rows]
    else:
        rows = [_Row("none", {})]
    for number, row in enumerate(rows):
        unknown = [key for key in row.offsets if key not in names]
        if unknown:
            raise InputError(
                f"perturbations: entry {number} changes {unknown[0]!r}, which no arm "
                f"has: the parameters are {names}"
            )
        if row.arm is not None and row.arm not in arm_names:
            raise InputError(
                f"perturbations: entry {number} is for arm {row.arm!r}: the arms are "
                f"{arm_names[:10]}"
            )
    return rows


def _row(entry: dict[str, Any]) -> _Row:
    offsets = {key: value for key, value in entry.items() if key not in NAMES}
    name, arm = entry.get("name"), entry.get("arm")
    return _Row(str(name or _label(offsets) or "none"), offsets, None if arm is None else str(arm))


def _corners(box: dict[str, float | str]) -> list[_Row]:
    """The corners of a box: enough for linear rewards, which are worst at one of them."""
    sides: list[list[tuple[str, float | str]]] = []
    for name, radius in box.items():
        number, relative = read_offset(radius)
        if number < 0:
            raise InputError(f"perturbations.box: {name} is {radius!r}: a half-width must be ≥ 0")
        far: float | str = str(radius).strip().removeprefix("+") if relative else number
        near: float | str = f"-{far}" if relative else -number
        sides.append([(name, near), (name, far)] if number else [(name, 0.0)])
    return [
        _Row(_label(dict(corner)) or "none", dict(corner)) for corner in itertools.product(*sides)
    ]


def _offset_of(row: _Row, names: list[str], arm: Array) -> list[float]:
    result = []
    for name, value in zip(names, arm.tolist(), strict=True):
        number, relative = read_offset(row.offsets.get(name, 0.0))
        result.append(number * value if relative else number)
    return result


def _label(entry: dict[str, Any]) -> str:
    def show(value: Any) -> str:
        return f"{value:g}" if isinstance(value, int | float) else str(value)

    return ", ".join(f"{key}={show(value)}" for key, value in entry.items() if key not in NAMES)


def _number(value: Any, what: str) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = math.nan
    if not math.isfinite(number) or isinstance(value, str):
        raise InputError(f"{what} is {value!r}: give a finite number")
    return number


def _table(path: Path, what: str) -> pd.DataFrame:
    from surefoot.tables import read_csv

    try:
        return read_csv(path, names=NAMES)
    except InputError as error:
        raise InputError(f"{what}: {error}") from None


def _records(table: pd.DataFrame) -> list[dict[str, Any]]:
    """Rows as dictionaries, without what is empty."""
    import pandas as pd

    records = table.to_dict("records")
    return [
        {str(key): value for key, value in record.items() if not pd.isna(value)}
        for record in records
    ]
