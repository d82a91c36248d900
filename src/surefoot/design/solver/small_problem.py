"""A few rows to pull, a few blocks to resolve, and the geometry of both at given weights."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

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
        """Each block's distance and minimiser ε, basis rows and owners: see `solve_blocks`.

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
class Geometry:
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

    def scaled(self, factor: float) -> Geometry:
        """The geometry at `factor` times the weights: ε_k stays, f_k grows in proportion."""
        root = np.sqrt(factor)
        return replace(
            self,
            whitener=self.whitener / root,
            atoms=self.atoms / root,
            distance=self.distance * factor,
            epsilon=self.epsilon * root,
        )

    def curvature(self, multipliers: Array) -> Array:
        """(n_atoms, n_atoms) the Hessian of −Σ w_k f_k, without its part along each gradient.

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

    def geometry(self, weights: Array) -> Geometry | None:
        """Solve every block at these weights; None if the information is singular."""
        whitener = cholesky_whitener((self.atoms.T * weights) @ self.atoms)
        if whitener is None:
            return None
        distance, epsilon, basis, owner = self.blocks.solve(whitener, self._warm)
        atoms = self.atoms @ whitener.T
        response = atoms @ epsilon.T
        return Geometry(
            whitener, atoms, distance, epsilon, response, response * response, basis, owner
        )
