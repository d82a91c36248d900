"""From PRIME's weights to whole pulls: some are set aside to explore, some make batches whole.

Nothing here bears on the guarantee either: whatever is chosen from past data is allowed.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from scipy import linalg

from surefoot.algorithms.prime.allocation import Allocation
from surefoot.algorithms.prime.course import Layout
from surefoot.algorithms.prime.finishing import exchanged
from surefoot.algorithms.prime.tuning import Tuning
from surefoot.arrays import Array, IntArray
from surefoot.design.rounding import round_design
from surefoot.statistics import Counts

GOLDEN = 0.6180339887498949
NOTHING = 1e-9  # of the largest singular value: a direction that pairs do not measure
THOUSANDTHS = 1000.0  # pairs wanted alike to three decimals count as equals


class Rounding:
    """Rounds phases, a share of each for pairs pulled least for what they are worth.

    Half of that share follows λ^G, to learn θ; half goes round all pairs, so that a wrong model can
    be noticed.
    """

    def __init__(self, rows: Array, spread: Array, tuning: Tuning) -> None:
        """Set up for (n_pairs, dimension) measurement rows and the (n_pairs,) weights of λ^G."""
        self.rows, self.tuning = rows, tuning
        self.wanted = (spread + 1 / len(spread)) / 2

    def counts(self, allocation: Allocation, past: Counts, units: float) -> Counts:
        """(n_pairs,) pulls of a phase.

        Args:
            past: (n_pairs,) pulls so far.
            units: how much data that is.
        """
        weights, pulls, target = allocation
        share = self.tuning.exploration * min(1.0, self.tuning.explored / max(units, 1e-9))
        explored = min(max(round(share * pulls), self.tuning.checks), pulls // 2)
        main = round_design(_worth_a_pull(weights, pulls), pulls - explored)
        wanted = self.wanted * share * (past.sum() + pulls)
        aside = _most_wanted(wanted - past - main, explored)
        if target is not None:
            support = np.flatnonzero((weights > 0) | (main + aside > 0))
            main[support] = exchanged(
                main[support], aside[support], self.rows[support], target, self.tuning.effort
            )
        return main + aside

    def in_batches(self, counts: Counts, weights: Array, remaining: float) -> Layout:
        """The counts, raised to the number of batches that costs least in the end.

        Every pair that a fit uses needs as many pulls as there are batches.

        Args:
            weights: (n_pairs,) what the design wants of each pair.
        """
        choices = np.array(self.tuning.batch_choices, dtype=np.int64)
        used = (weights > self.tuning.batch_weight * weights.max()) & (counts > 0)
        if np.linalg.matrix_rank(self.rows[used]) < self.rows.shape[1]:
            used = counts > 0
        raised = [int(np.maximum(m - counts[used], 0).sum()) for m in choices]
        cost = (counts.sum() + np.array(raised)) / (1 - self.tuning.batch_loss / (choices + 1))
        n_batches = int(choices[np.argmin(cost)])
        raised_counts = np.where(used, np.maximum(counts, n_batches), counts)
        if raised_counts.sum() > remaining:
            return Layout(counts, max(int(counts[used].min()), 2))
        return Layout(raised_counts, n_batches)


def completing(rows: Array, used: IntArray, others: IntArray) -> IntArray:
    """As many of the other pairs as it takes to measure all directions beside those used."""
    basis, sizes, _ = np.linalg.svd(rows[used].T, full_matrices=False)
    basis = basis[:, sizes > NOTHING * sizes.max(initial=0.0)]
    left = rows[others] - rows[others] @ basis @ basis.T
    _, order = linalg.qr(left.T, mode="r", pivoting=True)
    return np.asarray(others[order[: rows.shape[1] - basis.shape[1]]])


def check_pulls(counts: Counts, pulls: int) -> Counts:
    """Single pulls of pairs that a design left out, spread over all of them."""
    return _most_wanted(-counts.astype(np.float64), min(pulls, int((counts == 0).sum())))


def _worth_a_pull(weights: Array, pulls: int) -> Array:
    """Without the weights that amount to less than half a pull, the largest at least."""
    return np.where(weights >= min(0.5 / pulls, weights.max()), weights, 0.0)


def _most_wanted(wanted: Array, pulls: int) -> Counts:
    """Pulls for the most wanted pairs in turn; equals in an order that jumps about evenly."""
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
