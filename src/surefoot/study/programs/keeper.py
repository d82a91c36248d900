"""The process between a worker and the programs that it runs, so that nothing outlives its pull.

Run as a script. Each line of its input is an order (a program to run), each line of its output the
result. All processes that a program started end with it. When the worker ends in any way, the input
ends, and then so do all programs.

It is small and has one thread, so it may do what a worker may not: on Linux it adopts orphans,
which makes all processes that a program started its own descendants, even those that left the
program's session.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import select
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

LINUX = sys.platform.startswith("linux")
PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36  # <linux/prctl.h>
TAIL = 4000  # bytes of a program's error output
ENDINGS = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)
LONGEST_END = 5.0  # seconds for which a process that does not die of SIGKILL is waited for


def main() -> None:
    for number in ENDINGS:
        signal.signal(number, _leave)
    woken = _wake_when_a_child_ends()
    control = ctypes.CDLL(None).prctl if LINUX else None
    if control:
        control(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    try:
        while line := sys.stdin.buffer.readline():
            answer = _carry_out(json.loads(line), woken, control)
            print(json.dumps(answer), flush=True)
    finally:
        _end_descendants()


def _carry_out(order: dict[str, Any], woken: int, control: Any) -> dict[str, Any]:
    """Run a program to its end, or to that of its time."""
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as complaints:
        try:
            program = subprocess.Popen(
                order["arguments"],
                cwd=order["folder"],
                env=order["environment"],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=complaints,
                start_new_session=True,
                preexec_fn=lambda: control and control(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0),
            )
        except OSError as error:
            return {"refused": [error.errno, error.strerror, error.filename]}
        in_time = _wait(program, order["time_limit"], woken)
        _end_descendants(program)
        complaints.seek(max(0, complaints.seek(0, os.SEEK_END) - TAIL))
        output.seek(0)
        return {
            "code": program.returncode if in_time else None,
            "output": output.read().decode("utf-8", "replace"),
            "complaints": complaints.read().decode("utf-8", "replace"),
        }


def _wait(program: subprocess.Popen[bytes], time_limit: float | None, woken: int) -> bool:
    """Return whether the program itself ended in time, even if its children hold its output."""
    deadline = None if time_limit is None else time.monotonic() + time_limit
    while program.poll() is None:
        left = None if deadline is None else deadline - time.monotonic()
        if left is not None and left <= 0:
            return False
        readable, _, _ = select.select([0, woken], [], [], left)
        if 0 in readable:  # no order comes while one is carried out: the worker is gone
            sys.exit()
        if woken in readable:
            os.read(woken, 4096)
    return True


def _end_descendants(program: subprocess.Popen[bytes] | None = None) -> None:
    """Kill everything that was started, again and again, since processes may have begun others."""
    deadline = time.monotonic() + LONGEST_END
    while _has_children() and time.monotonic() < deadline:
        for process in _descendants() if LINUX else ():
            _kill(os.kill, process)
        if not LINUX and program is not None:
            _kill(os.killpg, program.pid)
        time.sleep(0.001)


def _has_children() -> bool:
    """Return whether any child is left; those that ended are taken leave of."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        return False
    return True


def _descendants() -> list[int]:
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                parent = int((entry / "stat").read_bytes().rpartition(b")")[2].split()[1])
            except OSError:  # it has ended meanwhile
                continue
            children.setdefault(parent, []).append(int(entry.name))
    found = [os.getpid()]
    for process in found:
        found += children.get(process, [])
    return found[1:]


def _kill(way: Any, process: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        way(process, signal.SIGKILL)


def _wake_when_a_child_ends() -> int:
    """Return the end of a pipe that can be read then."""
    woken, wake = os.pipe()
    os.set_blocking(woken, False)
    os.set_blocking(wake, False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
    return woken


def _leave(*_: object) -> None:
    for number in ENDINGS:
        signal.signal(number, signal.SIG_IGN)  # the cleanup must not be cut short
    sys.exit()


if __name__ == "__main__":
    main()
