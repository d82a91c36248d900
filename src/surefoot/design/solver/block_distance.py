"""The smallest change of θ that lets a rival win, for many (pair, rival) blocks at once.

A block is a set of rows v (one for each pair of the rival) with a gap for each row. In whitened
coordinates its distance is min ‖ε‖² subject to v·ε ≥ gap for every row: the least-distance problem
of Lawson and Hanson (1974, chapter 23), whose dual is non-negative least squares. The active-set
method below solves that dual, exactly.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from surefoot.arrays import Array, IntArray
from surefoot.system.compiled import kernel

ENTERING = 1e-12  # a row whose slope is below this, relative to its size, has nothing to gain
DEPENDENT = 1e-13  # relative part of a row off the span of the others: less is rounding


class Solved(NamedTuple):
    """The arrays of the caller's that `solve_blocks` writes.

    Attributes:
        distance: (n_blocks,) min ‖ε‖²; 0 if no row has a positive gap.
        epsilon: (n_blocks, dimension) the minimiser ε, scaled to satisfy every row.
        basis: (capacity, dimension) orthonormal rows that with ε span each block's active rows.
        owner: (capacity,) the block of each basis row.
    """

    distance: Array
    epsilon: Array
    basis: Array
    owner: IntArray


class _Workspace(NamedTuple):
    """Room to work in, used again by each block.

    Attributes:
        passive: the rows with y > 0, in the order in which they entered.
        factor: the Cholesky factor on them; trial: the solution there.
        u: (dimension,) Σ y · row.
    """

    passive: IntArray
    factor: Array
    trial: Array
    u: Array


@kernel
def workspace(dimension: int) -> _Workspace:
    """Room for blocks of this dimension."""
    size = dimension + 2
    passive, factor = np.empty(size, dtype=np.int64), np.empty((size, size))
    return _Workspace(passive, factor, np.empty(size), np.empty(dimension))


@kernel
def _solve_passive(rows: Array, gaps: Array, count: int, work: _Workspace) -> bool:
    """Solve (V Vᵀ + g gᵀ) y = g on the passive rows by Cholesky; False if they are dependent."""
    dimension = rows.shape[1]
    passive, factor, out = work.passive, work.factor, work.trial
    for i in range(count):
        a = passive[i]
        for j in range(i + 1):
            b = passive[j]
            total = gaps[a] * gaps[b]
            for c in range(dimension):
                total += rows[a, c] * rows[b, c]
            diagonal = total
            for c in range(j):
                total -= factor[i, c] * factor[j, c]
            if i == j:
                if total <= DEPENDENT * diagonal:
                    return False
                factor[i, i] = np.sqrt(total)
            else:
                factor[i, j] = total / factor[j, j]
    for i in range(count):
        total = gaps[passive[i]]
        for c in range(i):
            total -= factor[i, c] * out[c]
        out[i] = total / factor[i, i]
    for i in range(count - 1, -1, -1):
        total = out[i]
        for c in range(i + 1, count):
            total -= factor[c, i] * out[c]
        out[i] = total / factor[i, i]
    return True


@kernel
def _settle(rows: Array, gaps: Array, count: int, y: Array, work: _Workspace) -> int:
    """Move y to the optimum on its passive rows, none negative; -1 if they are dependent."""
    passive, trial = work.passive, work.trial
    while count > 0:
        if not _solve_passive(rows, gaps, count, work):
            return -1
        step = 1.0
        for i in range(count):
            if trial[i] <= 0.0:
                ratio = y[passive[i]] / (y[passive[i]] - trial[i])
                step = min(step, ratio)
        for i in range(count):
            y[passive[i]] += step * (trial[i] - y[passive[i]])
        if step >= 1.0:
            return count
        kept = 0
        for i in range(count):
            if y[passive[i]] > 1e-15 * abs(trial[i]) and not (
                trial[i] <= 0.0 and y[passive[i]] <= 1e-14
            ):
                passive[kept] = passive[i]
                kept += 1
            else:
                y[passive[i]] = 0.0
        if kept == count:  # rounding kept the blocking row alive: drop the smallest
            smallest = 0
            for i in range(count):
                if y[passive[i]] < y[passive[smallest]]:
                    smallest = i
            y[passive[smallest]] = 0.0
            for i in range(smallest, count - 1):
                passive[i] = passive[i + 1]
            kept = count - 1
        count = kept
    return 0


@kernel
def nearest(rows: Array, gaps: Array, y: Array, work: _Workspace) -> int:
    """Non-negative least squares from a warm start y; returns how many rows have y > 0."""
    passive, u = work.passive, work.u
    size, dimension = rows.shape
    limit = min(size, dimension + 1)
    count = np.int64(0)  # a bare 0 would compile everything below twice
    for j in range(size):
        if y[j] > 0.0 and count < limit:
            passive[count] = j
            count += 1
        else:
            y[j] = 0.0
    if count > 0:
        count = _settle(rows, gaps, count, y, work)
    if count <= 0:
        count = np.int64(0)
        y[:] = 0.0
    for _ in range(10 * size + 10):
        u[:] = 0.0
        total = 0.0
        for i in range(count):
            weight = y[passive[i]]
            total += weight * gaps[passive[i]]
            for c in range(dimension):
                u[c] += weight * rows[passive[i], c]
        entering, steepest = -1, 0.0
        for j in range(size):
            if y[j] > 0.0:
                continue
            slope = gaps[j] * (1.0 - total)
            length = 0.0
            for c in range(dimension):
                slope -= rows[j, c] * u[c]
                length += rows[j, c] * rows[j, c]
            scale = abs(gaps[j]) + np.sqrt(length)
            if slope > ENTERING * scale and slope > steepest * scale:
                steepest = slope / scale
                entering = j
        if entering < 0 or count >= limit:
            break
        passive[count] = entering
        grown = _settle(rows, gaps, count + 1, y, work)
        if grown < 0:  # the new row is dependent on the others: nothing more to gain
            y[entering] = 0.0
            break
        count = grown
    return int(count)


@kernel
def _complement(
    rows: Array, count: int, work: _Workspace, solved: Solved, written: int, block: int
) -> int:
    """Append an orthonormal basis of the active rows' span without the direction u of ε."""
    passive, unit = work.passive, work.u
    basis, owner = solved.basis, solved.owner
    dimension = rows.shape[1]
    first = written
    for i in range(count):
        if written - first == count - 1:
            break
        before = 0.0
        for c in range(dimension):
            basis[written, c] = rows[passive[i], c]
            before += basis[written, c] * basis[written, c]
        for _ in range(2):  # twice is enough
            for b in range(first - 1, written):
                direction = unit if b < first else basis[b]
                dot = 0.0
                for c in range(dimension):
                    dot += basis[written, c] * direction[c]
                for c in range(dimension):
                    basis[written, c] -= dot * direction[c]
        after = 0.0
        for c in range(dimension):
            after += basis[written, c] * basis[written, c]
        if after > 1e-18 * before:
            length = np.sqrt(after)
            for c in range(dimension):
                basis[written, c] /= length
            owner[written] = block
            written += 1
    return written


