"""All phases as one sample: never above the exact walk, and below it where falls are rare."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from surefoot.arrays import Array, IntArray
from surefoot.evidence.levels import Levels
from surefoot.evidence.student import student_scores
from surefoot.evidence.together import Suspicion, Together, Weighed

SIZES, OFFSETS = np.array([2, 3]), np.array([0, 2, 5])
SUSPICION = Suspicion(clear=0.5, hidden=5.0, fall=4.0)
ONE = np.ones((1, 1))


@dataclass
class Cells:
    challenger: int = 0
    places: IntArray = field(default_factory=lambda: np.array([0]))
    columns: IntArray = field(default_factory=lambda: np.array([3]))
    arms: IntArray = field(default_factory=lambda: np.array([1]))


def _phase(values: Array, tolerance: float = 0.0, step: float = 1.0) -> Weighed:
    scores = np.stack([student_scores(values, eased) for eased in (0.0, tolerance)])
    return Weighed(values, ONE, ONE, np.array([step]), scores)


def _together(tolerance: float = 0.0, suspicion: Suspicion = SUSPICION) -> Together:
    return Together(SIZES, OFFSETS, tolerance, suspicion)


@given(
    seed=st.integers(0, 10_000),
    tolerance=st.floats(0, 2),
    hidden=st.floats(0, 10),
    fall=st.floats(0.1, 10),
)
def test_walks_are_never_above_the_sums_of_exact_scores(
    seed: int, tolerance: float, hidden: float, fall: float
) -> None:
    rng, together = np.random.default_rng(seed), _together(tolerance, Suspicion(0.0, hidden, fall))
    exact, held = np.zeros(2), np.zeros(2)
    for _ in range(6):
        where = Cells(columns=np.array([rng.integers(2, 5)]))
        step, mean = float(rng.exponential()), float(rng.normal())
        phase = _phase(mean - rng.standard_gamma(0.3, (8, 1, 1)), tolerance, step)
        exact += np.sqrt(step) * phase.scores[:, 0, 0]
        held += together.add(where, phase)[:, 0, 0]
        assert (held <= exact + 1e-9).all()


def test_a_late_fall_counts_against_what_was_believed_before_it() -> None:
    rng, together = np.random.default_rng(1), _together()
    quiet = 1 + 0.1 * rng.standard_normal((8, 1, 1))
    before = together.add(Cells(), _phase(quiet))[0, 0, 0]
    fallen = quiet.copy()
    fallen[3] -= 20
    exact = student_scores(fallen, 0.0)[0, 0]
    assert before > 2
    assert together.add(Cells(), _phase(fallen))[0, 0, 0] < exact - 1  # some of `before` is gone


def test_what_was_lowered_comes_back_when_more_is_known() -> None:
    rng, together = np.random.default_rng(2), _together()
    together.add(Cells(), _phase(1 - np.array([0.0] * 7 + [3.0])[:, None, None]))
    exact, added = 0.0, 0.0
    for _ in range(40):
        phase = _phase(1 + 0.5 * rng.standard_normal((30, 1, 1)))
        exact += phase.scores[0, 0, 0]
        added += together.add(Cells(), phase)[0, 0, 0]
    assert added > 0.8 * exact


def test_normal_differences_lose_little() -> None:
    rng, share = np.random.default_rng(3), []
    for _ in range(200):
        together, exact, held = _together(), 0.0, 0.0
        for _ in range(6):
            phase = _phase(0.4 + rng.standard_normal((10, 1, 1)))
            exact += phase.scores[0, 0, 0]
            held += together.add(Cells(), phase)[0, 0, 0]
        share.append((exact, held))
    exact, held = np.mean(share, axis=0)
    assert 0.85 * exact < held < exact


@pytest.mark.parametrize("shape", [0.15, 0.5])
def test_skewed_ties_cross_less_often(shape: float) -> None:
    """Rare falls at a gap of zero, in phases of eight: how often a walk is ever above 2.5."""
    rng, crossed = np.random.default_rng(4), np.zeros(2)
    for _ in range(400):
        together, walks, ever = _together(), np.zeros(2), np.zeros(2, dtype=bool)
        for k in range(1, 9):
            values = (shape - rng.standard_gamma(shape, (8, 1, 1))) / np.sqrt(shape)
            phase = _phase(values)
            walks += [phase.scores[0, 0, 0], together.add(Cells(), phase)[0, 0, 0]]
            ever |= walks >= 2.5 * np.sqrt(k)
        crossed += ever
    assert crossed[1] < 0.6 * crossed[0]


def test_batches_that_are_all_alike_say_nothing() -> None:
    assert _together().add(Cells(), _phase(np.ones((6, 1, 1))))[0, 0, 0] == 0
    assert _together().add(Cells(), _phase(-np.ones((6, 1, 1))))[0, 0, 0] < -30


def test_columns_of_one_arm_make_one_walk() -> None:
    """Contrasts with different pairs of an arm may be noisy to different degrees."""
    rng, together, held = np.random.default_rng(5), _together(), 0.0
    for column, size in ((2, 1.0), (3, 100.0), (2, 1.0), (3, 100.0)):
        values = size * (1 + rng.standard_normal((20, 1, 1)))
        held += together.add(Cells(columns=np.array([column])), _phase(values))[0, 0, 0]
    assert held > 2 * np.sqrt(4) * np.sqrt(4)


@pytest.mark.parametrize("size", [1e-120, 1e120])
def test_the_size_of_rewards_does_not_matter(size: float) -> None:
    added = []
    for unit in (1.0, size):
        rng, together = np.random.default_rng(6), _together()
        for _ in range(3):
            values = unit * (1 - rng.standard_gamma(0.3, (8, 1, 1)))
            last = together.add(Cells(), _phase(values))
        added.append(last)
    np.testing.assert_allclose(added[0], added[1], rtol=1e-9)


def test_a_phase_that_measures_nothing_does_not_disarm_the_limit() -> None:
    held = []
    for blank in (False, True):
        rng, together = np.random.default_rng(7), _together()
        if blank:
            nothing = _phase(np.zeros((8, 1, 1)))._replace(layout=np.full((1, 1), np.inf))
            together.add(Cells(), nothing)
        phases = [_phase(1 - rng.standard_gamma(0.3, (8, 1, 1))) for _ in range(4)]
        held.append(sum(together.add(Cells(), phase)[0, 0, 0] for phase in phases))
        exact = sum(phase.scores[0, 0, 0] for phase in phases)
    assert held[1] - held[0] < 0.2 * (exact - held[0])


def test_a_clock_that_stands_still_says_nothing() -> None:
    added = _together().add(Cells(), _phase(1 + np.arange(6.0)[:, None, None], step=0.0))
    np.testing.assert_array_equal(added, 0.0)


def _held(values: Array, levels: Levels | None, chance: float = 0.001) -> float:
    together = _together(suspicion=SUSPICION._replace(chance=chance))
    return float(together.add(Cells(), _phase(values), levels)[0, 0, 0])


def _levels(own: float, rival: float) -> Levels:
    """Deviations of the compared pairs, each known by twelve pulls."""
    counts, means, scatter = np.zeros(5, dtype=np.int64), np.zeros(5), np.zeros(5)
    counts[[0, 3]], means[[0, 3]] = 12, (1.0, 0.0)
    scatter[[0, 3]] = 11 * np.array([own, rival]) ** 2
    return Levels(counts, means, scatter)


@pytest.mark.parametrize("louder", [(2.0, 0.1), (0.1, 2.0)])
def test_a_fall_that_was_seen_elsewhere_counts_here(louder: tuple[float, float]) -> None:
    """Either pair's; and as much as if these batches had had the noise of their pairs."""
    quiet = 1 + 0.1 * np.random.default_rng(3).standard_normal((8, 1, 1))
    assert _held(quiet, None) > 3
    assert _held(quiet, _levels(*louder), chance=0.0) == _held(quiet, None)
    assert 0 < _held(quiet, _levels(*louder)) < 2


