"""Running a program so that it, and everything it starts, ends with the pull and with the driver.

Each program is run by a keeper, a small process that serves one program at a time and stays for the
next. See keeper.py.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import shlex
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from surefoot.study.programs import keeper

TAIL = 800  # characters of a failed program's output
REFRESH = 1.0  # seconds between looks at the task


def run_program(arguments: Sequence[str], folder: Path, time_limit: float | None) -> str:
    """Standard output of a program that ended well.

    Raises:
        OSError: it could not be started.
        TimeoutError: it took too long, and was ended with everything it had started.
        RuntimeError: it ended with an error.
    """
    answer = _ask_a_keeper(
        {
            "arguments": list(arguments),
            "folder": str(folder.absolute()),
            "environment": dict(os.environ),
            "time_limit": time_limit,
        }
    )
    if "refused" in answer:
        raise OSError(*answer["refused"])
    code, output = answer["code"], str(answer["output"])
    if code is None:
        raise TimeoutError(f"{arguments[0]} took longer than its time limit of {time_limit:g} s")
    if code:
        how = f"killed by signal {-code}" if code < 0 else f"exit code {code}"
        said = answer["complaints"][-TAIL:].strip() or output[-TAIL:]
        raise RuntimeError(f"{shlex.join(arguments)} failed with {how}: {said}")
    return output


class _Keeper:
    """The other end of a keeper's input and output."""

    def __init__(self) -> None:
        utf8 = ("-X", "utf8") if sys.flags.utf8_mode else ()  # -I takes no notice of PYTHONUTF8
        self._process = subprocess.Popen(
            [sys.executable, *utf8, "-I", "-S", keeper.__file__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,  # a terminal's Ctrl-C is for the driver alone
        )

    def run(self, order: dict[str, Any]) -> dict[str, Any]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(order).encode() + b"\n")
        self._process.stdin.flush()
        answer = self._process.stdout.readline()
        if not answer:
            raise RuntimeError(f"{order['arguments'][0]} was ended from outside, with its keeper")
        found: dict[str, Any] = json.loads(answer)
        return found

    @property
    def alive(self) -> bool:
        return self._process.poll() is None

    def end(self) -> None:
        """End it from another thread than that which waits for its answer."""
        self._process.terminate()

    def dismiss(self) -> None:
        """End the keeper, and all programs that it runs."""
        with contextlib.suppress(BrokenPipeError), self._process:
            self._process.terminate()


_idle: list[_Keeper] = []  # as many as programs ran at the same time
_busy: dict[int, _Keeper] = {}  # by the thread that waits for its answer
os.register_at_fork(after_in_child=_idle.clear)  # they serve the parent


def _ask_a_keeper(order: dict[str, Any]) -> dict[str, Any]:
    kept, thread = _free_keeper(), threading.get_ident()
    _busy[thread] = kept
    try:
        answer = kept.run(order)
    except BaseException:
        kept.dismiss()
        raise
    finally:
        del _busy[thread]
    _idle.append(kept)
    return answer


def _end_program_of(thread: int) -> None:
    """End the program that this thread waits for, if it does, and everything that it started."""
    if kept := _busy.get(thread):
        kept.end()


def _free_keeper() -> _Keeper:
    with contextlib.suppress(IndexError):  # another thread may be quicker
        while not (found := _idle.pop()).alive:
            found.dismiss()
        return found
    return _Keeper()


@atexit.register
def _dismiss_all() -> None:
    while _idle:
        _idle.pop().dismiss()


@contextlib.contextmanager
def programs_end_with_their_task() -> Iterator[None]:
    """Within the block, end this thread's program as soon as its task is called off."""
    worker = _this_worker()
    if worker is None:
        yield
        return
    over = threading.Event()
    watched = (worker, worker.get_current_task(), threading.get_ident(), over)
    threading.Thread(target=_watch, args=watched, daemon=True).start()
    try:
        yield
    finally:
        over.set()


def _this_worker() -> Any | None:
    """Return the Dask worker to which this thread belongs, if there is one."""
    if "distributed" not in sys.modules:
        return None
    from distributed import get_worker

    try:
        return get_worker()
    except ValueError:
        return None


def _watch(worker: Any, key: str, thread: int, over: threading.Event) -> None:
    """Look again after an end: the next pull of the chunk may have begun a program."""
    while not over.wait(REFRESH):
        task = worker.state.tasks.get(key)
        if task is None or task.state == "cancelled":
            _end_program_of(thread)
