"""The types of arrays, and immutable copies of them."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from surefoot.errors import InputError

Array = NDArray[np.float64]
IntArray = NDArray[np.int64]


def fixed(numbers: ArrayLike) -> Array:
    """Return an immutable copy of numbers."""
    copied = np.array(numbers, dtype=np.float64)
    copied.flags.writeable = False
    return copied


def fixed_integers(numbers: ArrayLike) -> IntArray:
    """Return an immutable copy of whole numbers."""
    copied = np.array(numbers)
    if copied.ndim != 1 or (copied.size and copied.dtype.kind not in "iu"):
        raise InputError(f"a list of whole numbers is needed: not {copied.tolist()!s:.60}")
    copied = copied.astype(np.int64)
    copied.flags.writeable = False
    return copied
