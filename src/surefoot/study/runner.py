"""The loop of a study with a simulator: hand out, wait, store, and again."""

from __future__ import annotations

import contextlib
import pickle
import signal
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator
from queue import Empty, SimpleQueue
from types import FrameType
from typing import Any, Self

from surefoot.algorithms import Result
from surefoot.errors import InputError
from surefoot.progress import NoProgress, Progress
from surefoot.study.errors import StudyInterrupted, StudyPaused
from surefoot.study.executors import is_loss, workers_from
from surefoot.study.ledger import Ledger
from surefoot.study.pull import Pull, Report
from surefoot.study.worker import run_chunk

CHUNK_SECONDS = 0.1  # long against the cost of a chunk, short against a user's patience
CHUNK_LIMIT = 1000
LONG_PULL = 0.5  # seconds: above it a worker need not have the next pull at hand
REFRESH = 0.2  # seconds between reports on progress
# a pull that lost its worker more often waits until nothing else can be hurt by it
LOSSES_IN_COMPANY = 2
LONGEST_REST = 5.0

LEFT = "stopped without waiting; what was running will be pulled again"

Chunk = list[Pull]


class Runner:
    """One call of `Study.run`."""

    def __init__(
        self,
        ledger: Ledger,
        simulator: Callable[[Pull], float],
        executor: Any,
        max_in_flight: int | None,
        retries: int,
        progress: Progress | None,
    ) -> None:
        if not callable(simulator):
            raise InputError(
                f"the simulator {simulator!r:.80} cannot be called: give a function of a pull"
            )
        if max_in_flight is not None and max_in_flight < 1:
            raise InputError(
                f"max_in_flight={max_in_flight!r} leaves nothing to do: give 1 or more, or None"
            )
        if retries < 0:
            raise InputError(f"retries={retries!r} must be a whole number ≥ 0")
        self._ledger, self._simulator, self._retries = ledger, simulator, retries
        self._limit = max_in_flight
        self._progress = progress or NoProgress()
        self._workers = workers_from(executor, max_in_flight)
        self._answers: SimpleQueue[Any] = SimpleQueue()
        self._flying: dict[Any, Chunk] = {}
        self._again: deque[Pull] = deque()  # to be pulled once more, each on its own
        # lost their worker again and again: one at a time, nothing beside them
        self._dangerous: deque[Pull] = deque()
        self._failures: Counter[int] = Counter()
        self._losses: Counter[int] = Counter()
        self._seconds: float | None = None  # a pull takes this long, by experience
        self._rest = 0.0
        self._stopping, self._leaving, self._idle = False, False, False
        self._pause: StudyPaused | None = None
        self._began, self._told_before, self._shown = time.monotonic(), ledger.told, -REFRESH
        self._trouble: str | None = None

    def run(self) -> Result:
        self._ledger.resume()
        self._ledger.recall()
        with self._interruptible():
            while self._may_hand_out() or self._flying:
                self._hand_out() if self._may_hand_out() else self._call_back()
                self._show()
                self._store(self._wait())
        if self._pause is not None:
            raise self._pause
        if not self._ledger.done:
            raise StudyInterrupted(
                f"stopped after {self._ledger.told} pulls; run the study again to go on"
            )
        return self._ledger.result

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.close()
        self._workers.stop(wait=not self._flying)
        self._ledger.give_back(pull.id for chunk in self._unfinished() for pull in chunk)

    def _may_hand_out(self) -> bool:
        return not (self._stopping or self._pause or self._ledger.done)

    def _hand_out(self) -> None:
        while (
            self._may_hand_out()
            and len(self._flying) < self._slots()
            and (chunk := self._next_chunk())
        ):
            try:
                with self._leavable():
                    future = self._workers.submit(run_chunk, self._simulator, chunk)
            except BaseException:
                self._ledger.give_back(pull.id for pull in chunk)
                raise
            self._flying[future] = chunk
            future.add_done_callback(self._answers.put)

    def _wait(self) -> list[Any]:
        """All answers that are there, at least one unless a progress report is due first."""
        answers = []
        with contextlib.suppress(Empty), self._leavable():
            answers.append(self._answers.get(timeout=REFRESH))
            while True:
                answers.append(self._answers.get_nowait())
        return [answer for answer in answers if answer in self._flying]

    def _store(self, answers: list[Any]) -> None:
        """Write what came back in one transaction: only then is anything else handed out."""
        pulls: dict[int, Pull] = {}
        reports: list[Report] = []
        for future in answers:
            chunk = self._flying.pop(future)
            error = _error_of(future)
            if error is not None and is_loss(error):
                self._take_back_lost(chunk, error)
                continue
            pulls |= {pull.id: pull for pull in chunk}
            came = self._learn_pace(future.result()) if error is None else _not_sent(chunk, error)
            self._ledger.give_back(pull.id for pull in chunk[len(came) :])
            reports += came
        if reports:
            self._rest = 0.0
            self._keep(reports, pulls)

    def _keep(self, reports: list[Report], pulls: dict[int, Pull]) -> None:
        failed = [report for report in reports if report.reward is None]
        self._failures.update(report.id for report in failed)
        hopeless = [report for report in failed if self._failures[report.id] > self._retries]
        self._ledger.record(reports, hopeless[0].id if hopeless else None)
        self._again.extend(pulls[report.id] for report in failed)
        if failed:
            self._trouble = f"pull {failed[-1].id} failed"
        if hopeless and self._pause is None:
            self._pause_for(hopeless[0], pulls[hopeless[0].id])

    def _pause_for(self, report: Report, pull: Pull) -> None:
        tries = self._failures[report.id]
        where = ", ".join(f"{name}={value:g}" for name, value in pull.parameters.items())
        message = (
            f"pull {pull.id} (arm {pull.arm!r}, perturbation {pull.perturbation!r}, "
            f"{where}) failed {tries} times:\n"
            f"{report.error}\nNothing is lost and nothing was left out. Mend the "
            f"simulator, then go on with "
            f"{self._ledger.command}"
        )
        self._pause = StudyPaused(message, pull.id, report.error or "")
        self._ledger.pause(message)

    def _take_back_lost(self, chunk: Chunk, error: BaseException) -> None:
        """The worker died, or the node was taken away: the same pulls again, with the same
        seeds.
        """
        self._workers.repair()
        if self._stopping or self._pause:
            self._ledger.give_back(pull.id for pull in chunk)
            return
        self._ledger.record_losses(
            [pull.id for pull in chunk], f"lost: {type(error).__name__}: {error}"
        )
        for pull in chunk:
            self._losses[pull.id] += 1
            alone = self._losses[pull.id] > LOSSES_IN_COMPANY
            (self._dangerous if alone else self._again).append(pull)
        most = max(chunk, key=lambda pull: self._losses[pull.id])
        self._trouble = f"pull {most.id} lost its worker {self._losses[most.id]} times"
        time.sleep(self._rest)
        self._rest = min(max(2 * self._rest, 0.05), LONGEST_REST)

    def _next_chunk(self) -> Chunk:
        room = (
            CHUNK_LIMIT
            if self._limit is None
            else self._limit - sum(map(len, self._flying.values()))
        )
        if room < 1 or self._danger_is_flying():
            return []
        while self._again:
            pull = self._again.popleft()
            if self._ledger.needs(pull.id):
                return [pull]
        if self._ledger.waiting:
            return self._ledger.take(min(room, self._chunk_size()))
        return [self._dangerous.popleft()] if self._dangerous and not self._flying else []

    def _danger_is_flying(self) -> bool:
        flying = (
            (pull.id for chunk in self._flying.values() for pull in chunk) if self._losses else ()
        )
        return any(self._losses[number] > LOSSES_IN_COMPANY for number in flying)

    def _chunk_size(self) -> int:
        """Enough pulls to outweigh the cost of sending them, few enough to keep all workers busy to
        the end.
        """
        if self._seconds is None:
            return 1
        wanted = int(CHUNK_SECONDS / max(self._seconds, CHUNK_SECONDS / CHUNK_LIMIT))
        fair = self._ledger.waiting // (2 * self._workers.size)
        return max(1, min(wanted, fair))

    def _slots(self) -> int:
        """Chunks in flight: one a worker, and one more each if they are so short that a worker
        would wait for us.
        """
        ahead = (
            self._workers.depth if self._seconds is not None and self._seconds < LONG_PULL else 1
        )
        return ahead * self._workers.size

    def _learn_pace(self, reports: list[Report]) -> list[Report]:
        spent = sum(
            report.finished - (report.started or report.finished) for report in reports
        ) / len(reports)
        self._seconds = spent if self._seconds is None else 0.8 * self._seconds + 0.2 * spent
        return reports

    def _unfinished(self) -> Iterator[Chunk]:
        yield from self._flying.values()
        yield list(self._again)
        yield list(self._dangerous)

    def _call_back(self) -> None:
        """Take back what was handed out and has not begun."""
        for future in list(self._flying):
            if self._workers.cancel(future):
                self._ledger.give_back(pull.id for pull in self._flying.pop(future))

    def _show(self) -> None:
        self._ledger.forecast()
        if time.monotonic() - self._shown < REFRESH:
            return
        self._shown = time.monotonic()
        pace = (self._ledger.told - self._told_before) / max(self._shown - self._began, 1e-9)
        in_flight = sum(map(len, self._flying.values()))
        self._progress.update(self._ledger.snapshot(in_flight, pace or None, self._trouble))

    @contextlib.contextmanager
    def _interruptible(self) -> Iterator[None]:
        """First SIGINT: finish what is running. Second: do not. Elsewhere than in the main thread,
        none arrives.
        """
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = signal.signal(signal.SIGINT, self._on_interrupt)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, before)

    def _on_interrupt(self, number: int, frame: FrameType | None) -> None:
        if self._stopping:
            self._leaving = True
            if self._idle:
                raise StudyInterrupted(LEFT)
        self._stopping = True
        self._trouble = "stopping: waiting for what is running, interrupt again to leave at once"

    @contextlib.contextmanager
    def _leavable(self) -> Iterator[None]:
        """Where a second SIGINT may strike at once: not between a write and what follows from
        it.
        """
        if self._leaving:
            raise StudyInterrupted(LEFT)
        self._idle = True
        try:
            yield
        finally:
            self._idle = False


def _error_of(future: Any) -> BaseException | None:
    try:
        error: BaseException | None = future.exception()
    except BaseException as raised:  # a cancelled future raises here instead
        if isinstance(raised, KeyboardInterrupt):
            raise
        return raised
    return error


def _not_sent(chunk: Chunk, error: BaseException) -> list[Report]:
    """Failures of pulls that never reached the simulator."""
    text = f"{type(error).__name__}: {error}"
    if isinstance(error, pickle.PicklingError | AttributeError | TypeError | ImportError):
        text += (
            "\nThe simulator could not be sent to the workers: define it at the top "
            "level of a module that they can "
            "import, or run with executor='threads' or 'serial'"
        )
    return [Report(pull.id, None, text, None, time.time()) for pull in chunk]
