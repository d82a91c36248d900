"""What every chart asks of the table it is given, and how the table stands in the chart."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import altair as alt
import numpy as np

from surefoot.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

    from surefoot.algorithms import Result


def require_columns(frame: pd.DataFrame, *names: str) -> None:
    """Refuse a table that lacks a column, naming it."""
    missing = [name for name in names if name not in frame.columns]
    if missing:
        raise InputError(
            f"the table has columns {list(map(str, frame.columns))}, but the chart needs "
            f"{', '.join(missing)} too: add or rename them"
        )


def plain_rows(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """The rows as plain values; None where a number is not finite, so that its mark is left out."""
    columns = {str(name): _plain(frame[name].to_numpy()) for name in frame.columns}
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def inline(frame: pd.DataFrame) -> alt.InlineData:
    """The rows within the chart, however many."""
    return alt.InlineData(values=plain_rows(frame))


def _plain(values: np.ndarray[Any, Any]) -> list[Any]:
    if np.issubdtype(values.dtype, np.floating):
        return [
            value if finite else None
            for value, finite in zip(values.tolist(), np.isfinite(values), strict=True)
        ]
    return values.tolist()  # type: ignore[no-any-return]


def measured(result: Result) -> str:
    """Return the word for what pulls of a study give: whoever minimises calls it a cost."""
    return "cost" if result.minimize else "reward"
