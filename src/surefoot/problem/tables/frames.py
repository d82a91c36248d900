"""Problems as pandas frames, and the CSV files that hold them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from surefoot.arrays import IntArray
from surefoot.errors import InputError
from surefoot.problem.categories import Reader, typed
from surefoot.problem.tables.fields import read_fields

if TYPE_CHECKING:
    from surefoot.problem.features import Function
    from surefoot.problem.problem import RobustProblem

NAMES = ("arm", "perturbation")  # columns that are no parameters


def problem_to_frame(problem: RobustProblem) -> pd.DataFrame:
    """One row per pair: arm, perturbation, parameters."""
    columns: dict[str, object] = {
        "arm": [problem.arm_names[a] for a in problem.arm_of_pair],
        "perturbation": problem.perturbation_names,
    }
    for number, name in enumerate(problem.parameter_names):
        columns[name] = problem.coding.column(problem.parameters, number)
    return pd.DataFrame(columns)


def problem_from_frame(frame: pd.DataFrame, features: str | Function) -> RobustProblem:
    """Arms in order of appearance; all columns but `arm` and `perturbation` are parameters."""
    from surefoot.problem.problem import RobustProblem

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
    columns = {str(name): frame[name].tolist() for name in names}
    readers = {name: Reader(values[0]) for name, values in columns.items()}
    numbers = [
        readers[name].read(values, f"column {name!r}, row") for name, values in columns.items()
    ]
    owners = frame["arm"].mask(frame["arm"].map(lambda arm: isinstance(arm, str) and not arm))
    codes, arms = pd.factorize(owners)
    if (codes < 0).any():
        raise InputError(f"row {int(np.argmax(codes < 0))} has no arm: fill the column 'arm'")
    labels = frame["perturbation"].astype(str).tolist() if "perturbation" in frame.columns else None
    if labels is not None:
        _refuse_repeated(codes, [str(arm) for arm in arms], labels)
    return RobustProblem.from_pairs(
        np.column_stack(numbers),
        codes,
        features=features,
        arm_names=[str(arm) for arm in arms],
        perturbation_names=labels,
        parameter_names=list(columns),
        categories={
            name: reader.category for name, reader in readers.items() if reader.category is not None
        },
    )


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
    columns: dict[str, Sequence[Any]] = {}
    for number, name in enumerate(header):
        fields = [row[number] for row in rows]
        columns[name] = fields if name in NAMES else _typed(fields, name)
    return pd.DataFrame({name: pd.Series(own, dtype=object) for name, own in columns.items()})


def _typed(fields: list[str], name: str) -> list[Any]:
    try:
        return typed(fields)
    except InputError as error:
        raise InputError(f"column {name!r}: {error}") from None
