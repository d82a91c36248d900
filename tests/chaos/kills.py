"""The driver is killed at random moments: what was stored stays, and the study ends as if nothing
had happened, whatever the pulls share and the rewards may be.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tests.chaos.trial import Trial
from tests.study.killed import KINDS, Kind
from tests.study.test_chaos import Nursery
from tests.study.toys import same_result

ROUNDS_OF_KILLS = 25  # on one study, before a fresh one is taken


@dataclass(frozen=True)
class Kills:
    """Kills of drivers of one kind of study."""

    kind: str

    def __call__(self, count: int, folder: Path, generator: np.random.Generator) -> Iterator[Trial]:
        """Each trial is one kill."""
        kind = KINDS[self.kind]
        calm = folder / "calm.db"
        with kind.create(calm) as study:
            expected = study.run(kind.simulate, "serial")
        rewards = kind.rewards_of(calm)
        for first in range(0, count, ROUNDS_OF_KILLS):
            path = folder / f"killed-{first}.db"
            kind.create(path).close()
            numbers = range(first, min(first + ROUNDS_OF_KILLS, count))
            yield from self._killed(kind, path, rewards, numbers, generator)
            with kind.open(path) as study:
                same = same_result(study.run(kind.simulate, "serial"), expected)
            alike = same and kind.rewards_of(path) == rewards
            yield Trial("the end", None if alike else "another end")

    def _killed(
        self,
        kind: Kind,
        path: Path,
        rewards: list[tuple[int, int, float]],
        numbers: range,
        generator: np.random.Generator,
    ) -> Iterator[Trial]:
        nursery, stored = Nursery(path, self.kind), 0
        try:
            for number in numbers:
                seconds = float(generator.uniform(0.0, 0.4))
                nursery.run_and_kill(0, seconds)
                found = [row for row in kind.rewards_of(path) if row[2] == row[2]]
                lost = "a stored reward was lost" if len(found) < stored else None
                wrong = None if set(found) <= set(rewards) else "a reward is not its pull's"
                yield Trial(f"kill {number} after {seconds:.2f} s", lost or wrong)
                stored = len(found)
        finally:
            nursery.close()
