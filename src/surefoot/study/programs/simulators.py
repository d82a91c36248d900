"""Simulators that a configuration names: a command with {name} fields, or a timed function."""

from __future__ import annotations

import contextlib
import ctypes
import faulthandler
import json
import multiprocessing
import os
import re
import shlex
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from numbers import Real
from pathlib import Path
from types import FrameType
from typing import Any

from surefoot.errors import InputError
from surefoot.problem.coding import number_from_text, written
from surefoot.problem.problem import RobustProblem
from surefoot.study.input import Simulated, imported
from surefoot.study.programs.program import run_program
from surefoot.study.pull import Pull, Simulate, refuse_reserved

FIELD = re.compile(r"\{\{|\}\}|\{([^{}]*)\}")
OWN_FIELDS = ("arm", "perturbation", "id", "seed")
NOMINAL = "nominal.{}"
LARGEST_WHOLE = 2.0**53  # up to here every whole number is a float
LONGEST_LIMIT = 1e8  # seconds: timers of some systems take no more
GRACE = 1.0  # seconds for a function to end after it was told to


@dataclass(frozen=True)
class CommandSimulator:
    """Runs a program for each pull, without a shell.

    Fields in braces are replaced: {seed}, {id}, {arm}, {perturbation}, and each parameter by its
    name, written so that reading it back gives the same value; {nominal.name} is the
    unperturbed arm's. {{ and }} stand for braces.

    Attributes:
        command: the program and its arguments, each with fields; a single string is split as a
            shell would, no more.
        json_field: read the reward, or an object of outputs, from this field (dots lead into
            nested objects) of a JSON text; None: the last line of the text is the reward, or the
            text, or its last line, is a JSON object of outputs by name.
        cost_field: read the pull's cost from this field of the JSON text.
        file: read the text from this file, in the working folder, instead of the program's standard
            output. It belongs to one pull: a file that is there before is removed, and if pulls run
            at the same time, its name or the folder must have {id} or {seed}.
        time_limit: seconds after which the program and all it started are killed, and the pull has
            failed.
        folder: the working folder, with fields; made if missing. A relative `file` is
            inside it.
        base: where a relative `folder` begins.
    """

    command: str | Sequence[str]
    json_field: str | None = None
    cost_field: str | None = None
    file: str | None = None
    time_limit: float | None = None
    folder: str = "."
    base: str = "."

    def __post_init__(self) -> None:
        if not self.arguments:
            raise InputError("the command is empty: give the program and its arguments")
        if any("\0" in argument for argument in self.arguments):
            raise InputError("the command holds a NUL character, which no argument can: remove it")
        if self.time_limit is not None and not self.time_limit > 0:
            raise InputError(f"time_limit={self.time_limit!r} must be a number of seconds above 0")

    @property
    def arguments(self) -> list[str]:
        if not isinstance(self.command, str):
            return list(self.command)
        try:
            return shlex.split(self.command)
        except ValueError as error:
            raise InputError(
                f"the command {self.command!r:.80} cannot be split into arguments ({error}): close "
                "its quotes, or give a list of arguments"
            ) from None

    @property
    def working_folder(self) -> Path:
        """The working folder with its fields as they are written."""
        return Path(self.base, self.folder).absolute()

    def check_fields(self, parameter_names: Sequence[str]) -> None:
        """Refuse fields that no pull will have."""
        allowed = {*OWN_FIELDS, *parameter_names, *map(NOMINAL.format, parameter_names)}
        for text in (*self.arguments, self.folder, self.file or ""):
            for found in FIELD.finditer(text):
                if found[1] is not None and found[1] not in allowed:
                    raise InputError(
                        f"the command has a field {{{found[1]}}}, but a pull has only "
                        f"{', '.join(sorted(allowed))}: "
                        "correct it, or write {{ and }} for braces"
                    )

    def check(self, problem: RobustProblem, *, alone: bool) -> None:
        """Refuse fields that would give a pull another's values, result or folder.

        Args:
            alone: no two pulls are simulated at the same time.
        """
        refuse_reserved(problem.parameter_names)
        self.check_fields(problem.parameter_names)
        owned = {found[1] for found in FIELD.finditer(f"{self.folder} {self.file}")}
        if "arm" in owned:
            for name in problem.arm_names:
                _part_of_a_name(name)
        if "perturbation" in owned:
            for name in problem.perturbation_names:
                _part_of_a_name(name)
        # a seed is not enough: pulls that share random numbers share it
        if self.file and not alone and "id" not in owned:
            raise InputError(
                f"file = {self.file!r} would be the same for pulls that run at the same time, so "
                'that one reads the result of another: give each its own, with folder = "runs/{id}"'
                f' or file = "{{id}}-{Path(self.file).name}", or set max_in_flight = 1'
            )

    def __call__(self, pull: Pull) -> Simulated:
        folder = Path(self.base, _fill_path(self.folder, pull))
        folder.mkdir(parents=True, exist_ok=True)
        arguments = [fill(argument, pull) for argument in self.arguments]
        if self.file is None:
            text = run_program(arguments, folder, self.time_limit)
        else:
            result = folder / _fill_path(self.file, pull)
            result.unlink(missing_ok=True)  # a file there is not of this pull
            run_program(arguments, folder, self.time_limit)
            text = _written(result, arguments[0])
        if self.cost_field is not None:
            pull.charge(_json_number(text, self.cost_field))
        return _last_line(text) if self.json_field is None else _json_at(text, self.json_field)


def fill(text: str, pull: Pull) -> str:
    """Return the text with its fields replaced."""
    return _fill(text, pull, _shown)


