"""The shape of differences, from all batches so far."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from surefoot.arrays import Array, IntArray
from surefoot.evidence.caution import Shapes, deviation


@dataclass
class Cells:
    challenger: int = 0
    places: IntArray = field(default_factory=lambda: np.array([0]))
    columns: IntArray = field(default_factory=lambda: np.array([1]))


LAYOUT = np.ones((1, 1))


def _spread(shapes: Shapes, column: int = 1) -> float:
    """The deviation of single pulls' contrasts in one cell of the first arm."""
    moments, _ = shapes.seen(0, (0, column))
    return float(deviation(moments))


def _values(rng: np.random.Generator, m: int, sign: float) -> Array:
    return sign * (rng.standard_exponential((m, 1, 1)) - 1)


def test_the_skewness_of_many_batches_is_found() -> None:
    rng, shapes = np.random.default_rng(1), Shapes(np.array([2, 3]), 5)
    for _ in range(400):
        shapes.count(Cells(), _values(rng, 8, -1.0), LAYOUT)
    assert -2.2 < shapes.skewness(0)[0, 1] < -1.7  # of −2
    assert np.isclose(_spread(shapes), 1.0, rtol=0.1)


def test_normal_differences_are_not_called_skewed() -> None:
    rng, shapes, clear = np.random.default_rng(2), Shapes(np.array([1, 1]), 2), []
    for _ in range(300):
        shapes.count(Cells(), rng.standard_normal((10, 1, 1)), LAYOUT)
        clear.append(shapes.skewness(0)[0, 1] != 0)
    assert np.mean(clear) < 0.2


def test_skewness_upwards_has_its_sign() -> None:
    rng, shapes = np.random.default_rng(3), Shapes(np.array([1, 1]), 2)
    for _ in range(100):
        shapes.count(Cells(), _values(rng, 10, 1.0), LAYOUT)
    assert shapes.skewness(0)[0, 1] > 0


def test_means_of_several_pulls_tell_of_single_ones() -> None:
    """Means of four pulls have half the spread and half the skewness of one, which are kept: the
    layout says so.
    """
    rng, shapes = np.random.default_rng(7), Shapes(np.array([1, 1]), 2)
    for _ in range(400):
        means = np.mean([_values(rng, 10, -1.0) for _ in range(4)], axis=0)
        shapes.count(Cells(), means, LAYOUT / 4)
    assert np.isclose(shapes.skewness(0)[0, 1], -2.0, atol=0.3)
    assert np.isclose(_spread(shapes), 1.0, rtol=0.1)


def test_the_farthest_fall_of_single_pulls_is_kept() -> None:
    shapes, values = Shapes(np.array([1, 1]), 2), np.array([0.0, 0.0, 0.0, -4.0])[:, None, None]
    shapes.count(Cells(), values, LAYOUT)
    assert shapes.seen(0, (0, 1))[1] == 3
    shapes.count(Cells(), values / 2, LAYOUT / 4)
    assert shapes.seen(0, (0, 1))[1] == 6


def test_nothing_is_said_of_cells_never_seen() -> None:
    shapes = Shapes(np.array([2, 3]), 5)
    assert not shapes.skewness(1).any()
    assert shapes.skewness(1).shape == (3, 5)
    shapes.count(Cells(), _values(np.random.default_rng(5), 20, -1.0), LAYOUT)
    seen = shapes.skewness(0)
    assert not np.delete(seen.ravel(), 1).any()


def test_one_batch_of_equal_values_breaks_nothing() -> None:
    shapes = Shapes(np.array([1, 1]), 2)
    shapes.count(Cells(), np.zeros((6, 1, 1)), LAYOUT)
    assert np.isfinite(shapes.skewness(0)).all()
    assert _spread(shapes) == 0


def test_another_rival_of_the_same_arm_has_a_shape_of_its_own() -> None:
    """Noise that a poor rival adds must not be held against a better one."""
    rng, shapes = np.random.default_rng(5), Shapes(np.array([1, 2]), 3)
    for _ in range(50):
        shapes.count(Cells(), 10 * _values(rng, 10, -1.0), LAYOUT)
    shapes.count(Cells(columns=np.array([2])), _values(rng, 40, -1.0), LAYOUT)
    assert _spread(shapes, column=2) < 2
