"""Interior point for a small design problem: the fewest pulls that keep every block at distance 1.

    minimise 1ᵀλ   subject to   f_k(λ) ≥ 1 for every block k,   λ ≥ 0,

where f_k(λ) = min { ‖ε‖²_{A_λ} : v·ε ≥ gap for every row of block k } is concave and homogeneous of
degree 1. With the minimisers ε_k and F_ik = (r_iᵀε_k)² it is f = Fᵀλ: a linear programme whose
matrix moves with λ. So this is Mehrotra's predictor-corrector method with one more term, the
curvature of f, in the matrix. Any (λ, w) proves  Σw / max_i (F w)_i  ≤  optimum  ≤  Σλ / min_k
f_k(λ).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy.linalg import lapack

from surefoot.arrays import Array, IntArray
from surefoot.design.solver.block_distance import Solved, solve_blocks
from surefoot.design.whitening import cholesky_whitener


@dataclass(frozen=True)
class Blocks:
    """Rows v with their gaps, block after block.

    Attributes:
        rows: (n_rows, dimension) differences between a pair and the pairs of a rival.
        gaps: (n_rows,) how much each row must change for the rival to win.
        starts: (n_blocks + 1,) where each block's rows begin.
    """

    rows: Array
    gaps: Array
    starts: IntArray

    @property
    def count(self) -> int:
        return self.starts.size - 1

    @cached_property
    def most_active(self) -> int:
        """At most this many rows are active: no more than the dimension and one in each block."""
        return int(np.minimum(np.diff(self.starts), self.rows.shape[1] + 1).sum())

    def solve(self, whitener: Array, multipliers: Array) -> Solved:
        """Return each block's distance and minimiser ε, basis rows and owners: see `solve_blocks`.

        Args:
            whitener: (dimension, dimension) T with A⁻¹ = TᵀT; ε and the basis come in its
                coordinates.
            multipliers: (n_rows,) where to start (zeros: nowhere); overwritten by the optimal ones.
        """
        dimension = self.rows.shape[1]
        solved = Solved(
            distance=np.empty(self.count),
            epsilon=np.empty((self.count, dimension)),
            basis=np.empty((self.most_active, dimension)),
            owner=np.empty(self.most_active, dtype=np.int64),
        )
        rows = np.ascontiguousarray(self.rows @ whitener.T)
        used = solve_blocks(rows, self.gaps, self.starts, multipliers, solved)
        return solved._replace(basis=solved.basis[:used], owner=solved.owner[:used])


@dataclass(frozen=True)
class _Geometry:
    """Everything that depends on the weights λ alone, in coordinates where A_λ is the identity.

    Attributes:
        whitener: (dimension, dimension) T with A⁻¹ = TᵀT, so whitened rows are `rows @ T.T`.
        atoms: (n_atoms, dimension) the whitened rows that may be pulled.
        distance: (n_blocks,) f_k(λ) = min ‖ε‖²_A subject to v·ε ≥ gap for every row of the block.
        epsilon: (n_blocks, dimension) whitened minimisers ε_k.
        response: (n_atoms, n_blocks) r_iᵀε_k.
        squares: (n_atoms, n_blocks) F = (r_iᵀε_k)², the gradient of f.
        basis: orthonormal rows that with ε_k span each block's active rows.
        owner: the block of each basis row.
    """

    whitener: Array
    atoms: Array
    distance: Array
    epsilon: Array
    response: Array
    squares: Array
    basis: Array
    owner: IntArray

    def scaled(self, factor: float) -> _Geometry:
        """Return the geometry at `factor` times the weights: ε_k stays, f_k grows in proportion."""
        root = np.sqrt(factor)
        return replace(
            self,
            whitener=self.whitener / root,
            atoms=self.atoms / root,
            distance=self.distance * factor,
            epsilon=self.epsilon * root,
        )

    def curvature(self, multipliers: Array) -> Array:
        """Return (n_atoms, n_atoms) the Hessian of −Σ w_k f_k, without its part along each
        gradient.

        With Π_k the projection off the block's active rows it is 2 Σ w_k diag(c_k) R Π_k Rᵀ
        diag(c_k), c_k = R ε_k. The part of the projection along ε_k itself is 2 F diag(w/f) Fᵀ: the
        caller adds it to a product it forms anyway.
        """
        scaled = self.response * np.sqrt(2.0 * multipliers)
        hessian = scaled @ scaled.T
        hessian *= self.atoms @ self.atoms.T
        if self.owner.size:
            seen = scaled[:, self.owner] * (self.atoms @ self.basis.T)
            hessian -= seen @ seen.T
        return hessian


class SmallProblem:
    """Given atoms (rows that may be pulled) and given blocks."""

    def __init__(self, atoms: Array, blocks: Blocks) -> None:
        self.atoms = atoms
        self.blocks = blocks
        self._warm = np.zeros(blocks.gaps.size)

    def geometry(self, weights: Array) -> _Geometry | None:
        """Solve every block at these weights; None if the information is singular."""
        whitener = cholesky_whitener((self.atoms.T * weights) @ self.atoms)
        if whitener is None:
            return None
        distance, epsilon, basis, owner = self.blocks.solve(whitener, self._warm)
        atoms = self.atoms @ whitener.T
        response = atoms @ epsilon.T
        return _Geometry(
            whitener, atoms, distance, epsilon, response, response * response, basis, owner
        )


LONGEST_STEP = 0.95
MAX_ITERATIONS = 80
PATIENCE = 30.0  # the larger, the less the path slows down when multipliers lag behind
FEASIBLE = 1.1  # how far inside its constraints the start lies
RIDGE = 1e-13  # relative: against rounding errors on the diagonal


@dataclass
class _SmallSolution:
    """The best weights and the best proof found, with the bounds that they certify."""

    weights: Array
    multipliers: Array
    proof: _Geometry
    value: float
    bound: float

    @property
    def epsilon(self) -> Array:
        """(n_blocks, dimension) the minimisers ε_k of the proof."""
        return self.proof.epsilon @ self.proof.whitener

    def improve(self, iterate: _Iterate) -> None:
        """Keep the better weights and the better proof, each from one iterate."""
        value, bound = iterate.certificates()
        if value < self.value:
            self.value, self.weights = value, iterate.weights
        if bound > self.bound:
            self.bound, self.multipliers, self.proof = bound, iterate.multipliers, iterate.geometry


def solve(
    problem: SmallProblem, weights: Array, multipliers: Array, tolerance: float
) -> _SmallSolution:
    """Follow the central path until the certified gap is below the tolerance."""
    iterate = _Iterate.start(problem, weights, multipliers)
    best = _SmallSolution(iterate.weights, iterate.multipliers, iterate.geometry, np.inf, 0.0)
    for _ in range(MAX_ITERATIONS):
        best.improve(iterate)
        following = (
            None if best.value <= (1.0 + tolerance) * best.bound else iterate.advance(problem)
        )
        if following is None:
            break
        iterate = following
    return best


class _Iterate:
    """Weights λ and slacks s of f ≥ 1, in turn, against reduced costs y and multipliers w.

    Attributes:
        primal: (n_atoms + n_blocks,) λ, s.
        dual: (n_atoms + n_blocks,) y, w; in the limit primal · dual = 0.
        geometry: at λ.
    """

    def __init__(self, primal: Array, dual: Array, geometry: _Geometry) -> None:
        self.primal, self.dual, self.geometry = primal, dual, geometry
        self.split = len(geometry.atoms)
        self.weights, self.slacks = primal[: self.split], primal[self.split :]
        self.costs, self.multipliers = dual[: self.split], dual[self.split :]
        self.load = geometry.squares @ self.multipliers

    @classmethod
    def start(cls, problem: SmallProblem, weights: Array, multipliers: Array) -> _Iterate:
        """Scale both so that all constraints hold strictly."""
        geometry = problem.geometry(weights)
        assert geometry is not None, "the start must have full rank"
        factor = FEASIBLE / float(geometry.distance.min())
        geometry = geometry.scaled(factor)
        load = geometry.squares @ multipliers
        scale = 1.0 / (FEASIBLE * load.max())
        primal = np.concatenate([factor * weights, geometry.distance - 1.0])
        return cls(primal, np.concatenate([1.0 - scale * load, scale * multipliers]), geometry)

    def certificates(self) -> tuple[float, float]:
        """Return the value that these weights attain, and the bound of these multipliers."""
        value = self.weights.sum() / self.geometry.distance.min()
        return float(value), float(self.multipliers.sum() / self.load.max())

    def advance(self, problem: SmallProblem) -> _Iterate | None:
        """Return one predictor-corrector step; None if no progress is possible."""
        newton = _NewtonSystem.at(self)
        if newton is None:
            return None
        d_primal, d_dual = newton.direction(np.zeros_like(self.primal))
        target = self._centre(d_primal, d_dual) - d_primal * d_dual
        d_primal, d_dual = newton.direction(target)
        return self._moved(problem, d_primal, d_dual)

    def _centre(self, d_primal: Array, d_dual: Array) -> float:
        """Return the complementarity to aim at: Mehrotra's, but no faster than feasibility
        follows.
        """
        now = float(self.primal @ self.dual)
        primal = self.primal + min(1.0, _longest(self.primal, d_primal)) * d_primal
        dual = self.dual + min(1.0, _longest(self.dual, d_dual)) * d_dual
        shrink = max(float(primal @ dual / now) ** 3, 1e-6)
        # the matrix moved faster than the multipliers could follow
        overload = float(self.load.max()) - 1.0
        lag = overload * float(self.weights.sum()) / now
        if lag > 1.0:
            shrink = max(shrink, lag / (lag + PATIENCE))
        return shrink * now / self.primal.size

    def _moved(self, problem: SmallProblem, d_primal: Array, d_dual: Array) -> _Iterate | None:
        step = min(1.0, LONGEST_STEP * _longest(self.primal, d_primal))
        for _ in range(20):
            primal = self.primal + step * d_primal
            geometry = problem.geometry(primal[: self.split])
            if geometry is not None and geometry.distance.min() > 0.0:
                step = min(1.0, LONGEST_STEP * _longest(self.dual, d_dual))
                return _Iterate(primal, self.dual + step * d_dual, geometry)
            step *= 0.5
        return None


@dataclass(frozen=True)
class _NewtonSystem:
    """The Newton system of one iterate, reduced to the weights and factorised."""

    iterate: _Iterate
    factor: Array
    ratio: Array
    dual_residual: Array
    primal_residual: Array

    @classmethod
    def at(cls, iterate: _Iterate) -> _NewtonSystem | None:
        """None if rounding errors have made the matrix indefinite."""
        geometry, split = iterate.geometry, iterate.split
        ratio = iterate.dual / iterate.primal
        matrix = geometry.curvature(iterate.multipliers)
        along = ratio[split:] - 2.0 * iterate.multipliers / geometry.distance
        matrix += (geometry.squares * along) @ geometry.squares.T
        diagonal = matrix.reshape(-1)[:: split + 1]
        diagonal += ratio[:split]
        diagonal *= 1.0 + RIDGE
        factor, failed = lapack.dpotrf(matrix.T, lower=1, clean=0, overwrite_a=1)
        if failed:
            return None
        dual_residual = 1.0 - iterate.load - iterate.costs
        return cls(iterate, factor, ratio, dual_residual, geometry.distance - iterate.slacks - 1.0)

    def direction(self, target: Array) -> tuple[Array, Array]:
        """Return the step towards primal · dual = target."""
        iterate, split, squares = self.iterate, self.iterate.split, self.iterate.geometry.squares
        pull = target / iterate.primal - iterate.dual
        slack_pull = pull[split:] - self.ratio[split:] * self.primal_residual
        right = pull[:split] - self.dual_residual + squares @ slack_pull
        d_weights, _ = lapack.dpotrs(self.factor, right, lower=1)
        d_primal = np.concatenate([d_weights, d_weights @ squares + self.primal_residual])
        return d_primal, pull - self.ratio * d_primal


def _longest(values: Array, change: Array) -> float:
    """Return the longest step along the change before a value reaches zero."""
    steepest = float((change / values).min())
    return -1.0 / steepest if steepest < 0.0 else np.inf
