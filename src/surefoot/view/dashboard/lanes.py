"""Reads that may take for ever: each study has lanes of its own, and nobody waits long in one."""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from collections.abc import Callable
from typing import TypeVar

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
        """What `read` gives, in its turn; TooSlow if that cannot be had in time."""
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
        """The read in a thread, which frees the lane when it is really over."""
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
