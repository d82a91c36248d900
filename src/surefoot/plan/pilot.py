"""Pulls outside any claim: of a pilot, of a guess, and of a pair that tests the model."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from surefoot.algorithms.assumptions import Strayed
from surefoot.algorithms.fitting import MODELLED, inverse_of, of_one_size
from surefoot.arrays import Array, IntArray
from surefoot.plan.shares import cumulative
from surefoot.plan.tuning import Tuning
from surefoot.plan.view import Space, View
from surefoot.problem.grouping import smallest_of
from surefoot.statistics import Counts

MOST_NUMBERS = 4_000_000  # drawn at once
DRAWS = 200
PER_DIMENSION = 2  # pulls of a model's pilot
SHARE, LEAST = 0.1, 4  # pulls of a round: their share of those so far, and the least


class PosteriorDraws(NamedTuple):
    """Shares of draws of all means from a view.

    Attributes:
        best: (n_arms,) how often each arm is best.
        interest: (n_pairs,) how often each pair is the worst of one of the best two arms.
    """

    best: Array
    interest: Array


def draw_best_arms(
    view: View, offsets: IntArray, alive: NDArray[np.bool_], seed: int
) -> PosteriorDraws:
    """Draw means as they are guessed, and count who is best; equal seeds give equal draws."""
    n_arms, n_pairs = len(offsets) - 1, len(view.means)
    draws = int(np.clip(MOST_NUMBERS // n_pairs, 16, DRAWS))
    generator = np.random.default_rng(np.random.SeedSequence((n_pairs, seed)))
    means = view.means + np.sqrt(view.alone) * generator.standard_normal((draws, n_pairs))
    if view.located.shape[1]:
        means += generator.standard_normal((draws, view.located.shape[1])) @ view.located.T
    values = np.where(alive, smallest_of(means, offsets), -np.inf)
    best, interest = np.zeros(n_arms), np.zeros(n_pairs)
    arm_of_pair = np.repeat(np.arange(n_arms), np.diff(offsets))
    for place in range(min(2, int(alive.sum()))):
        chosen = values.argmax(axis=1)
        if place == 0:
            best = np.bincount(chosen, minlength=n_arms) / draws
        own = np.where(arm_of_pair == chosen[:, None], means, np.inf)
        interest += np.bincount(own.argmin(axis=1), minlength=n_pairs)
        values[np.arange(draws), chosen] = -np.inf
    return PosteriorDraws(best, interest / interest.sum())


def first_of_model(space: Space, batched: bool, parallel: int, remaining: float) -> Counts:
    """Return pulls in all directions, and a few single ones that check the model."""
    wanted = PER_DIMENSION * space.dimension * (2 if batched else 1)
    counts = cumulative(space.spread, int(min(max(wanted, parallel), remaining)))
    left_out = (counts == 0).astype(np.float64)
    checks = int(min(space.dimension + 1, remaining - counts.sum(), left_out.sum()))
    return counts + cumulative(left_out, checks) if checks else counts


def first_of_guide(pairs: IntArray, n_pairs: int, pulls: int, remaining: float) -> Counts:
    """Return a few pulls of each of these pairs; single ones of some if no more are left."""
    counts = np.zeros(n_pairs, dtype=np.int64)
    if pulls * len(pairs) <= remaining:
        counts[pairs] = pulls
    else:
        counts[pairs[np.linspace(0, len(pairs) - 1, int(remaining)).round().astype(int)]] = 1
    return counts


def next_round(tuning: Tuning, samples: int, least: int, most: float) -> int:
    """Return the pulls of a further round, after so many."""
    return int(min(max(SHARE * samples, LEAST, least), most))


def in_blocks(interest: Array, pulls: int) -> tuple[Counts, int]:
    """Return the most interesting pairs, each in every block: differences within blocks count."""
    chosen = np.argsort(-interest, kind="stable")[: max(2, min(pulls, int((interest > 0).sum())))]
    counts = np.zeros(len(interest), dtype=np.int64)
    counts[chosen] = n_blocks = max(pulls // len(chosen), 1)
    return counts, n_blocks


def witness(rows: Array, past: Strayed, used: IntArray, pulls: int) -> int | None:
    """Return a pair to pull beside those used, that may show best whether the model holds.

    It is predicted by the others, and that many pulls of it would show a stray as large as past
    means leave possible. None where no pair can.
    """
    rows = of_one_size(rows)
    inverse, _ = inverse_of(rows[used], past.variances[used])
    reach = rows @ inverse  # (n_pairs, n_used) each pair by those used
    missed = np.abs(rows - reach @ rows[used]).max(axis=1)
    spanned = missed <= MODELLED * np.abs(rows).max()
    spanned[used] = False
    if not spanned.any():
        return None
    noise = (past.variances + reach**2 @ past.variances[used]) / pulls
    worth = (past.likely**2 + past.errors) / noise
    return int(np.argmax(np.where(spanned, worth, -np.inf)))


def spares_one(rows: Array, used: IntArray) -> bool:
    """Return whether these pairs are more than the model needs, so that one can test it."""
    scaled = of_one_size(rows)[used]
    return len(used) > inverse_of(scaled, np.ones(len(used)))[1]
