"""One row per claim: what was measured, the target, and whether it was met."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Row:
    """A measured claim. A missed target stays in the table.

    Attributes:
        work: what was done.
        measured: what came of it.
        target: what was asked for; nothing for what is shown beside others.
        met: whether it was met; None where there is no target.
    """

    work: str
    measured: str
    target: str = ""
    met: bool | None = None


def published(name: str, cells: str) -> bool:
    """Whether a cell is in the tables of the documentation: all that there are take many hours.

    Args:
        cells: a regular expression of those that are; `SUREFOOT_BENCH_CELLS` is another one.
    """
    return re.search(os.environ.get("SUREFOOT_BENCH_CELLS", cells), name) is not None


def seconds(work: Callable[[], object], repeats: int = 5) -> float:
    """The shortest of several timings: the one least disturbed by other work on the machine."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)
