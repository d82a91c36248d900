"""Workers of every bad habit, in one process: some pulls come back much later than others, some
are simulated twice, some are lost after they were, and some come when the study has its answer.
"""

from __future__ import annotations

import threading
import time
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import Any, Self

import numpy as np

from surefoot import Gaussian, Study
from surefoot.algorithms import Result
from surefoot.errors import SurefootWarning
from surefoot.study import Pull, StudyReader
from tests.chaos.trial import Trial
from tests.study.killed import TABLE
from tests.study.toys import same_result

PAUSE = 0.002  # seconds between calls that come back
LOST, TWICE = 0.05, 0.1  # shares of calls


def simulate(pull: Pull) -> float:
    return float(0.7 * (pull.pair // 2) + pull.rng().normal())


class Unruly(Executor):
    """Calls that come back one by one, any of those that are under way."""

    def __init__(self, generator: np.random.Generator) -> None:
        self._generator, self._ends = generator, threading.Event()
        self._calls = list[tuple[Future[Any], Callable[[], Any]]]()
        self._thread = threading.Thread(target=self._go_on)

    def submit(self, function: Callable[..., Any], /, *args: Any, **named: Any) -> Future[Any]:
        future: Future[Any] = Future()
        future.set_running_or_notify_cancel()  # it cannot be called off any more
        self._calls.append((future, lambda: function(*args, **named)))
        return future

    def come_late(self) -> int:
        """Let all that is still under way come back; how many calls that was."""
        self._ends.set()
        self._thread.join()
        for _, call in self._calls:
            call()
        return len(self._calls)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ends.set()
        self._thread.join()

    def _go_on(self) -> None:
        while not self._ends.is_set():
            time.sleep(PAUSE)
            if self._calls:
                place = int(self._generator.integers(len(self._calls)))
                self._come_back(*self._calls.pop(place))

    def _come_back(self, future: Future[Any], call: Callable[[], Any]) -> None:
        came = call()
        if self._generator.random() < TWICE:
            came = call()
        if self._generator.random() < LOST:
            future.set_exception(BrokenProcessPool("lost after it was simulated"))
        else:
            future.set_result(came)


def late(count: int, folder: Path, generator: np.random.Generator) -> Iterator[Trial]:
    """Each trial runs one study of phases in flight on such workers, then tells it what is late."""
    with _create(folder / "calm.db") as study:
        expected = study.run(simulate, "serial")
    rewards = _of_answer(folder / "calm.db", expected)
    for number in range(count):
        path = folder / f"late-{number}.db"
        with warnings.catch_warnings(), _create(path) as study:
            warnings.simplefilter("ignore", SurefootWarning)
            broken = _tried(study, generator)
            same = same_result(study.result, expected)
        if not broken and not (same and _of_answer(path, expected) == rewards):
            broken = "another end"
        yield Trial(f"study {number} on unruly workers", broken)


def _create(path: Path) -> Study:
    asked: dict[str, Any] = {"delta": 0.1, "noise": Gaussian(), "seed": 4}
    return Study.create(path, TABLE, parallel=24, in_flight=3, **asked)


def _tried(study: Study, generator: np.random.Generator) -> str | None:
    """Run a study in two parts, by hand with repeats and on unruly workers; then tell it more."""
    asked = study.ask(int(generator.integers(1, 60)))
    for place in generator.permutation(len(asked)).tolist():
        if not study.tell(asked[place], simulate(asked[place])):
            return "a reward was refused"
    if study.tell(asked[0], simulate(asked[0])):
        return "a reward was taken twice"
    with Unruly(generator) as unruly:
        study.run(simulate, unruly, max_in_flight=int(generator.integers(2, 60)))
        before = study.result
        unruly.come_late()
    flying, _ = study.called_off
    if any(study.tell(before.samples + place, 1e3) for place in range(flying)):
        return "a late reward was taken"
    return None if same_result(study.result, before) else "a late reward changed the answer"


def _of_answer(path: Path, result: Result) -> list[tuple[int, int, float]]:
    """The rewards that the answer rests on: others were in flight."""
    with StudyReader(path) as reader:
        table = reader.pulls(limit=result.samples)[["id", "pair", "reward"]]
    return list(table.itertuples(index=False, name=None))
