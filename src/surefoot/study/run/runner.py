"""The loop of a study with a simulator: hand out, wait, store, and again."""

from __future__ import annotations

import contextlib
import pickle
import time
import warnings
from collections import Counter, deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from typing import Any, Self

from surefoot.algorithms import Result
from surefoot.errors import InputError, StudyInterrupted, StudyPaused, SurefootWarning
from surefoot.problem.coding import written
from surefoot.study.ledger import Ledger
from surefoot.study.outputs import Simulated
from surefoot.study.programs.named import Named
from surefoot.study.programs.source import Watched
from surefoot.study.pull import Pull, Report
from surefoot.study.run.executors import deaths_in, is_loss, workers_from
from surefoot.study.run.pace import CHUNK_LIMIT, Pace
from surefoot.study.run.stopping import Stopping
from surefoot.study.run.watch import REFRESH, Watch
from surefoot.study.run.worker import run_chunk
from surefoot.system.progress import NoProgress, Progress

# a pull that lost its worker more often waits until nothing else can be hurt by it
LOSSES_IN_COMPANY = 2
LOSSES_ALONE = 3  # then it is clear who kills them
LONGEST_REST = 5.0

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
        # lost their worker again and again: one at a time, nothing beside them
        self._dangerous: deque[Pull] = deque()
        self._failures: Counter[int] = Counter()
        self._has_warned = False
        self._losses: Counter[int] = Counter()
        self._losses_alone: Counter[int] = Counter()
        self._rest = 0.0
        self._pause: StudyPaused | None = None
        self._pace, self._stopping = Pace(), Stopping()
        self._watch = Watch(ledger, progress or NoProgress())
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
        """Write what came back in one transaction: only then is anything else handed out."""
        pulls: dict[int, Pull] = {}
        reports: list[Report] = []
        refused: InputError | None = None
        for future in answers:
            chunk, _ = self._flying.pop(future)
            error = _error_of(future)
            if error is not None and is_loss(error):
                self._take_back_lost(chunk, error)
                continue
            refused = refused or self._workers.refusal(error)
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
        """Return the report, or that its pull failed if there can be no such reward."""
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
        """Say so if a pull failed and gave a reward when it was tried again with the same seed."""
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
        """Hand out the same pulls again, with the same seeds: the worker died."""
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
        """Chunks in flight: one per worker, and the next one for each if pulls are short, or if
        there are more workers where pulls wait.
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
        """Take back what was handed out and has not begun."""
        for future in list(self._flying):
            if self._workers.cancel(future):
                self._ledger.give_back(pull.id for pull in self._flying.pop(future)[0])

    def _call_off(self) -> None:
        """Let nothing begin any more that the answer does not need; what runs on is ignored."""
        for future in self._flying:
            future.cancel()

    def _count_moved(self) -> None:
        """Count pulls whose worker died, where the executor itself gives them to another."""
        if moved := self._workers.moved(self._flying):
            self._ledger.record_losses([pull.id for pull in moved], "lost: its worker is gone")
            self._watch.trouble = f"pull {moved[0].id} lost its worker"

    def _show(self) -> None:
        hint = self._stopping.words or self._workers.trouble
        self._watch.look(self._in_flight(), lambda: self._workers.running(self._flying), hint)


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
            "level of a module that they can import (start them in its folder, or install it), "
            "or run with executor='threads' or 'serial'"
        )
    return [Report(pull.id, None, text, None, time.time()) for pull in chunk]
