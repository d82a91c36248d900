"""Interior point for a small design problem: the fewest pulls that keep every block at distance 1.

    minimise 1ᵀλ   subject to   f_k(λ) ≥ 1 for every block k,   λ ≥ 0,

where f_k(λ) = min { ‖ε‖²_{A_λ} : v·ε ≥ gap for every row of block k } is concave and homogeneous of degree 1. With
the minimisers ε_k and F_ik = (r_iᵀε_k)² it is f = Fᵀλ: a linear programme whose matrix moves with λ.
Any (λ, w) proves  Σw / max_i (F w)_i  ≤  optimum  ≤  Σλ / min_k f_k(λ).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import lapack

from surefoot.design.block_distance import announce_compilation, solve_blocks
from surefoot.design.types import FloatArray, IntArray

LONGEST_STEP = 0.95
MAX_ITERATIONS = 80
PATIENCE = 30.0


@dataclass(frozen=True)
class Blocks:
    """Rows v with their gaps, block after block.

    Attributes:
        rows: (n_rows, dimension) differences between a pair and the pairs of a rival.
        gaps: (n_rows,) how much each row must change for the rival to win.
        starts: (n_blocks + 1,) where each block's rows begin.
    """

    rows: FloatArray
    gaps: FloatArray
    starts: IntArray

    @property
    def count(self) -> int:
        return self.starts.size - 1


@dataclass
class Geometry:
    """Everything that depends on λ alone, in coordinates where A_λ is the identity.

    Attributes:
        whitener: (dimension, dimension) T with A⁻¹ = TᵀT, so whitened rows are `rows @ T.T`.
        atoms: (n_atoms, dimension) the whitened measurement rows.
        distance: (n_blocks,) f_k(λ).
        epsilon: (n_blocks, dimension) whitened minimisers ε_k.
        response: (n_atoms, n_blocks) r_iᵀε_k.
        squares: (n_atoms, n_blocks) F = (r_iᵀε_k)².
        basis: orthonormal rows that with ε_k span each block's active rows.
        owner: the block of each basis row.
    """

    whitener: FloatArray
    atoms: FloatArray
    distance: FloatArray
    epsilon: FloatArray
    response: FloatArray
    squares: FloatArray
    basis: FloatArray
    owner: IntArray


@dataclass
class MasterSolution:
    """The best weights found, the best proof (multipliers and the geometry they go with), and what each certifies."""

    weights: FloatArray
    multipliers: FloatArray
    proof: Geometry
    value: float
    bound: float
    iterations: int

    @property
    def epsilon(self) -> FloatArray:
        """(n_blocks, dimension) the minimisers ε_k of the proof."""
        return self.proof.epsilon @ self.proof.whitener


def whitener_of(information: FloatArray) -> FloatArray | None:
    """T with A⁻¹ = TᵀT, or None if A is not positive definite."""
    factor, failed = lapack.dpotrf(information, lower=1)
    if failed:
        return None
    inverse, failed = lapack.dtrtri(factor, lower=1)
    return None if failed else np.ascontiguousarray(inverse)


class Master:
    """One small problem: given atoms (measurement rows) and given blocks."""

    def __init__(self, atoms: FloatArray, blocks: Blocks) -> None:
        announce_compilation()
        self.atoms = atoms
        self.blocks = blocks
        self._warm = np.zeros(blocks.gaps.size)
        sizes = np.minimum(np.diff(blocks.starts), atoms.shape[1] + 1)
        self._capacity = int(sizes.sum())

    def geometry(self, weights: FloatArray) -> Geometry | None:
        """Solve every block at these weights; None if the information matrix is numerically singular."""
        whitener = whitener_of((self.atoms.T * weights) @ self.atoms)
        if whitener is None:
            return None
        dimension, count = self.atoms.shape[1], self.blocks.count
        distance, epsilon = np.empty(count), np.empty((count, dimension))
        basis, owner = np.empty((self._capacity, dimension)), np.empty(self._capacity, dtype=np.int64)
        rows = np.ascontiguousarray(self.blocks.rows @ whitener.T)
        used = solve_blocks(rows, self.blocks.gaps, self.blocks.starts, self._warm, distance, epsilon, basis, owner)
        atoms = self.atoms @ whitener.T
        response = atoms @ epsilon.T
        return Geometry(whitener, atoms, distance, epsilon, response, response * response, basis[:used], owner[:used])

    def solve(self, weights: FloatArray, multipliers: FloatArray, tolerance: float) -> MasterSolution:
        """Follow the central path until the certified gap is below the tolerance."""
        state = _State.start(self, weights, multipliers)
        best = state.solution()
        for iteration in range(MAX_ITERATIONS):
            best = _better(best, state.solution(iteration))
            if best.value <= (1.0 + tolerance) * best.bound or not state.advance(self):
                break
        return best


def _better(best: MasterSolution, new: MasterSolution) -> MasterSolution:
    """Keep the better weights and the better proof, each from one iterate."""
    if new.value < best.value:
        best.value, best.weights = new.value, new.weights
    if new.bound > best.bound:
        best.bound, best.multipliers, best.proof = new.bound, new.multipliers, new.proof
    best.iterations = new.iterations
    return best


@dataclass
class _State:
    """A primal-dual iterate: weights λ, slacks s of f ≥ 1, multipliers w, reduced costs y."""

    weights: FloatArray
    slacks: FloatArray
    multipliers: FloatArray
    costs: FloatArray
    geometry: Geometry

    @classmethod
    def start(cls, master: Master, weights: FloatArray, multipliers: FloatArray) -> _State:
        geometry = master.geometry(weights)
        assert geometry is not None, "the start must have full rank"
        factor = 1.1 / geometry.distance.min()
        geometry = master.geometry(weights * factor)
        assert geometry is not None
        load = geometry.squares @ multipliers
        multipliers = multipliers * (0.9 / load.max())
        costs = 1.0 - load * (0.9 / load.max())
        return cls(weights * factor, geometry.distance - 1.0, multipliers, costs, geometry)

    def solution(self, iterations: int = 0) -> MasterSolution:
        load = self.geometry.squares @ self.multipliers
        return MasterSolution(
            self.weights,
            self.multipliers,
            self.geometry,
            float(self.weights.sum() / self.geometry.distance.min()),
            float(self.multipliers.sum() / load.max()),
            iterations,
        )

    def advance(self, master: Master) -> bool:
        """One predictor-corrector step; False if no progress is possible any more."""
        newton = _Newton.at(self)
        if newton is None:
            return False
        size = self.weights.size + self.slacks.size
        complementarity = float(self.weights @ self.costs + self.slacks @ self.multipliers) / size
        d_weights, d_slacks, d_multipliers, d_costs = newton.direction(self, 0.0, 0.0, 0.0)
        primal = min(1.0, _longest(self.weights, d_weights), _longest(self.slacks, d_slacks))
        dual = min(1.0, _longest(self.multipliers, d_multipliers), _longest(self.costs, d_costs))
        after = (self.weights + primal * d_weights) @ (self.costs + dual * d_costs)
        after += (self.slacks + primal * d_slacks) @ (self.multipliers + dual * d_multipliers)
        shrink = max(float(after / size / complementarity) ** 3, 1e-6)
        lag = newton.infeasibility() * self.weights.sum() / (complementarity * size)
        if lag > 1.0:  # let feasibility catch up before the centre moves on
            shrink = max(shrink, lag / (lag + PATIENCE))
        centre = shrink * complementarity
        step = newton.direction(self, centre, d_weights * d_costs, d_slacks * d_multipliers)
        return self._move(master, *step)

    def _move(
        self,
        master: Master,
        d_weights: FloatArray,
        d_slacks: FloatArray,
        d_multipliers: FloatArray,
        d_costs: FloatArray,
    ) -> bool:
        primal = min(1.0, LONGEST_STEP * min(_longest(self.weights, d_weights), _longest(self.slacks, d_slacks)))
        dual = min(1.0, LONGEST_STEP * min(_longest(self.multipliers, d_multipliers), _longest(self.costs, d_costs)))
        for _ in range(20):
            weights = self.weights + primal * d_weights
            geometry = master.geometry(weights)
            if geometry is not None and geometry.distance.min() > 0.0:
                break
            primal *= 0.5
        else:
            return False
        self.weights, self.geometry = weights, geometry
        self.slacks = self.slacks + primal * d_slacks
        self.multipliers = self.multipliers + dual * d_multipliers
        self.costs = self.costs + dual * d_costs
        return True


@dataclass
class _Newton:
    """The Newton system of one iterate, reduced to the weights and factorised."""

    factor: FloatArray
    scale: FloatArray
    squares: FloatArray
    load: FloatArray
    dual_residual: FloatArray
    primal_residual: FloatArray

    @classmethod
    def at(cls, state: _State) -> _Newton | None:
        geometry, w = state.geometry, state.multipliers
        response, squares = geometry.response, geometry.squares
        matrix = (response * (2.0 * w)) @ response.T
        matrix *= geometry.atoms @ geometry.atoms.T
        if geometry.owner.size:
            seen = response[:, geometry.owner] * (geometry.atoms @ geometry.basis.T)
            matrix -= (seen * (2.0 * w[geometry.owner])) @ seen.T
        matrix += (squares * (w / state.slacks - 2.0 * w / geometry.distance)) @ squares.T
        diagonal = matrix.reshape(-1)[:: matrix.shape[0] + 1]
        diagonal += state.costs / state.weights
        scale = 1.0 / np.sqrt(diagonal)
        matrix *= scale[:, None] * scale
        diagonal += 1e-13
        factor, failed = lapack.dpotrf(matrix.T, lower=1, clean=0, overwrite_a=1)
        if failed:
            return None
        load = squares @ w
        return cls(factor, scale, squares, load, 1.0 - load - state.costs, geometry.distance - state.slacks - 1.0)

    def infeasibility(self) -> float:
        """By how much the multipliers overload a row: the matrix moved faster than they could follow."""
        return max(0.0, float(self.load.max()) - 1.0)

    def direction(
        self, state: _State, centre: float, weight_product: FloatArray | float, slack_product: FloatArray | float
    ) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """The step to complementarity `centre`, given the second-order products of the predictor."""
        pull = (centre - weight_product) / state.weights - state.costs
        push = (centre - slack_product) / state.slacks - state.multipliers
        ratio = state.multipliers / state.slacks
        right = pull - self.dual_residual + self.squares @ (push - ratio * self.primal_residual)
        solved, _ = lapack.dpotrs(self.factor, right * self.scale, lower=1)
        d_weights = solved * self.scale
        d_slacks = self.squares.T @ d_weights + self.primal_residual
        d_multipliers = push - ratio * d_slacks
        d_costs = pull - state.costs / state.weights * d_weights
        return d_weights, d_slacks, d_multipliers, d_costs


def _longest(values: FloatArray, change: FloatArray) -> float:
    """How far the change can be followed before a value reaches zero."""
    worst = float(np.max(-change / values, initial=0.0))
    return 1.0 / worst if worst > 0.0 else 1e300
