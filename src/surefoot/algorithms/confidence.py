"""Thresholds: the paper's, how unions spend δ, bounds that hold at all looks at once."""

from __future__ import annotations

import math

import numpy as np
from scipy import optimize, special

from surefoot.arrays import Array, IntArray
from surefoot.design.whitening import measured_root

UNSEEN = 1e-8  # a longer part of a point of size one that no pull measured is more than rounding
PRIOR = 0.25  # of scales: shape and rate of the gamma law that `scale_bound` mixes over
BLOCK = 2_000_000  # numbers in a block of coefficients
MOST = 20  # pairs a dimension that are combined: more of them would hardly narrow an interval


def paper_threshold(n_pairs: int, delta: float) -> float:
    """√(2 log(|Z|²/δ)), the factor on every width in the paper."""
    return math.sqrt(2 * math.log(n_pairs**2 / delta))


def paper_spending(delta: float, look: int) -> float:
    """Return the paper's δ_t = δ/t² (Algorithm 1, line 3), which sums to 1.64 δ."""
    return delta / look**2


def valid_spending(delta: float, look: int) -> float:
    """Return 6δ/(π²t²): the error of look t = 1, 2, …; over all looks they sum to δ."""
    return 6 * delta / (math.pi**2 * look**2)


def one_sided_events(offsets: IntArray) -> int:
    """(|X| − 1)·max|Y|: how many differences must not deviate upwards for a look to be right.

    For a wrong arm x' to beat x*, the *true worst* pair z' of x' must beat some pair z of x*,
    though (z' − z)ᵀθ < 0. So one event for each x' ≠ x* and each pair of x*, whichever arm that is.
    """
    return (len(offsets) - 2) * int(np.diff(offsets).max())


def self_normalised_radius(first_root: Array | None, total: Array, delta: float) -> float:
    """β with P(‖θ̂ − θ‖_A ≤ β at all looks) ≥ 1 − δ, however later pulls were chosen.

    The method of mixtures (Abbasi-Yadkori, Pál and Szepesvári, 2011) with prior precision V =
    A_first bounds ‖S‖² in the norm of (V + A)⁻¹ by log det(V + A) − log det V + 2 log(1/δ). With κ
    the largest eigenvalue of A⁻¹A_first, V + A ⪯ (1 + κ) A, so ‖θ̂ − θ‖²_A = ‖S‖²_{A⁻¹} is at most
    (1 + κ) times that. No bound on ‖θ‖ is needed, and κ falls to 0 as data arrive.

    Args:
        first_root: (d, d) R with RᵀA_firstR = I: the first phase, whose design is fixed before any
            data; None if it does not measure all directions.
        total: (d, d) information of all phases.
    """
    if first_root is None:
        return math.inf
    ratios = np.linalg.eigvalsh(
        first_root.T @ total @ first_root
    )  # of A relative to A_first, all ≥ 1
    growth = np.log1p(ratios).sum()
    return math.sqrt((1 + 1 / ratios[0]) * (growth + 2 * math.log(1 / delta)))


def scale_bound(squares: float, freedom: float, delta: float) -> float:
    """Return an upper bound of σ that holds at all looks with probability ≥ 1 − δ.

    Sums of squares of phases are σ²χ², given the past, with degrees of freedom f that are chosen
    before: with s the sum of all over σ², exp(−(u − 1)s/2) u^{f/2} is a martingale for every u > 1.
    Mixed over a gamma law of u, held above 1, it reaches 1/δ with probability ≤ δ (Ville). It falls
    in s, so all σ above √(squares/s₀) are excluded, where s₀ is the s at which it is 1/δ.

    Args:
        squares: sum of the phases' squares, in the unit of σ².
        freedom: their degrees of freedom; too few give ∞.
    """
    shape = PRIOR + freedom / 2

    def excess(log_s: float) -> float:
        s = math.exp(log_s)
        tails = special.gammaincc(shape, PRIOR + s / 2) / special.gammaincc(PRIOR, PRIOR)
        mixed = PRIOR * math.log(PRIOR) - shape * math.log(PRIOR + s / 2) + s / 2
        weights = float(special.gammaln(shape) - special.gammaln(PRIOR))
        return mixed + weights + math.log(tails) + math.log(delta)

    lowest, highest = -700.0, math.log(max(freedom, 1.0))
    if squares <= 0 or excess(lowest) <= 0:
        return math.inf
    root = optimize.brentq(excess, lowest, highest) if excess(highest) < 0 else highest
    return math.sqrt(squares) * math.exp(-root / 2)


def combined_intervals(
    points: Array, means: Array, widths: Array, misfit: float = 0.0
) -> tuple[Array, Array]:
    """Return (n_pairs,) lower and upper ends that follow from those of pairs by a linear model.

    If |Ȳ_j − μ_j| ≤ w_j for all pairs j at once, then |Σ a_j Ȳ_j − μ_i| ≤ Σ |a_j| w_j for all a
    with Σ a_j z_j = z_i, whichever data chose them; if the μ_j are only within ε of the model, add
    ε Σ |a_j − 1{j = i}|. Here a is that of least squares with errors w_j + ε, on the pairs that
    tell most. The pair's own ends hold as well, without the model: each end is the better of the
    two.

    Args:
        points: (n_pairs, dimension) pairs, in coordinates in which they have size one.
        means, widths: (n_pairs,) Ȳ and w; pairs of infinite w say nothing.
        misfit: ε.
    """
    known = np.flatnonzero(np.isfinite(widths))
    lower, upper = np.full(len(points), -np.inf), np.full(len(points), np.inf)
    lower[known], upper[known] = means[known] - widths[known], means[known] + widths[known]
    if not len(known):
        return lower, upper
    tells = np.linalg.norm(points[known], axis=1) / (widths[known] + misfit)
    used = known[np.sort(np.argsort(-tells, kind="stable")[: MOST * points.shape[1]])]
    errors = widths[used] + misfit
    rows = points[used] / errors[:, None]
    root, blind = measured_root(rows)
    located, measured = points @ root, (rows @ root) / errors[:, None]
    reached = np.flatnonzero(np.linalg.norm(points @ blind, axis=1) <= UNSEEN)
    own = np.zeros(len(points))
    own[used] = np.einsum("ij,ij->i", located[used], measured)
    centres = located @ (measured.T @ means[used])
    step = max(1, BLOCK // len(used))
    for begin in range(0, len(reached), step):
        block = reached[begin : begin + step]
        radii = np.abs(located[block] @ measured.T) @ errors
        radii += misfit * (np.abs(1 - own[block]) - np.abs(own[block]))
        lower[block] = np.maximum(lower[block], centres[block] - radii)
        upper[block] = np.minimum(upper[block], centres[block] + radii)
    return lower, upper
