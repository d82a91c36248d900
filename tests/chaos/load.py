"""A dashboard under load: half-sent requests, many readers and a file made to hang keep nobody
out.
"""

from __future__ import annotations

import contextlib
import sqlite3
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import httpx
import numpy as np

from tests.chaos.files import ENDLESS
from tests.chaos.trial import Trial
from tests.view.dashboard.server import Server, server
from tests.view.dashboard.studies import finished_study

SLOWEST = 30.0  # seconds for a page of a good study, on a machine that is busy
MOST_MESSAGES = 20_000  # bytes


@dataclass(frozen=True)
class Load:
    """How much there is of it.

    Attributes:
        half_sent: the most requests that are begun and never ended; five sixths are the least.
        readers: how many ask for a page at once, half of them for that of the bad file.
    """

    half_sent: int
    readers: int

    def __call__(self, count: int, folder: Path, generator: np.random.Generator) -> Iterator[Trial]:
        good, bad = finished_study(folder / "good.db"), finished_study(folder / "bad.db")
        _make_endless(bad)
        for number in range(count):
            half_sent = int(generator.integers(5 * self.half_sent // 6, self.half_sent))
            with server(folder, good, bad, "--no-token") as shown:
                broken = _try(shown, half_sent, self.readers // 2)
                broken = broken or _too_much_said(shown)
            yield Trial(f"{number}: {half_sent} half-sent requests, {self.readers} readers", broken)


def _try(shown: Server, half_sent: int, readers: int) -> str | None:
    """Ask for both studies at once, this many readers each."""
    pending = shown.half_sent(half_sent)
    try:
        with ThreadPoolExecutor(2 * readers) as threads:
            hanging = [threads.submit(_status, shown, "/study/2") for _ in range(readers)]
            good = [threads.submit(_status, shown, "/study/1") for _ in range(readers)]
            answers = [answer.result() for answer in good]
            for answer in hanging:
                answer.result()
        started = time.monotonic()
        answers.append(_status(shown, "/"))
        if time.monotonic() - started > SLOWEST:
            return "the list of studies came too late"
    finally:
        for connection in pending:
            connection.close()
    return None if set(answers) == {200} else f"answers were {sorted(set(answers))}"


def _status(shown: Server, path: str) -> int:
    with contextlib.suppress(httpx.HTTPError):
        return httpx.get(f"{shown.address}{path}", timeout=SLOWEST).status_code
    return 0


def _too_much_said(shown: Server) -> str | None:
    if shown.process.poll() is not None:
        return f"the server ended: {shown.messages.read_text()[-800:]}"
    size = shown.messages.stat().st_size
    return f"{size} bytes of messages" if size > MOST_MESSAGES else None


def _make_endless(path: Path) -> None:
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.execute("ALTER TABLE pulls RENAME TO other")
        columns = "x AS id, x AS phase, x AS pair, 'done' AS state, x AS reward, x AS finished"
        connection.execute(f"CREATE VIEW pulls AS {ENDLESS.format(columns)}")
        connection.commit()
