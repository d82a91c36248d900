"""Thresholds: the paper's, valid unions, self-normalised ellipsoids."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def self_normalised_radius(first: Array, total: Array, delta: float, regularisation: float = 0.5) -> float:
    """β with P(‖θ̂ − θ‖_A ≤ β at all looks) ≥ 1 − δ, however the pulls after the first phase were chosen.

    The method of mixtures (Abbasi-Yadkori, Pál and Szepesvári, 2011) with prior precision V = r·A_first bounds
    ‖S‖² in the norm of (V + A)⁻¹ by log det(V + A) − log det V + 2 log(1/δ). As A ⪰ A_first, V + A ⪯ (1 + r) A, so
    ‖θ̂ − θ‖²_A = ‖S‖²_{A⁻¹} is at most (1 + r) times that: no bound on ‖θ‖ is needed.

    Args:
        first: (d, d) information of the first phase, whose design is fixed before any data.
        total: (d, d) information of all phases.
    """
    prior = regularisation * first
    sign_prior, log_prior = np.linalg.slogdet(prior)
    sign_total, log_total = np.linalg.slogdet(prior + total)
    if sign_prior <= 0 or sign_total <= 0 or not np.isfinite(log_prior) or np.linalg.cond(first) > 1e13:
        return float("inf")
    return float(np.sqrt((1 + regularisation) * (log_total - log_prior + 2 * np.log(1 / delta))))
