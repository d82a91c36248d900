"""Commitments, limits and boundaries come back to the bit, and nothing else is taken for one."""

from __future__ import annotations

import json

import numpy as np
import pytest

from surefoot.arrays import Array
from surefoot.certify import (
    Boundary,
    Claims,
    GaussianBoundary,
    MixtureBoundary,
    Rows,
    Stakes,
    WealthBoundary,
)
from surefoot.errors import InputError
from surefoot.study.file.encoding import (
    ByteReader,
    Writer,
    boundary_from_dict,
    boundary_to_dict,
    commitment_bytes,
    commitment_from,
    limits_bytes,
    limits_from,
    packed,
    unpacked,
)

ODD = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 5e-324, 0.1, 1e308])


def claims(stakes: bool = False) -> Claims:
    shares = Rows(np.array([0, 2, 2]), np.array([0, 1]), np.array([0.25, 0.75]))
    cells = np.ones((2, 2))
    bets = Stakes(0.1 * cells, 0.2 * cells, 0.3 * cells, 0.4) if stakes else None
    deviation = np.array([[0.0, np.inf], [0.5, 0.5]])
    points, arms, clocks = np.array([4, 5]), np.array([0, 1]), np.array([3, 7])
    return Claims(2, points, arms, clocks, shares, deviation, bets)


@pytest.mark.parametrize(
    "values",
    [
        ODD,
        np.zeros(0),
        np.array(3.5),
        np.zeros((2, 0, 3)),
        np.full((2, 3, 4), np.nan),
        np.where(np.arange(40) % 7 == 3, np.arange(40.0), np.nan).reshape(4, 10),
        np.random.default_rng(1).normal(size=(5, 300)),
        np.random.default_rng(2).integers(0, 1000, size=5000) / 64,
    ],
)
def test_numbers_come_back_to_the_bit(values: Array) -> None:
    writer = Writer()
    writer.numbers(values)
    back = ByteReader(writer.content).numbers()
    assert back.shape == values.shape
    assert back.tobytes() == values.tobytes()


@pytest.mark.parametrize("values", [[], [0], [-1, 5, 5], [2**62, -(2**61)], list(range(300))])
def test_whole_numbers_come_back(values: list[int]) -> None:
    writer = Writer()
    writer.integers(np.array(values, dtype=np.int64))
    assert ByteReader(writer.content).integers().tolist() == values


@pytest.mark.parametrize("stakes", [False, True])
@pytest.mark.parametrize("variances", [None, np.array([1.0, 2.0])])
def test_a_commitment_comes_back(stakes: bool, variances: Array | None) -> None:
    written = commitment_bytes([claims(stakes), claims()], variances)
    back, guessed, _ = commitment_from(written)
    assert commitment_bytes(back, guessed) == written
    assert back[0].shares.values.tolist() == [0.25, 0.75]
    assert (back[0].stakes is not None) == stakes


def test_limits_come_back() -> None:
    limits = [None, np.full((1, 2, 3), np.nan), np.array([[[1.5, np.nan, 2.5, 3.5]]])]
    back = limits_from(limits_bytes(limits))
    assert limits_bytes(back) == limits_bytes(limits)
    assert back[0] is None


def test_nearly_empty_limits_are_small() -> None:
    limits = np.full((2, 5, 20_000), np.nan)
    limits[0, 1, 77] = 1.0
    assert len(packed(limits_bytes([limits]))) < 100


def test_bytes_that_are_cut_or_changed_never_crash() -> None:
    whole = commitment_bytes([claims(stakes=True)], np.array([1.0, 2.0]))
    for place in range(len(whole)):
        with pytest.raises(ValueError, match=r"\w"):
            commitment_from(whole[:place])
        changed = whole[:place] + bytes([whole[place] ^ 255]) + whole[place + 1 :]
        try:
            commitment_from(changed)
        except ValueError:
            continue


def test_packed_bytes_that_are_cut_are_refused() -> None:
    content = packed(b"something" * 100)
    assert unpacked(content) == b"something" * 100
    for place in range(len(content)):
        with pytest.raises(ValueError, match=r"cut off|unpacked"):
            unpacked(content[:place])


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
