"""Coordinates in which a uniform design is the identity: answers then do not depend on the units of
features.
"""

from __future__ import annotations

import numpy as np

from surefoot.arrays import Array
from surefoot.errors import InputError

SMALLEST_EIGENVALUE = 1e-13


def whiten(pairs: Array, rows: Array) -> tuple[Array, Array]:
    """Pairs and measurement rows after the linear map that makes the mean of r rᵀ the identity.

    Every criterion here is invariant under an invertible linear map of the features (pairs, rows
    and directions map together), so this changes no answer, only its rounding errors.
    """
    scales = np.sqrt(np.mean(rows**2, axis=0))
    if not (scales > 0).all():
        raise _deficient(rows)
    scaled = rows / scales
    values, vectors = np.linalg.eigh(scaled.T @ scaled / len(rows))
    if values[0] <= SMALLEST_EIGENVALUE * values[-1]:
        raise _deficient(rows)
    transform = (vectors / np.sqrt(values)) / scales[:, None]
    return np.ascontiguousarray(pairs @ transform), np.ascontiguousarray(rows @ transform)


def _deficient(rows: Array) -> InputError:
    return InputError(
        f"the {len(rows)} pairs do not span all {rows.shape[1]} dimensions, so some "
        f"parameters can never be estimated: "
        "give coordinates of their span (RobustProblem does that)"
    )
