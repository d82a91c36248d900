"""Problems as tables: pandas frames and CSV files."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from surefoot.arrays import IntArray
from surefoot.errors import InputError
from surefoot.literals import exact_number, number_from_text

if TYPE_CHECKING:
    from surefoot.features import Function
    from surefoot.problem import RobustProblem

NAMES = ("arm", "perturbation")  # columns that are no parameters


def problem_to_frame(problem: RobustProblem) -> pd.DataFrame:
    """One row per pair: arm, perturbation, parameters."""
    columns: dict[str, object] = {
        "arm": [problem.arm_names[a] for a in problem.arm_of_pair],
        "perturbation": problem.perturbation_names,
    }
    for name, values in zip(problem.parameter_names, problem.parameters.T, strict=True):
        columns[name] = values
    return pd.DataFrame(columns)


def problem_from_frame(frame: pd.DataFrame, features: str | Function) -> RobustProblem:
    """Arms in order of appearance; all columns but `arm` and `perturbation` are parameters."""
    from surefoot.problem import RobustProblem

    if "arm" not in frame.columns:
        raise InputError(
            f"the table has columns {list(frame.columns)}, but none called 'arm': say "
            f"which arm each row belongs to"
        )
    names = [column for column in frame.columns if column not in NAMES]
    if not names or frame.empty:
        raise InputError(
            f"the table has {len(frame)} rows and {len(names)} parameter columns: "
            f"give at least one of each"
        )
    values = [_numbers(frame[name].tolist(), name, exact_number) for name in names]
    owners = frame["arm"].mask(frame["arm"].map(lambda arm: isinstance(arm, str) and not arm))
    codes, arms = pd.factorize(owners)
    if (codes < 0).any():
        raise InputError(f"row {int(np.argmax(codes < 0))} has no arm: fill the column 'arm'")
    labels = frame["perturbation"].astype(str).tolist() if "perturbation" in frame.columns else None
    if labels is not None:
        _refuse_repeated(codes, [str(arm) for arm in arms], labels)
    return RobustProblem.from_pairs(
        np.column_stack(values),
        codes,
        features=features,
        arm_names=[str(arm) for arm in arms],
        perturbation_names=labels,
        parameter_names=[str(name) for name in names],
    )


def _numbers(values: Iterable[Any], name: str, read: Callable[[Any], float]) -> list[float]:
    """A parameter's values; what is not exactly a number is shown."""
    try:
        return [read(value) for value in values]
    except InputError as error:
        raise InputError(f"column {name!r}: {error}") from None


def _refuse_repeated(codes: IntArray, arms: list[str], labels: list[str]) -> None:
    """No arm may have two perturbations of one name: results could not be told apart."""
    seen: set[tuple[int, str]] = set()
    for code, label in zip(codes.tolist(), labels, strict=True):
        if (code, label) in seen:
            raise InputError(
                f"the perturbation {label!r} stands twice for arm {arms[code]!r}: "
                "give each perturbation of an arm its own name"
            )
        seen.add((code, label))


def read_csv(path: str | Path) -> pd.DataFrame:
    """Read the CSV of a problem: arms and perturbations as text, parameters with every digit.

    Names are names: an arm called 1 is not called 1.0, and one called NA or None is an arm.
    """
    header, rows = read_fields(Path(path))
    columns: dict[str, Sequence[object]] = {}
    for number, name in enumerate(header):
        fields = [row[number] for row in rows]
        columns[name] = fields if name in NAMES else _numbers(fields, name, number_from_text)
    return pd.DataFrame(columns, columns=header)


def read_fields(path: Path) -> tuple[list[str], list[list[str]]]:
    """The header and the rows of a CSV, every field as it is written; lines left empty are skipped.

    A table that is not rectangular is refused: a field too many or too few shifts the others.
    """
    if not path.is_file():
        raise InputError(f"there is no file {str(path)!r}: give the path of a CSV table")
    header: list[str] = []
    rows: list[list[str]] = []
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            reader = csv.reader(file, strict=True)
            for row in reader:
                if not row:
                    continue
                if not header:
                    header = _distinct(row)
                elif len(row) != len(header):
                    raise InputError(
                        f"line {reader.line_num} has {len(row)} fields, the header {len(header)}"
                    )
                else:
                    rows.append(row)
        if not header:
            raise InputError("it is empty")
    except (csv.Error, UnicodeDecodeError, OSError, InputError) as error:
        raise InputError(
            f"{str(path)!r} is not a CSV table in UTF-8 ({error}): give comma-separated columns "
            "with a header, and quotes round a field that holds a comma"
        ) from None
    return header, rows


def _distinct(header: list[str]) -> list[str]:
    names = [name.strip() for name in header]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise InputError(f"the column {twice!r} stands twice")
    return names
