"""Large designs from small ones: solve for a few pairs and blocks, price all, add the worst.

Afterwards, weights that do not matter are cut, and the rest is concentrated on fewer rows.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import lapack

from surefoot.arrays import Array, IntArray
from surefoot.design.solver.families import EVERY_BLOCK, Family, Vertices
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
class _Certified:
    """Weights over all rows with the family's criterion at them and a proven lower bound."""

    weights: Array
    value: float
    bound: float
    rounds: int


class _WorkingSet:
    """The state of the outer loop: which rows may be pulled, which blocks are watched."""

    def __init__(
        self, rows: Array, family: Family, tolerance: float, start: Array | None = None
    ) -> None:
        self.rows, self.family, self.tolerance = rows, family, tolerance
        self.dimension = rows.shape[1]
        self.atoms, self.weights = _first_atoms(rows, start)
        self.identities = np.empty(0, dtype=np.int64)
        self.multipliers = np.empty(0)
        self.best = _Certified(self._spread(), np.inf, 0.0, 0)
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


def solve_certified(rows: Array, family: Family, tolerance: float) -> _Certified:
    """Minimise the family's worst criterion over all designs, to a proven relative gap."""
    working = _WorkingSet(rows, family, tolerance)
    if working.identities.size == 0:  # no rival can ever win: nothing to learn
        return _Certified(working.best.weights, 0.0, 0.0, 0)
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
    """Return all rows if they are few; else extreme rows, and those that the start supports."""
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


DEPENDENT = 1e-10
MOST_ROWS = 500  # above this the eigenvalues would take longer than the design


def _purified(whitened: Array, weights: Array) -> Array:
    """Return weights of equal A and sum on linearly independent rows.

    Args:
        whitened: (n_rows, dimension) rows in coordinates where A_λ is the identity (on its range).
        weights: (n_rows,) positive.
    """
    if len(weights) > MOST_ROWS:
        return weights
    scaled = whitened * np.sqrt(weights)[:, None]
    gram = (scaled @ scaled.T) ** 2 + np.outer(weights, weights)
    return weights * _cancel(_kernel(gram))


def _kernel(gram: Array) -> Array:
    """Return (n_rows, n_dependences) relative changes of the weights that change nothing else."""
    _, indefinite = lapack.dpotrf(gram - DEPENDENT * np.diag(gram.diagonal()), lower=1)
    if not indefinite:
        return np.empty((len(gram), 0))
    scale = 1.0 / np.sqrt(gram.diagonal())
    values, vectors = np.linalg.eigh(gram * scale[:, None] * scale)
    return np.asarray(vectors[:, values < DEPENDENT] * scale[:, None])


def _cancel(kernel: Array) -> Array:
    """Factors for the weights, from 1 to exact zeros, one for each dependence."""
    factors = np.ones(len(kernel))
    while kernel.shape[1]:
        change = kernel[:, 0]
        largest = int(
            np.argmax(np.divide(-change, factors, out=np.zeros_like(change), where=factors > 0.0))
        )
        if change[largest] >= 0.0:
            kernel[:, 0] *= -1.0
            largest = int(
                np.argmax(
                    np.divide(-change, factors, out=np.zeros_like(change), where=factors > 0.0)
                )
            )
        factors += change * (factors[largest] / -change[largest])
        factors[largest] = 0.0
        np.maximum(factors, 0.0, out=factors)
        kernel = _without(kernel, largest)
    return factors


def _without(kernel: Array, row: int) -> Array:
    """Return the dependences that leave a row alone: one fewer."""
    pivot = int(np.argmax(np.abs(kernel[row])))
    rest = np.delete(kernel, pivot, axis=1) - np.outer(
        kernel[:, pivot], np.delete(kernel[row], pivot) / kernel[row, pivot]
    )
    rest[row] = 0.0
    return np.asarray(rest / np.abs(rest).max(axis=0, initial=1e-300))


CUTS = (3e-2, 1e-2, 3e-3, 1e-3, 1e-4, 1e-5, 1e-6, 1e-8)
CORE = 1e-4  # rows with this share of the largest weight matter by themselves
WASTE = 2.0  # more support than this times the core is worth another try
POLISHING_ROUNDS = 3


