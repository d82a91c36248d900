"""Designs that tell one arm from its rivals at a given θ: for the exact H*, and the paper's H_R."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from surefoot.arrays import Array, IntArray
from surefoot.design.designs import Design
from surefoot.design.solver.families import (
    HULL_CHUNK,
    Hulls,
    Rivalry,
    Vertices,
    apex_in_hull,
    chosen_arms,
)
from surefoot.design.solver.interior_point import Blocks, SmallProblem
from surefoot.design.solver.working_set import descend, solve_certified, sparse
from surefoot.design.whitening import cholesky_whitener, whiten
from surefoot.errors import InputError
from surefoot.problem.grouping import smallest_of


class Alternatives:
    """The θ' nearest to θ under which another arm wins, at given shares of the pulls: one for each
    pair of the leader and each rival, since one pair below all of a rival's is enough.

    Args:
        pairs: (n_pairs, dimension) grouped by arm.
        offsets: (n_arms + 1,) where each arm's pairs begin.
        means: (n_pairs,) of the pairs under θ.
        rows: (n_pairs, dimension) what a pull of each pair measures.
        leader: the arm that is best under θ.
    """

    def __init__(
        self, pairs: Array, offsets: IntArray, means: Array, rows: Array, leader: int
    ) -> None:
        rivals = np.delete(np.arange(len(offsets) - 1), leader)
        apexes = np.arange(offsets[leader], offsets[leader + 1])
        comparison = Rivalry(pairs, offsets, apexes, rivals, means[apexes], means)
        blocks = comparison.rows_of(np.arange(len(apexes) * len(rivals)))
        self._problem = SmallProblem(rows, Blocks(blocks.rows, blocks.gaps, blocks.starts))

    def at(self, shares: Array) -> tuple[Array, Array] | None:
        """Return (n_blocks,) ‖θ' − θ‖² at these shares, and (n_pairs, n_blocks) what each pair's
        pulls add to it; None if the shares leave a direction unmeasured.
        """
        geometry = self._problem.geometry(shares)
        return None if geometry is None else (geometry.distance, geometry.squares)


def squared_distances(
    pairs: Array, offsets: IntArray, means: Array, information: Array, leader: int
) -> Array:
    """Return (n_arms,) the smallest ‖θ' − θ‖²_A over all θ' under which the arm beats the leader.

    For that, θ' must put every pair of the arm above some pair of the leader. The leader's own
    entry is infinite; an arm that is as good as the leader has 0, and all have where the
    information is singular.

    Args:
        pairs: (n_pairs, dimension) grouped by arm.
        offsets: (n_arms + 1,) where each arm's pairs begin.
        means: (n_pairs,) of the pairs under θ.
        information: (dimension, dimension) A, the sum of n z zᵀ / σ² over the pairs.
    """
    n_arms = len(offsets) - 1
    whitener = cholesky_whitener(information)
    if whitener is None:
        return np.where(np.arange(n_arms) == leader, np.inf, 0.0)
    rivals, found = np.delete(np.arange(n_arms), leader), np.full(n_arms, np.inf)
    for apex in range(offsets[leader], offsets[leader + 1]):
        own = np.array([apex])
        blocks = Rivalry(pairs, offsets, own, rivals, means[own], means).rows_of(
            np.arange(len(rivals))
        )
        solved = blocks.solve(whitener, np.zeros(len(blocks.rows)))
        found[rivals] = np.minimum(found[rivals], solved.distance)
    return found


def exact_separation(
    pairs: Array,
    offsets: IntArray,
    theta: Array,
    leader: int | None = None,
    rivals: ArrayLike | None = None,
    *,
    rows: Array | None = None,
    tolerance: float = 1e-4,
    lead: float = 0.0,
) -> Design:
    """Return the design with the smallest characteristic time H* for telling the leader from its
    rivals.

    Args:
        pairs: (n_pairs, dimension) grouped by arm, of full column rank.
        offsets: (n_arms + 1,) where each arm's pairs begin.
        theta: (dimension,) the parameter.
        leader: the arm to be confirmed; by default the best one at θ.
        rivals: arms it must be told from; by default all others.
        rows: (n_pairs, dimension) what a pull of each pair measures: pairs / noise scale; by
            default the pairs.
        tolerance: the largest relative gap between value and lower bound.
        lead: added to the leader's means: by how much it may fall short of a rival and still count
            as good.

    Returns:
        A design whose value is H* = max over blocks of 1 / squared distance.
    """
    measured, comparison = _compare(pairs, offsets, theta, leader, rivals, rows)
    if lead:
        comparison = replace(comparison, apex_values=comparison.apex_values + lead)
    family = Hulls(comparison)
    found = sparse(measured, family, solve_certified(measured, family, tolerance), tolerance)
    return Design(found.weights, found.value, min(found.bound, found.value))


def paper_separation(
    pairs: Array,
    offsets: IntArray,
    theta: Array,
    leader: int | None = None,
    rivals: ArrayLike | None = None,
    *,
    rows: Array | None = None,
    tolerance: float = 1e-4,
) -> Design:
    """Return the paper's oracle design (`eq:oracle`), whose value is H_R at the returned weights.

    The criterion is not convex: the design is the best one that majorise-minimise found, and the
    lower bound is the exact problem's, which is always below (see `exact_separation` for the
    arguments).
    """
    measured, comparison = _compare(pairs, offsets, theta, leader, rivals, rows)
    hull = solve_certified(measured, Hulls(comparison), tolerance)
    found = descend(measured, Vertices(comparison), tolerance, hull)
    return Design(found.weights, found.value, min(found.bound, found.value))


def hulls_meet(
    pairs: Array, offsets: IntArray, theta: Array, leader: int, rows: Array | None = None
) -> bool:
    """Return whether a pair of the leader lies in the convex hull of another arm.

    A pair that is above all of an arm's pairs at θ cannot lie among them; others are looked at.
    Arguments are those of `exact_separation`.
    """
    _, comparison = _compare(pairs, offsets, theta, leader, None, rows)
    whitener = np.eye(pairs.shape[1])
    for first in range(0, comparison.apexes.size * comparison.rivals.size, HULL_CHUNK):
        last = min(first + HULL_CHUNK, comparison.apexes.size * comparison.rivals.size)
        identities = np.arange(first, last)
        blocks = comparison.rows_of(identities)
        doubtful = identities[smallest_of(blocks.gaps, blocks.starts) <= 0.0]
        if apex_in_hull(comparison.rows_of(doubtful), whitener).any():
            return True
    return False


def _compare(
    pairs: Array,
    offsets: IntArray,
    theta: Array,
    leader: int | None,
    rivals: ArrayLike | None,
    rows: Array | None,
) -> tuple[Array, Rivalry]:
    """Whitened measurement rows, and the comparison of the leader's pairs with its rivals."""
    n_arms = offsets.size - 1
    _check(pairs, theta, leader, rows, n_arms)
    values = pairs @ theta
    arm = int(np.argmax(smallest_of(values, offsets))) if leader is None else leader
    against = _rivals(n_arms, arm, rivals)
    coordinates, measured = whiten(pairs, pairs if rows is None else rows)
    apexes = np.arange(offsets[arm], offsets[arm + 1])
    return measured, Rivalry(coordinates, offsets, apexes, against, values[apexes], values)


def _check(
    pairs: Array,
    theta: Array,
    leader: int | None,
    rows: Array | None,
    n_arms: int,
) -> None:
    if np.shape(theta) != pairs.shape[1:] or not np.isfinite(theta).all():
        raise InputError(
            f"theta has shape {np.shape(theta)}, but {pairs.shape[1]} finite numbers are needed"
        )
    if leader is not None and not 0 <= leader < n_arms:
        raise InputError(f"leader is {leader}, but arms are numbered 0 to {n_arms - 1}")
    if rows is not None and (rows.ndim != 2 or rows.shape[1] != pairs.shape[1]):
        raise InputError(
            f"rows have shape {rows.shape}, but rows of {pairs.shape[1]} numbers are needed"
        )


def _rivals(n_arms: int, leader: int, rivals: ArrayLike | None) -> IntArray:
    arms = chosen_arms(rivals, n_arms, "rivals")
    others: IntArray = arms[arms != leader]
    if others.size == 0:
        raise InputError(f"arm {leader} has no rival: give at least one other arm to tell it from")
    return others
