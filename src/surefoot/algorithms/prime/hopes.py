"""Rivals' pairs that may be much worse than they seem: a design that is steered by past means alone
would never pull them again, and never know.

Compiled, for the same reason as the search for rivals.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from surefoot.algorithms.prime.rivals import Prospect, RivalPoints
from surefoot.arrays import Array, IntArray
from surefoot.system.compiled import kernel

SAME = 1e-18  # squared distance, as a share of the squared sizes, that is rounding


class Reach(NamedTuple):
    """How well λ^G would measure: distance is a gap's standard deviation, up to a factor.

    Attributes:
        pairs: (n_pairs, dimension) the pairs, in that distance.
        points: (n_own, n_tested) lengths of the differences that were found.
    """

    pairs: Array
    points: Array


@kernel
def take_hopes(
    prospect: Prospect,
    reach: Reach,
    own: IntArray,
    arms: IntArray,
    curiosity: float,
    found: RivalPoints,
) -> None:
    """Let a pair take the place of its arm's point where it promises more, for want of data.

    The promise of a difference is the expected square of its gap, as far as it is positive, for
    each pull of λ^G. As a point's gap turns out to be small its promise falls, and any doubtful
    pair's is larger in the end: no wrong choice stays for ever.

    Args:
        curiosity: how many times the square of its estimated gap a pair has to promise. Where it is
            known well it does not, and the search for points has seen all that there is.
        found: the points, some of which are replaced; their gaps are what is hoped for.
    """
    for k in range(len(own)):
        for a in range(len(arms)):
            most, hoped = -1, 0.0
            if reach.points[k, a] > 0.0:
                hoped = _square(found.gaps[k, a], found.behind[k, a]) / reach.points[k, a] ** 2
            for other in range(prospect.offsets[arms[a]], prospect.offsets[arms[a] + 1]):
                length = _distance(reach.pairs, own[k], other)
                if length == 0.0:
                    continue
                gap = prospect.means[own[k]] - prospect.means[other]
                square = _square(gap, _distance(prospect.past, own[k], other))
                if square > curiosity * max(gap, 0.0) ** 2 and square / length**2 > hoped:
                    most, hoped = other, square / length**2
            if most >= 0:
                _replace(prospect, own[k], most, found, (k, a))


@kernel
def _replace(
    prospect: Prospect, pair: int, other: int, found: RivalPoints, place: tuple[int, int]
) -> None:
    """Write the pair less the other in place of what was found, with the gap that is hoped for."""
    k, a = place
    gap = prospect.means[pair] - prospect.means[other]
    doubt = _distance(prospect.past, pair, other)
    for c in range(prospect.carried.shape[1]):
        found.differences[k, a, c] = prospect.carried[pair, c] - prospect.carried[other, c]
    found.gaps[k, a] = math.sqrt(_square(gap, doubt))
    found.ahead[k, a] = _distance(prospect.measured, pair, other)
    found.behind[k, a] = doubt


@kernel
def _square(gap: float, doubt: float) -> float:
    """The expected square of the positive part of a gap that is known with this deviation."""
    if doubt <= 0.0:
        return float(max(gap, 0.0) ** 2)
    z = gap / doubt
    density = math.exp(-z * z / 2) / math.sqrt(2 * math.pi)
    below = 0.5 * math.erfc(-z / math.sqrt(2.0))
    return float(max((gap * gap + doubt * doubt) * below + gap * doubt * density, 0.0))


@kernel
def _distance(points: Array, one: int, other: int) -> float:
    """Between two of the points; 0 if they are the same up to rounding."""
    squared, size = 0.0, 0.0
    for c in range(points.shape[1]):
        squared += (points[one, c] - points[other, c]) ** 2
        size += points[one, c] ** 2 + points[other, c] ** 2
    return math.sqrt(squared) if squared > SAME * size else 0.0
