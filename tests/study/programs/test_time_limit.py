"""Python functions that take too long fail their pull, in every kind of worker."""

from __future__ import annotations

import contextlib
import ctypes
import faulthandler
import multiprocessing
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from surefoot.errors import InputError
from surefoot.noise import Gaussian
from surefoot.problem.problem import RobustProblem
from surefoot.study import Pull, Study, StudyPaused
from surefoot.study.programs.functions import Named
from surefoot.study.programs.simulators import TimeLimited
from tests.study.toys import toy_problem
from tests.waiting import PATIENCE

PULL = Pull(0, "abc", 0, 0, "arm", "none", {"a": 1.0}, np.zeros(1), 5)
LIMIT = 0.2
A_DAY = 86_400.0


def quick(pull: Pull) -> float:
    return 1.0


def asleep(pull: Pull) -> float:
    time.sleep(A_DAY)
    return 1.0


def at_work(pull: Pull) -> float:
    while True:
        pass


def stubborn(pull: Pull) -> float:
    """Goes on whatever it is told."""
    end = time.monotonic() + 2 * LIMIT
    while time.monotonic() < end:
        with contextlib.suppress(TimeoutError):
            time.sleep(0.01)
    return 1.0


def deaf(pull: Pull) -> float:
    """Never comes back to Python, whatever signals it gets."""
    lock = ctypes.create_string_buffer(64)  # zeros: a mutex that is open
    for _ in range(2):
        ctypes.CDLL(None).pthread_mutex_lock(lock)
    return 1.0


def test_what_is_quick_is_left_alone() -> None:
    assert TimeLimited(quick, 60.0)(PULL) == 1.0


@pytest.mark.parametrize("function", [asleep, at_work, stubborn])
def test_what_is_slow_fails(function: object) -> None:
    with pytest.raises(TimeoutError, match=r"longer than its time limit of 0\.2 s"):
        TimeLimited(function, LIMIT)(PULL)  # type: ignore[arg-type]


def test_in_a_thread_it_fails_too() -> None:
    errors: list[BaseException] = []

    def work() -> None:
        try:
            TimeLimited(at_work, LIMIT)(PULL)
        except TimeoutError as error:
            errors.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join(PATIENCE)
    assert "time limit of 0.2 s" in str(errors[0])


def test_a_timer_of_somebody_else_goes_on() -> None:
    rang: list[int] = []
    before = signal.signal(signal.SIGALRM, lambda number, frame: rang.append(number))
    left = signal.setitimer(signal.ITIMER_REAL, A_DAY)
    try:
        TimeLimited(quick, 600.0)(PULL)
        assert 0 < signal.setitimer(signal.ITIMER_REAL, 0)[0] <= A_DAY
        signal.raise_signal(signal.SIGALRM)
        assert rang == [signal.SIGALRM]
    finally:
        signal.signal(signal.SIGALRM, before)
        signal.setitimer(signal.ITIMER_REAL, *left)


def test_a_function_of_named_parameters_has_a_limit_too(tmp_path: Path) -> None:
    def simulate(gain: float, rng: np.random.Generator) -> float:
        return gain + float(rng.normal())

    def ended(simulator: Callable[..., float]) -> str:
        problem = RobustProblem.from_lists([{"gain": 0.0}, {"gain": 5.0}])
        path = tmp_path / f"{type(simulator).__name__}.db"
        with Study.create(path, problem, delta=0.05, noise=Gaussian(), seed=1) as study:
            return study.run(simulator, "serial").sentence

    named = Named(simulate, ["gain"], time_limit=60.0)
    assert named.title == "simulate"
    assert ended(TimeLimited(simulate, 60.0)) == ended(named) == ended(simulate)


def test_an_error_of_the_simulator_stays_what_it_is() -> None:
    def fails(pull: Pull) -> float:
        raise TimeoutError("the licence server does not answer")

    with pytest.raises(TimeoutError, match="licence server"):
        TimeLimited(fails, 60.0)(PULL)


def test_a_limit_is_a_number_of_seconds() -> None:
    with pytest.raises(InputError, match=r"time_limit=0\.0 must be a number of seconds above 0"):
        TimeLimited(quick, 0.0)


@pytest.mark.parametrize("executor", ["serial", 1])
def test_a_study_pauses_and_says_why(tmp_path: Path, executor: object) -> None:
    with (
        Study.create(
            tmp_path / "slow.db", toy_problem(), delta=0.05, noise=Gaussian(), misfit=0
        ) as study,
        pytest.raises(StudyPaused, match=r"failed:\nTimeoutError: the simulator took"),
    ):
        study.run(TimeLimited(asleep, LIMIT), executor, retries=0)


def test_a_dump_that_is_due_does_not_hold_up_forked_workers(tmp_path: Path) -> None:
    """A worker forked while another dump of stacks is due sets its own limit all the same."""
    faulthandler.dump_traceback_later(3600)
    try:
        test_a_study_pauses_and_says_why(tmp_path, 1)
    finally:
        faulthandler.cancel_dump_traceback_later()


def test_a_worker_that_does_not_come_back_is_ended() -> None:
    """Its pull is lost then, as with any worker that dies, and tried elsewhere."""
    limited = TimeLimited(deaf, LIMIT)
    worker = multiprocessing.get_context("spawn").Process(target=limited, args=(PULL,))
    worker.start()
    worker.join(PATIENCE)
    assert worker.exitcode == 1
