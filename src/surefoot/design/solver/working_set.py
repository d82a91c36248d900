"""Large designs from small ones: solve for a few pairs and blocks, price all, add the worst."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from surefoot.arrays import Array, IntArray
from surefoot.design.solver.families import Family
from surefoot.design.solver.interior_point import SmallProblem, solve
from surefoot.design.whitening import cholesky_whitener, spectral_whitener

ALL_ATOMS = 150  # up to this many rows, all are in from the start
MAX_ROUNDS = 80
ROOM_FOR_ZEROS = 0.8  # stop at this share of the tolerance: cutting small weights may use the rest
NEGLIGIBLE = 1e-4  # blocks below this share of the worst do not come in at the start
PIVOT_ROWS = 20  # times the dimension: among this many longest rows the first ones are chosen
FIRST_TOLERANCE = 0.1  # as long as rows and blocks are missing, no finer
FIRST_BLOCKS = 40
CHUNK_ROWS = 20_000


@dataclass
class Certified:
    """Weights over all rows with the family's criterion at them and a proven lower bound."""

    weights: Array
    value: float
    bound: float
    rounds: int


class WorkingSet:
    """The state of the outer loop: which rows may be pulled, which blocks are watched."""

    def __init__(
        self, rows: Array, family: Family, tolerance: float, start: Array | None = None
    ) -> None:
        self.rows, self.family, self.tolerance = rows, family, tolerance
        self.dimension = rows.shape[1]
        self.atoms, self.weights = _first_atoms(rows, start)
        self.identities = np.empty(0, dtype=np.int64)
        self.multipliers = np.empty(0)
        self.best = Certified(self._spread(), np.inf, 0.0, 0)
        limit = max(4 * self.dimension, FIRST_BLOCKS)
        prices = self.family.price(self.whitener(), 0.0, limit)
        self.nearly_complete = self.atoms.size == len(rows) and prices.candidates <= 2 * limit
        self.extend_blocks(prices.blocks[prices.criteria > NEGLIGIBLE * prices.value])

    def whitener(self) -> Array:
        atoms = self.rows[self.atoms]
        whitener = cholesky_whitener((atoms.T * self.weights) @ atoms)
        return spectral_whitener((atoms.T * self.weights) @ atoms) if whitener is None else whitener

    def _spread(self) -> Array:
        weights = np.zeros(len(self.rows))
        weights[self.atoms] = self.weights
        return weights

    def extend_blocks(self, identities: IntArray) -> int:
        new = _not_in(identities, self.identities)
        fresh = 0.1 * self.multipliers.mean() if self.multipliers.size else 1.0
        self.identities = np.concatenate([self.identities, new])
        self.multipliers = np.concatenate([self.multipliers, np.full(new.size, fresh)])
        return int(new.size)

    def extend_atoms(self, atoms: IntArray) -> int:
        new = _not_in(atoms, self.atoms)
        self.atoms = np.concatenate([self.atoms, new])
        self.weights = np.concatenate([self.weights, np.zeros(new.size)])
        return int(new.size)

    def solve_small(self, tolerance: float) -> Array:
        """Solve the small problem; gives (n_blocks, dimension) the ε that carry its proof."""
        problem = SmallProblem(
            self.rows[self.atoms], self.family.blocks(self.identities, self.whitener())
        )
        start = 0.9 * self.weights + 0.1 / self.weights.size
        floor = 0.1 * self.multipliers.mean()
        solution = solve(problem, start, self.multipliers + floor, tolerance)
        self.weights, self.multipliers = (
            solution.weights / solution.weights.sum(),
            solution.multipliers,
        )
        self.small_value = solution.value
        return solution.epsilon

    def price_atoms(self, epsilon: Array, limit: int) -> tuple[float, IntArray]:
        """Return the lower bound that holds over *all* rows, and the rows that hold it down
        most.
        """
        heavy = self.multipliers > 1e-7 * self.multipliers.max()
        multipliers = self.multipliers[heavy]
        load = np.zeros(len(self.rows))
        for first in range(0, len(self.rows), CHUNK_ROWS):
            part = slice(first, first + CHUNK_ROWS)
            load[part] = ((self.rows[part] @ epsilon[heavy].T) ** 2) @ multipliers
        inside = load[self.atoms].max()
        above = np.flatnonzero(load > inside * (1.0 + 1e-9))
        above = above[np.argsort(-load[above])[:limit]].astype(np.int64)
        return float(multipliers.sum() / load.max()), above

    def round(self, tolerance: float) -> int:
        """Return one round: small solve, pricing, growth. Returns how many blocks and rows were
        added.
        """
        epsilon = self.solve_small(tolerance)
        whitener = self.whitener()
        threshold = self.small_value * (1.0 + 0.2 * self.tolerance)
        prices = self.family.price(whitener, threshold, 4 * self.dimension)
        value = max(prices.value, threshold)
        bound, rows = self.price_atoms(epsilon, 2 * self.dimension)
        best = self.best
        if value < best.value:
            best.value, best.weights = value, self._spread()
        best.bound = max(best.bound, bound)
        best.rounds += 1
        return self.extend_blocks(prices.blocks) + self.extend_atoms(rows)