def _fill_path(text: str, pull: Pull) -> str:
    """Return a path with its fields replaced; no value may lead to another folder."""
    return _fill(text, pull, _part_of_a_name)


def _fill(text: str, pull: Pull, shown: Callable[[object], str]) -> str:
    values: dict[str, object] = {
        **{NOMINAL.format(name): value for name, value in (pull.nominal or {}).items()},
        **pull.parameters,
        "arm": pull.arm,
        "perturbation": pull.perturbation,
        "id": pull.id,
        "seed": pull.seed,
    }

    def value(found: re.Match[str]) -> str:
        if found[1] is None:
            return found[0][0]
        if found[1] not in values:
            raise InputError(
                f"{text!r} has a field {found[0]}, but a pull has only {', '.join(sorted(values))}"
            )
        return shown(values[found[1]])

    return FIELD.sub(value, text)


def _shown(value: object) -> str:
    if isinstance(value, float) and value.is_integer() and abs(value) < LARGEST_WHOLE:
        return f"{value:.0f}"  # programs that want a whole number refuse "2.0"
    return written(value) if isinstance(value, str | bool | float) else str(value)


def _part_of_a_name(value: object) -> str:
    text = _shown(value)
    if "/" in text or "\0" in text or text in ("", ".", ".."):
        raise InputError(
            f"{text!r} cannot be part of the name of a folder or file: rename it, or use {{id}}"
        )
    return text


def _written(result: Path, program: str) -> str:
    try:
        return result.read_bytes().decode("utf-8", "replace")
    except FileNotFoundError:
        raise RuntimeError(
            f"{program} ended well, but wrote no {result}: the reward is read from there"
        ) from None


def _last_line(text: str) -> Simulated:
    lines = text.strip().splitlines()
    if lines and lines[-1].rstrip().endswith("}"):
        return _outputs(_json_value(text))
    try:
        return number_from_text(lines[-1])
    except (InputError, IndexError):
        said = repr(lines[-1][:80]) if lines else "nothing"
        raise ValueError(
            f"the last line of the output must be the reward, but it is {said}; several outputs "
            "are a JSON object"
        ) from None


def _outputs(given: Any) -> dict[str, float]:
    """Return the numbers in a JSON object; dots lead into nested ones, and text is left out."""
    if not isinstance(given, dict):
        raise ValueError(f"the output must be a JSON object of outputs, but it is {given!r:.80}")
    found: dict[str, float] = {}
    for name, value in given.items():
        if isinstance(value, dict):
            found |= {f"{name}.{inner}": each for inner, each in _outputs(value).items()}
        elif isinstance(value, int | float):
            found[name] = value
    return found


def _json_at(text: str, field: str) -> Simulated:
    found = _field_of(text, field)
    return _outputs(found) if isinstance(found, dict) else _json_number(text, field)


def _field_of(text: str, field: str) -> Any:
    value = _json_value(text)
    for key in field.split("."):
        if not isinstance(value, dict) or key not in value:
            raise ValueError(f"the JSON output has no field {field!r}: {text.strip()[:80]!r}")
        value = value[key]
    return value


def _json_number(text: str, field: str) -> float:
    value = _field_of(text, field)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError(f"the JSON field {field!r} is {value!r:.80}, not a number")
    return float(value)


def _json_value(text: str) -> Any:
    """Read the JSON of the text as a whole or, below other output, of its last line."""
    for part in (text, *text.strip().splitlines()[-1:]):
        with contextlib.suppress(json.JSONDecodeError):
            return json.loads(part)
    raise ValueError(
        f"the output, or its last line, must be JSON, but it ends in {text.strip()[-80:]!r}"
    )


def simulator_from(reference: str, folder: Path) -> Simulate:
    """Return the function that "module:function" names, beside the configuration file too."""
    found = imported(reference, folder, "simulator")
    if not callable(found):
        raise InputError(
            f"{reference!r} is a {type(found).__name__}, not a function: give a function of a pull"
        )
    simulator: Simulate = found
    return simulator


# a process forked while a dump is due would wait for ever for the thread that was to write it
os.register_at_fork(before=faulthandler.cancel_dump_traceback_later)


@dataclass(frozen=True)
class TimeLimited:
    """A function whose call fails once it takes longer than its limit.

    The function is stopped where it is. Code that is not Python is not: in a worker process of
    surefoot's own, one that does not come back to Python ends with its process.

    Attributes:
        function: gives the reward of a pull, or of named parameters.
        seconds: the limit.
    """

    function: Callable[..., Simulated]
    seconds: float

    def __post_init__(self) -> None:
        if not (isinstance(self.seconds, Real) and 0 < self.seconds <= LONGEST_LIMIT):
            raise InputError(
                f"time_limit={self.seconds!r:.60} must be a number of seconds above 0, of at most "
                f"{LONGEST_LIMIT:g}"
            )

    @property
    def __wrapped__(self) -> Callable[..., Simulated]:
        return self.function

    def __call__(self, *given: Any, **named: Any) -> Simulated:
        began = time.monotonic()
        in_main_thread = threading.current_thread() is threading.main_thread()
        with self._alarm() if in_main_thread else self._messenger():
            reward = self.function(*given, **named)
        if time.monotonic() - began > self.seconds:  # where it could not be stopped, or hid it
            raise self._too_long()
        return reward

    def _too_long(self) -> TimeoutError:
        return TimeoutError(f"the simulator took longer than its time limit of {self.seconds:g} s")

    @contextlib.contextmanager
    def _alarm(self) -> Iterator[None]:
        """Interrupt the main thread by a signal; a timer set by other code goes on."""

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
