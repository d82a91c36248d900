"""Lower bounds of the lead of an arm, by the walks that eliminated the others.

Take a number g off every contrast in favour of an arm l. If g is more than its lead over all
others, the walk of the best other arm, or of the best arm if l is not it, is still below a walk
that crosses with probability δ at most: one of two, so the largest g at which all others are
eliminated is too large with probability 2δ at most. docs/certificate.md has the proof.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from surefoot.certify import Boundary, Certifier
from surefoot.certify.certifier import Scored
from surefoot.certify.contrast import lowest
from surefoot.certify.score import BOLDEST

HALVINGS = 10  # a bound is exact to 1/1 000 of the last doubling
DOUBLINGS = 14
FINE = 0.05  # of strengths, which are some ten
SAFE = 0.99  # of the largest reduction of bets, so that no wealth is negative


def lead(kernel: Certifier, leader: int) -> float:
    """Return how far a leader's value is above all others', or −∞ if no bound is known.

    It is too large with probability 2δ at most, whenever one looks and whichever arm leads.
    """
    phases, scores = kernel.scored(), kernel.scores.scores

    def excludes(ahead: float) -> bool:
        walks = kernel.walks.fresh()
        for phase in phases:
            for claims, said, less in phase:
                taken = ahead if claims.challenger == leader else 0.0
                walks.add(claims, scores(said, -taken)[None], None, less[None])
            if phase:
                walks.look()
        return not np.delete(walks.survivors, leader).any()

    return largest(excludes, _size(phases, leader), _most(kernel))


def lead_over(kernel: Certifier, leader: int, other: int) -> float:
    """Return how far a leader's value is above that of an arm that was named before any data.

    It is too large with probability δ at most, whenever one looks and whichever arm leads: only the
    leader's own challenges count, and the k-th challenger has δ / 2^k.
    """
    phases = kernel.scored()
    excludes = _behind(kernel, phases, leader, other)
    return -np.inf if excludes is None else largest(excludes, _size(phases, leader), _most(kernel))


def beats(kernel: Certifier, leader: int, other: int, gain: float) -> bool:
    """Return whether a leader is shown to be ahead of an arm named before the data, by a gain.

    It is ever wrong, for any leader, with probability δ at most.
    """
    excludes = _behind(kernel, kernel.scored(), leader, other)
    return excludes is not None and gain <= _most(kernel) and excludes(gain)


def _behind(
    kernel: Certifier, phases: list[list[Scored]], leader: int, other: int
) -> Callable[[float], bool] | None:
    """Return a function that tells if an arm is shown to be behind by so much; None: never
    tested"""
    boundary, scores = kernel.walks.boundary, kernel.scores.scores
    order = list(_challengers(phases, other))
    if leader not in order:
        return None
    group = int(boundary.groups(kernel.walks.starts[[other]])[0])
    needed = _strength_for(boundary, kernel.delta / 2 ** (1 + order.index(leader)), group)
    first, last = kernel.walks.offsets[leader : leader + 2]
    most = None if kernel.question.most is None else kernel.question.most[first:last]

    def excludes(ahead: float) -> bool:
        place = -1
        exact, lowered, best = np.zeros((3, last - first))
        best -= np.inf
        for claims, said, less in (each for phase in phases for each in phase):
            tested = np.flatnonzero(claims.arms == other)
            if not len(tested):
                continue
            clock, k = int(claims.clocks[tested[0]]), int(tested[0])
            root = boundary.root(np.array([place]), np.array([clock]))[0]
            place = clock
            if claims.challenger == leader:
                own = claims.points - first
                exact[own] += root * scores(said, -ahead)[:, k]
                lowered[own] = exact[own] - less[:, k]
                seen = lowered
                if most is not None:  # no mixture of the points is less
                    seen = np.full_like(lowered, (lowest(lowered, most) * lowered).sum())
                now = boundary.strength(np.full(len(best), place), seen)
                best = now if root == 0 else np.maximum(best, now)
        return bool((best >= needed).all())

    return excludes


def _strength_for(boundary: Boundary, delta: float, group: int) -> float:
    """Return a strength with a p-value of δ at most, hardly more than that takes."""
    low, high = 0.0, 1.0
    while boundary.p_value(high, group) > delta:
        low, high = high, 2 * high
    while high - low > FINE:
        middle = (low + high) / 2
        low, high = (middle, high) if boundary.p_value(middle, group) > delta else (low, middle)
    return high


def _challengers(phases: list[list[Scored]], arm: int) -> Iterator[int]:
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


def _most(kernel: Certifier) -> float:
    """Return the most that may be taken off: every bet leaves a wealth above 0."""
    loss = 2 * float(kernel.scores.scales.max())  # how far below 0 a contrast can be
    return SAFE * loss * (1 / BOLDEST - 1) if kernel.scores.bets else np.inf


def _size(phases: list[list[Scored]], leader: int) -> float:
    """Return the size of the leader's last contrasts."""
    means = [
        float(np.abs(said.values.mean(axis=0)).max(initial=0.0))
        for phase in phases
        for claims, said, _ in phase
        if claims.challenger == leader
    ]
    return (means[-1] if means and means[-1] > 0 else 1.0) / 4
