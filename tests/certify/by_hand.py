"""Small cases whose evidence can be worked out by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from surefoot.arrays import Array
from surefoot.certify import Certifier, Claims, Rows
from surefoot.statistics import Outcome, Phase


def rows(*each: dict[int, float]) -> Rows:
    """Return sparse rows."""
    starts = np.cumsum([0, *(len(row) for row in each)])
    columns = np.array([i for row in each for i in row], dtype=np.int64)
    return Rows(starts, columns, np.array([v for row in each for v in row.values()], dtype=float))


def claims(
    challenger: int, points: ArrayLike, rivals: dict[int, int], clock: int = 0, **changes: Any
) -> Claims:
    """Return the claims that points beat arms, each held against one point of its own.

    Args:
        rivals: the point that each arm is held against.
    """
    shares = rows(*({point: 1.0} for point in rivals.values()))
    arms, clocks = np.array(list(rivals)), np.full(len(rivals), clock)
    plain = Claims(challenger, np.asarray(points), arms, clocks, shares, np.array(0.0))
    return plain._replace(**changes)


def rewarded(
    counts: Array, means: ArrayLike, scatter: float = 0.0, batches: int = 0, index: int = 0
) -> Any:
    """Return a phase and its outcome, in which each pair has a mean and all have one scatter."""
    phase = Phase(index, counts, batches)
    sums, n = counts * np.asarray(means, dtype=np.float64), len(counts)
    by_batch = np.tile(sums / max(batches, 1), (batches, 1))
    return phase, Outcome(index, counts, sums, np.full(n, scatter), by_batch)


def told(
    certifier: Certifier, claim: Claims, means: ArrayLike, pulls: int = 2, batches: int = 0
) -> Certifier:
    """Score one phase with as many pulls of each pair, and return the certifier.

    Two pulls of two pairs, of scale 1, give means that differ with deviation 1.
    """
    counts = np.full(certifier.question.n_pairs, pulls)
    phase, outcome = rewarded(counts, means, batches=batches, index=len(certifier.scored()))
    certifier.update(certifier.commit(phase, [claim]), outcome)
    return certifier
