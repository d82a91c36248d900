"""The sheet of pulls for people: written when they ask, filled in by hand, read when they tell.

Spreadsheets sort some columns and not others, round numbers to what they show, and eat zeros. So
all fields of a row are compared with its pull, and one row that differs refuses the whole sheet.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TextIO

from surefoot.errors import InputError
from surefoot.problem.coding import Value, number_from_text, written
from surefoot.problem.tables import read_fields
from surefoot.study.input import Simulated
from surefoot.study.pull import RESERVED, Pull
from surefoot.study.study import Study
from surefoot.system.progress import cell

SHOWN = 1e-5  # relative: spreadsheets show and save six digits or more

Row = dict[str, str]


def write_sheet(study: Study, pulls: Iterable[Pull], file: TextIO) -> None:
    """Write a row for each pull, with an empty field for its reward, or for each output."""
    names, results = study.problem.parameter_names, _result_columns(study)
    writer = csv.writer(file, lineterminator="\n")
    before = ["study", "pull", "arm", "perturbation", *map(cell, names), "seed"]
    writer.writerow([*before, *map(cell, results)])
    for pull in pulls:
        values = [written(pull.parameters[name]) for name in names]
        pair = [cell(pull.arm), cell(pull.perturbation)]
        writer.writerow([study.id, pull.id, *pair, *values, pull.seed, *("" for _ in results)])


def _result_columns(study: Study) -> dict[str, str]:
    """Return the columns that a pull's row must have filled in, and the outputs that they hold.

    An output that is called like something else in the row has a column "output NAME".
    """
    needed = study.description.outputs.needed
    taken = {*RESERVED, *study.problem.parameter_names}
    named = {f"output {name}" if name in taken else name: name for name in needed}
    return named or {"reward": "reward"}


def read_sheet(study: Study, path: Path) -> tuple[list[tuple[int, Simulated]], str | None]:
    """Return the pulls that have a reward, and the study that they were asked for, if it says so.

    Columns but for `pull` and `reward`, or the outputs that the study needs, may be left out; those
    that are there must be as asked. Rows in which none of these is filled in are left for later,
    and columns of names unknown to the study are further outputs.
    """
    columns, fields = read_fields(path)
    needed = {cell(column): name for column, name in _result_columns(study).items()}
    if not {"pull", *needed} <= set(columns):
        must = " and ".join(f"`{name}`" for name in ("pull", *needed))
        raise InputError(f"{path} has columns {columns}: it needs {must}")
    results = needed | _further(study, columns, needed)
    rows = [dict(zip(columns, row, strict=True)) for row in fields]
    filled = [row for row in rows if any(row[column].strip() for column in needed)]
    rewards = [_reward(path, row, results) for row in filled]
    _refuse_twice(path, [number for number, _ in rewards])
    identifier = _study_of(path, filled)
    for (number, _), row in zip(rewards, filled, strict=True):
        if identifier in (None, study.id) and (pull := study.pull(number)):
            _refuse_another(path, row, pull, study)
    return rewards, identifier


def _further(study: Study, columns: Sequence[str], needed: Mapping[str, str]) -> dict[str, str]:
    """Return columns of outputs that the study does not need; empty if pulls give one number."""
    if study.description.outputs.objective is None:
        return {}
    asked = {*RESERVED, *map(cell, study.problem.parameter_names), *needed, ""}
    return {name: name.removeprefix("output ") for name in columns if name not in asked}


def _reward(path: Path, row: Row, results: Mapping[str, str]) -> tuple[int, Simulated]:
    filled = {column: name for column, name in results.items() if row[column].strip()}
    try:
        pull = number_from_text(row["pull"])
        if pull != int(pull):
            raise InputError("a pull has a whole number")
        found = {name: number_from_text(row[column]) for column, name in filled.items()}
    except InputError as error:
        shown = ", ".join(f"{column} {row[column]!r:.40}" for column in filled)
        raise InputError(
            f"{path}: pull {row['pull']!r:.40} with {shown}: {error}. Nothing was stored"
        ) from None
    return int(pull), found["reward"] if results == {"reward": "reward"} else found


def _study_of(path: Path, rows: list[Row]) -> str | None:
    studies = {row["study"] for row in rows if row.get("study")}
    if len(studies) > 1:
        raise InputError(
            f"{path} holds rewards of several studies, {sorted(studies)}: tell each its own"
        )
    return studies.pop() if studies else None


def _refuse_twice(path: Path, numbers: list[int]) -> None:
    seen: set[int] = set()
    for number in numbers:
        if number in seen:
            raise InputError(
                f"{path}: pull {number} stands twice: give one reward for it. Nothing was stored"
            )
        seen.add(number)


def _refuse_another(path: Path, row: Row, pull: Pull, study: Study) -> None:
    """Refuse a row that says of its pull something else than was asked."""
    problem = study.problem
    asked = {"seed": str(pull.seed) == row.get("seed", "").strip()}
    own: dict[str, Value] = {"seed": str(pull.seed)}
    for column, name, names in (
        ("arm", pull.arm, problem.arm_names),
        ("perturbation", pull.perturbation, problem.perturbation_names),
    ):
        own[column] = name
        asked[column] = _names(row.get(column, ""), name, names)
    for name, value in pull.parameters.items():
        own[cell(name)] = value
        asked[cell(name)] = _shows(row.get(cell(name), ""), value)
    for column, said in row.items():
        if said.strip() and not asked.get(column, True):
            raise InputError(
                f"{path}: pull {pull.id} was asked for with {column} = {written(own[column])}, but "
                f"its row says {said!r:.40}: the row is of another pull, columns were sorted apart "
                "from each other, or its fields have moved. Nothing was stored"
            )


def _names(said: str, name: str, names: Sequence[str]) -> bool:
    """True if a field names this one of the names, even in a spreadsheet's digits."""
    exact = {said, said.strip(), said.removeprefix("'")}
    return name in exact or (not exact & set(names) and _shows(said, _number(name)))


def _number(name: str) -> Value:
    try:
        return number_from_text(name)
    except InputError:
        return name


def _shows(said: str, value: Value) -> bool:
    """True if a field shows a value, with as many digits as a spreadsheet keeps."""
    if isinstance(value, bool):
        return said.strip().lower() == written(value)
    if isinstance(value, str):
        return said.strip() == value.strip()
    try:
        return math.isclose(number_from_text(said), value, rel_tol=SHOWN)
    except InputError:
        return False
