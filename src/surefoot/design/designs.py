"""Designs that share pulls among pairs, the G design and others, and their rounding."""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from functools import cached_property
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import lapack

from surefoot.arrays import Array, IntArray
from surefoot.design.solver.families import (
    Directions,
    Hulls,
    Vertices,
    chosen_arms,
    equal_gaps,
    squared_lengths,
)
from surefoot.design.solver.working_set import descend, extreme_rows, solve_certified, sparse
from surefoot.design.whitening import cholesky_whitener, whiten
from surefoot.errors import InputError
from surefoot.problem.problem import RobustProblem


def round_design(weights: ArrayLike, n: int) -> IntArray:
    """Whole pulls, n in all, that lose least against the shares (Pukelsheim, 2006, section 12.5).

    Each of the l pairs of the support starts with ⌈(n − l/2) w⌉ pulls; then the pair with the
    smallest count/w gains one, or the pair with the largest (count − 1)/w loses one, until the sum
    is n. No other rounding keeps a larger share of the information, min over the support of
    count/(n w), in the worst case; for n ≥ 2 l/ε the loss is at most a factor 1 + ε.

    With fewer pulls than the support has pairs some pair must go without, and no efficiency can be
    promised: the n largest weights get one pull each (the first ones among equals).

    Args:
        weights: (n_pairs,) a design; zeros get no pulls.
        n: the number of pulls.

    Returns:
        (n_pairs,) counts that sum to n.
    """
    shares = _checked(weights)
    if n < 0 or n != int(n):
        raise InputError(
            f"n is {n}, but a number of pulls is needed: give a whole number, 0 or more"
        )
    counts = np.zeros(shares.size, dtype=np.int64)
    support = np.flatnonzero(shares)
    if n <= support.size:
        counts[np.argsort(-shares, kind="stable")[: int(n)]] = 1
    else:
        counts[support] = _apportion(shares[support], int(n))
    return counts


def rounding_minimum(weights: ArrayLike, epsilon: float) -> int:
    """Return the paper's r(ε) = 2‖λ‖₀/ε: with as many pulls, rounding costs at most a factor 1 +
    ε.
    """
    if not epsilon > 0:
        raise InputError(
            f"epsilon is {epsilon}, but a rounding loss above 0 is needed: 0.1 is usual"
        )
    return math.ceil(2 * np.count_nonzero(_checked(weights)) / epsilon - 1e-9)


def by_remainders(exact: Array, n: int) -> IntArray:
    """Whole pulls, n in all, each rounded down but for those with the largest remainders.

    Args:
        exact: (n_pairs,) pulls that sum to n but for rounding.
    """
    counts = np.floor(exact).astype(np.int64)
    left = n - int(counts.sum())
    counts[np.argsort(counts - exact, kind="stable")[:left]] += 1
    return counts


def _apportion(shares: Array, n: int) -> IntArray:
    """Return the apportionment above, for positive shares; the first pairs go first among
    equals.
    """
    counts = np.ceil((n - shares.size / 2) * shares).astype(np.int64)
    missing = n - int(counts.sum())
    if missing > 0:  # the smallest count/share gains one, again and again
        counts = _raised(counts, shares, missing)
    elif missing < 0:  # the largest (count − 1)/share loses one, again and again
        counts = 1 - _raised(1 - counts, shares, -missing)
    return counts


def _raised(numbers: IntArray, shares: Array, times: int) -> IntArray:
    """Add one to the entry of smallest number/share, that many times."""
    raised = numbers.copy()
    queue = list(zip((numbers / shares).tolist(), range(numbers.size), strict=True))
    heapq.heapify(queue)
    for _ in range(times):
        pair = queue[0][1]
        raised[pair] += 1
        heapq.heapreplace(queue, (float(raised[pair] / shares[pair]), pair))
    return raised


def _checked(weights: ArrayLike) -> Array:
    shares = np.asarray(weights, dtype=np.float64)
    total = float(shares.sum())
    if shares.ndim != 1 or not 0.0 < total < math.inf or shares.min() < 0:
        raise InputError(
            f"weights have shape {shares.shape} and range [{np.min(shares, initial=math.inf)}, "
            f"{np.max(shares, initial=-math.inf)}], but one non-negative number for "
            f"each pair, not all zero, is needed"
        )
    return np.asarray(shares / total)


@dataclass(frozen=True, eq=False)
class Design:
    """A share of the pulls for each pair, with a proof of its quality.

    Attributes:
        weights: (n_pairs,) non-negative, sums to 1, exact zeros off the support.
        value: the criterion at these weights; smaller is better.
        lower_bound: every choice of weights has a criterion of this or more.
    """

    weights: Array
    value: float
    lower_bound: float

    @property
    def gap(self) -> float:
        """The largest fraction by which the value can exceed the best possible one."""
        if self.value == self.lower_bound:
            return 0.0
        return self.value / self.lower_bound - 1.0 if self.lower_bound > 0 else math.inf

    @cached_property
    def support(self) -> IntArray:
        """Indices of the pairs that are pulled at all."""
        return np.flatnonzero(self.weights).astype(np.int64)

    def __repr__(self) -> str:
        return (
            f"Design(value={self.value:.6g}, lower_bound={self.lower_bound:.6g}, "
            f"gap={self.gap:.2g}, support={self.support.size} of {self.weights.size} pairs)"
        )


