"""A small problem, simulators that fail in every way, and an algorithm that is quick and sensitive
to every bit.
"""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from surefoot import Gaussian, RobustProblem
from surefoot.algorithms import Algorithm, Result, StopReason
from surefoot.statistics import Counts, Outcome
from surefoot.study import Pull, Study, StudyReader
from surefoot.study.file.storage import WriteStorage
from surefoot.study.ledger import Ledger
from surefoot.system.progress import Snapshot
from tests.waiting import wait_for

THETA = np.array([1.0, 0.5, -0.3])
# names a file through which a simulator remembers, over processes, that it has failed
MARK = "SUREFOOT_TEST_MARK"


class Listener:
    """A progress that keeps all that it is told."""

    def __init__(self) -> None:
        self.heard: list[Snapshot] = []
        self.closed = False

    def update(self, snapshot: Snapshot) -> None:
        self.heard.append(snapshot)

    def close(self) -> None:
        self.closed = True

    def said(self, words: str) -> bool:
        """Return whether it was told of a trouble in such words."""
        return any(words in (snapshot.trouble or "") for snapshot in self.heard)


def tell_what_is_heard() -> None:
    """Let this process print `heard` whenever a run has taken an interrupt.

    While a process is being started an interrupt waits, and a second one may be lost in it.
    """
    install = signal.signal

    def telling(number: int, handler: Any) -> Any:
        def tells(*about: Any) -> None:
            handler(*about)
            os.write(1, b"heard\n")

        of_a_run = getattr(handler, "__name__", "") == "_on_interrupt"
        return install(number, tells if of_a_run else handler)

    signal.signal = telling  # type: ignore[assignment]


def toy_problem(n_arms: int = 4) -> RobustProblem:
    generator = np.random.default_rng(7)
    arms = generator.normal(size=(n_arms, 3))
    return RobustProblem.paper(
        arms, [0.1 * generator.normal(size=(2, 3)) for _ in arms], parameter_names=["a", "b", "c"]
    )


@dataclass(eq=False)
class Rounds(Algorithm):
    """A fixed number of phases; each pulls every pair, and the pairs of the leader at the time once
    more.
    """

    rounds: int = 3
    size: int = 2

    name: ClassVar[str] = "rounds"
    supports: ClassVar[frozenset[str]] = frozenset({"paper rules", "unknown scale"})

    def begin(self) -> None:
        pass

    def next_counts(self) -> Counts | StopReason:
        if len(self.history) == self.rounds:
            return StopReason.NO_CERTIFICATE
        counts = np.full(self.problem.n_pairs, self.size, dtype=np.int64)
        if self.history:
            counts[self.problem.pairs_of(self.leader)] *= 2
        return counts

    def learn(self, outcome: Outcome) -> None:
        self.leader = self.problem.best_arm(self.tally.estimate)
        self.evidence = np.asarray(self.tally.sums[: self.problem.n_arms])


def toy_study(path: Path, rounds: int = 3, size: int = 2, **options: object) -> Study:
    settings = {"delta": 0.05, "noise": Gaussian(1.0), "seed": 11} | options
    return Study.create(path, toy_problem(), Rounds(rounds, size), **settings)


def open_toy(path: Path, rounds: int = 3, size: int = 2) -> Study:
    return Study.open(path, algorithm=Rounds(rounds, size))


def read_toy(path: Path, rounds: int = 3, size: int = 2) -> StudyReader:
    return StudyReader(path, algorithm=Rounds(rounds, size))


@contextlib.contextmanager
def open_ledger(path: Path, algorithm: Algorithm | None = None) -> Iterator[Ledger]:
    """What stands behind a study: for what no user does."""
    storage = WriteStorage(path)
    try:
        yield Ledger(storage, algorithm)
    finally:
        storage.close()


def rewards_of(path: Path) -> list[tuple[int, int, float]]:
    """Number, pair and reward of every pull in the file."""
    with StudyReader(path, algorithm=Rounds()) as reader:
        return list(reader.pulls()[["id", "pair", "reward"]].itertuples(index=False, name=None))


def same_result(one: Result, other: Result) -> bool:
    """Equal to the bit."""
    return (
        one.samples == other.samples
        and one.arm == other.arm
        and one.reason is other.reason
        and one.theta.tobytes() == other.theta.tobytes()
        and one.counts.tobytes() == other.counts.tobytes()
        and one.pair_lower.tobytes() == other.pair_lower.tobytes()
        and one.pair_upper.tobytes() == other.pair_upper.tobytes()
        and len(one.history) == len(other.history)
    )


def linear(pull: Pull) -> float:
    return float(pull.features @ THETA + pull.rng().normal())


def slow(pull: Pull) -> float:
    time.sleep(0.02)
    return linear(pull)


def wobbly(pull: Pull) -> float:
    """Takes a different time for each pull, so that they come back in disorder."""
    time.sleep(pull.seed % 5 / 500)
    return linear(pull)


def always_fails_at_5(pull: Pull) -> float:
    if pull.id == 5:
        raise ZeroDivisionError("no lift at this angle")
    return linear(pull)


def gives_nan_at_5(pull: Pull) -> float:
    return float("nan") if pull.id == 5 else linear(pull)


def _first_time() -> bool:
    """True once for each file that MARK names, in whatever process."""
    try:
        Path(os.environ[MARK]).touch(exist_ok=False)
    except FileExistsError:
        return False
    return True


def fails_once(pull: Pull) -> float:
    if pull.id == 5 and _first_time():
        raise OSError("licence server is away")
    return linear(pull)


def kills_its_worker_once(pull: Pull) -> float:
    if pull.id == 5 and _first_time():
        os.kill(os.getpid(), signal.SIGKILL)
    return linear(pull)


def kills_its_worker_at_5(pull: Pull) -> float:
    """Kills its worker four times, which is often enough to be set apart."""
    if pull.id == 5:
        tries = Path(os.environ[MARK])
        count = int(tries.read_text()) if tries.exists() else 0
        if count < 4:
            tries.write_text(str(count + 1))
            os.kill(os.getpid(), signal.SIGKILL)
    return linear(pull)


def always_kills_its_worker_at_5(pull: Pull) -> float:
    if pull.id == 5:
        os.kill(os.getpid(), signal.SIGKILL)
    return linear(pull)


def waits_for_mark(pull: Pull) -> float:
    wait_for(Path(os.environ[MARK]).exists)
    return linear(pull)


def waits_from_10_on(pull: Pull) -> float:
    return linear(pull) if pull.id < 10 else waits_for_mark(pull)


def takes_forever(pull: Pull) -> float:
    Path(os.environ[MARK]).touch()
    time.sleep(3600)
    return linear(pull)


def writes_its_process(pull: Pull) -> float:
    with Path(os.environ[MARK]).open("a") as file:
        file.write(f"{os.getpid()} ")
    return slow(pull)
