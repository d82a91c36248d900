"""Ctrl-C at any moment: one sentence, at once, with everything kept."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading

import pytest

from surefoot.system.interrupts import EXIT_CODE, SENTENCE, deferred
from tests.waiting import PATIENCE

PRELUDE = """
import os, signal, sys, time
from surefoot.system import interrupts
interrupts.PATIENCE = interrupts.LIMIT = 200  # no machine is as busy as that
interrupts.end_this_process()
"""


def run(program: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", PRELUDE + program],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )


@pytest.mark.parametrize(
    "where",
    [
        pytest.param("signal.raise_signal(signal.SIGINT)", id="in plain code"),
        pytest.param(
            "try: signal.raise_signal(signal.SIGINT)\nexcept BaseException: pass",
            id="where everything is caught",
        ),
        pytest.param(
            "class Gone:\n    def __del__(self): signal.raise_signal(signal.SIGINT)\n"
            "gone = Gone(); del gone",
            id="in a finaliser, whose errors are ignored",
        ),
        pytest.param(
            "import ctypes\n"
            "call = ctypes.CFUNCTYPE(None)(lambda: signal.raise_signal(signal.SIGINT))\n"
            "call()",
            id="in a compiled callback",
        ),
        pytest.param(
            "import atexit\natexit.register(signal.raise_signal, signal.SIGINT)\nsys.exit(0)",
            id="in an exit handler",
        ),
        pytest.param(
            "import threading\n"
            "def another() -> None:\n"  # so that the signal does not cut the sleep short
            "    time.sleep(0.2)\n"
            "    signal.pthread_kill(threading.get_ident(), signal.SIGINT)\n"
            "threading.Thread(target=another).start()\n"
            "import ctypes\nctypes.CDLL(None).sleep(86400)",
            id="in a compiled call that would take a day",
        ),
        pytest.param(
            "import types\n"
            "sys.modules['multiprocessing'] = types.ModuleType('multiprocessing')\n"
            "signal.raise_signal(signal.SIGINT)\n"
            "time.sleep(3600)",
            id="while an import is under way",
        ),
    ],
)
def test_no_place_swallows_an_interrupt(where: str) -> None:
    ended = run(f"{where}\nprint('went on')")
    assert (ended.returncode, ended.stderr) == (EXIT_CODE, f"surefoot: {SENTENCE}\n")
    assert ended.stdout == ""


EVERY_LINE = """
import sys, time
from surefoot.system import interrupts


def blocked():
    return signal.SIGINT in signal.pthread_sigmask(signal.SIG_BLOCK, ())


def interrupted_at(step):
    seen = 0

    def trace(frame, event, _):
        nonlocal seen
        seen += event == "line" and (seen > 0 or blocked())
        if event == "line" and seen == step:
            os.kill(os.getpid(), signal.SIGINT)
        return trace

    interrupts.LIMIT = 200
    sys.settrace(trace)
    interrupts.end_this_process()
    sys.settrace(None)
    if seen < step:
        os._exit(0)
    time.sleep(60)


step, code = 0, None
while code != 0:
    step += 1
    child = os.fork()
    if child == 0:
        interrupted_at(step)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    print(code)
"""


def test_no_line_of_the_arrangement_loses_an_interrupt() -> None:
    """At whatever line it comes once it has to wait, those that start the thread among them, the
    sentence is said.
    """
    ended = subprocess.run(
        [sys.executable, "-c", "import os, signal\n" + EVERY_LINE],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert ended.returncode == 0
    *interrupted, last = map(int, ended.stdout.split())
    assert set(interrupted) == {EXIT_CODE}
    assert (last, len(interrupted) > 20) == (0, True)
    assert ended.stderr == f"surefoot: {SENTENCE}\n" * len(interrupted)


def test_a_farewell_is_said_unless_it_fails_or_takes_too_long() -> None:
    program = "with interrupts.farewell({}):\n    signal.raise_signal(signal.SIGINT)\n"
    assert run(program.format("lambda: 'farewell'")).stderr == "surefoot: farewell\n"
    assert run(program.format("lambda: 1 / 0")).stderr == f"surefoot: {SENTENCE}\n"
    program = "interrupts.PATIENCE = 0.1\n" + program
    assert run(program.format("lambda: time.sleep(86400)")).stderr == f"surefoot: {SENTENCE}\n"


def test_another_handler_decides_while_it_is_in_place() -> None:
    ended = run(
        "before = signal.signal(signal.SIGINT, lambda *_: print('mine'))\n"
        "signal.raise_signal(signal.SIGINT)\n"
        "time.sleep(0.3)\n"
        "signal.signal(signal.SIGINT, before)\n"
        "print('still here')\n"
    )
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "mine\nstill here\n", "")


def test_a_deferred_interrupt_acts_at_the_end_of_the_block() -> None:
    steps = []
    with pytest.raises(KeyboardInterrupt):  # noqa: PT012
        with deferred():
            signal.raise_signal(signal.SIGINT)
            steps.append("within")
        steps.append("after")
    assert steps == ["within"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_other_threads_have_nothing_to_defer() -> None:
    entered = threading.Event()

    def enter() -> None:
        with deferred():
            entered.set()

    thread = threading.Thread(target=enter)
    thread.start()
    thread.join()
    assert entered.is_set()