def test_pairs_that_are_as_noisy_as_their_differences_change_nothing() -> None:
    rng = np.random.default_rng(4)
    for _ in range(200):
        values = 0.5 + np.sqrt(1 + 4) * rng.standard_normal((8, 1, 1))
        seen = np.sqrt(rng.chisquare(11, 2) / 11) * [1.0, 2.0]
        assert _held(values, _levels(*seen)) == _held(values, None)


def test_levels_only_lower() -> None:
    rng = np.random.default_rng(5)
    for _ in range(200):
        values, spread = rng.normal(size=(8, 1, 1)), rng.exponential(3.0, 2)
        assert _held(values, _levels(*spread), chance=1.0) <= student_scores(values, 0.0)[0, 0]


def test_levels_are_in_the_units_of_rewards() -> None:
    values = 1 + 0.1 * np.random.default_rng(3).standard_normal((8, 1, 1))
    alone = _held(values, _levels(2.0, 0.1))
    assert _held(1e6 * values, _levels(2e6, 1e5)) == pytest.approx(alone)


def _after(gap: float, n: int, levels: Levels, silent: float = 4.0) -> float:
    """Evidence from that many pulls of two pairs, of which the own never varies."""
    suspicion = SUSPICION._replace(silent=silent)
    together, quiet = _together(suspicion=suspicion), np.random.default_rng(6)
    values = gap - 0.01 * quiet.standard_normal((n, 1, 1))
    return float(together.add(Cells(), _phase(values), levels)[0, 0, 0])


def test_a_pair_that_never_varied_may_still_fall() -> None:
    """As far as the noise of another pair makes likely: then few pulls say little, many enough."""
    levels = _levels(0.0, 0.01)
    scatter = levels.scatter.copy()
    scatter[4], levels.counts[4] = 11.0, 12
    levels = levels._replace(scatter=scatter)
    assert levels.silent.tolist() == [True, False, False, False, False]
    assert _after(0.5, 8, levels, silent=0.0) > 4
    assert _after(0.5, 8, levels) < 0.5
    assert _after(0.5, 80, levels) > 4
    assert _after(20.0, 8, levels) > 2.5  # so far ahead that no such fall matters


def test_where_nothing_varies_no_fall_is_expected() -> None:
    levels = _levels(0.0, 0.0)
    assert levels.silent.sum() == 2
    assert _after(0.5, 8, levels) == _after(0.5, 8, levels, silent=0.0)
