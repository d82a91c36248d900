"""The loop of a study with a simulator: hand out, wait, store, and again."""

from __future__ import annotations

import contextlib
import pickle
import signal
import statistics
import threading
import time
import warnings
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from types import FrameType
from typing import Any, Self

from surefoot.algorithms import Result
from surefoot.errors import (
    InputError,
    StudyFileError,
    StudyInterrupted,
    StudyPaused,
    SurefootWarning,
)
from surefoot.problem.coding import written
from surefoot.study.file.storage import Running
from surefoot.study.input import Simulated
from surefoot.study.ledger import Ledger
from surefoot.study.programs.functions import Named, Watched
from surefoot.study.pull import Pull, Report
from surefoot.study.run.executors import deaths_in, is_loss, workers_from
from surefoot.study.run.worker import run_chunk
from surefoot.system.progress import NoProgress, Progress, duration

# a pull that lost its worker more often waits until nothing else can be hurt by it
LOSSES_IN_COMPANY = 2
LOSSES_ALONE = 3  # then it is clear that this pull kills workers
LONGEST_REST = 5.0
CHUNK_SECONDS = 0.1  # long against the cost of a chunk, short against a user's patience
CHUNK_LIMIT = 1000
LONG_PULL = 0.5  # seconds: above it a worker need not have the next pull at hand
SLOW = 1.5  # times the median pair: slower pairs go first
LEFT = "stopped without waiting; what was running will be pulled again"
REFRESH = 0.2  # seconds between reports on progress
NOTED_EVERY = 1.0  # seconds between notes of running pulls in the file
NOTED_AFTER = 1.0  # seconds: quicker pulls are not noted
SHOWN_AFTER = 10.0  # seconds: quicker pulls are not shown
MOST_NOTES = 64  # notes; those that run longest

Chunk = list[Pull]


@dataclass(frozen=True)
class Limits:
    """The number of pulls handed out at a time, and of attempts at a pull that fails."""

    max_in_flight: int | None
    retries: int

    def __post_init__(self) -> None:
        if self.max_in_flight is not None and self.max_in_flight < 1:
            raise InputError(
                f"max_in_flight={self.max_in_flight!r} leaves nothing to do: give 1 or more, or "
                "None"
            )
        if self.retries < 0:
            raise InputError(f"retries={self.retries!r} must be a whole number ≥ 0")


