"""Drivers and their workers are killed at random moments and the last writes torn: what was stored
stays, and the study ends as if nothing had happened, whatever the pulls share and the rewards may
be.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from surefoot.algorithms import Result
from tests.chaos.trial import Trial
from tests.study.killed import KINDS
from tests.study.nursery import Nursery, stored, torn_copy
from tests.study.toys import same_result

KILLS_OF_A_STUDY = 20  # before a fresh one is taken: each lets it go on by a dozen pulls
FRESH_WORKERS, WORKER_TOO, TORN = 5, 4, 3  # one kill in so many
Rewards = list[tuple[int, int, float]]


@dataclass(frozen=True)
class Kills:
    """Kills of drivers of one kind of study."""

    kind: str

    def __call__(self, count: int, folder: Path, generator: np.random.Generator) -> Iterator[Trial]:
        """One trial per kill, and one for the end of each study."""
        kind = KINDS[self.kind]
        with kind.create(folder / "calm.db") as study:
            expected = study.run(kind.simulate, "serial")
        calm = _Calm(self.kind, expected, kind.rewards_of(folder / "calm.db"))
        for first in range(0, count, KILLS_OF_A_STUDY):
            path = folder / f"killed-{first}.db"
            kind.create(path).close()
            numbers = range(first, min(first + KILLS_OF_A_STUDY, count))
            yield from _killed(path, numbers, calm, generator)
            yield Trial("the end", calm.difference_at_the_end(path))


@dataclass(frozen=True)
class _Calm:
    """A study that nobody disturbed."""

    kind: str
    result: Result
    rewards: Rewards

    def difference(self, path: Path, before: int) -> str | None:
        """How a study on its way differs, which had so many rewards before the kill."""
        found = [row for row in KINDS[self.kind].rewards_of(path) if row[2] == row[2]]
        if len(found) < before:
            return "a stored reward was lost"
        return None if set(found) <= set(self.rewards) else "a reward is not its pull's"

    def difference_at_the_end(self, path: Path) -> str | None:
        """How a study differs once it has gone on to its end."""
        kind = KINDS[self.kind]
        with kind.open(path) as study:
            same = same_result(study.run(kind.simulate, "serial"), self.result)
        return None if same and kind.rewards_of(path) == self.rewards else "another end"


def _killed(
    path: Path, numbers: range, calm: _Calm, generator: np.random.Generator
) -> Iterator[Trial]:
    nursery = Nursery(path, calm.kind)
    try:
        for number in numbers:
            before = stored(path)
            what, killed = _kill(nursery, number, before, generator)
            broken = calm.difference(path, before) if killed else "it had ended before the kill"
            if number % TORN == 0 and not broken:
                torn = torn_copy(path, path.with_name("torn"), generator)
                what, broken = f"{what}, log torn", calm.difference_at_the_end(torn)
            yield Trial(what, broken)
    finally:
        nursery.close()


def _kill(
    nursery: Nursery, number: int, before: int, generator: np.random.Generator
) -> tuple[str, bool]:
    """What was done, and whether the driver still ran by then: every other one had just begun."""
    new, seconds = int(generator.integers(1, 8)), float(generator.uniform(0.0, 0.15))
    wanted = before + (new if number % 2 else 0)
    nursery.begin("copied" if number % FRESH_WORKERS else "fresh")
    nursery.wait_until(wanted)
    what = f"kill {number}: {seconds:.2f} s after {wanted} rewards"
    if number % WORKER_TOO == 1:
        nursery.kill_a_worker()
        nursery.wait_until(wanted + new)
        what += " and a killed worker"
    time.sleep(seconds)
    return what, nursery.kill()