@kernel
def solve_blocks(
    rows: Array, gaps: Array, starts: IntArray, multipliers: Array, solved: Solved
) -> int:
    """Solve every block; the outputs are written in place.

    Args:
        rows: (n_rows, dimension) whitened differences, block after block.
        gaps: (n_rows,) the gap of each row.
        starts: (n_blocks + 1,) where each block's rows begin.
        multipliers: (n_rows,) in: a warm start (zeros: none); out: the optimal μ with gaps·μ = 1.

    Returns:
        The number of basis rows written.
    """
    largest = 1
    for k in range(starts.size - 1):
        largest = max(largest, starts[k + 1] - starts[k])
    work = workspace(rows.shape[1])
    scaled = np.empty(largest)
    written = np.int64(0)
    for k in range(starts.size - 1):
        block, own = rows[starts[k] : starts[k + 1]], gaps[starts[k] : starts[k + 1]]
        vertex = _nearest_row(block, own)
        if vertex == np.inf or vertex == 0.0:
            solved.distance[k] = 0.0 if vertex == np.inf else np.inf
            solved.epsilon[k, :] = 0.0
            continue
        unit = np.sqrt(vertex)
        for j in range(own.size):
            scaled[j] = own[j] * unit
        y = multipliers[starts[k] : starts[k + 1]]
        count = nearest(block, scaled, y, work)
        if _write_optimum(own, count, y, work, solved, k) and count > 1:
            written = _complement(block, count, work, solved, written, k)
    return int(written)


@kernel
def _nearest_row(rows: Array, gaps: Array) -> float:
    """Return the smallest ‖v‖² / gap² of rows with a positive gap; ∞ without any."""
    smallest = np.inf
    for j in range(gaps.size):
        if gaps[j] > 0.0:
            length = 0.0
            for c in range(rows.shape[1]):
                length += rows[j, c] * rows[j, c]
            smallest = min(smallest, length / (gaps[j] * gaps[j]))
    return smallest


@kernel
def _write_optimum(
    gaps: Array, count: int, y: Array, work: _Workspace, solved: Solved, block: int
) -> bool:
    """Write distance and ε, scale y to gaps·y = 1 and u to length 1; False if u is 0."""
    passive, u, epsilon = work.passive, work.u, solved.epsilon
    total, squared = 0.0, 0.0
    for i in range(count):
        total += y[passive[i]] * gaps[passive[i]]
    for c in range(u.size):
        squared += u[c] * u[c]
    for j in range(y.size):
        y[j] /= total
    solved.distance[block] = total * total / squared if squared > 0.0 else np.inf
    for c in range(u.size):
        epsilon[block, c] = u[c] * total / squared if squared > 0.0 else 0.0
    if squared > 0.0:
        u /= np.sqrt(squared)
    return bool(squared > 0.0)
