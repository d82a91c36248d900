"""From PRIME's weights to whole pulls: rounded, some set aside to explore, single ones moved to
where they count.

Nothing here bears on the guarantee either: whatever is chosen from past data is allowed.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from surefoot.algorithms.prime.finishing import Rivals, exchanged
from surefoot.arrays import Array
from surefoot.design.rounding import round_design
from surefoot.statistics import Counts

EXPLORATION = 0.04
EXPLORED = 30.0  # units of data after which exploration's share falls
CHECKS = 2  # pulls a phase at least, on pairs that a wrong model would get wrong
GOLDEN = 0.6180339887498949
THOUSANDTHS = 1000.0  # pairs wanted alike to three decimals count as equals


def counts_for(
    weights: Array,
    pulls: int,
    spread: Array,
    past: Counts,
    units: float,
    rows: Array,
    target: Rivals | None,
) -> Counts:
    """Round a phase, giving a share of it to pairs that have been pulled least for what they are
    worth.

    Half of that share follows λ^G, to learn θ; half goes round all pairs, so that a wrong model can
    be noticed.
    """
    share = EXPLORATION * min(1.0, EXPLORED / max(units, 1e-9))
    explored = min(max(round(share * pulls), CHECKS), pulls // 2)
    main = round_design(_worth_a_pull(weights, pulls), pulls - explored)
    wanted = (spread + 1 / len(spread)) / 2 * share * (past.sum() + pulls)
    aside = _most_wanted(wanted - past - main, explored)
    if target is None:
        return main + aside
    support = np.flatnonzero((weights > 0) | (main + aside > 0))
    main[support] = exchanged(main[support], aside[support], rows[support], target)
    return main + aside


def check_pulls(counts: Counts, pulls: int) -> Counts:
    """Single pulls of pairs that a design left out, spread over all of them."""
    return _most_wanted(-counts.astype(np.float64), min(pulls, int((counts == 0).sum())))


def _worth_a_pull(weights: Array, pulls: int) -> Array:
    """Without the weights that amount to less than half a pull, the largest at least."""
    return np.where(weights >= min(0.5 / pulls, weights.max()), weights, 0.0)


def _most_wanted(wanted: Array, pulls: int) -> Counts:
    """The pulls go to the most wanted pairs in turn, among equals in an order that jumps about
    evenly.
    """
    whole = np.maximum(np.floor(wanted), 0.0)
    if whole.sum() > pulls:
        return round_design(whole, pulls)
    counts = whole.astype(np.int64)
    everywhere, left = divmod(pulls - int(counts.sum()), len(counts))
    counts += everywhere
    if left:
        order = _scattered(len(counts)) - np.rint(THOUSANDTHS * (wanted - whole))
        counts[np.argpartition(order, left - 1)[:left]] += 1
    return counts


@lru_cache(maxsize=8)
def _scattered(n: int) -> Array:
    """Numbers between 0 and 1 that jump about evenly."""
    return np.asarray(np.arange(n) * GOLDEN % 1.0, dtype=np.float64)