def solve_certified(rows: Array, family: Family, tolerance: float) -> Certified:
    """Minimise the family's worst criterion over all designs, to a proven relative gap."""
    working = WorkingSet(rows, family, tolerance)
    if working.identities.size == 0:  # no rival can ever win: nothing to learn
        return Certified(working.best.weights, 0.0, 0.0, 0)
    finest = (0.03 if working.nearly_complete else 0.3) * tolerance
    inner = finest if working.nearly_complete else max(finest, FIRST_TOLERANCE)
    for _ in range(MAX_ROUNDS):
        added = working.round(inner)
        gap = working.best.value / working.best.bound - 1.0 if working.best.bound > 0 else np.inf
        if gap <= ROOM_FOR_ZEROS * tolerance or (not added and inner <= 0.01 * tolerance):
            break
        if not added and inner <= finest:
            finest *= 0.3
        settled = added < working.dimension and gap < FIRST_TOLERANCE
        inner = finest if settled else max(finest, min(inner, 0.3 * gap))
    return working.best


def _not_in(candidates: IntArray, known: IntArray) -> IntArray:
    """Return those of the candidates that are not known; both are few, so a set beats sorting."""
    seen = set(known.tolist())
    return np.array(
        [candidate for candidate in candidates.tolist() if candidate not in seen], dtype=np.int64
    )


def _first_atoms(rows: Array, start: Array | None) -> tuple[IntArray, Array]:
    """Return all rows if they are few; else extreme ones, with what the start supports."""
    if len(rows) <= ALL_ATOMS:
        atoms = np.arange(len(rows))
    else:
        atoms = extreme_rows(rows)
        if start is not None:
            atoms = np.union1d(atoms, np.flatnonzero(start))
    weights = np.full(atoms.size, 1.0 / atoms.size)
    if start is not None and start[atoms].sum() > 0:
        weights = 0.1 * weights + 0.9 * start[atoms] / start[atoms].sum()
    return atoms.astype(np.int64), weights


def extreme_rows(rows: Array) -> IntArray:
    """Some rows that span the space well: the longest, in turn, outside the span so far."""
    dimension = rows.shape[1]
    lengths = np.einsum("ij,ij->i", rows, rows)
    longest = np.argpartition(-lengths, min(PIVOT_ROWS * dimension, len(rows) - 1))[
        : PIVOT_ROWS * dimension
    ]
    pivots = _pivots(rows[longest])
    if pivots.size < dimension:  # the longest rows lie in a subspace
        longest, pivots = np.arange(len(rows)), _pivots(rows)
    leading = longest[np.argsort(-lengths[longest], kind="stable")[: 2 * dimension]]
    return np.union1d(longest[pivots], leading).astype(np.int64)


def _pivots(rows: Array) -> IntArray:
    """Rows in the order of a pivoted orthogonalisation, both ends of each direction."""
    chosen: list[int] = []
    rest = rows.copy()
    for _ in range(rows.shape[1]):
        lengths = np.einsum("ij,ij->i", rest, rest)
        longest = int(np.argmax(lengths))
        if lengths[longest] <= 1e-8:
            return np.empty(0, dtype=np.int64)
        direction = rest[longest] / np.sqrt(lengths[longest])
        along = rest @ direction
        chosen += [longest, int(np.argmin(along)), int(np.argmax(along))]
        rest -= along[:, None] * direction
    return np.unique(np.array(chosen)).astype(np.int64)