def sparse(rows: Array, family: Family, found: _Certified, tolerance: float) -> _Certified:
    """Exact zeros where they cost at most the tolerance, or next to nothing if it is used up."""
    within = found.bound * (1.0 + tolerance)
    allowed = within if found.value <= within else found.value * (1.0 + 0.1 * tolerance)
    best, low, high = found, 0, len(CUTS)
    while low < high:  # the largest cut that is allowed; larger cuts cost more
        middle = (low + high) // 2
        weights = _cut(rows, found.weights, CUTS[middle])
        value = _value_at(rows, family, weights, 0.9 * found.value)
        if value <= allowed:
            best, high = _Certified(weights, value, found.bound, found.rounds), middle
        else:
            low = middle + 1
    core = np.flatnonzero(found.weights >= CORE * found.weights.max())
    if np.count_nonzero(best.weights) > WASTE * core.size:
        return _polished(rows, family, best, core, allowed, tolerance)
    return best


def _polished(
    rows: Array, family: Family, best: _Certified, core: IntArray, allowed: float, tolerance: float
) -> _Certified:
    """Return the best design on the core rows alone, if that is good enough."""
    if np.linalg.matrix_rank(rows[core]) < rows.shape[1]:
        return best
    working = _WorkingSet(rows[core], family, tolerance, best.weights[core])
    for _ in range(POLISHING_ROUNDS):
        working.round(0.3 * tolerance)
        if working.best.value <= allowed:
            break
    weights = np.zeros_like(best.weights)
    weights[core] = working.best.weights
    weights = _cut(rows, weights, 0.0)
    value = _value_at(rows, family, weights, 0.9 * best.value)
    return _Certified(weights, value, best.bound, best.rounds) if value <= allowed else best


def _cut(rows: Array, weights: Array, cut: float) -> Array:
    """Drop the smallest weights, on as few rows as carry equal information."""
    support = np.flatnonzero(weights > cut * weights.max())
    kept = weights[support] / weights[support].sum()
    whitener = spectral_whitener((rows[support].T * kept) @ rows[support])
    concentrated = np.zeros_like(weights)
    concentrated[support] = _purified(rows[support] @ whitener.T, kept)
    return np.asarray(concentrated / concentrated.sum())


def _value_at(rows: Array, family: Family, weights: Array, threshold: float = 0.0) -> float:
    """Return the family's criterion at these weights, exactly if it is above the threshold."""
    support = np.flatnonzero(weights)
    information = (rows[support].T * weights[support]) @ rows[support]
    return max(
        threshold, family.price(spectral_whitener(information), threshold, EVERY_BLOCK).value
    )


MAX_DESCENTS = 60
PATIENCE = 3  # rounds without progress: new blocks and rows may still come in
MANY_ROWS = 2_000  # above this, one start must do


def descend(rows: Array, family: Vertices, tolerance: float, hull: _Certified) -> _Certified:
    """Return the best design found from three starts: the relaxation's, halfway to uniform, afar.

    The lower bound is the relaxation's: a bound for one fixed choice would not be valid here.
    """
    best = _Certified(hull.weights, _value_at(rows, family, hull.weights), hull.bound, hull.rounds)
    for start in _starts(hull.weights):
        if best.value <= hull.bound * (1.0 + tolerance):
            break
        found = _from(rows, family, tolerance, start, hull.bound)
        if found.value < best.value:
            best.weights, best.value = found.weights, found.value
    return sparse(rows, family, best, tolerance)


def _starts(hull: Array) -> list[Array | None]:
    if hull.size > MANY_ROWS:
        return [hull]
    support = hull > 0.0
    return [hull, 0.5 * hull + 0.5 * support / np.count_nonzero(support), None]


def _from(
    rows: Array, family: Vertices, tolerance: float, start: Array | None, bound: float
) -> _Certified:
    working = _WorkingSet(rows, family, tolerance, start)
    slow = 0
    for _ in range(MAX_DESCENTS):
        before = working.best.value
        working.round(0.3 * tolerance)
        slow = slow + 1 if working.best.value > before * (1.0 - 0.3 * tolerance) else 0
        if slow >= PATIENCE or working.best.value <= bound * (1.0 + tolerance):
            break
    return working.best
