"""Phases, and their outcomes as sufficient statistics."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from surefoot.arrays import Array, IntArray
from surefoot.errors import InputError

Counts = IntArray
MOST_PULLS = 2**52  # of a run: counts stay exact as floating-point numbers


@dataclass(frozen=True, eq=False)
class Phase:
    """The number of pulls of each pair before any of the rewards is looked at.

    Attributes:
        index: 0 for the first phase of a run.
        counts: (n_pairs,) pulls of each pair.
        batches: number of batches into which the pulls of each pair are put, in the order of their
            numbers: counts // batches of them into each, the rest stays outside. 0: no batches.
        shared: whether the k-th pulls of all pairs in a batch, or in a phase without batches, use
            one random stream (common random numbers).
        overlaps: how many of the phases before it were in flight when it was chosen: it was chosen
            without their rewards.
    """

    index: int
    counts: Counts
    batches: int = 0
    shared: bool = False
    overlaps: int = 0

    @property
    def samples(self) -> int:
        return int(self.counts.sum())


@dataclass(frozen=True, eq=False)
class Outcome:
    """All that a phase's rewards say about the means and the noise, per pair.

    The scatter is kept about each pair's own mean, not about zero: rewards of size 1e9 keep their
    digits.

    Attributes:
        phase: the index of the phase.
        counts: (n_pairs,) rewards seen.
        sums: (n_pairs,) their sums.
        scatter: (n_pairs,) sums of squared deviations from the pair's mean in this phase.
        batch_sums: (n_batches, n_pairs) the sums of each batch; no rows without batches.
        single: (n,) the pair of each pull and (n,) its reward, in the order of their numbers; None
            where only sums are known.
        others: the outcomes of further outputs of the same pulls by name, each as measured: only
            the objective's sign is turned where it is to be minimised.
        charged: (n_pairs,) pulls whose cost is known and (n_pairs,) the sums of these costs; None
            where no cost is asked for.
    """

    phase: int
    counts: Counts
    sums: Array
    scatter: Array
    batch_sums: Array = field(default_factory=lambda: np.zeros((0, 0)))
    single: tuple[IntArray, Array] | None = None
    others: Mapping[str, Outcome] = field(default_factory=dict)
    charged: tuple[Counts, Array] | None = None

    @classmethod
    def from_rewards(
        cls,
        phase: Phase | int,
        n_pairs: int,
        pairs: ArrayLike,
        rewards: ArrayLike,
        others: Mapping[str, ArrayLike] | None = None,
    ) -> Outcome:
        """Accumulate single rewards, in the order given (floating-point sums depend on it).

        Args:
            phase: the phase itself, so that pulls are put into its batches in the order given; or
                only its index, for noise models that need no batches.
            n_pairs: how many pairs the problem has.
            pairs: (n,) which pair each pull was of.
            rewards: (n,) reward of each pull.
            others: (n,) each, further outputs by name.
        """
        pair = np.asarray(pairs, dtype=np.int64)
        reward = np.asarray(rewards, dtype=np.float64)
        if pair.ndim != 1 or pair.shape != reward.shape:
            raise InputError(
                f"{reward.size} rewards were given for {pair.size} pairs: "
                "give one reward for each pull"
            )
        if pair.size and not 0 <= pair.min() <= pair.max() < n_pairs:
            raise InputError(
                f"pairs {pair.min()} to {pair.max()} were pulled, but they are numbered "
                f"0 to {n_pairs - 1}"
            )
        index, n_batches = (phase.index, phase.batches) if isinstance(phase, Phase) else (phase, 0)
        counts = np.bincount(pair, minlength=n_pairs)
        sums: Array = np.asarray(
            np.bincount(pair, weights=reward, minlength=n_pairs), dtype=np.float64
        )
        means = sums / np.maximum(counts, 1)
        scatter = np.bincount(pair, weights=(reward - means[pair]) ** 2, minlength=n_pairs)
        return cls(
            index,
            counts.astype(np.int64),
            sums,
            scatter.astype(np.float64),
            _batch_sums(pair, reward, counts, n_batches),
            (pair, reward),
            others={
                name: cls.from_rewards(phase, n_pairs, pair, values)
                for name, values in (others or {}).items()
            },
        )


def charged(n_pairs: int, pairs: IntArray, costs: Array) -> tuple[Counts, Array]:
    """Return (n_pairs,) pulls whose cost is known, and (n_pairs,) the sums of these costs.

    Args:
        pairs: (n,) the pair of each pull, in the order of their numbers.
        costs: (n,) of each pull; NaN where unknown.
    """
    known = np.isfinite(costs)
    pulls = np.bincount(pairs[known], minlength=n_pairs)
    sums = np.bincount(pairs[known], weights=costs[known], minlength=n_pairs)
    return pulls.astype(np.int64), sums.astype(np.float64)


def shifted(outcome: Outcome, zero: float, sign: int) -> Outcome:
    """Return the outcome of rewards sign (y − zero) in the place of y."""
    sizes = outcome.counts // max(len(outcome.batch_sums), 1)
    single = outcome.single
    return replace(
        outcome,
        sums=sign * (outcome.sums - zero * outcome.counts),
        batch_sums=sign * (outcome.batch_sums - zero * sizes)
        if outcome.batch_sums.size
        else outcome.batch_sums,
        single=None if single is None else (single[0], sign * (single[1] - zero)),
        others={},
    )


class Levels(NamedTuple):
    """Pulls of each pair as one sample, over all phases.

    Attributes:
        counts: (n_pairs,) pulls so far.
        means: (n_pairs,) of their rewards; 0 before the first pull.
        scatter: (n_pairs,) squared deviations from these means.
    """

    counts: Counts
    means: Array
    scatter: Array

    @classmethod
    def unknown(cls, n_pairs: int) -> Levels:
        """Before any pull."""
        return cls(np.zeros(n_pairs, dtype=np.int64), np.zeros(n_pairs), np.zeros(n_pairs))

    def after(self, outcome: Outcome) -> Levels:
        """Return the levels after one more phase (Chan's update)."""
        counts = self.counts + outcome.counts
        total = np.maximum(counts, 1)
        off = outcome.sums / np.maximum(outcome.counts, 1) - self.means
        means = self.means + off * outcome.counts / total
        between = off**2 * self.counts * outcome.counts / total
        return Levels(counts, means, self.scatter + outcome.scatter + between)

    @property
    def deviations(self) -> Array:
        """(n_pairs,) of single pulls."""
        return np.sqrt(self.scatter / np.maximum(self.counts - 1, 1))

    @property
    def silent(self) -> NDArray[np.bool_]:
        """(n_pairs,) whether all pulls of a pair gave one reward, which normal ones never do."""
        rounding = self.counts * np.finfo(np.float64).eps * self.means  # of a sum of so many
        return np.asarray((self.counts > 1) & (self.scatter <= self.counts * rounding**2))


def _batch_sums(pair: IntArray, reward: Array, counts: Counts, n_batches: int) -> Array:
    """Return (n_batches, n_pairs) sums; the k-th pull of a pair is in batch k // size."""
    n_pairs = len(counts)
    if not n_batches:
        return np.zeros((0, n_pairs))
    batch, _ = places_in_batches(pair, counts, n_batches)
    inside = batch >= 0
    places = batch[inside] * n_pairs + pair[inside]
    sums = np.bincount(places, weights=reward[inside], minlength=n_batches * n_pairs)
    return np.asarray(sums, dtype=np.float64).reshape(n_batches, n_pairs)


def places_in_batches(pairs: IntArray, counts: Counts, n_batches: int) -> tuple[IntArray, IntArray]:
    """Return (n_pulls,) the batch of each pull, and its place within that batch; −1 outside
    batches.

    Args:
        pairs: (n_pulls,) the pair of each pull, in the order of their numbers.
        counts: (n_pairs,) pulls of each pair.
        n_batches: 1 or more.
    """
    order = np.argsort(pairs, kind="stable")
    begins = np.concatenate([[0], np.cumsum(counts)[:-1]])
    turn = np.empty(len(pairs), dtype=np.int64)
    turn[order] = np.arange(len(pairs)) - begins[pairs[order]]
    size = np.maximum(counts // n_batches, 1)[pairs]
    batch, place = turn // size, turn % size
    outside = (batch >= n_batches) | (counts[pairs] < n_batches)
    batch[outside], place[outside] = -1, -1
    return batch, place