FEW_ROWS = 150  # up to this many, all are in from the start
CHUNK_ROWS = 10_000
MAX_ROUNDS = 60
MAX_ITERATIONS = 60
DROP = 1e-9  # a share of the largest weight
INNER = 0.1  # the small problem is solved to this share of the gap that pricing showed
FIRST_COST = 0.03  # reduced costs at the start: small, because the start is close


def g_design(problem: RobustProblem, tolerance: float = 1e-3) -> Design:
    """Return the design with the smallest largest prediction variance of all pairs (`eq:G-all`)."""
    if not isinstance(problem, RobustProblem):
        raise InputError(
            f"a {type(problem).__name__} is no problem: give a RobustProblem, for rows of features "
            "RobustProblem.from_pairs(rows, arms)"
        )
    return g_optimal(problem.pairs, tolerance)


def g_optimal(rows: Array, tolerance: float = 1e-3) -> Design:
    """Return the G-optimal design over measurement rows.

    Args:
        rows: (n_pairs, dimension) of full column rank.
        tolerance: the largest relative gap; the lower bound is the dimension.

    Returns:
        A design whose value is max over rows of rᵀA⁻¹r.
    """
    measured, _ = whiten(rows, rows)
    atoms = np.arange(len(rows)) if len(rows) <= FEW_ROWS else extreme_rows(measured)
    weights = np.full(atoms.size, rows.shape[1] / atoms.size)
    inner = 0.03
    for _ in range(MAX_ROUNDS):
        weights, variances = _d_optimal(measured[atoms], weights, inner)
        everywhere = _variances(measured, measured[atoms], weights)
        gap = float(everywhere.max() * weights.sum()) / rows.shape[1] - 1.0
        if gap <= 0.7 * tolerance:
            break
        atoms, weights = _exchange(atoms, weights, variances, everywhere)
        inner = max(0.3 * tolerance, min(0.3 * inner, INNER * gap))
    return _finished(measured, atoms, weights, tolerance)


def _d_optimal(rows: Array, weights: Array, tolerance: float) -> tuple[Array, Array]:
    """D-optimal weights (they sum to d) on a few rows, and the variance of each row under them."""
    weights = 0.9 * weights + 0.1 * weights.mean()
    costs = np.full(weights.size, FIRST_COST)
    for _ in range(MAX_ITERATIONS):
        whitened = rows @ _inverse_root(rows, weights).T
        cross = whitened @ whitened.T
        variances = cross.diagonal()
        if variances.max() * weights.sum() <= (1.0 + tolerance) * rows.shape[1]:
            break
        centre = 0.1 * float(weights @ costs) / weights.size
        matrix = cross * cross
        index = np.arange(weights.size)
        matrix[index, index] += costs / weights
        _, step, failed = lapack.dposv(matrix, variances - 1.0 + centre / weights, lower=1)
        if failed:
            break
        d_costs = (centre - costs * step) / weights - costs
        weights = weights + min(1.0, 0.95 / max(1e-300, float(np.max(-step / weights)))) * step
        costs = costs + min(1.0, 0.95 / max(1e-300, float(np.max(-d_costs / costs)))) * d_costs
    return weights, variances


def _inverse_root(rows: Array, weights: Array) -> Array:
    whitener = cholesky_whitener((rows.T * weights) @ rows)
    assert whitener is not None, "positive weights on rows of full rank"
    return whitener


def _variances(rows: Array, atoms: Array, weights: Array) -> Array:
    whitener = _inverse_root(atoms, weights)
    variances = np.empty(len(rows))
    for first in range(0, len(rows), CHUNK_ROWS):
        part = slice(first, first + CHUNK_ROWS)
        variances[part] = squared_lengths(rows[part] @ whitener.T)
    return variances


def _exchange(
    atoms: IntArray, weights: Array, variances: Array, everywhere: Array
) -> tuple[IntArray, Array]:
    """Drop rows that carry nothing, add the rows with the largest variance."""
    dimension = round(weights.sum())  # the sum of D-optimal weights
    kept = (weights > DROP * weights.max()) | (variances > 0.95)
    worst = np.argsort(-everywhere)[: 4 * dimension]
    new = np.setdiff1d(worst[everywhere[worst] > 1.0], atoms)
    start = np.concatenate([weights[kept], np.full(new.size, 0.1 * weights.mean())])
    return np.concatenate([atoms[kept], new]).astype(np.int64), start


