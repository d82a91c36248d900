"""Which point of each arm a challenger's pair should beat most clearly: the best vertex, or a better point of its hull.

Compiled, because a run asks this for every (challenger's pair, arm) in every phase.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from surefoot.arrays import Array, IntArray
from surefoot.design.block_distance import nearest

SAME = 1e-18  # squared distance between two points, as a share of their squared sizes, that is rounding
OUTSIDE = 1e-9  # a direction with this share of its length outside the range is not measured


@njit(cache=True)
def clearest_vertices(
    whitened: Array, means: Array, own: IntArray, arms: IntArray, offsets: IntArray, chosen: IntArray, lengths: Array
) -> None:
    """For each of the challenger's pairs and each arm, the arm's pair with the largest gap / distance.

    Args:
        whitened: (n_pairs, dimension) pairs in coordinates where distance is the norm that counts.
        means: (n_pairs,) estimated rewards.
        own: (n_own,) the challenger's pairs.
        arms: (n_tested,) the arms.
        offsets: (n_arms + 1,) where each arm's pairs begin.
        chosen: (n_own, n_tested) out: the pairs.
        lengths: (n_own, n_tested) out: their distances, positive also where the two points are the same.
    """
    dimension = whitened.shape[1]
    for k in range(len(own)):
        pair = own[k]
        for a in range(len(arms)):
            best = -np.inf
            for other in range(offsets[arms[a]], offsets[arms[a] + 1]):
                squared, size = 0.0, 1e-300
                for c in range(dimension):
                    squared += (whitened[pair, c] - whitened[other, c]) ** 2
                    size += whitened[pair, c] ** 2 + whitened[other, c] ** 2
                length = np.sqrt(max(squared, 1e-12 * size))
                ratio = (means[pair] - means[other]) / length
                if ratio > best:
                    best, chosen[k, a], lengths[k, a] = ratio, other, length


@njit(cache=True)
def clearest_points(
    cautious: Array,
    hidden: Array,
    sizes: Array,
    means: Array,
    own: IntArray,
    arms: IntArray,
    offsets: IntArray,
    directions: Array,
    lengths: Array,
    expected: Array,
) -> None:
    """For each of the challenger's pairs z' and each arm, the point of the arm's hull with the largest gap / distance.

    Distance counts what the phase will measure and, in further columns, how well the gap is known: a point that looks
    best only because its gap is a guess would be beaten less clearly than hoped.

    Args:
        cautious: (n_pairs, rank + further) pairs; in the first columns, distance is a gap's standard deviation in this
            phase, in the others on past data.
        hidden: (n_pairs, dimension − rank) their parts that the phase does not measure.
        sizes: (n_pairs,) lengths of the pairs themselves.
        means, own, arms, offsets: as above.
        directions: (n_own, n_tested, rank) out: z' − rival at length 1; zeros where no point is measured.
        lengths: (n_own, n_tested) out: ‖z' − rival‖ in this phase; inf where no point is measured.
        expected: (n_own, n_tested) out: its gap.
    """
    rank, width = directions.shape[2], cautious.shape[1]
    most = np.int64(1)
    for arm in arms:
        most = max(most, offsets[arm + 1] - offsets[arm])
    rows, gaps, scaled, multipliers = np.empty((most, width)), np.empty(most), np.empty(most), np.empty(most)
    factor, trial, point = np.empty((width + 2, width + 2)), np.empty(width + 2), np.empty(width)
    passive = np.empty(width + 2, dtype=np.int64)
    for k in range(len(own)):
        for a in range(len(arms)):
            directions[k, a], lengths[k, a], expected[k, a] = 0.0, np.inf, 0.0
            count, best, clearest = np.int64(0), np.int64(-1), -np.inf
            for other in range(offsets[arms[a]], offsets[arms[a] + 1]):
                length = _difference(cautious, rank, hidden, sizes, own[k], other, rows[count])
                if length == 0.0:
                    continue
                gaps[count] = means[own[k]] - means[other]
                if gaps[count] > clearest * length:
                    clearest, best = gaps[count] / length, count
                count += 1
            if count == 0:
                continue
            multipliers[:count] = 0.0
            if count > 1 and clearest > 0.0:
                for j in range(count):  # the best vertex at gap 1: the active-set method works at this scale
                    scaled[j] = gaps[j] / clearest
                nearest(rows[:count], scaled[:count], multipliers[:count], passive, factor, trial, point)
            else:
                multipliers[best] = 1.0
            total, gap, squared = 0.0, 0.0, 0.0
            for j in range(count):
                total += multipliers[j]
                gap += multipliers[j] * gaps[j]
            for c in range(rank):
                point[c] = 0.0
                for j in range(count):
                    point[c] += multipliers[j] * rows[j, c]
                squared += point[c] ** 2
            if squared > 0.0:
                directions[k, a] = point[:rank] / np.sqrt(squared)
                lengths[k, a] = np.sqrt(squared) / total
                expected[k, a] = gap / total


@njit(cache=True)
def _difference(cautious: Array, rank: int, hidden: Array, sizes: Array, pair: int, other: int, out: Array) -> float:
    """Write pair − other and return its length; 0 where the two are one point or the phase does not measure it."""
    squared, measured, size, outside = 0.0, 0.0, 0.0, 0.0
    for c in range(len(out)):
        out[c] = cautious[pair, c] - cautious[other, c]
        squared += out[c] ** 2
        if c < rank:
            measured += out[c] ** 2
            size += cautious[pair, c] ** 2 + cautious[other, c] ** 2
    for c in range(hidden.shape[1]):
        outside += (hidden[pair, c] - hidden[other, c]) ** 2
    if measured <= SAME * size or np.sqrt(outside) > OUTSIDE * (sizes[pair] + sizes[other]):
        return 0.0
    return float(np.sqrt(squared))