class Runner:
    """One call of `Study.run`."""

    def __init__(
        self,
        ledger: Ledger,
        simulator: Callable[..., Simulated],
        executor: Any,
        limits: Limits,
        progress: Progress | None,
    ) -> None:
        names = ledger.description.problem.parameter_names
        self._simulator = simulator if isinstance(simulator, Named) else Named(simulator, names)
        self._ledger, self._limits = ledger, limits
        self._workers = workers_from(executor, limits.max_in_flight)
        if hasattr(simulator, "check"):
            alone = limits.max_in_flight == 1 or self._workers.one_at_a_time
            simulator.check(ledger.description.problem, alone=alone)
        self._watched = Watched(simulator)
        self._number = None if ledger.done else ledger.use(self._watched.source)
        self._answers: SimpleQueue[Any] = SimpleQueue()
        self._flying: dict[Any, tuple[Chunk, float]] = {}  # and when they were handed out
        self._again: deque[Pull] = deque()  # to be pulled once more, each on its own
        # pulls that lost their worker repeatedly: each runs alone
        self._dangerous: deque[Pull] = deque()
        self._failures: Counter[int] = Counter()
        self._has_warned = False
        self._losses: Counter[int] = Counter()
        self._losses_alone: Counter[int] = Counter()
        self._rest = 0.0
        self._pause: StudyPaused | None = None
        self._pace, self._stopping = _Pace(), _Stopping()
        self._watch = _Watch(ledger, progress or NoProgress())
        ledger.forecasts.wanted = type(progress) is not NoProgress

    def run(self) -> Result:
        self._ledger.resume()
        self._ledger.recall()
        with self._stopping.listening():
            while self._may_hand_out() or (self._flying and not self._ledger.done):
                if self._may_hand_out():
                    self._hand_out()
                else:
                    self._call_back()
                self._ledger.note_last()
                self._show()
                self._count_moved()
                self._store(self._wait())
        if self._ledger.done:
            self._call_off()
            return self._ledger.result
        if self._pause is not None:
            raise self._pause
        raise StudyInterrupted(
            f"stopped after {self._ledger.told} pulls; run the study again to go on"
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._watch.close()
        with contextlib.suppress(StudyFileError):  # then the run has ended for that reason
            self._ledger.note_last()
        self._workers.stop(wait=not self._flying)
        self._ledger.give_back(pull.id for chunk in self._unfinished() for pull in chunk)

    def _may_hand_out(self) -> bool:
        return not (self._stopping.asked or self._pause or self._ledger.done)

    def _hand_out(self) -> None:
        while (
            self._workers.ready
            and self._may_hand_out()
            and len(self._flying) < self._slots()
            and (chunk := self._next_chunk())
        ):
            try:
                with self._stopping.leavable():
                    future = self._workers.submit(run_chunk, self._simulator, chunk)
            except BaseException:
                self._ledger.give_back(pull.id for pull in chunk)
                raise
            self._flying[future] = (chunk, time.time())
            future.add_done_callback(self._answers.put)

    def _wait(self) -> list[Any]:
        """Return all answers that are there, at least one unless a progress report is due first."""
        answers = []
        with contextlib.suppress(Empty), self._stopping.leavable():
            answers.append(self._answers.get(timeout=REFRESH))
            while True:
                answers.append(self._answers.get_nowait())
        return [answer for answer in answers if answer in self._flying]

    def _store(self, answers: list[Any]) -> None:
        """Write the reports in one transaction, before more pulls are handed out."""
        pulls: dict[int, Pull] = {}
        reports: list[Report] = []
        refused: InputError | None = None
        for future in answers:
            chunk, _ = self._flying.pop(future)
            error = _error_of(future)
            if error is not None and is_loss(error):
                self._take_back_lost(chunk, error)
                continue
            if (refusal := self._workers.refusal(error)) is not None:
                self._ledger.give_back(pull.id for pull in chunk)  # the simulator was never called
                refused = refused or refusal
                continue
            pulls |= {pull.id: pull for pull in chunk}
            came = self._arrived(future, chunk) if error is None else _not_sent(chunk, error)
            self._ledger.give_back(pull.id for pull in chunk[len(came) :])
            reports += came
        if reports:
            self._rest = 0.0
            self._keep(reports, pulls)
        if refused is not None:
            raise refused

    def _arrived(self, future: Any, chunk: Chunk) -> list[Report]:
        reports: list[Report] = future.result()
        self._pace.learn(reports, {pull.id: pull for pull in chunk})
        return [self._read(report) for report in reports]

    def _read(self, report: Report) -> Report:
        """Return the report, or a failure if its reward is impossible."""
        description = self._ledger.description
        if report.reward is not None:
            try:
                reading = description.reading(report.id, report.reward)
                return report._replace(reward=reading.reward, others=reading.others)
            except InputError as error:
                report = report._replace(reward=None, error=str(error))
        return report._replace(reward=description.on_failure)

    def _keep(self, reports: list[Report], pulls: dict[int, Pull]) -> None:
        failed = [report for report in reports if report.reward is None]
        self._failures.update(report.id for report in failed)
        self._warn_of_luck(reports)
        hopeless = [report for report in failed if self._failures[report.id] > self._limits.retries]
        if self._watched.changed():
            self._number = self._ledger.use(self._watched.source)
        self._ledger.record(reports, hopeless[0].id if hopeless else None, self._number)
        again = (report.id for report in failed if self._ledger.needs(report.id))
        self._again.extend(map(self._ledger.pull, again))  # anew: nothing is charged yet
        if failed:
            self._watch.trouble = f"pull {failed[-1].id} failed"
        if hopeless and self._pause is None and not self._ledger.done:
            pull = pulls[hopeless[0].id]
            times = self._failures[pull.id]
            how = "failed" if times == 1 else f"failed {times} times"
            self._pause_for(pull, how, hopeless[0].error)

    def _warn_of_luck(self, reports: list[Report]) -> None:
        """Warn if a pull failed and gave a reward when it was tried again with its seed."""
        again = [r.id for r in reports if r.reward is not None and self._failures[r.id]]
        if again and not self._has_warned:
            self._has_warned = True
            warnings.warn(
                f"pull {again[0]} failed, and gave a reward when it was tried again with the same "
                "seed. If that was no failing disk, network or licence, the simulator draws "
                "randomness of its own: draw all from pull.rng() or pull.seed. If bad luck is what "
                "fails, what is left looks better than it is: on_failure lets a failed pull count",
                SurefootWarning,
                stacklevel=2,
            )

    def _pause_for(self, pull: Pull, what: str, error: str | None) -> None:
        where = ", ".join(
            f"{name}={written(value, 'g')}" for name, value in pull.parameters.items()
        )
        said = (
            f"pull {pull.id} (arm {pull.arm!r}, perturbation {pull.perturbation!r}, "
            f"{where}) {what}:\n{error}"
        )
        remedy = (
            "\nNothing is lost and nothing was left out. Mend the simulator, then go on with "
            f"{self._ledger.command}"
        )
        self._pause = StudyPaused(said, pull.id, error or "", remedy)
        self._ledger.pause(said + remedy)

    def _take_back_lost(self, chunk: Chunk, error: BaseException) -> None:
        """Hand out the pulls of a worker that died again, with unchanged seeds."""
        self._workers.repair()
        if self._stopping.asked or self._pause or not self._workers.ready:
            self._ledger.give_back(pull.id for pull in chunk)
            return
        self._ledger.record_losses(
            [pull.id for pull in chunk], f"lost: {type(error).__name__}: {error}"
        )
        for pull in chunk:
            self._count_loss(pull, error)
        most = max(chunk, key=lambda pull: self._losses[pull.id])
        self._watch.trouble = f"pull {most.id} lost its worker {self._losses[most.id]} times"
        time.sleep(self._rest)
        self._rest = min(max(2 * self._rest, 0.05), LONGEST_REST)

    def _count_loss(self, pull: Pull, error: BaseException) -> None:
        """Set a pull apart that loses its worker again and again; if it goes on, pause."""
        if self._losses[pull.id] > LOSSES_IN_COMPANY:
            self._losses_alone[pull.id] += deaths_in(error)
        self._losses[pull.id] += deaths_in(error)
        alone = self._losses[pull.id] > LOSSES_IN_COMPANY
        (self._dangerous if alone else self._again).append(pull)
        if self._losses_alone[pull.id] >= LOSSES_ALONE:
            what = f"lost its worker {self._losses[pull.id]} times, in the end with nothing beside"
            text = f"{type(error).__name__}: {error}\nDoes it crash, or need too much memory?"
            self._ledger.record([Report(pull.id, None, text, None, time.time())], pull.id)
            self._pause_for(pull, what, text)

    def _next_chunk(self) -> Chunk:
        most = self._limits.max_in_flight
        room = CHUNK_LIMIT if most is None else most - self._in_flight()
        if room < 1 or self._danger_is_flying():
            return []
        while self._again:
            pull = self._again.popleft()
            if self._ledger.needs(pull.id):
                return [pull]
        if waiting := self._ledger.waiting:
            size = min(room, self._pace.chunk_size(waiting, self._workers.size))
            return self._ledger.take(size, self._pace.slow_pairs)
        return [self._dangerous.popleft()] if self._dangerous and not self._flying else []

    def _danger_is_flying(self) -> bool:
        flying = (
            (pull.id for chunk, _ in self._flying.values() for pull in chunk)
            if self._losses
            else ()
        )
        return any(self._losses[number] > LOSSES_IN_COMPANY for number in flying)

    def _slots(self) -> int:
        """Count the chunks in flight: one per worker, and the next one for each if pulls are short,
        or if there are more workers where pulls wait.
        """
        ahead = self._pace.is_short or self._workers.grows
        return self._workers.size * (self._workers.depth if ahead else 1)

    def _in_flight(self) -> int:
        return sum(len(chunk) for chunk, _ in self._flying.values())

    def _unfinished(self) -> Iterator[Chunk]:
        yield from (chunk for chunk, _ in self._flying.values())
        yield list(self._again)
        yield list(self._dangerous)

    def _call_back(self) -> None:
        """Take back pulls that were handed out and have not begun."""
        for future in list(self._flying):
            if self._workers.cancel(future):
                self._ledger.give_back(pull.id for pull in self._flying.pop(future)[0])

    def _call_off(self) -> None:
        """Call off pulls that the answer does not need; results of running ones are ignored."""
        for future in self._flying:
            future.cancel()

    def _count_moved(self) -> None:
        """Count pulls whose worker died, where the executor itself gives them to another."""
        if moved := self._workers.moved(self._flying):
            self._ledger.record_losses([pull.id for pull in moved], "lost: its worker is gone")
            self._watch.trouble = f"pull {moved[0].id} lost its worker"

    def _show(self) -> None:
        hint = self._stopping.words or self._workers.trouble
        self._watch.look(self._in_flight, lambda: self._workers.running(self._flying), hint)


def _error_of(future: Any) -> BaseException | None:
    try:
        error: BaseException | None = future.exception()
    except BaseException as raised:  # a cancelled future raises here instead
        if isinstance(raised, KeyboardInterrupt):
            raise
        return raised
    return error


def _not_sent(chunk: Chunk, error: BaseException) -> list[Report]:
    """Return failures of pulls that never reached the simulator."""
    text = f"{type(error).__name__}: {error}"
    if isinstance(error, pickle.PicklingError | AttributeError | TypeError | ImportError):
        text += (
            "\nThe simulator could not be sent to the workers: define it at the top level of a "
            "module that they can import, or leave it in this process: 'threads' or 'serial' in "
            "place of processes"
        )
    return [Report(pull.id, None, text, None, time.time()) for pull in chunk]


class _Pace:
    """The times of earlier pulls, of all and of each pair."""

    def __init__(self) -> None:
        self._seconds: float | None = None
        self._of_pair: dict[int, tuple[float, int]] = {}

    def learn(self, reports: list[Report], pulls: Mapping[int, Pull]) -> None:
        """Take note of how long some pulls took."""
        took = [report.finished - (report.started or report.finished) for report in reports]
        for report, seconds in zip(reports, took, strict=True):
            total, number = self._of_pair.get(pulls[report.id].pair, (0.0, 0))
            self._of_pair[pulls[report.id].pair] = (total + seconds, number + 1)
        spent = sum(took) / len(took)
        self._seconds = spent if self._seconds is None else 0.8 * self._seconds + 0.2 * spent

    def chunk_size(self, waiting: int, workers: int) -> int:
        """Return how many pulls are enough to be worth sending, few enough to keep all workers busy
        to the end.
        """
        if self._seconds is None:
            return 1
        wanted = int(CHUNK_SECONDS / max(self._seconds, CHUNK_SECONDS / CHUNK_LIMIT))
        return max(1, min(wanted, waiting // (2 * workers)))

    @property
    def slow_pairs(self) -> set[int]:
        """Pairs whose pulls take far longer than others'; empty where all are short.

        A phase that ends with a slow pull keeps all other workers waiting for it.
        """
        if self._seconds is None or self._seconds < CHUNK_SECONDS:
            return set()
        means = {pair: total / number for pair, (total, number) in self._of_pair.items()}
        usual = statistics.median(means.values())
        return {pair for pair, mean in means.items() if mean > SLOW * usual}

    @property
    def is_short(self) -> bool:
        """True if a worker would wait for us, unless it has its next chunk at hand."""
        return self._seconds is not None and self._seconds < LONG_PULL


class _Stopping:
    """First SIGINT: finish running pulls. Second: abandon them.

    Attributes:
        asked: whether one has come.
    """

    def __init__(self) -> None:
        self.asked = False
        self._leaving, self._idle = False, False

    @property
    def words(self) -> str | None:
        """The sentence that is said about it."""
        if not self.asked:
            return None
        return "stopping: waiting for what is running, interrupt again to leave at once"

    @contextlib.contextmanager
    def listening(self) -> Iterator[None]:
        """Take interrupts in this block. Elsewhere than in the main thread, none arrives."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = signal.signal(signal.SIGINT, self._on_interrupt)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, before)

    @contextlib.contextmanager
    def leavable(self) -> Iterator[None]:
        """Let a second SIGINT strike at once: not between a write and its consequences.

        If it is swallowed there, by a compiled callback for example, it strikes the next time.
        """
        if self._leaving:
            raise StudyInterrupted(LEFT)
        self._idle = True
        try:
            yield
        finally:
            self._idle = False

    def _on_interrupt(self, number: int, frame: FrameType | None) -> None:
        if self.asked:
            self._leaving = True
            if self._idle:
                raise StudyInterrupted(LEFT)
        self.asked = True


class _Watch:
    """Tells how far a run is, at most every now and then.

    Attributes:
        trouble: the last loss or failure.
    """

    def __init__(self, ledger: Ledger, progress: Progress) -> None:
        self._ledger, self._progress = ledger, progress
        self._began, self._told_before = time.monotonic(), ledger.told
        self._shown, self._noted = -REFRESH, time.monotonic()
        self._notes: list[Running] = []
        self.trouble: str | None = None

    def look(
        self,
        in_flight: Callable[[], int],
        running: Callable[[], list[Running]],
        hint: str | None,
    ) -> None:
        """Show and store the progress, if it is time for that.

        Args:
            in_flight: counts the pulls that are handed out.
            running: gives the pulls being simulated.
            hint: more urgent than trouble.
        """
        now = time.monotonic()
        if now - self._shown < REFRESH:
            return
        self._shown = now
        if now - self._noted >= NOTED_EVERY:
            self._noted = now
            self._note(running())
        words = [word for word in (hint or self.trouble, self._longest()) if word]
        pace = (self._ledger.told - self._told_before) / max(now - self._began, 1e-9)
        self._progress.update(
            self._ledger.snapshot(in_flight(), pace or None, ", ".join(words) or None)
        )

    def close(self) -> None:
        self._progress.close()
        with contextlib.suppress(StudyFileError):  # then the run has ended for that reason
            self._note([])

    def _note(self, running: list[Running]) -> None:
        old = time.time() - NOTED_AFTER
        notes = sorted((one for one in running if one.since < old), key=lambda one: one.since)
        if notes[:MOST_NOTES] != self._notes:
            self._notes = notes[:MOST_NOTES]
            self._ledger.set_running(self._notes)

    def _longest(self) -> str | None:
        if not self._notes:
            return None
        longest, seconds = self._notes[0], time.time() - self._notes[0].since
        where = f" on {longest.worker}" if longest.worker else ""
        words = f"pull {longest.pull} runs for {duration(seconds)}{where}"
        return words if seconds >= SHOWN_AFTER else None
