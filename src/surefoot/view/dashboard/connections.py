"""Connections and the threads that serve them: at most so many, and none that waits for ever."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import resource
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

ARRIVAL = 10.0  # seconds that a request may take from its first byte to its last
MOST = 200  # connections at a time
BACKLOG = 100  # connections that wait to be accepted
MESSAGES, PERIOD = 10, 60.0  # this many messages in this many seconds
LOGGERS = ("uvicorn.error", "asyncio")


def _most_connections() -> int:
    """As many as leave files to open: each takes one of what the system grants."""
    granted, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return MOST if granted == resource.RLIM_INFINITY else max(8, min(MOST, granted // 4))


class LimitedConnection(H11Protocol):
    """A connection that ends if its request does not arrive in time.

    When there are too many, the one that has waited longest for its request gives way: half-sent
    requests keep nobody out.
    """

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._deadline: asyncio.TimerHandle | None = None
        self._most = _most_connections()

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._wait_for_request()
        if len(self.connections) > self._most:
            waiting = [c for c in self.connections if isinstance(c, LimitedConnection)]
            min(waiting, key=LimitedConnection._patience).end()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self.conn.their_state in (h11.IDLE, h11.SEND_BODY):
            self._wait_for_request()
        else:
            self._stop_waiting()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_waiting()
        super().connection_lost(exc)

    def end(self) -> None:
        self._stop_waiting()
        self.transport.abort()

    def _wait_for_request(self) -> None:
        if self._deadline is None:
            self._deadline = self.loop.call_later(ARRIVAL, self.end)

    def _stop_waiting(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _patience(self) -> float:
        """When it gives up; those that are being answered do so last."""
        return float("inf") if self._deadline is None else self._deadline.when()


class AtMost(logging.Filter):
    """Lets a few messages through in each period, then says once that more were left out."""

    def __init__(self) -> None:
        super().__init__()
        self._began, self._count = -PERIOD, 0

    def filter(self, record: logging.LogRecord) -> bool:
        now = time.monotonic()
        if now - self._began >= PERIOD:
            self._began, self._count = now, 0
        self._count += 1
        if self._count == MESSAGES:
            record.msg, record.args, record.exc_info = "more messages, left out", (), None
        return self._count <= MESSAGES


@contextmanager
def few_messages() -> Iterator[None]:
    """Limit what the server writes to its terminal or log file."""
    limit = AtMost()
    for name in LOGGERS:
        logging.getLogger(name).addFilter(limit)
    try:
        yield
    finally:
        for name in LOGGERS:
            logging.getLogger(name).removeFilter(limit)


LIMIT = 20.0  # seconds for which a page waits for what it shows

T = TypeVar("T")


class TooSlow(Exception):
    """Reading takes longer than anybody should wait."""


class Lane:
    """One thing after another, each in a thread; so there are never more threads than lanes.

    A read that was given up still runs, for a thread cannot be ended. Whoever comes meanwhile is
    turned away at once: a file made to hang holds up itself alone. Nor does it hold up the end of
    the process, which does not wait for these threads.
    """

    def __init__(self, limit: float = LIMIT) -> None:
        self._limit = limit
        self._free = asyncio.Lock()
        self._since = 0.0

    async def run(self, read: Callable[[], T]) -> T:
        """Return what `read` gives, in its turn; TooSlow if that cannot be had in time."""
        if self._free.locked() and time.monotonic() - self._since > self._limit:
            raise TooSlow
        try:
            async with asyncio.timeout(self._limit):
                await self._free.acquire()
                self._since = time.monotonic()
                return await asyncio.shield(self._started(read))
        except TimeoutError:
            raise TooSlow from None

    def _started(self, read: Callable[[], T]) -> asyncio.Future[T]:
        """Return the read in a thread, which frees the lane when it is really over."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[T] = loop.create_future()

        def over(result: T | None, error: BaseException | None) -> None:
            self._free.release()
            if error is None:
                future.set_result(result)  # type: ignore[arg-type]
            else:
                future.set_exception(error)
                future.exception()  # seen, whether or not somebody still waits for it

        def work() -> None:
            result, error = None, None
            try:
                result = read()
            except BaseException as raised:
                error = raised
            with contextlib.suppress(RuntimeError):  # the server has ended meanwhile
                loop.call_soon_threadsafe(over, result, error)

        threading.Thread(target=work, daemon=True).start()
        return future
