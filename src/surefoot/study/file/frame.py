"""The pulls of a study as a data frame, read some at a time and put together column by column: two
million take some hundred megabytes, where as many rows of Python's objects take gigabytes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from surefoot.arrays import IntArray
from surefoot.errors import StudyFileError
from surefoot.problem.problem import RobustProblem
from surefoot.study.file.storage.reading import PULL_COLUMNS, Row

if TYPE_CHECKING:
    import pandas as pd

OF_PULL = {name: kind for name, kind in PULL_COLUMNS.items() if name != "others"}
TOLD_BY_HAND = "simulator"  # a whole number that some pulls do not have


def pull_frame(
    blocks: Iterable[Sequence[Row]],
    problem: RobustProblem,
    columns: Sequence[str],
    outputs: Sequence[str],
    read: Callable[[str | None], Mapping[str, float]],
) -> pd.DataFrame:
    """Return a table of one row for each pull.

    Args:
        blocks: of rows as PULL_COLUMNS.
        columns: the names of all columns: of the pull, arm, perturbation, parameters, outputs.
        outputs: the names of further outputs in the file.
        read: returns the outputs that a text holds.
    """
    import pandas as pd

    texts: dict[str | None, str | None] = {}
    parts = [[_array(name, (), texts)] for name in OF_PULL] + [[np.empty(0)] for _ in outputs]
    for rows in blocks:
        of_columns = dict(zip(PULL_COLUMNS, zip(*rows, strict=True), strict=True))
        named = [read(text) for text in of_columns["others"]] if outputs else []
        found = [_array(name, of_columns[name], texts) for name in OF_PULL]
        found += [np.array([each.get(name, np.nan) for each in named]) for name in outputs]
        for part, values in zip(parts, found, strict=True):
            part.append(values)
    of_pulls: list[Any] = [_joined(part) for part in parts[: len(OF_PULL)]]
    pair, simulator = map(list(OF_PULL).index, ("pair", TOLD_BY_HAND))
    of_pulls[simulator] = pd.array(of_pulls[simulator], dtype="Int64")
    own = [*_of_pairs(of_pulls[pair], problem), *map(_joined, parts[len(OF_PULL) :])]
    return pd.DataFrame(dict(zip(columns, [*of_pulls, *own], strict=True)), copy=False)


def _array(name: str, values: Sequence[Any], texts: dict[str | None, str | None]) -> NDArray[Any]:
    """Return a column of a block; every text is kept once."""
    if OF_PULL[name] is str:
        return np.array([texts.setdefault(text, text) for text in values], dtype=object)
    missing = OF_PULL[name] is float or name == TOLD_BY_HAND
    if not missing and None in values:
        raise StudyFileError(
            f"the study file is damaged: a pull has no {name}; restore it from a copy"
        )
    return np.array(values, dtype=np.float64 if missing else np.int64)


def _joined(parts: list[NDArray[Any]]) -> NDArray[Any]:
    """Return the parts in one array, and let go of them."""
    whole = np.concatenate(parts)
    parts.clear()
    return whole


def _of_pairs(pairs: IntArray, problem: RobustProblem) -> Iterator[Any]:
    """Yield the names and the parameters of pulled pairs, a column each."""
    import pandas as pd

    present, places = np.unique(pairs, return_inverse=True)
    known = problem.parameters[present]
    columns: list[Any] = [
        [problem.arm_names[arm] for arm in problem.arm_of_pair[present].tolist()],
        [problem.perturbation_names[pair] for pair in present.tolist()],
        *(problem.coding.column(known, k) for k in range(known.shape[1])),
    ]
    for column in columns:
        yield pd.Series(column).take(places).array
