"""Ctrl-C, at any moment: it ends a command with one sentence, and is never lost.

Python turns an interrupt into an exception in whatever line is running. In the middle of an import,
a compiled callback or an exit handler, other code swallows that exception or prints its traceback.
So a command does not raise it: the main thread halts where it is, and a thread of its own prints
the sentence and ends the process.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator

EXIT_CODE = 130  # what shells give to a program that was interrupted
SENTENCE = "interrupted: what is finished is kept, and the same command goes on"
PATIENCE = 0.7  # seconds that a farewell may take
FRESH_LINE = "\r\x1b[K\x1b[?25h"  # where a progress bar was, with the cursor that it had hidden
LIMIT = 1.9  # seconds after which the main thread ends the process, if no other code did

_farewells: list[Callable[[], str]] = []


def end_this_process() -> None:
    """Let an interrupt end this process at once from now on, with its sentence and exit code.

    One that comes while this is being arranged waits until it is.
    """
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    read_end, write_end = os.pipe()
    os.set_blocking(write_end, False)

    def halt(*_: object) -> None:
        with contextlib.suppress(BlockingIOError):  # it has been told often enough
            os.write(write_end, bytes([signal.SIGINT]))
        time.sleep(LIMIT)
        os._exit(EXIT_CODE)

    threading.Thread(target=_listen, args=(read_end, halt), daemon=True).start()
    signal.signal(signal.SIGINT, halt)
    # also tells the thread while the main thread is inside a long compiled call
    signal.set_wakeup_fd(write_end, warn_on_full_buffer=False)
    # runs last: when Python takes itself apart, neither thread nor handler can be relied upon
    atexit.register(signal.signal, signal.SIGINT, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})


@contextlib.contextmanager
def farewell(speak: Callable[[], str]) -> Iterator[None]:
    """Give another sentence in place of `SENTENCE` for an interrupt within the block.

    Args:
        speak: tidies up and gives the sentence, in another thread than the main one, which has been
            halted anywhere. If it takes too long, or fails, `SENTENCE` is said.
    """
    _farewells.append(speak)
    try:
        yield
    finally:
        _farewells.remove(speak)


@contextlib.contextmanager
def deferred() -> Iterator[None]:
    """Let an interrupt that comes within the block, which must be short, act at its end."""
    if not _can_be_deferred():
        yield
        return
    came: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, _: came.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
        for number in came:  # the second of two means more than the first
            signal.raise_signal(number)


def _can_be_deferred() -> bool:
    """Return True in the main thread, which alone is interrupted, if the handler is Python's: no
    other could be put back.
    """
    in_main_thread = threading.current_thread() is threading.main_thread()
    return in_main_thread and signal.getsignal(signal.SIGINT) is not None


def _listen(read_end: int, handler: Callable[..., None]) -> None:
    while told := os.read(read_end, 1):
        # code that has set another handler decides what an interrupt means
        if told[0] == signal.SIGINT and signal.getsignal(signal.SIGINT) is handler:
            _end()


def _end() -> None:
    said: list[str] = []
    speaker = threading.Thread(target=lambda: said.append(_farewells[-1]()), daemon=True)
    if _farewells:
        threading.excepthook = lambda _: None  # nothing but one sentence
        speaker.start()
        speaker.join(PATIENCE)
    said.append(SENTENCE)
    with contextlib.suppress(OSError):  # its reader is gone
        os.write(2, f"{FRESH_LINE if os.isatty(2) else ''}surefoot: {said[0]}\n".encode())
    try:
        _kill_children()
    finally:
        os._exit(EXIT_CODE)


def _kill_children() -> None:
    """End all child processes without waiting for their results."""
    # while its import is under way it is unknown, and there are no programs
    children = getattr(sys.modules.get("multiprocessing"), "active_children", list)
    for child in children():
        child.kill()
