"""The design most likely to finish: it weighs rivals by how much evidence each of them still needs.

A max–min design (`exact_separation`) lets every easy rival tag along at the pace of the hardest
one, and the run then waits for the slowest of many. Here rival k, with gap g_k, direction v_k and
evidence still needed c_k (in standard deviations), is settled after n pulls with probability about
Φ((√n g_k/‖v_k‖_{A⁻¹} − c_k)/τ_k); the design maximises the product over the rivals. 1/‖v‖_{A⁻¹} is
concave in the weights and log Φ is concave and increasing, so the logarithm of that product is
concave, and the largest entry of its gradient bounds what is left to gain.
"""

from __future__ import annotations

import numpy as np

from surefoot.algorithms.prime.constants import Effort
from surefoot.algorithms.prime.finishing.kernels import (
    Rivals,
    factorise_information,
    gradient_at,
    whiten,
)
from surefoot.algorithms.prime.finishing.search import exchange, improve
from surefoot.arrays import Array, IntArray

__all__ = ["Rivals", "appraised", "exchanged", "finishing_design", "whitened"]


def finishing_design(
    rows: Array, start: Array, rivals: Rivals, effort: Effort
) -> tuple[Array, Array]:
    """(n_pairs,) weights most likely to settle all rivals; (n_rivals,) directions' lengths there.

    Args:
        rows: (n_pairs, dimension) what a pull of each pair measures.
        start: (n_pairs,) weights to start from; kept if they are good enough.
        rivals: what has to be settled.
        effort: how hard to search.
    """
    weights = np.asarray(start / start.sum())
    lengths = np.empty(len(rivals.gaps))
    improve(rows, weights, rivals, effort, lengths)
    return weights, lengths


def exchanged(
    main: IntArray, aside: IntArray, rows: Array, rivals: Rivals, effort: Effort
) -> IntArray:
    """Move single pulls to where they are worth most, beside those set aside.

    Rounding may have taken a tiny weight away without which some rival goes all but unmeasured; the
    gradient shows it.
    """
    moved = main.copy()
    exchange(moved, aside, rows, rivals, effort)
    return moved


def appraised(rows: Array, weights: Array, rivals: Rivals) -> tuple[float, Array]:
    """The log-probability, and (n_pairs,) its derivative in each weight.

    As the log-probability is concave, the largest entry minus weights @ gradient bounds the gain
    left. And weights @ gradient is what one per cent more pulls would gain, per cent: their ratio
    is the share of pulls that can be saved.
    """
    gradient, lengths = np.empty(len(rows)), np.empty(len(rivals.gaps))
    value = gradient_at(rows, weights, rivals, gradient, lengths)
    return float(value), gradient


def whitened(points: Array, rows: Array, weights: Array) -> Array:
    """The points where length is ‖·‖_{A⁻¹} under weighted rows, with a little ridge."""
    factor, out = np.empty((rows.shape[1], rows.shape[1])), np.empty(points.shape)
    if not factorise_information(rows, weights, factor):
        raise ArithmeticError(
            "an information matrix is not positive definite: do pairs hold numbers that overflow?"
        )
    whiten(factor, points, out)
    return out
