"""Thresholds: the paper's, how unions spend δ, self-normalised ellipsoids."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from surefoot.arrays import Array, IntArray
from surefoot.errors import InputError
from surefoot.literals import exact_number


def probability(delta: Any) -> float:
    """δ as a float, if it is a probability of error."""
    try:
        number = exact_number(delta)
    except InputError:
        number = 0.0
    if isinstance(delta, str):
        raise InputError(
            f"delta={delta!r:.60} is text: write the number without quotes, such as 0.05"
        )
    if not 0 < number < 1:
        raise InputError(
            f"delta={delta!r:.60} is not a probability between 0 and 1: 0.05 "
            f"means sure in 95 of 100 runs"
        )
    return number


def paper_threshold(n_pairs: int, delta: float) -> float:
    """√(2 log(|Z|²/δ)), the factor on every width in the paper."""
    return math.sqrt(2 * math.log(n_pairs**2 / delta))


def paper_spending(delta: float, look: int) -> float:
    """The paper's δ_t = δ/t² (Algorithm 1, line 3), which sums to 1.64 δ."""
    return delta / look**2


def valid_spending(delta: float, look: int) -> float:
    """6δ/(π²t²): what look t = 1, 2, … may spend so that all of them together spend δ."""
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
