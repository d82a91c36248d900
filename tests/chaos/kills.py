"""The driver is killed at random moments: what was stored stays, and the study ends as if nothing
had happened.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from tests.chaos.trial import Trial
from tests.study import toys
from tests.study.test_chaos import ROUNDS, SIZE, Nursery
from tests.study.toys import open_toy, rewards_of, same_result, toy_study

ROUNDS_OF_KILLS = 25  # on one study, before a fresh one is taken


def kills(count: int, folder: Path, generator: np.random.Generator) -> Iterator[Trial]:
    """Each trial is one kill."""
    calm = folder / "calm.db"
    with toy_study(calm, ROUNDS, SIZE) as study:
        expected = study.run(toys.linear, "serial")
    rewards = rewards_of(calm)
    for first in range(0, count, ROUNDS_OF_KILLS):
        path = folder / f"killed-{first}.db"
        toy_study(path, ROUNDS, SIZE).close()
        nursery, stored = Nursery(path), 0
        try:
            for number in range(first, min(first + ROUNDS_OF_KILLS, count)):
                seconds = float(generator.uniform(0.0, 0.4))
                nursery.run_and_kill(seconds)
                found = [row for row in rewards_of(path) if row[2] == row[2]]
                lost = "a stored reward was lost" if len(found) < stored else None
                wrong = None if set(found) <= set(rewards) else "a reward is not its pull's"
                yield Trial(f"kill {number} after {seconds:.2f} s", lost or wrong)
                stored = len(found)
        finally:
            nursery.close()
        with open_toy(path, ROUNDS, SIZE) as study:
            same = same_result(study.run(toys.linear, "serial"), expected)
        yield Trial("the end", None if same and rewards_of(path) == rewards else "another end")
