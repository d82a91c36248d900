"""Boundaries come back from their numbers to the bit."""

from __future__ import annotations

import json

import numpy as np
import pytest

from surefoot.certify import Boundary, GaussianBoundary, MixtureBoundary, WealthBoundary
from surefoot.errors import InputError
from surefoot.study.file.encoding import boundary_from_dict, boundary_to_dict

TIMES = np.array([0.1, 0.7, 1.3])


@pytest.mark.parametrize(
    "boundary",
    [
        GaussianBoundary(TIMES, np.array([0.3, 0.2, 0.1]), 7.1),
        GaussianBoundary(TIMES, np.array([0.3, 0.2, 0.1]), np.array([7.1, 7.1, 6.3])),
        MixtureBoundary(TIMES, np.array([0.5, 2.0]), np.array([0.4, 0.6]), 0.05),
        WealthBoundary(0.05),
    ],
)
def test_a_boundary_comes_back(boundary: Boundary) -> None:
    back = boundary_from_dict(json.loads(json.dumps(boundary_to_dict(boundary))))
    assert type(back) is type(boundary)
    assert back.times.tobytes() == boundary.times.tobytes()
    starts, places = np.triu_indices(len(boundary.times))
    again, levels = (each.levels(starts, places) for each in (back, boundary))
    assert again.tobytes() == levels.tobytes()


@pytest.mark.parametrize("stored", [{}, {"kind": "wealth"}, {"kind": "odd", "delta": 0.05}])
def test_anything_else_is_no_boundary(stored: dict[str, object]) -> None:
    with pytest.raises(ValueError, match="no boundary"):
        boundary_from_dict(stored)


def test_a_boundary_needs_a_height_for_each_of_its_points() -> None:
    stored = boundary_to_dict(GaussianBoundary(TIMES, np.zeros(3), np.full(3, 7.1)))
    with pytest.raises(ValueError, match="of different lengths"):
        boundary_from_dict(stored | {"a": [7.1, 7.1]})


def test_a_boundary_of_ones_own_cannot_be_stored() -> None:
    class Own(WealthBoundary):
        """Not known to files."""

    with pytest.raises(InputError, match="Own cannot be kept"):
        boundary_to_dict(Own(0.05))
