"""Who is still possible, and how sure that is."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest
from scipy import stats

from surefoot.algorithms.prime.elimination import Elimination
from surefoot.arrays import IntArray
from surefoot.evidence.attained import GaussianAttained

OFFSETS = np.array([0, 2, 3, 4])  # the first arm has two pairs
LEVEL = 2.0


class Against(NamedTuple):
    """The first arm's pairs against both others."""

    challenger: int = 0
    places: IntArray = np.array([0, 1])
    arms: IntArray = np.array([1, 2])


def begun(tolerance: float = 0.0) -> Elimination:
    elimination = Elimination(OFFSETS, tolerance)
    elimination.begin(GaussianAttained(3, 1.0, (1.0, 1.0), ()))
    return elimination


def test_an_arm_is_out_once_the_weakest_of_a_challengers_pairs_has_beaten_it() -> None:
    elimination = begun()
    elimination.add(Against(), np.array([[3.0, 3.0], [2.1, 1.9]]), None)
    elimination.look(0, LEVEL, 1.0)
    assert elimination.survivors.tolist() == [True, False, True]
    assert elimination.evidence is not None
    assert elimination.evidence.tolist() == [0.0, 2.1, 1.9]
    assert elimination.rivals(0).tolist() == [False, False, True]


def test_evidence_adds_up_in_units_of_its_root_and_nobody_comes_back() -> None:
    elimination = begun()
    elimination.add(Against(), np.array([[2.5, 1.5], [2.5, 1.5]]), None)
    elimination.look(0, LEVEL, 1.0)
    elimination.add(Against(), np.array([[-9.0, 1.5], [-9.0, 1.5]]), None)
    elimination.look(1, LEVEL, np.sqrt(2))
    assert elimination.survivors.tolist() == [True, False, False]
    assert elimination.evidence_for(0)[2] == pytest.approx(3.0 / np.sqrt(2))


def test_each_arm_may_have_a_look_of_its_own() -> None:
    elimination = begun()
    elimination.add(Against(), np.full((2, 2), 2.5), None)
    elimination.look(np.array([0, 0, 1]), np.array([LEVEL, LEVEL, 3.0]), np.ones(3))
    assert elimination.survivors.tolist() == [True, False, True]
    # as held against the lowest boundary
    assert elimination.evidence_for(0).tolist() == pytest.approx([0.0, 2.5, 2.5 * LEVEL / 3])


def test_what_is_shown_within_the_tolerance_is_no_rival_but_stays_possible() -> None:
    elimination = begun(tolerance=0.1)
    plain, eased = np.array([[2.5, 1.0]] * 2), np.array([[3.0, 2.2]] * 2)
    elimination.add(Against(), plain, eased)
    assert elimination.within_tolerance(0) is None
    elimination.look(0, LEVEL, 1.0)
    assert elimination.survivors.tolist() == [True, False, True]
    assert not elimination.rivals(0).any()
    assert elimination.rivals(2).tolist() == [True, False, False]
    assert elimination.within_tolerance(2) == 0


def test_confidence_is_that_of_the_hardest_rival() -> None:
    elimination = begun()
    assert elimination.confidence(0, 0.05)() == 0.0
    elimination.add(Against(), np.array([[2.5, 1.0], [2.6, 1.2]]), None)
    elimination.look(0, LEVEL, 1.0)
    found = elimination.confidence(0, 0.05)()
    # of two looks one has been taken: the p-value lies between those of one look and of two
    assert 1 - 2 * stats.norm.sf(1.0) <= found <= 1 - stats.norm.sf(1.0)
    assert elimination.confidence(1, 0.05)() == 0.0
    elimination.add(Against(), np.array([[9.0, 9.0]] * 2), None)
    elimination.look(1, LEVEL, np.sqrt(2))
    assert elimination.survivors.tolist() == [True, False, False]
    assert elimination.confidence(0, 0.05)() >= 0.95
