"""The span of the features: fewer columns with the same mean rewards, where some are redundant."""

from __future__ import annotations

import numpy as np

from surefoot.arrays import Array
from surefoot.errors import InputError

RANK_TOLERANCE = 1e-9


def basis_of(features: Array) -> Array:
    """(n_features, dimension) B: features @ B has full rank and keeps all products with θ."""
    norms = np.linalg.norm(features, axis=0)
    if not norms.any():
        raise InputError(
            "all pairs are zero: their rewards cannot depend on the arm, so there is "
            "nothing to find"
        )
    scale = np.where(norms > 0, norms, 1.0)
    _, singular, right = np.linalg.svd(features / scale, full_matrices=False)
    rank = int((singular > RANK_TOLERANCE * singular[0]).sum())
    if rank == features.shape[1]:
        return np.eye(rank)
    return np.asarray((right[:rank] / scale).T)
