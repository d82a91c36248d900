"""The shape of differences, from all batches so far."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from surefoot.arrays import Array, IntArray
from surefoot.evidence.caution import Shapes
from surefoot.evidence.student import Caution, student_scores


@dataclass
class Cells:
    challenger: int = 0
    places: IntArray = field(default_factory=lambda: np.array([0]))
    columns: IntArray = field(default_factory=lambda: np.array([1]))


LAYOUT = np.ones((1, 1))


def _cautious(
    shapes: Shapes, values: Array, layout: Array = LAYOUT, where: Cells | None = None
) -> Caution:
    where = Cells() if where is None else where
    shapes.count(where, values, layout)
    return shapes.caution(where, layout)


def _values(rng: np.random.Generator, m: int, sign: float) -> Array:
    return sign * (rng.standard_exponential((m, 1, 1)) - 1)


def test_the_skewness_of_many_batches_is_found() -> None:
    rng, shapes = np.random.default_rng(1), Shapes(np.array([2, 3]), 5)
    for _ in range(400):
        caution = _cautious(shapes, _values(rng, 8, -1.0))
    assert -2.2 < caution.skewness[0, 0] < -1.7  # of −2
    assert shapes.skewness(0)[0, 1] == caution.skewness[0, 0]
    assert np.isclose(caution.least_spread[0, 0], 1.0, rtol=0.1)


def test_normal_differences_are_not_called_skewed() -> None:
    rng, shapes = np.random.default_rng(2), Shapes(np.array([1, 1]), 2)
    clear = [
        _cautious(shapes, rng.standard_normal((10, 1, 1))).skewness[0, 0] != 0 for _ in range(300)
    ]
    assert np.mean(clear) < 0.2


def test_skewness_upwards_asks_for_no_larger_spread() -> None:
    rng, shapes = np.random.default_rng(3), Shapes(np.array([1, 1]), 2)
    for _ in range(100):
        caution = _cautious(shapes, _values(rng, 10, 1.0))
    assert caution.skewness[0, 0] > 0
    assert caution.least_spread[0, 0] == 0


def test_the_pooled_spread_is_that_of_the_phase_at_hand() -> None:
    """A phase with four times the pulls has batches with half the spread: the layout says so."""
    rng, shapes = np.random.default_rng(4), Shapes(np.array([1, 1]), 2)
    for _ in range(200):
        _cautious(shapes, _values(rng, 10, -1.0))
    caution = _cautious(shapes, _values(rng, 10, -1.0) / 2, LAYOUT / 4)
    assert np.isclose(caution.least_spread[0, 0], 0.5, rtol=0.1)


def test_the_skewness_of_means_is_told_from_that_of_single_pulls() -> None:
    """Means of four pulls have half the skewness of one pull; that of one pull is kept."""
    rng, shapes = np.random.default_rng(7), Shapes(np.array([1, 1]), 2)
    for _ in range(400):
        means = np.mean([_values(rng, 10, -1.0) for _ in range(4)], axis=0)
        caution = _cautious(shapes, means, LAYOUT / 4)
    assert np.isclose(shapes.skewness(0)[0, 1], -2.0, atol=0.3)
    assert np.isclose(caution.skewness[0, 0], -1.0, atol=0.15)


def test_nothing_is_said_of_cells_never_seen() -> None:
    shapes = Shapes(np.array([2, 3]), 5)
    assert not shapes.skewness(1).any()
    assert shapes.skewness(1).shape == (3, 5)
    _cautious(shapes, _values(np.random.default_rng(5), 20, -1.0))
    seen = shapes.skewness(0)
    assert not np.delete(seen.ravel(), 1).any()


def test_one_batch_of_equal_values_breaks_nothing() -> None:
    caution = _cautious(Shapes(np.array([1, 1]), 2), np.zeros((6, 1, 1)))
    assert np.isfinite(caution.skewness).all()
    assert np.isfinite(caution.least_spread).all()


def test_errors_of_skewed_differences_fall() -> None:
    """Negative exponential differences at a gap of zero, eight batches of one pull each: how often
    a score exceeds the 5 % point, with and without what earlier phases say of their shape.
    """
    rng, shapes, plain, careful = np.random.default_rng(6), Shapes(np.array([1, 1]), 2), 0, 0
    for _ in range(3000):
        values = _values(rng, 8, -1.0)
        plain += int(student_scores(values, 0.0)[0, 0] > 1.645)
        caution = _cautious(shapes, values)
        careful += int(student_scores(values, 0.0, caution)[0, 0] > 1.645)
    assert plain / 3000 > 0.1
    assert careful / 3000 < 0.075


def test_another_rival_of_the_same_arm_has_a_shape_of_its_own() -> None:
    """Noise that a poor rival adds must not be held against a better one."""
    rng, shapes = np.random.default_rng(5), Shapes(np.array([1, 2]), 3)
    for _ in range(50):
        _cautious(shapes, 10 * _values(rng, 10, -1.0))
    other = _cautious(shapes, _values(rng, 40, -1.0), where=Cells(columns=np.array([2])))
    assert other.least_spread[0, 0] < 2
