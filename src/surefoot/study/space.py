"""Arms and perturbations as a configuration writes them: lists, grids, boxes, tables."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

import numpy as np
from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainValidator,
    model_validator,
)

from surefoot.arrays import Array
from surefoot.errors import InputError
from surefoot.features import MAPS
from surefoot.literals import exact_number, number_from_text
from surefoot.problem import RobustProblem
from surefoot.study.offsets import (
    NAMES,
    OffsetTable,
    Row,
    corners,
    labels,
    read_offset,
    require_text,
    rows_from,
)
from surefoot.study.pull import refuse_reserved

if TYPE_CHECKING:
    Features = str
else:
    Features = Literal[tuple(MAPS)]
MOST_PAIRS = 2_000_000


def _entry(value: Any) -> float | str:
    """A number or a text, as an entry of a list holds them."""
    if not isinstance(value, str):
        exact_number(value)
    return value  # type: ignore[no-any-return]


def _offset(value: Any) -> float | str:
    read_offset(value)
    return value  # type: ignore[no-any-return]


def _whole(value: Any) -> Any:
    if isinstance(value, bool | str):
        raise ValueError("it should be a whole number, without quotes")
    return value


Whole = Annotated[int, BeforeValidator(_whole)]
Number = Annotated[float, BeforeValidator(exact_number)]
Entry = Annotated[float | str, PlainValidator(_entry)]
Offset = Annotated[float | str, PlainValidator(_offset)]


class Section(BaseModel):
    """A part of the configuration: keys that are not known are refused."""

    model_config = ConfigDict(extra="forbid", strict=False)


class Steps(Section):
    """Evenly spaced values, both ends included."""

    start: Number = Field(alias="from")
    stop: Number = Field(alias="to")
    steps: Annotated[Whole, Field(ge=2, le=10_000)]

    def values(self) -> list[float]:
        return [float(value) for value in np.linspace(self.start, self.stop, self.steps)]


class Arms(Section):
    """One of: a list of named parameters, a grid of values, or a CSV."""

    rows: list[dict[str, Entry]] | None = Field(None, alias="list")
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

    @property
    def grid_size(self) -> int:
        """How many points the grid has, without making them; 1 if there is none."""
        axes = (self.grid or {}).values()
        return math.prod(axis.steps if isinstance(axis, Steps) else len(axis) for axis in axes)

    def grid_points(self) -> list[dict[str, Any]]:
        grid = self.grid or {}
        axes = [axis.values() if isinstance(axis, Steps) else axis for axis in grid.values()]
        return [dict(zip(grid, point, strict=True)) for point in itertools.product(*axes)]


class Perturbations(Section):
    """One of: a list of offsets, a box round each arm, or a CSV; none of them: nothing goes wrong.

    What is simulated is arm + offset: an offset is a number, or relative to the arm as "10%".
    """

    rows: list[dict[str, Entry]] | None = Field(None, alias="list")
    box: dict[str, Offset] | None = None
    csv: str | None = None

    @model_validator(mode="after")
    def _one_way(self) -> Self:
        ways = {"list": self.rows, "box": self.box, "csv": self.csv}
        given = [way for way, value in ways.items() if value is not None]
        if len(given) > 1:
            raise ValueError(f"has {' and '.join(given)}: give exactly one of list, box or csv")
        return self

    @property
    def box_size(self) -> int:
        """How many corners the box has, without making them; 1 if there is none."""
        widths = (self.box or {}).values()
        sides = sum(read_offset(width)[0] != 0 for width in widths)
        return 1 << sides


def build_problem(
    arms: Arms,
    perturbations: Perturbations,
    environment: dict[str, float],
    features: Features,
    folder: Path,
) -> RobustProblem:
    """The problem that the sections describe; CSV paths are relative to the folder.

    Args:
        environment: parameters that no arm chooses, as they are if nothing goes wrong.
    """
    _require_size(arms.grid_size * perturbations.box_size)  # before memory is taken for them
    names, arm_names, values = _read_arms(arms, folder)
    _refuse_chosen(environment, names)
    names = [*names, *environment]
    around = np.tile(list(environment.values()), (len(values), 1))
    values = np.hstack([values, around])
    rows = _read_perturbations(perturbations, folder)
    _refuse_strangers(rows, names, arm_names)
    table = OffsetTable(rows, names)
    _require_size(table.n_pairs(len(arm_names)))
    own = [table.of(arm, value) for arm, value in zip(arm_names, values, strict=True)]
    return RobustProblem(
        values,
        [-offsets for offsets, _ in own],  # a pair is x − y: what is added here is subtracted there
        features=features,
        arm_names=arm_names,
        perturbation_names=[labels for _, labels in own],
        parameter_names=names,
    )


def _require_size(pairs: int) -> None:
    if pairs > MOST_PAIRS:
        raise InputError(
            f"arms and perturbations make {f'{pairs:,}' if pairs < 10**15 else 'over 10^15'} "
            f"pairs, and at most {MOST_PAIRS:,} can be worked with: give fewer values to the "
            "grid, fewer parameters to the box, or lists of those that matter"
        )


def _read_arms(arms: Arms, folder: Path) -> tuple[list[str], list[str], Array]:
    """Parameter names, arm names, and (n_arms, n_parameters) values."""
    if arms.grid is not None:
        rows = arms.grid_points()
    elif arms.csv is not None:
        rows = _read_entries(folder / arms.csv, "arms.csv")
        for number, row in enumerate(rows):
            for key in row.keys() - {"name"}:
                row[key] = _named(number_from_text, row[key], f"arms.csv: {key} of row {number}")
    else:
        rows = list(arms.rows or [])
    if not rows:
        raise InputError("arms: there are none: give at least two")
    names = [key for key in rows[0] if key != "name"]
    refuse_reserved({"arm"}.intersection(names))  # a label leaves it out, so arms have no names
    for number, row in enumerate(rows):
        keys = [key for key in row if key != "name"]
        if sorted(keys) != sorted(names) or not names:
            raise InputError(
                f"arms: entry {number} has parameters {keys}, the first has {names}: "
                f"all need the same"
            )
        if "name" in row:
            require_text(row["name"], f"arms: name of entry {number}")
    values = [
        [_named(exact_number, row[name], f"arms: {name} of entry {k}") for name in names]
        for k, row in enumerate(rows)
    ]
    named = [str(row.get("name") or label) for row, label in zip(rows, labels(rows), strict=True)]
    return names, named, np.array(values)


def _refuse_chosen(environment: dict[str, float], names: list[str]) -> None:
    for name in environment:
        if name in names:
            raise InputError(
                f"environment: {name!r} is a parameter of the arms too: leave it to one of them"
            )
        if name in NAMES:
            raise InputError(f"environment: a parameter cannot be called {name!r}: rename it")


def _read_perturbations(given: Perturbations, folder: Path) -> list[Row]:
    if given.box is not None:
        return corners(given.box)
    if given.csv is not None:
        entries = _read_entries(folder / given.csv, "perturbations.csv")
        return rows_from(_numbers_where_all_are(entries), "perturbations.csv")
    if given.rows is not None:
        return rows_from(given.rows, "perturbations")
    return [Row("none", {})]


def _refuse_strangers(rows: list[Row], names: list[str], arm_names: list[str]) -> None:
    """Every row changes parameters that there are, of an arm that there is."""
    arms = set(arm_names)
    for number, row in enumerate(rows):
        unknown = [key for key in row.offsets if key not in names]
        if unknown:
            raise InputError(
                f"perturbations: entry {number} changes {unknown[0]!r}, which no arm "
                f"has, nor the environment: the parameters are {names}"
            )
        if row.arm is not None and row.arm not in arms:
            raise InputError(
                f"perturbations: entry {number} is for arm {row.arm!r}: the arms are "
                f"{arm_names[:10]}"
            )


def _named(read: Callable[[Any], float], value: Any, what: str) -> float:
    """What `read` makes of the value; an error says what it was."""
    try:
        return read(value)
    except InputError as error:
        raise InputError(f"{what}: {error}") from None


def _read_entries(path: Path, what: str) -> list[dict[str, Any]]:
    """Rows of a CSV as dictionaries of texts, without the fields that are blank."""
    from surefoot.tables import read_fields

    try:
        header, rows = read_fields(path)
    except InputError as error:
        raise InputError(f"{what}: {error}") from None
    return [
        {key: field for key, field in zip(header, row, strict=True) if field.strip()}
        for row in rows
    ]


def _numbers_where_all_are(entries: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Columns that hold numbers alone as numbers; where percentages are, all stay as written."""
    for key in {key for entry in entries for key in entry} - set(NAMES):
        try:
            values = [number_from_text(entry[key]) if key in entry else None for entry in entries]
        except InputError:
            continue
        for entry, value in zip(entries, values, strict=True):
            if value is not None:
                entry[key] = value
    return entries
