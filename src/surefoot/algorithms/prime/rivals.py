"""Which point of each arm a challenger's pair should beat most clearly: the best vertex, or a
better point of its hull.

Compiled, because a run asks this for every (challenger's pair, arm) in every phase.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from surefoot.algorithms.prime.coordinates import Coordinates
from surefoot.arrays import Array, IntArray
from surefoot.design.block_distance import nearest

# squared distance between two points, as a share of their squared sizes, that is rounding
SAME = 1e-18
OUTSIDE = 1e-9  # a direction with this share of its length outside the range is not measured


def rival_points(
    coordinates: Coordinates,
    challenger: int,
    arms: IntArray,
    theta: Array,
    measured: Array,
    known: Array,
    hidden: Array,
    carried: Array,
) -> tuple[Array, Array, Array]:
    """The challenger's pairs minus each arm's clearest point, its gaps and its lengths, as in
    `clearest_points`.

    Args:
        theta: estimate on past data.
        measured, known, hidden, carried: as there.
    """
    own = np.arange(coordinates.offsets[challenger], coordinates.offsets[challenger + 1])
    differences = np.empty((len(own), len(arms), carried.shape[1]))
    gaps, lengths = np.empty((len(own), len(arms))), np.empty((2, len(own), len(arms)))
    clearest_points(
        measured,
        known,
        hidden,
        coordinates.sizes,
        coordinates.pairs @ theta,
        own,
        arms,
        coordinates.offsets,
        carried,
        differences,
        gaps,
        lengths,
    )
    return differences, gaps, lengths


@njit(cache=True, error_model="numpy")
def clearest_points(
    measured: Array,
    known: Array,
    hidden: Array,
    sizes: Array,
    means: Array,
    own: IntArray,
    arms: IntArray,
    offsets: IntArray,
    carried: Array,
    differences: Array,
    gaps: Array,
    lengths: Array,
) -> None:
    """For each of the challenger's pairs z' and each arm, the point of the arm's hull with the
    largest gap / distance.

    Distance counts what pulls to come will measure and how well the gap is known: a point that
    looks best only because its gap is a guess would be beaten less clearly than hoped.

    Args:
        measured: (n_pairs, rank) pairs where distance is a gap's standard deviation on pulls to
            come.
        known: (n_pairs, any) pairs where distance is its standard deviation on past data.
        hidden: (n_pairs, dimension − rank) their parts that the pulls to come do not measure.
        sizes: (n_pairs,) lengths of the pairs themselves.
        means: (n_pairs,) estimated rewards.
        own: (n_own,) the challenger's pairs.
        arms: (n_tested,) the arms.
        offsets: (n_arms + 1,) where each arm's pairs begin.
        carried: (n_pairs, width) the pairs in whatever coordinates the answer is wanted in.
        differences: (n_own, n_tested, width) out: z' − rival in those coordinates; zeros where no
            point is measured.
        gaps: (n_own, n_tested) out: its estimated gap.
        lengths: (2, n_own, n_tested) out: its lengths among `measured` and among `known`.
    """
    rank = measured.shape[1]
    width = rank + known.shape[1]
    most = np.int64(1)
    for arm in arms:
        most = max(most, offsets[arm + 1] - offsets[arm])
    rows, beaten, scaled, shares = (
        np.empty((most, width)),
        np.empty(most),
        np.empty(most),
        np.empty(most),
    )
    members, passive = np.empty(most, dtype=np.int64), np.empty(width + 2, dtype=np.int64)
    factor, trial, point = np.empty((width + 2, width + 2)), np.empty(width + 2), np.empty(width)
    for k in range(len(own)):
        for a in range(len(arms)):
            differences[k, a], gaps[k, a], lengths[:, k, a] = 0.0, 0.0, 0.0
            count, best, clearest = np.int64(0), np.int64(-1), -np.inf
            for other in range(offsets[arms[a]], offsets[arms[a] + 1]):
                length = _difference(measured, known, hidden, sizes, own[k], other, rows[count])
                if length == 0.0:
                    continue
                members[count], beaten[count] = other, means[own[k]] - means[other]
                if beaten[count] > clearest * length:
                    clearest, best = beaten[count] / length, count
                count += 1
            if count == 0:
                continue
            shares[:count] = 0.0
            if count > 1 and clearest > 0.0:
                for j in range(
                    count
                ):  # the best vertex at gap 1: the active-set method works at this scale
                    scaled[j] = beaten[j] / clearest
                nearest(rows[:count], scaled[:count], shares[:count], passive, factor, trial, point)
            else:
                shares[best] = 1.0
            total = 0.0
            for j in range(count):
                total += shares[j]
            point[:] = 0.0
            for j in range(count):
                if shares[j] == 0.0:
                    continue
                share = shares[j] / total
                gaps[k, a] += share * beaten[j]
                for c in range(carried.shape[1]):
                    differences[k, a, c] += share * (carried[own[k], c] - carried[members[j], c])
                for c in range(width):
                    point[c] += share * rows[j, c]
            ahead, behind = 0.0, 0.0
            for c in range(rank):
                ahead += point[c] * point[c]
            for c in range(rank, width):
                behind += point[c] * point[c]
            lengths[0, k, a], lengths[1, k, a] = np.sqrt(ahead), np.sqrt(behind)


@njit(cache=True, error_model="numpy")
def _difference(
    measured: Array, known: Array, hidden: Array, sizes: Array, pair: int, other: int, out: Array
) -> float:
    """Write pair − other and return its length; 0 where the two are one point or the phase does not
    measure it.
    """
    rank = measured.shape[1]
    squared, size, outside = 0.0, 0.0, 0.0
    for c in range(rank):
        out[c] = measured[pair, c] - measured[other, c]
        squared += out[c] ** 2
        size += measured[pair, c] ** 2 + measured[other, c] ** 2
    for c in range(hidden.shape[1]):
        outside += (hidden[pair, c] - hidden[other, c]) ** 2
    if squared <= SAME * size or np.sqrt(outside) > OUTSIDE * (sizes[pair] + sizes[other]):
        return 0.0
    for c in range(known.shape[1]):
        out[rank + c] = known[pair, c] - known[other, c]
        squared += out[rank + c] ** 2
    return float(np.sqrt(squared))
