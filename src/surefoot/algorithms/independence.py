"""A test of whether pulls of a pair depend on those before, by bets on their ranks.

The rank of each reward of a pair among its earlier ones says nothing about the next one's if pulls
are independent: then sequential ranks are independent and uniform for any law of rewards.
A betting martingale on the serial correlation of ranks grows if pulls are positively dependent;
docs/certificate.md has the proof. While it is unclear, pulls that seem to follow each other decide
nothing.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from functools import cache
from typing import NamedTuple

import numpy as np
from scipy import special

from surefoot.arrays import Array, IntArray
from surefoot.statistics import Outcome

MEMORY = 40.0  # of the long-run average of ranks, in pulls: slower drifts are not bet on
BETS = ((1.0, 1.5), (1.0, 3.5), (5.0, 1.5), (5.0, 3.5))  # memories in pulls, and stakes below 4
FIRST = 2000  # pulls of a pair that are tested: dependence shows by then
CHUNK = 128  # pulls that are ranked at once
FEW = 60  # pulls of a pair up to which bets may not have had the time to grow
SEEMING = 2.0  # standard errors beyond which so few pulls seem to follow each other
LEAST = 4  # pulls of a pair whose order says anything


class _Bet(NamedTuple):
    """One gambler's view of a pair.

    Attributes:
        recent: an average of its last ranks.
        wealth: its logarithm.
        most: the largest so far.
    """

    recent: float = 0.5
    wealth: float = 0.0
    most: float = 0.0


class _Pair(NamedTuple):
    """One pair: its first rewards, and all of them sorted; an average of its ranks; the bets."""

    first: Array
    ranked: Array
    usual: float
    bets: tuple[_Bet, ...]


UNKNOWN = _Pair(np.zeros(0), np.zeros(0), 0.5, (_Bet(),) * len(BETS))


@dataclass(frozen=True, eq=False)
class Independence:
    """The bets so far. It never changes: `after` gives the next one."""

    _pairs: dict[int, _Pair] = field(default_factory=dict)
    _n_pairs: int = 0
    _shared: bool = False

    def after(self, outcome: Outcome, shared: bool = False) -> Independence:
        """Return the bets after one more phase; an outcome without single rewards says nothing.

        Args:
            shared: whether pulls of different pairs may share streams.
        """
        if outcome.single is None:
            return self
        pairs, rewards = outcome.single
        found = dict(self._pairs)
        order = np.argsort(pairs, kind="stable")
        ends = np.flatnonzero(np.diff(pairs[order], append=-1)) + 1
        for block in np.split(order, ends[:-1]) if len(order) else ():
            pair = int(pairs[block[0]])
            found[pair] = _bet(found.get(pair, UNKNOWN), pair, rewards[block])
        shared = self._shared or shared
        return replace(self, _pairs=found, _n_pairs=len(outcome.counts), _shared=shared)

    @property
    def p_value(self) -> float | None:
        """The p-value of independence, valid at any stopping time; None before the first bet."""
        if not self._pairs:
            return None
        gains = np.array([[bet.most for bet in pair.bets] for pair in self._pairs.values()])
        n = self._n_pairs  # all there are: a planner chooses how many it begins with
        together = special.gammaincc(n, gains.sum(axis=0))  # Fisher's
        single = n * np.exp(-gains.max(axis=0))
        each = single if self._shared else 2 * np.minimum(together, single)
        return float(min(1.0, len(BETS) * each.min()))

    def seems_broken(self, pairs: IntArray) -> bool:
        """Return whether pulls of these pairs seem to follow each other, as long as they are few.

        It may be chance, and is no test: more pulls will tell.
        """
        found = (self._pairs[pair].first for pair in pairs.tolist() if pair in self._pairs)
        z = [_resemblance(first) for first in found if LEAST <= len(first) <= FEW]
        errors = len(z) if self._shared else math.sqrt(len(z))
        return sum(z) > SEEMING * errors


def _resemblance(rewards: Array) -> float:
    """By how many standard errors each reward is nearer to the next one than chance has it.

    That is von Neumann's ratio of ranks, with the variance of Bartels (1982).
    """
    n, ranked = len(rewards), np.sort(rewards)
    ranks = np.searchsorted(ranked, rewards, "left") + np.searchsorted(ranked, rewards, "right")
    squares = float(((ranks - ranks.mean()) ** 2).sum())
    if squares == 0:
        return 0.0
    ratio = float((np.diff(ranks) ** 2).sum()) / squares
    variance = 4 * (n - 2) * (5 * n**2 - 2 * n - 9) / (5 * n * (n + 1) * (n - 1) ** 2)
    return (2 - ratio) / math.sqrt(variance)


def _bet(pair: _Pair, number: int, rewards: Array) -> _Pair:
    """Let a pair's gamblers bet on its next rewards, one after the other."""
    first, ranked, usual, bets = pair
    first = np.concatenate([first, rewards[: FEW + 1 - len(first)]])
    for begin in range(0, min(len(rewards), FIRST - len(ranked)), CHUNK):
        now = rewards[begin : begin + CHUNK]
        ranks = _ranks(ranked, now, number)
        before = _averages(usual, ranks, MEMORY)
        rules = zip(bets, BETS, strict=True)
        bets = tuple(_after(bet, rule, ranks, before[:-1]) for bet, rule in rules)
        usual = float(before[-1])
        ranked = np.insert(ranked, np.searchsorted(ranked, np.sort(now)), np.sort(now))
    return _Pair(first, ranked, usual, bets)


def _after(bet: _Bet, rule: tuple[float, float], ranks: Array, usual: Array) -> _Bet:
    memory, stake = rule
    scale = math.sqrt(2 * memory - 1)  # averages of more ranks vary by less
    recent = _averages(bet.recent, ranks, memory)
    guesses = np.clip(scale * (recent[:-1] - usual), -0.5, 0.5)
    wealth = bet.wealth + np.cumsum(np.log1p(stake * guesses * (ranks - 0.5)))
    return _Bet(float(recent[-1]), float(wealth[-1]), max(bet.most, float(wealth.max())))


def _averages(first: float, values: Array, memory: float) -> Array:
    """Return (n + 1,) an average before each of n values, and after the last: a share 1 / memory of
    the way to each value.
    """
    weights, n = _weights(memory), len(values)
    return first * weights[: n + 1, 0] + weights[: n + 1, 1 : n + 1] @ values


@cache
def _weights(memory: float) -> Array:
    """Return (CHUNK + 1, CHUNK + 1) weights of the initial average, and of each value, in running
    averages."""
    steps = np.arange(CHUNK + 1)
    later = steps[:, None] - steps
    kept = (1 - 1 / memory) ** np.maximum(later, 0)
    return np.where(later >= 0, kept, 0.0) * np.where(steps > 0, 1 / memory, 1.0)


def _ranks(ranked: Array, rewards: Array, number: int) -> Array:
    """Return the sequential ranks between 0 and 1, chance deciding among equal ones."""
    n, k = len(ranked), len(rewards)
    earlier = np.tri(k, k=-1, dtype=bool)
    below = np.searchsorted(ranked, rewards, "left")
    level = np.searchsorted(ranked, rewards, "right") - below
    below = below + (earlier & (rewards < rewards[:, None])).sum(axis=1)
    level = level + (earlier & (rewards == rewards[:, None])).sum(axis=1)
    chance = np.random.default_rng(np.random.SeedSequence((number, n))).random(k)
    return np.asarray((below + chance * (level + 1)) / (n + 1 + np.arange(k)))
