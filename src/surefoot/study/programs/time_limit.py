"""A time limit for a simulator that is a Python function."""

from __future__ import annotations

import contextlib
import ctypes
import faulthandler
import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import FrameType

from surefoot.errors import InputError
from surefoot.study.pull import Pull

GRACE = 1.0  # seconds for a function to end after it was told to

# a process forked while a dump is due would wait for ever for the thread that was to write it
os.register_at_fork(before=faulthandler.cancel_dump_traceback_later)


@dataclass(frozen=True)
class TimeLimited:
    """A simulator whose pull fails once it takes longer than its limit.

    The function is stopped where it is. Code that is not Python is not: in a worker process of
    surefoot's own, one that does not come back to Python ends with its process.

    Attributes:
        function: gives the reward of a pull.
        seconds: the limit.
    """

    function: Callable[[Pull], float]
    seconds: float

    def __post_init__(self) -> None:
        if not self.seconds > 0:
            raise InputError(f"time_limit={self.seconds!r} must be a number of seconds above 0")

    def __call__(self, pull: Pull) -> float:
        began = time.monotonic()
        in_main_thread = threading.current_thread() is threading.main_thread()
        with self._alarm() if in_main_thread else self._messenger():
            reward = self.function(pull)
        if time.monotonic() - began > self.seconds:  # where it could not be stopped, or hid it
            raise self._too_long()
        return reward

    def _too_long(self) -> TimeoutError:
        return TimeoutError(f"the simulator took longer than its time limit of {self.seconds:g} s")

    @contextlib.contextmanager
    def _alarm(self) -> Iterator[None]:
        """Interrupt the main thread by a signal; a timer that somebody else has set goes on."""

        def ring(number: int, frame: FrameType | None) -> None:
            raise self._too_long()

        began = time.monotonic()
        before = signal.signal(signal.SIGALRM, ring)
        left, every = signal.setitimer(signal.ITIMER_REAL, self.seconds)
        in_worker = multiprocessing.parent_process() is not None
        if in_worker:
            faulthandler.dump_traceback_later(self.seconds + GRACE, exit=True)
        try:
            yield
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            if in_worker:
                faulthandler.cancel_dump_traceback_later()
            signal.signal(signal.SIGALRM, before)
            if left:
                spent = time.monotonic() - began
                signal.setitimer(signal.ITIMER_REAL, max(left - spent, 1e-6), every)

    @contextlib.contextmanager
    def _messenger(self) -> Iterator[None]:
        """Raise the error in this thread from another one, as no signal reaches it."""
        thread, lock, done = ctypes.c_ulong(threading.get_ident()), threading.Lock(), False

        def raise_there() -> None:
            with lock:
                if not done:
                    error = ctypes.py_object(TimeoutError)
                    ctypes.pythonapi.PyThreadState_SetAsyncExc(thread, error)

        timer = threading.Timer(self.seconds, raise_there)
        timer.daemon = True
        timer.start()
        try:
            yield
        except TimeoutError as error:
            raise (error if error.args else self._too_long()) from None
        finally:
            with lock:
                done = True
            timer.cancel()
