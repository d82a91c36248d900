"""Everything that runs where the simulator runs: a chunk of pulls in, a report on each out.

Each process of a pool writes its current pull into memory that it shares with the driver. Writing
there costs a worker less than a microsecond, and needs no listener.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import pickle
import platform
import signal
import sys
import time
import traceback
from collections.abc import Mapping, Sequence
from multiprocessing import Value
from multiprocessing.sharedctypes import RawArray
from os import getpid
from pathlib import Path
from types import NoneType
from typing import Any

import numpy as np

import surefoot
from surefoot.errors import InputError
from surefoot.study.file.storage import Running
from surefoot.study.input import LARGEST_REWARD, Simulated, outputs_of
from surefoot.study.programs.functions import Modules, differing
from surefoot.study.programs.program import programs_end_with_their_task
from surefoot.study.pull import Pull, Report, Simulate

OWN_FOLDER = (
    str(Path(__file__).parents[2]) + os.sep
)  # frames of these files are left out of users' tracebacks
ERROR_LENGTH = 2000
LONGEST_CHUNK = 1.0  # seconds
NO_NUMBERS = (str, bytes, bool, NoneType)  # though float() takes some of them


def run_chunk(simulator: Simulate, pulls: Sequence[Pull]) -> list[Report]:
    """Simulate pulls one after the other, the first and as many more as there is time for.

    Exceptions of the simulator become reports, so an error of the future itself always means that
    the worker was lost. Pulls may turn out much slower than those before: then the reports so far
    are worth more on disk than here.
    """
    _leave_interrupts_to_the_driver()
    end, reports = time.monotonic() + LONGEST_CHUNK, []
    for pull in pulls:
        reports.append(_run_one(simulator, pull))
        if time.monotonic() > end:
            break
    return reports


class UnfitWorker(InputError):
    """A worker lacks the simulator or has other software, so its rewards could be others."""


def run_packed(
    wanted: dict[str, str], modules: Modules, simulator: bytes, pulls: bytes
) -> list[Report]:
    """Run a chunk that was sent as bytes, on a machine that may have other software.

    Args:
        wanted: the versions that the driver has.
        modules: the simulator's modules, as the driver has them.
    """
    here = versions()
    different = [
        f"{name} {here[name]} instead of {wanted[name]}"
        for name in wanted
        if here[name] != wanted[name]
    ]
    if different:
        raise UnfitWorker(
            f"{_this_worker()} has {', '.join(different)}, so its random streams "
            "may be others: install the same versions on all machines"
        )
    if "" not in sys.path:
        sys.path.insert(0, "")  # a module in the folder where the worker was started is found
    with programs_end_with_their_task():
        return run_chunk(_unpacked(simulator, modules), pickle.loads(pulls))


def _unpacked(simulator: bytes, modules: Modules) -> Simulate:
    """Return the simulator; raise an error if this worker cannot load it as the driver has it."""
    problem: BaseException | None = None
    try:
        found: Simulate = pickle.loads(simulator)
    except (Exception, SystemExit) as error:  # the import of a module may raise anything
        problem = error
    if others := differing(modules):
        raise UnfitWorker(
            f"{_this_worker()} has loaded another copy of {', '.join(others)} than the driver's: "
            "start it in the folder of the driver's simulator, or restart it if that was edited"
        )
    if problem is not None:
        module = getattr(problem, "name", None) or "the simulator's module"
        raise UnfitWorker(
            f"{_this_worker()} cannot load the simulator "
            f"({type(problem).__name__}: {problem!s:.200}): start it in a folder where {module} "
            "can be imported, or install that on its machine"
        )
    return found


def _this_worker() -> str:
    """Return the address, the machine and the folder of the Dask worker that runs this."""
    from distributed import get_worker

    return f"the worker {get_worker().address} on {platform.node()}, started in {Path.cwd()},"


def versions() -> dict[str, str]:
    """Return the versions that must agree on all machines, or a seed could give another reward."""
    return {
        "surefoot": surefoot.__version__,
        "numpy": np.__version__,
        "Python": ".".join(platform.python_version_tuple()[:2]),
    }


def _run_one(simulator: Simulate, pull: Pull) -> Report:
    started = time.time()
    _begins(pull.id)
    reward: Simulated | None
    try:
        reward, error = as_given(simulator(pull)), None
    except (Exception, SystemExit) as problem:  # argparse ends a program that it is called in
        reward, error = None, _describe(problem)
    finally:
        _ends()
    return Report(pull.id, reward, error, started, time.time(), pull.charged)


def as_given(value: Any) -> Simulated:
    """Return a finite number, or several by name; raise an error that names any other value."""
    if not isinstance(value, Mapping):
        return _as_reward(value)
    try:
        return outputs_of(value)
    except InputError as error:
        raise ValueError(f"the simulator returned {value!r:.80}: {error}") from None


def _as_reward(value: Any) -> float:
    """Return a finite number; raise an error that names any other value."""
    try:
        if type(value) is not float and isinstance(value, NO_NUMBERS):
            raise TypeError
        reward = float(value)
    except (TypeError, ValueError):
        wanted = "it must return one number, or several by name"
        if isinstance(value, bool | np.bool_):
            wanted += "; for success or failure, 1 or 0"
        raise TypeError(f"the simulator returned {value!r:.80}: {wanted}") from None
    if not abs(reward) < LARGEST_REWARD:
        raise ValueError(
            f"the simulator returned {reward}: a reward must be a finite number of a size below "
            f"{LARGEST_REWARD:g}"
        )
    return reward


def _describe(problem: BaseException) -> str:
    """Return the error in one line, then where it happened, innermost last."""
    headline = "".join(traceback.format_exception_only(problem)).strip()
    frames = traceback.extract_tb(problem.__traceback__)
    theirs = [frame for frame in frames if not frame.filename.startswith(OWN_FOLDER)]
    lines = [line.rstrip() for line in traceback.format_list(theirs)]
    text = "\n".join([headline, *lines])[:ERROR_LENGTH]
    return text.encode("utf-8", "backslashreplace").decode()  # half a character cannot be stored


def _leave_interrupts_to_the_driver() -> None:
    """Ignore Ctrl-C, which reaches workers too in a terminal: the driver alone decides."""
    if multiprocessing.parent_process() is not None:
        with contextlib.suppress(
            ValueError
        ):  # not the main thread: interrupts do not come here anyway
            signal.signal(signal.SIGINT, signal.SIG_IGN)


COLUMNS = 3  # the process, the pull and when it began


class Board:
    """A row for each process of a pool; a process number of 0 marks an idle row."""

    def __init__(self, size: int) -> None:
        self._rows: Any = RawArray("d", COLUMNS * size)
        self._taken: Any = Value("i", 0)

    def join(self) -> None:
        """Give this process a row; `begins` and `ends` write there from now on."""
        global _mine
        with self._taken:
            first = COLUMNS * self._taken.value
            self._taken.value += 1
        if first < len(self._rows):
            _mine = (self._rows, first)

    def running(self) -> list[Running]:
        rows = list(self._rows)
        return [
            Running(int(pull), since, f"process {int(process)}")
            for process, pull, since in zip(rows[::3], rows[1::3], rows[2::3], strict=True)
            if process
        ]


_mine: tuple[Any, int] | None = None  # the row of this process


def _begins(pull: int) -> None:
    """Say that this process begins to simulate a pull."""
    if _mine is not None:
        rows, first = _mine
        rows[first + 1], rows[first + 2] = pull, time.time()
        rows[first] = getpid()


def _ends() -> None:
    """Say that it is done."""
    if _mine is not None:
        rows, first = _mine
        rows[first] = 0
