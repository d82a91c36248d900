from __future__ import annotations

import gc

import numpy as np

from surefoot.design import designs
from surefoot.design.designs import Design
from surefoot.experiments.instances import classic


def test_a_design_is_solved_once_for_each_problem_and_key() -> None:
    problem, other = classic(3)[0], classic(3)[0]
    solved: list[str] = []

    def solve() -> Design:
        solved.append("again")
        return Design(np.ones(1), 1.0, 1.0)

    first = designs.remembered(problem, "key", solve)
    assert designs.remembered(problem, "key", solve) is first
    assert len(solved) == 1
    assert designs.remembered(problem, "another key", solve) is not first
    assert designs.remembered(other, "key", solve) is not first
    assert len(solved) == 3


def test_designs_are_forgotten_with_their_problem() -> None:
    problem = classic(3)[0]
    designs.g_weights(problem, np.ones(4))
    before = len(designs._REMEMBERED)
    del problem
    gc.collect()
    assert len(designs._REMEMBERED) < before


def test_memory_is_bounded() -> None:
    problem = classic(3)[0]
    for key in range(2 * designs.MOST_REMEMBERED):
        designs.remembered(problem, key, lambda: Design(np.ones(1), 1.0, 1.0))
    assert len(designs._REMEMBERED[problem]) <= designs.MOST_REMEMBERED


def test_other_noise_has_another_design() -> None:
    problem = classic(3)[0]
    even, uneven = (
        designs.g_weights(problem, np.full(4, 2.0)),
        designs.g_weights(problem, np.array([1.0, 1.0, 1.0, 0.1])),
    )
    assert designs.g_weights(problem, np.full(4, 2.0)) is even
    assert not np.allclose(even, uneven)
