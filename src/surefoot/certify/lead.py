"""How far an arm is ahead: lower bounds of its lead, by the walks that eliminated the others.

Take a number g off every contrast in favour of an arm l. If g is more than its lead over all
others, the walk of the best other arm, or of the best arm if l is not it, is still below a walk
that crosses with probability δ at most: one of two, so the largest g at which all others are
eliminated is too large with probability 2δ at most. docs/certificate.md has the proof.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from surefoot.arrays import Array
from surefoot.certify.contrast import Claims, Contrasts
from surefoot.certify.score import BOLDEST
from surefoot.certify.walk import Walks

HALVINGS = 10  # a bound is exact to 1/1 000 of the last doubling
DOUBLINGS = 14
SAFE = 0.99  # of what may be taken off bets, so that no wealth is negative


class Scored(NamedTuple):
    """What a phase said of some claims.

    Attributes:
        claims: what was committed.
        said: the contrasts.
        plain: (n_own, n_tested) their scores.
        less: (n_own, n_tested) by how much doubt has lowered the sums of scores.
    """

    claims: Claims
    said: Contrasts
    plain: Array
    less: Array


Scores = Callable[[Contrasts, float], Array]


def lead_over_all(
    phases: list[list[Scored]], fresh: Walks, scores: Scores, leader: int, most: float
) -> float:
    """Return g so that the leader is ahead of all others by g or more, with confidence 1 − 2δ.

    Args:
        phases: all that was scored, in order.
        fresh: walks without any score.
        scores: of contrasts that a number is added to.
        most: what may be taken off at most.
    """

    def excludes(lead: float) -> bool:
        walks = fresh.fresh()
        for phase in phases:
            for claims, said, plain, less in phase:
                taken = scores(said, -lead) if claims.challenger == leader else plain
                walks.add(claims, taken[None], None, less[None])
            if phase:
                walks.look()
        return not np.delete(walks.survivors, leader).any()

    return largest(excludes, _size(phases, leader), most)


def lead_over_one(
    phases: list[list[Scored]],
    fresh: Walks,
    scores: Scores,
    leader: int,
    other: int,
    needed: float,
    most: float,
) -> float:
    """Return g so that the leader is ahead of an arm by g or more, by its own challenges alone.

    Args:
        needed: the strength at which a walk has crossed.
    """

    def excludes(lead: float) -> bool:
        places, boundary = fresh.places.copy(), fresh.boundary
        points = int(np.diff(fresh.offsets)[leader])
        exact, best = np.zeros(points), np.full(points, -np.inf)
        lowered = np.zeros(points)
        for phase in phases:
            for claims, said, _, less in phase:
                root = boundary.root(places[claims.arms], claims.clocks)
                places[claims.arms] = claims.clocks
                column = np.flatnonzero(claims.arms == other)
                if claims.challenger != leader or not len(column):
                    continue
                own = claims.points - fresh.offsets[leader]
                k = int(column[0])
                exact[own] += root[k] * scores(said, -lead)[:, k]
                lowered[own] = exact[own] - less[:, k]
                now = np.full(points, places[other])
                best = np.maximum(best, boundary.strength(now, lowered))
        return bool((best >= needed).all())

    return largest(excludes, _size(phases, leader), most)


def challengers(phases: list[list[Scored]], arm: int) -> Iterator[int]:
    """Yield the arms that challenged an arm, in the order in which they first did."""
    seen = set[int]()
    for phase in phases:
        for claims, *_ in phase:
            if arm in claims.arms.tolist() and claims.challenger not in seen:
                seen.add(claims.challenger)
                yield claims.challenger


def largest(holds: Callable[[float], bool], size: float, most: float) -> float:
    """Return nearly the largest number for which something holds that fails for larger ones.

    Args:
        size: of the numbers in question, above 0.
        most: the largest to be tried.
    """
    low, high = -np.inf, np.inf
    step = size
    at = 0.0
    for _ in range(DOUBLINGS):
        if holds(at):
            low = at
        else:
            high = at
        if np.isfinite(low) and (np.isfinite(high) or low >= most):
            break
        at = min(at + step, most) if np.isfinite(low) else at - step
        step *= 2
    if not np.isfinite(low) or not np.isfinite(high):
        return low
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low


def most_of_bets(loss: float) -> float:
    """Return what may be taken off every bet without a wealth below 0.

    Args:
        loss: how far below 0 a contrast can be.
    """
    return SAFE * loss * (1 / BOLDEST - 1)


def _size(phases: list[list[Scored]], leader: int) -> float:
    """The size of what the leader's last contrasts said."""
    means = [
        float(np.abs(said.values.mean(axis=0)).max(initial=0.0))
        for phase in phases
        for claims, said, *_ in phase
        if claims.challenger == leader
    ]
    return (means[-1] if means and means[-1] > 0 else 1.0) / 4
