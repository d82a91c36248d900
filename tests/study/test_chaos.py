"""The driver is killed at random moments, and its last writes are torn: the study ends as if
nothing had happened.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from surefoot.algorithms import Result
from tests.study import toys
from tests.study.killed import ROUNDS, SIZE
from tests.study.nursery import Nursery, torn_copy
from tests.study.toys import open_toy, rewards_of, same_result, toy_study

KILLS = 30  # each followed by a torn write


@pytest.fixture(scope="module")
def undisturbed(
    tmp_path_factory: pytest.TempPathFactory,
) -> tuple[Result, list[tuple[int, int, float]]]:
    path = tmp_path_factory.mktemp("undisturbed") / "toy.db"
    with toy_study(path, ROUNDS, SIZE) as study:
        return study.run(toys.linear, "serial"), rewards_of(path)


def stored_prefix(path: Path, expected: list[tuple[int, int, float]]) -> int:
    """How many rewards the file holds; each must be the one of the undisturbed run."""
    rows = [row for row in rewards_of(path) if row[2] == row[2]]
    assert set(rows) <= set(expected)
    return len(rows)


def test_thirty_kills_and_thirty_torn_writes(
    tmp_path: Path, undisturbed: tuple[Result, list[tuple[int, int, float]]]
) -> None:
    expected, rewards = undisturbed
    generator = np.random.default_rng(2024)
    path = tmp_path / "toy.db"
    toy_study(path, ROUNDS, SIZE).close()
    counts, kills = [0], 0
    nursery = Nursery(path)
    try:
        for number in range(KILLS):
            new = int(generator.integers(1, 8)) if number % 2 else 0  # else while it begins
            kills += nursery.run_and_kill(new, generator.uniform(0.0, 0.3))
            counts.append(stored_prefix(path, rewards))
            tear(path, tmp_path / "torn", generator, undisturbed)
    finally:
        nursery.close()
    assert counts == sorted(counts), "a reward that was on disk was lost"
    assert kills == KILLS, "every kill fell while the study was running"
    assert len(set(counts)) > 5, "the study went on between the kills"
    with open_toy(path, ROUNDS, SIZE) as study:
        assert same_result(study.run(toys.linear, "serial"), expected)
    assert rewards_of(path) == rewards


def tear(
    path: Path,
    folder: Path,
    generator: np.random.Generator,
    undisturbed: tuple[Result, list[tuple[int, int, float]]],
) -> None:
    """Finish a copy from where a power cut would have left it."""
    copy = torn_copy(path, folder, generator)
    with open_toy(copy, ROUNDS, SIZE) as study:
        assert same_result(study.run(toys.linear, "threads"), undisturbed[0])
    assert rewards_of(copy) == undisturbed[1]
