"""Which point of each arm's hull a challenger's pair should beat most clearly.

Compiled, because a run asks this for every (challenger's pair, arm) in every phase.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from surefoot.arrays import Array, IntArray
from surefoot.design.solver.block_distance import Workspace, nearest, workspace
from surefoot.system.compiled import kernel

# squared distance between two points, as a share of their squared sizes, that is rounding
SAME = 1e-18
OUTSIDE = 1e-9  # a direction with this share of its length outside the range is not measured


class Prospect(NamedTuple):
    """The pairs as pulls to come will measure them, and as past data know them.

    Attributes:
        measured: (n_pairs, rank) pairs where distance is a gap's standard deviation on pulls to
            come.
        past: (n_pairs, any) pairs where distance is its standard deviation on past data.
        hidden: (n_pairs, dimension − rank) their parts that the pulls to come do not measure.
        sizes: (n_pairs,) lengths of the pairs themselves.
        means: (n_pairs,) estimated rewards.
        offsets: (n_arms + 1,) where each arm's pairs begin.
        carried: (n_pairs, width) the pairs in whatever coordinates the answer is wanted in.
    """

    measured: Array
    past: Array
    hidden: Array
    sizes: Array
    means: Array
    offsets: IntArray
    carried: Array


class RivalPoints(NamedTuple):
    """A challenger's pairs z' against the point of each arm that z' should beat most clearly.

    Attributes:
        differences: (n_own, n_tested, width) z' − rival, as carried; zeros where no point is
            measured.
        gaps: (n_own, n_tested) its estimated gap.
        ahead: (n_own, n_tested) its length as pulls to come will measure it.
        behind: (n_own, n_tested) its length as past data know it.
        shares: (n_own, n_tested, most) of each pair of the arm in that point.
    """

    differences: Array
    gaps: Array
    ahead: Array
    behind: Array
    shares: Array


class Room(NamedTuple):
    """Room to work in: one entry for each pair of the largest arm.

    Attributes:
        rows: (most, width) differences that are measured, ahead and behind.
        gaps: (most,) their estimated gaps; scaled: the same, the clearest at 1.
        members: (most,) the pairs they lead to.
        shares: (most,) how much each counts in the point.
        work: for the active-set method.
    """

    rows: Array
    gaps: Array
    scaled: Array
    members: IntArray
    shares: Array
    work: Workspace


def rival_points(prospect: Prospect, challenger: int, arms: IntArray) -> RivalPoints:
    """The clearest point of each of these arms, for each of the challenger's pairs."""
    own = np.arange(prospect.offsets[challenger], prospect.offsets[challenger + 1])
    shape = (len(own), len(arms))
    most = int(np.diff(prospect.offsets)[arms].max(initial=1))
    found = RivalPoints(
        np.zeros((*shape, prospect.carried.shape[1])),
        np.zeros(shape),
        np.zeros(shape),
        np.zeros(shape),
        np.zeros((*shape, most)),
    )
    clearest_points(prospect, own, arms, found)
    return found


@kernel
def clearest_points(prospect: Prospect, own: IntArray, arms: IntArray, found: RivalPoints) -> None:
    """For each z' in `own` and each arm, the point of its hull with the largest gap / distance.

    Distance counts what pulls to come will measure and how well the gap is known: a point that
    looks best only because its gap is a guess would be beaten less clearly than hoped.

    Args:
        found: zeros, in whose place the points are written.
    """
    most, width = np.int64(1), prospect.measured.shape[1] + prospect.past.shape[1]
    for arm in arms:
        most = max(most, prospect.offsets[arm + 1] - prospect.offsets[arm])
    room = Room(
        np.empty((most, width)),
        np.empty(most),
        np.empty(most),
        np.empty(most, dtype=np.int64),
        np.empty(most),
        workspace(width),
    )
    for k in range(len(own)):
        for a in range(len(arms)):
            count = _clearest_shares(prospect, own[k], arms[a], room)
            if count > 0:
                _write_point(prospect, own[k], room, count, found, (k, a, arms[a]))


@kernel
def _clearest_shares(prospect: Prospect, pair: int, arm: int, room: Room) -> int:
    """Choose the shares of the arm's pairs in the point; return how many pairs are measured."""
    means, rows, gaps, shares = prospect.means, room.rows, room.gaps, room.shares
    count, best, clearest = np.int64(0), np.int64(-1), -np.inf
    for other in range(prospect.offsets[arm], prospect.offsets[arm + 1]):
        length = _difference(prospect, pair, other, rows[count])
        if length == 0.0:
            continue
        room.members[count], gaps[count] = other, means[pair] - means[other]
        if gaps[count] > clearest * length:
            clearest, best = gaps[count] / length, count
        count += 1
    if count == 0:
        return 0
    shares[:count] = 0.0
    if count > 1 and clearest > 0.0:
        # the best vertex at gap 1: the active-set method works at this scale
        for j in range(count):
            room.scaled[j] = gaps[j] / clearest
        nearest(rows[:count], room.scaled[:count], shares[:count], room.work)
    else:
        shares[best] = 1.0
    return int(count)


@kernel
def _write_point(
    prospect: Prospect,
    pair: int,
    room: Room,
    count: int,
    found: RivalPoints,
    place: tuple[int, int, int],
) -> None:
    """Write the pair less the point with these shares: its difference, gap and lengths."""
    k, a, arm = place
    first = prospect.offsets[arm]
    carried, rank, point = prospect.carried, prospect.measured.shape[1], room.work.u
    total = 0.0
    for j in range(count):
        total += room.shares[j]
    point[:] = 0.0
    for j in range(count):
        if room.shares[j] == 0.0:
            continue
        share = room.shares[j] / total
        found.gaps[k, a] += share * room.gaps[j]
        found.shares[k, a, room.members[j] - first] = share
        for c in range(carried.shape[1]):
            found.differences[k, a, c] += share * (carried[pair, c] - carried[room.members[j], c])
        for c in range(len(point)):
            point[c] += share * room.rows[j, c]
    ahead, behind = 0.0, 0.0
    for c in range(rank):
        ahead += point[c] * point[c]
    for c in range(rank, len(point)):
        behind += point[c] * point[c]
    found.ahead[k, a], found.behind[k, a] = np.sqrt(ahead), np.sqrt(behind)


@kernel
def _difference(prospect: Prospect, pair: int, other: int, out: Array) -> float:
    """Write pair − other; return its length, 0 for one point or an unmeasured difference."""
    measured, past, hidden, sizes = (
        prospect.measured,
        prospect.past,
        prospect.hidden,
        prospect.sizes,
    )
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
    for c in range(past.shape[1]):
        out[rank + c] = past[pair, c] - past[other, c]
        squared += out[rank + c] ** 2
    return float(np.sqrt(squared))
