"""Arms and perturbations as callers give them: lists, grids, data frames, CSV files."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from surefoot.errors import InputError
from surefoot.problem.coding import Value, typed
from surefoot.problem.tables import NO_PARAMETERS, Row, problem_from_rows, read_fields, rows_from

if TYPE_CHECKING:
    import pandas as pd

    from surefoot.problem.features import Function
    from surefoot.problem.problem import RobustProblem


def problem_from_lists(
    arms: Any, perturbations: Any, environment: Mapping[str, Value], features: str | Function
) -> RobustProblem:
    """Return the problem of these tables; see `RobustProblem.from_lists`."""
    rows = _perturbation_rows(perturbations)
    return problem_from_rows(_arm_entries(arms), rows, environment, features)


def _arm_entries(given: Any) -> list[dict[str, Any]]:
    """Return one entry per arm.

    Args:
        given: a list of dictionaries; a dictionary of the values of each parameter, of which all
            combinations are arms; a data frame with a row for each arm; or the path of a CSV.
    """
    if isinstance(given, str | os.PathLike):
        return typed_entries(read_entries(Path(given), "arms"), "arms")
    if _is_frame(given):
        return _frame_entries(given)
    if isinstance(given, Mapping):
        return grid_entries(given)
    return _listed(given, "arms", '{"nurses": 4, "doctors": 8}')


def _perturbation_rows(given: Any) -> list[Row] | None:
    """Return one row per perturbation; None: arms are not perturbed.

    Args:
        given: a dictionary of changes by the name of the perturbation; a list of dictionaries,
            perhaps with `name`, and `arm` for one arm alone; a data frame with these columns; the
            path of a CSV with them; or None.
    """
    if given is None:
        return None
    if isinstance(given, str | os.PathLike):
        entries = numbers_where_all_are(read_entries(Path(given), "perturbations"))
    elif _is_frame(given):
        entries = _frame_entries(given)
    elif isinstance(given, Mapping):
        entries = [_named(name, changes) for name, changes in given.items()]
    else:
        entries = _listed(given, "perturbations", '{"name": "flu", "demand": "+20%"}')
    return rows_from(entries, "perturbations")


def is_pair_table(given: Any) -> bool:
    """Return whether it is a table with a row for each pair: columns `arm` and `perturbation`."""
    if isinstance(given, str | os.PathLike):
        path = Path(given)
        return path.is_file() and _has_pairs(read_fields(path)[0])
    return _is_frame(given) and _has_pairs(given.columns)


def _has_pairs(columns: Iterable[str]) -> bool:
    """Return whether both columns of a table of pairs are there; refuse one without the other."""
    found = {"arm", "perturbation"} & set(columns)
    if len(found) == 1:
        raise InputError(
            f"the table has a column {found.pop()!r}: a table of pairs has both arm and "
            "perturbation, and one row for each pair; a table of arms may call its column name"
        )
    return bool(found)


def _is_frame(given: Any) -> bool:
    """Return whether it is a data frame; pandas is not loaded to find that out."""
    return hasattr(given, "columns") and hasattr(given, "to_dict")


def grid_entries(grid: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return all combinations of the values of each parameter."""
    axes = []
    for name, values in grid.items():
        if isinstance(values, str | bytes | Mapping) or not isinstance(values, Iterable):
            raise InputError(
                f"arms: {name} is {values!r:.60}: in a grid each parameter has a list of values, "
                f"such as {name}=[1, 2, 3]; for single arms give a list of dictionaries"
            )
        axes.append([_plain(value) for value in values])
    return [dict(zip(grid, point, strict=True)) for point in itertools.product(*axes)]


def _frame_entries(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """Return the rows of a data frame, without the fields that are missing."""
    filled = frame.notna().to_dict("records")
    return [
        {str(key): _plain(value) for key, value in row.items() if there[key]}
        for row, there in zip(frame.to_dict("records"), filled, strict=True)
    ]


def _listed(given: Any, what: str, example: str) -> list[dict[str, Any]]:
    """Return a list of dictionaries as it is; refuse any other value."""
    if isinstance(given, str | bytes | Mapping) or not isinstance(given, Iterable):
        raise InputError(
            f"{what}={given!r:.80} is no list: give one dictionary for each, {example}"
        )
    entries = list(given)
    for number, entry in enumerate(entries, start=1):
        if not isinstance(entry, Mapping):
            raise InputError(
                f"{what}: entry {number} is {entry!r:.60}: give a dictionary of values by name, "
                f"such as {example}"
            )
    return [{key: _plain(value) for key, value in entry.items()} for entry in entries]


def _plain(value: Any) -> Any:
    """Return a number of NumPy as one of Python; anything else as it is."""
    return value.item() if isinstance(value, np.generic) else value


def _named(name: Any, changes: Any) -> dict[str, Any]:
    if not isinstance(changes, Mapping):
        raise InputError(
            f"perturbations: {name!r} is {changes!r:.60}: give what it changes by name, such as "
            f'{name!r}: {{"demand": "+20%"}}, or {{}} for nothing'
        )
    return {key: _plain(value) for key, value in changes.items()} | {"name": name}


def read_entries(path: Path, what: str) -> list[dict[str, Any]]:
    """Return the rows of a CSV as dictionaries of texts, without the fields that are blank."""
    try:
        header, rows = read_fields(path)
    except InputError as error:
        raise InputError(f"{what}: {error}") from None
    return [
        {key: field for key, field in zip(header, row, strict=True) if field.strip()}
        for row in rows
    ]


def typed_entries(entries: list[dict[str, Any]], what: str) -> list[dict[str, Any]]:
    """Return entries of arms, with numbers, truth values and words in the place of their texts."""
    for key in {key: None for entry in entries for key in entry if key != "name"}:
        owners = [number for number, entry in enumerate(entries) if key in entry]
        try:
            values = typed([entries[number][key] for number in owners])
        except InputError as error:
            raise InputError(f"{what}: {key}: {error}") from None
        for number, value in zip(owners, values, strict=True):
            entries[number][key] = value
    return entries


def numbers_where_all_are(entries: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return columns of numbers, or of truth values, as these; others as they are written."""
    for key in {key for entry in entries for key in entry} - set(NO_PARAMETERS):
        owners = [entry for entry in entries if key in entry]
        try:
            values = typed([entry[key] for entry in owners])
        except InputError:
            continue
        for entry, value in zip(owners, values, strict=True):
            entry[key] = value
    return entries
