"""The robust XY design (`eq:eq14`): every pair of a candidate against every other candidate."""

from __future__ import annotations

from numpy.typing import ArrayLike

from surefoot.arrays import Array, IntArray
from surefoot.design.solver.comparison import chosen_arms, equal_gaps
from surefoot.design.solver.families import Directions, Hulls, Vertices
from surefoot.design.solver.sparsity import sparse
from surefoot.design.solver.vertex_descent import descend
from surefoot.design.solver.working_set import solve_certified
from surefoot.design.types import Design
from surefoot.design.whitening import whiten
from surefoot.errors import InputError
from surefoot.problem.problem import RobustProblem


def robust_xy_design(
    problem: RobustProblem, arms: ArrayLike | None = None, tolerance: float = 1e-2
) -> Design:
    """The design of Robust RAGE (`eq:eq14`) for these candidates; see `robust_xy`."""
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
        rows: (n_pairs, dimension) what a pull of each pair measures: pairs / noise scale; by
            default the pairs.
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
    """The convex XY problem: minimise the largest vᵀA⁻¹v over given directions v.

    Args:
        directions: (n_directions, dimension) what must be estimated.
        rows: (n_pairs, dimension) what may be measured, of full column rank.
        tolerance: the largest relative gap.
    """
    coordinates, measured = whiten(directions, rows)
    family = Directions(coordinates)
    found = sparse(measured, family, solve_certified(measured, family, tolerance), tolerance)
    return Design(found.weights, found.value, min(found.bound, found.value))
