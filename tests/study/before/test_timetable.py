"""The simulated clock of a cluster, against what can be worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest

import surefoot as sf
from surefoot.algorithms import Settings, algorithm_from
from surefoot.simulate import TableSimulator
from surefoot.statistics import Phase
from surefoot.study.before.timetable import Timetable, Took, timed
from surefoot.study.forecast import Durations

MEANS = np.array([1.0, 1.2, 0.2, 0.4])


def study(workers: int, in_flight: int, seed: int = 0, least: float = 0.1) -> Took:
    problem = sf.RobustProblem.from_pairs(np.eye(4), [0, 0, 1, 1])
    settings = Settings(delta=0.05, noise=sf.Gaussian(1.0), parallel=4, in_flight=in_flight)
    run = algorithm_from("prime").start(problem, settings)
    clock = np.random.default_rng(seed)
    return timed(
        run,
        TableSimulator(MEANS, 1.0, seed),
        workers,
        lambda pairs: clock.uniform(least, 1.0, len(pairs)),
        clock,
    )


def test_one_worker_is_always_busy_and_pulls_one_after_the_other() -> None:
    took = study(workers=1, in_flight=1, least=1.0)
    assert took.busy == pytest.approx(1.0)
    assert took.seconds == pytest.approx(took.pulls) == took.result.samples


def test_workers_wait_for_the_last_pull_of_a_phase_unless_the_next_is_there() -> None:
    """By hand: lengths 1, 1, 4 on 2 workers end at 1, 1 and 5; the next phase begins at 5 or 1."""
    for waits, end, begun in ((True, 7.0, 5), (False, 5.0, 5)):
        lengths = iter([np.array([1.0, 1.0, 4.0]), np.array([2.0, 2.0])])
        table = Timetable(2, lambda pairs, drawn=lengths: next(drawn))
        generator = np.random.default_rng(0)
        table.begin(Phase(0, np.array([3])), generator)
        if waits:
            table.end(0)
        table.begin(Phase(1, np.array([2]), overlaps=int(not waits)), generator)
        table.end(0)
        table.end(1)
        took = table.took(None)  # type: ignore[arg-type]
        assert (took.seconds, took.pulls) == (end, begun)
        assert took.busy == pytest.approx(10 / (2 * end))


def test_phases_in_flight_keep_workers_busier() -> None:
    alone, two = ([study(4, k, seed).busy for seed in range(5)] for k in (1, 2))
    assert np.mean(two) > np.mean(alone) + 0.05


def test_pulls_that_begin_after_the_answer_are_not_counted() -> None:
    took = study(workers=2, in_flight=2)
    assert took.result.samples <= took.pulls
    assert took.busy <= 1 + 1e-9


def test_lengths_are_drawn_from_those_of_the_pair_or_of_all_where_it_was_not_tried() -> None:
    known = Durations(np.array([2, 0, 2, 0]), np.array([5.0, 1.0, 6.0, 2.0]))
    drawn = known.lengths(4, np.random.default_rng(0))
    found = {pair: set(drawn(np.full(100, pair)).tolist()) for pair in range(4)}
    assert found == {0: {1.0, 2.0}, 1: {1.0, 2.0, 5.0, 6.0}, 2: {5.0, 6.0}, 3: {1.0, 2.0, 5.0, 6.0}}
    assert known.mean == 3.5
