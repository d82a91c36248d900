"""Problems as tables: pandas frames and CSV files."""

from __future__ import annotations

import contextlib
from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from surefoot.errors import InputError

if TYPE_CHECKING:
    from surefoot.features import FeatureMap
    from surefoot.problem import RobustProblem


def problem_to_frame(problem: RobustProblem) -> pd.DataFrame:
    """One row a pair: arm, perturbation, parameters."""
    columns: dict[str, object] = {
        "arm": [problem.arm_names[a] for a in problem.arm_of_pair],
        "perturbation": problem.perturbation_names,
    }
    for name, values in zip(problem.parameter_names, problem.parameters.T, strict=True):
        columns[name] = values
    return pd.DataFrame(columns)


def problem_from_frame(frame: pd.DataFrame, features: str | FeatureMap) -> RobustProblem:
    """Arms in order of first appearance; every column but `arm` and `perturbation` is a
    parameter.
    """
    from surefoot.problem import RobustProblem

    if "arm" not in frame.columns:
        raise InputError(
            f"the table has columns {list(frame.columns)}, but none called 'arm': say "
            f"which arm each row belongs to"
        )
    names = [column for column in frame.columns if column not in ("arm", "perturbation")]
    if not names or frame.empty:
        raise InputError(
            f"the table has {len(frame)} rows and {len(names)} parameter columns: "
            f"give at least one of each"
        )
    for name in names:
        if not pd.api.types.is_numeric_dtype(frame[name]):
            wrong = frame[name][pd.to_numeric(frame[name], errors="coerce").isna()]
            example = wrong.iloc[0] if len(wrong) else frame[name].iloc[0]
            raise InputError(f"column {name!r} holds {example!r}: every parameter must be a number")
    codes, arms = pd.factorize(frame["arm"])
    if (codes < 0).any():
        raise InputError(f"row {int(np.argmax(codes < 0))} has no arm: fill the column 'arm'")
    labels = frame["perturbation"].astype(str).tolist() if "perturbation" in frame.columns else None
    return RobustProblem.from_pairs(
        frame[names].to_numpy(dtype=np.float64),
        codes,
        features=features,
        arm_names=[str(arm) for arm in arms],
        perturbation_names=labels,
        parameter_names=[str(name) for name in names],
    )


def read_csv(path: str | Path, names: Collection[str] = ("arm", "perturbation")) -> pd.DataFrame:
    """Read a CSV so that numbers come back as they were written.

    Args:
        names: columns that stay text whatever is in them: an arm called 1 is not called 1.0.
    """
    if not Path(path).is_file():
        raise InputError(f"there is no file {str(path)!r}: give the path of a CSV table")
    try:
        frame = pd.read_csv(path, dtype=str)
    except (pd.errors.ParserError, pd.errors.EmptyDataError, UnicodeDecodeError) as error:
        raise InputError(
            f"{str(path)!r} is not a CSV table ({error}): give comma-separated "
            f"columns with a header"
        ) from None
    for name in set(frame.columns) - set(names):
        with contextlib.suppress(ValueError):  # text stays text, for an error that can show it
            frame[name] = [
                float(entry) for entry in frame[name]
            ]  # Python reads every digit, pandas not always
    return frame
