"""The time that pulls take: how many travel together, and which of them go first."""

from __future__ import annotations

import statistics
from collections.abc import Mapping

from surefoot.study.pull import Pull, Report

CHUNK_SECONDS = 0.1  # long against the cost of a chunk, short against a user's patience
CHUNK_LIMIT = 1000
LONG_PULL = 0.5  # seconds: above it a worker need not have the next pull at hand
SLOW = 1.5  # times the median pair: such pairs go first


class Pace:
    """The times of earlier pulls, of all and of each pair."""

    def __init__(self) -> None:
        self._seconds: float | None = None
        self._of_pair: dict[int, tuple[float, int]] = {}

    def learn(self, reports: list[Report], pulls: Mapping[int, Pull]) -> None:
        """Take note of how long some pulls took."""
        took = [report.finished - (report.started or report.finished) for report in reports]
        for report, seconds in zip(reports, took, strict=True):
            total, number = self._of_pair.get(pulls[report.id].pair, (0.0, 0))
            self._of_pair[pulls[report.id].pair] = (total + seconds, number + 1)
        spent = sum(took) / len(took)
        self._seconds = spent if self._seconds is None else 0.8 * self._seconds + 0.2 * spent

    def chunk_size(self, waiting: int, workers: int) -> int:
        """Enough pulls to be worth sending, few enough to keep all workers busy to the end."""
        if self._seconds is None:
            return 1
        wanted = int(CHUNK_SECONDS / max(self._seconds, CHUNK_SECONDS / CHUNK_LIMIT))
        return max(1, min(wanted, waiting // (2 * workers)))

    @property
    def slow_pairs(self) -> set[int]:
        """Pairs whose pulls take far longer than others'; none where all are short.

        A phase that ends with a slow pull keeps all other workers waiting for it.
        """
        if self._seconds is None or self._seconds < CHUNK_SECONDS:
            return set()
        means = {pair: total / number for pair, (total, number) in self._of_pair.items()}
        usual = statistics.median(means.values())
        return {pair for pair, mean in means.items() if mean > SLOW * usual}

    @property
    def is_short(self) -> bool:
        """True if a worker would wait for us, unless it has its next chunk at hand."""
        return self._seconds is not None and self._seconds < LONG_PULL