def _finished(rows: Array, atoms: IntArray, weights: Array, tolerance: float) -> Design:
    """Exact zeros for weights too small to matter, within the tolerance."""
    dimension = rows.shape[1]
    for cut in (1e-2, 3e-3, 1e-3, 1e-4, 1e-5, 1e-7, 0.0):
        kept = weights > cut * weights.max()
        part = weights[kept] / weights[kept].sum()
        information = (rows[atoms[kept]].T * part) @ rows[atoms[kept]]
        if cholesky_whitener(information) is None:
            continue
        value = float(_variances(rows, rows[atoms[kept]], part).max())
        if value <= (1.0 + tolerance) * dimension:
            break
    everything = np.zeros(len(rows))
    everything[atoms[kept]] = part
    return Design(everything, value, float(dimension))


def robust_xy_design(
    problem: RobustProblem, arms: ArrayLike | None = None, tolerance: float = 1e-2
) -> Design:
    """Return the design of Robust RAGE (`eq:eq14`) for these candidates; see `robust_xy`."""
    return robust_xy(problem.pairs, problem.offsets, arms, tolerance=tolerance)


def robust_xy(
    pairs: Array,
    offsets: IntArray,
    arms: ArrayLike | None = None,
    rows: Array | None = None,
    tolerance: float = 1e-2,
) -> Design:
    """Minimise max over x, y, x' ≠ x of *min over y'* of ‖x − y − (x' − y')‖²_{A⁻¹}.

    The minimum over y' makes the criterion not convex: the design is the best that
    majorise-minimise found from the hull relaxation, and the lower bound is that relaxation's (with
    Y(x') replaced by its convex hull).

    The best design may leave A singular, with directions that no comparison of the criterion needs:
    its value is then the limit, and the weights returned are that singular design (a rival's
    nearest pair need not be its worst one, so such a design may never stop Robust RAGE; mix in some
    of the G design if θ must be estimated).

    Args:
        pairs: (n_pairs, dimension) grouped by arm, of full column rank.
        offsets: (n_arms + 1,) where each arm's pairs begin.
        arms: the candidates that are compared; by default all. Pairs of any arm may be pulled.
        rows: (n_pairs, dimension) direction that a pull of each pair measures: pairs / noise scale;
            by default the pairs.
        tolerance: the descent stops when rounds gain less; the gap to the hull bound may stay
            larger.

    Returns:
        A design whose value is the criterion at its weights.
    """
    candidates = chosen_arms(arms, offsets.size - 1, "arms")
    if candidates.size < 2:
        raise InputError(
            f"the candidates are arms {candidates.tolist()}, but a comparison needs at least two"
        )
    coordinates, measured = whiten(pairs, pairs if rows is None else rows)
    comparison = equal_gaps(coordinates, offsets, candidates)
    hull = solve_certified(measured, Hulls(comparison), tolerance)
    found = descend(measured, Vertices(comparison), tolerance, hull)
    return Design(found.weights, found.value, min(found.bound, found.value))


def xy_optimal(directions: Array, rows: Array, tolerance: float = 1e-3) -> Design:
    """Return the design of the convex XY problem: minimise the largest vᵀA⁻¹v over given directions
    v.

    Args:
        directions: (n_directions, dimension) directions to be estimated.
        rows: (n_pairs, dimension) directions that pulls measure, of full column rank.
        tolerance: the largest relative gap.
    """
    coordinates, measured = whiten(directions, rows)
    family = Directions(coordinates)
    found = sparse(measured, family, solve_certified(measured, family, tolerance), tolerance)
    return Design(found.weights, found.value, min(found.bound, found.value))


MOST_REMEMBERED = 256
_REMEMBERED: WeakKeyDictionary[RobustProblem, dict[Hashable, Design]] = WeakKeyDictionary()


def remembered(problem: RobustProblem, key: Hashable, solve: Callable[[], Design]) -> Design:
    """Return `solve()`, or its stored result: problems, and so their designs, never change."""
    known = _REMEMBERED.setdefault(problem, {})
    if key not in known:
        if len(known) >= MOST_REMEMBERED:
            known.clear()
        known[key] = solve()
    return known[key]


def g_weights(problem: RobustProblem, scales: Array, tolerance: float = 1e-3) -> Array:
    """Return (n_pairs,) λ^G of `eq:G-all`, for pulls with these noise scales."""
    key, own = ("g", noise_key(scales), tolerance), problem.pullable
    design = remembered(
        problem, key, lambda: g_optimal(problem.pairs[own] / scales[own, None], tolerance)
    )
    return on_all_pairs(problem, design.weights)


def on_all_pairs(problem: RobustProblem, weights: Array) -> Array:
    """Return (n_pairs,) the weights of the pairs that can be pulled, and zeros for others."""
    if problem.pulled is None:
        return weights
    every = np.zeros(problem.n_pairs)
    every[problem.pullable] = weights
    return every


def noise_key(scales: Array) -> Hashable:
    """Return the scales as a key, short where all are equal."""
    return float(scales[0]) if (scales == scales[0]).all() else scales.tobytes()
