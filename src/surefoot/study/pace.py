"""How many pulls travel together, by how long they take."""

from __future__ import annotations

from surefoot.study.pull import Report

CHUNK_SECONDS = 0.1  # long against the cost of a chunk, short against a user's patience
CHUNK_LIMIT = 1000
LONG_PULL = 0.5  # seconds: above it a worker need not have the next pull at hand


class Pace:
    """What experience says of the time that a pull takes."""

    def __init__(self) -> None:
        self._seconds: float | None = None

    def learn(self, reports: list[Report]) -> None:
        spent = sum(
            report.finished - (report.started or report.finished) for report in reports
        ) / len(reports)
        self._seconds = spent if self._seconds is None else 0.8 * self._seconds + 0.2 * spent

    def chunk_size(self, waiting: int, workers: int) -> int:
        """Enough pulls to be worth sending, few enough to keep all workers busy to the end."""
        if self._seconds is None:
            return 1
        wanted = int(CHUNK_SECONDS / max(self._seconds, CHUNK_SECONDS / CHUNK_LIMIT))
        return max(1, min(wanted, waiting // (2 * workers)))

    @property
    def is_short(self) -> bool:
        """Whether a worker would wait for us, unless it has its next chunk at hand."""
        return self._seconds is not None and self._seconds < LONG_PULL
