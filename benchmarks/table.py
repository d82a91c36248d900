"""One row a claim: what was measured, the target, and whether it was met."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Row:
    """A measured claim. A missed target stays in the table."""

    work: str
    measured: str
    target: str
    met: bool


def seconds(work: Callable[[], object], repeats: int = 5) -> float:
    """The shortest of several timings: the one least disturbed by other work on the machine."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)
