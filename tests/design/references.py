"""Independent answers: cone and matrix programmes, least squares from scipy, plain loops. Nothing
from the solvers.
"""

from __future__ import annotations

import cvxpy as cp
import numpy as np
from scipy.optimize import nnls

from surefoot.arrays import Array, IntArray

Instance = tuple[Array, IntArray, Array]


def ragged_instance(
    seed: int, n_arms: int = 5, dimension: int = 3, most: int = 4, size: float = 0.4
) -> Instance:
    """Random arms with 1 to `most` perturbations each: (pairs, offsets, theta); the pairs span the
    space.
    """
    generator = np.random.default_rng(seed)
    sizes = generator.integers(1, most + 1, size=n_arms)
    arms = np.repeat(generator.normal(size=(n_arms, dimension)), sizes, axis=0)
    pairs = arms - size * generator.normal(size=arms.shape)
    return pairs, np.concatenate(([0], np.cumsum(sizes))), generator.normal(size=dimension)


def singleton_instance(seed: int, n_arms: int = 8, dimension: int = 4) -> Instance:
    """A standard linear bandit: one pair an arm."""
    return ragged_instance(seed, n_arms, dimension, most=1)


def members(offsets: IntArray, arm: int) -> range:
    return range(int(offsets[arm]), int(offsets[arm + 1]))


def best_arm(pairs: Array, offsets: IntArray, theta: Array) -> int:
    return int(np.argmax(np.minimum.reduceat(pairs @ theta, offsets[:-1])))


def block_rows(pairs: Array, offsets: IntArray, leader: int) -> list[tuple[int, Array]]:
    """(rival, rows z − z') for every pair z of the leader and every rival."""
    rivals = [arm for arm in range(offsets.size - 1) if arm != leader]
    return [
        (r, pairs[z] - pairs[list(members(offsets, r))])
        for z in members(offsets, leader)
        for r in rivals
    ]


def hull_criterion(rows: Array, gaps: Array, information: Array) -> float:
    """1 / min{‖ε‖²_A : rows ε ≥ gaps}, by scipy's non-negative least squares on the dual."""
    whitened = np.linalg.solve(np.linalg.cholesky(information), rows.T)
    scale = np.sqrt(np.min((whitened**2).sum(axis=0)[gaps > 0] / gaps[gaps > 0] ** 2))
    stacked = np.vstack([whitened, scale * gaps])
    target = np.zeros(len(stacked))
    target[-1] = 1.0
    multipliers, _ = nnls(stacked, target, maxiter=1000)
    return float(((whitened @ multipliers) ** 2).sum() / (gaps @ multipliers) ** 2)


def exact_criterion(instance: Instance, weights: Array, rows: Array | None = None) -> float:
    """The criterion of H* at given weights."""
    pairs, offsets, theta = instance
    measured = pairs if rows is None else rows
    information = (measured.T * weights) @ measured
    blocks = block_rows(pairs, offsets, best_arm(*instance))
    return max(hull_criterion(block, block @ theta, information) for _, block in blocks)


def paper_criterion(instance: Instance, weights: Array) -> float:
    """The criterion of H_R at given weights, as the paper writes it."""
    pairs, offsets, theta = instance
    inverse = np.linalg.inv((pairs.T * weights) @ pairs)
    worst = 0.0
    for _, block in block_rows(pairs, offsets, best_arm(*instance)):
        gaps = np.maximum(block @ theta, 0.0)
        with np.errstate(divide="ignore"):
            worst = max(
                worst, float(np.min(np.einsum("ij,jk,ik->i", block, inverse, block) / gaps**2))
            )
    return worst


def xy_criterion(pairs: Array, offsets: IntArray, weights: Array, arms: list[int]) -> float:
    """The criterion of `eq:eq14` at given weights, loop by loop."""
    inverse = np.linalg.inv((pairs.T * weights) @ pairs)
    worst = 0.0
    for arm in arms:
        for z in members(offsets, arm):
            for rival in (other for other in arms if other != arm):
                rows = pairs[z] - pairs[list(members(offsets, rival))]
                worst = max(worst, float(np.min(np.einsum("ij,jk,ik->i", rows, inverse, rows))))
    return worst


def exact_programme(blocks: list[tuple[Array, Array]], rows: Array) -> float:
    """min over designs of the largest hull criterion, as a second-order cone programme solved by
    Clarabel.

    uᵀA⁻¹u ≤ t if and only if u = Σ c_i r_i with Σ c_i²/λ_i ≤ t.
    """
    weights, bound = cp.Variable(len(rows), nonneg=True), cp.Variable()
    constraints = [cp.sum(weights) == 1]
    for block, gaps in blocks:
        multipliers = cp.Variable(len(gaps), nonneg=True)
        combination, energy = cp.Variable(len(rows)), cp.Variable(len(rows), nonneg=True)
        constraints += [gaps @ multipliers == 1, rows.T @ combination == block.T @ multipliers]
        constraints += [cp.sum(energy) <= bound]
        constraints += [
            cp.SOC(weights + energy, cp.vstack([2 * combination, weights - energy]), axis=0)
        ]
    problem = cp.Problem(cp.Minimize(bound), constraints)
    problem.solve(solver=cp.CLARABEL)
    return float(problem.value)


def exact_reference(instance: Instance, rows: Array | None = None) -> float:
    """H* of an instance by the cone programme."""
    pairs, offsets, theta = instance
    blocks = [
        (block, block @ theta) for _, block in block_rows(pairs, offsets, best_arm(*instance))
    ]
    return exact_programme(blocks, pairs if rows is None else rows)


def matrix_programme(directions: Array, rows: Array) -> float:
    """min over designs of the largest vᵀA⁻¹v, as one linear matrix inequality solved by
    Clarabel.
    """
    dimension = rows.shape[1]
    weights, bound = cp.Variable(len(rows), nonneg=True), cp.Variable()
    inverse = cp.Variable((dimension, dimension), symmetric=True)
    matrix = cp.bmat(
        [[rows.T @ cp.diag(weights) @ rows, np.eye(dimension)], [np.eye(dimension), inverse]]
    )
    outer = np.einsum("ij,ik->ijk", directions, directions).reshape(len(directions), -1)
    constraints = [matrix >> 0, cp.sum(weights) == 1, outer @ cp.vec(inverse, order="C") <= bound]
    problem = cp.Problem(cp.Minimize(bound), constraints)
    problem.solve(solver=cp.CLARABEL)
    return float(problem.value)


def random_weights(generator: np.random.Generator, count: int) -> Array:
    return generator.dirichlet(np.full(count, 0.5)) * 0.99 + 0.01 / count


def random_map(generator: np.random.Generator, dimension: int) -> Array:
    """An invertible linear map, of condition number up to 1 000."""
    left, _ = np.linalg.qr(generator.normal(size=(dimension, dimension)))
    right, _ = np.linalg.qr(generator.normal(size=(dimension, dimension)))
    return (left * 10.0 ** generator.uniform(-1.5, 1.5, size=dimension)) @ right
