"""Arms and perturbations as a configuration writes them: lists, grids, boxes, tables."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Annotated, Any, Self

import numpy as np
from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainValidator,
    model_validator,
)

from surefoot.errors import InputError
from surefoot.problem.coding import Value, exact_number, written
from surefoot.problem.features import Function
from surefoot.problem.given import (
    grid_entries,
    numbers_where_all_are,
    read_entries,
    typed_entries,
)
from surefoot.problem.problem import RobustProblem
from surefoot.problem.tables import (
    Row,
    corners,
    problem_from_rows,
    read_offset,
    require_size,
    rows_from,
)

FIELD = re.compile(r"\{([^{}]*)\}")


def _value(value: Any) -> Value:
    """Return a number, a text or a truth value, as an entry of a list holds them."""
    if not isinstance(value, str | bool):
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
Entry = Annotated[Value, PlainValidator(_value)]
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
    """One of: a list of named parameters, a grid of values, or a CSV; and how arms without a name
    are called, with {parameter} for a value.
    """

    rows: list[dict[str, Entry]] | None = Field(None, alias="list")
    grid: dict[str, list[Entry] | Steps] | None = None
    csv: str | None = None
    name: str | None = None

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
        """The number of points of the grid, without making them; 1 without a grid."""
        axes = (self.grid or {}).values()
        return math.prod(axis.steps if isinstance(axis, Steps) else len(axis) for axis in axes)

    def grid_points(self) -> list[dict[str, Any]]:
        return grid_entries(
            {
                name: axis.values() if isinstance(axis, Steps) else axis
                for name, axis in (self.grid or {}).items()
            }
        )

    def entries(self, folder: Path) -> list[dict[str, Any]]:
        """Return one entry per arm; the path of a CSV is relative to the folder."""
        if self.grid is not None:
            entries = self.grid_points()
        elif self.csv is not None:
            entries = typed_entries(read_entries(folder / self.csv, "arms.csv"), "arms.csv")
        else:
            entries = list(self.rows or [])
        return entries if self.name is None else [_named(entry, self.name) for entry in entries]


class Perturbations(Section):
    """One of: a list of offsets, a box round each arm, or a CSV; without any, arms are not
    perturbed.

    Pulls simulate arm + offset: an offset is a number, or relative to the arm as "10%".
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
        """The number of corners of the box, without making them; 1 without a box."""
        widths = (self.box or {}).values()
        sides = sum(read_offset(width).number != 0 for width in widths)
        return 1 << sides

    def offset_rows(self, folder: Path) -> list[Row] | None:
        """Return one row for each; None: arms are not perturbed. CSV paths are relative to the
        folder.
        """
        if self.box is not None:
            return corners(self.box)
        if self.csv is not None:
            entries = read_entries(folder / self.csv, "perturbations.csv")
            return rows_from(numbers_where_all_are(entries), "perturbations.csv")
        return None if self.rows is None else rows_from(self.rows, "perturbations")


def build_problem(
    arms: Arms,
    perturbations: Perturbations,
    environment: dict[str, Value],
    features: str | Function,
    folder: Path,
) -> RobustProblem:
    """Return the problem that the sections describe; CSV paths are relative to the folder.

    Args:
        environment: parameters that no arm chooses, as they are if nothing goes wrong.
    """
    require_size(arms.grid_size * perturbations.box_size)  # before memory is taken for them
    rows = perturbations.offset_rows(folder)
    return problem_from_rows(arms.entries(folder), rows, environment, features)


def _named(entry: dict[str, Any], name: str) -> dict[str, Any]:
    """Return the entry with a name, given or made: {parameter} stands for the value of one."""

    def value(found: re.Match[str]) -> str:
        if found[1] not in entry:
            raise InputError(
                f"arms: name has a field {found[0]}, but an arm has only {', '.join(entry)}"
            )
        return written(entry[found[1]], "g")

    return {"name": FIELD.sub(value, name)} | entry
