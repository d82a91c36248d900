"""Boundaries that spend δ well: how much evidence is enough, at looks planned before the data.

Any numbers may be tried here: the kernel refuses a boundary that spends more than δ.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
from scipy import optimize, special

from surefoot.arrays import Array
from surefoot.certify.boundary import ABOVE, GaussianBoundary, MixtureBoundary, worst_crossing

Weights = tuple[float, ...]

LOWEST = -8.5  # a standardised walk is below this with probability 1e-17
FEWEST_NODES, MOST_NODES = 48, 400
RESOLVED = 1.0  # distance of nodes in deviations of a step: an error of 3e-9 at most
MIXTURE_RATES = 160
LARGE_DELTA = 0.15  # above it, smaller steps than planned can cross a little more often
GRID_MARGIN = 1e-3  # of δ, for policies between those that are tried, and for rounding


@lru_cache(maxsize=64)
def gaussian_boundary(times: Weights, delta: float, shape: Weights) -> GaussianBoundary:
    """Return levels √(t (a + shape)) that Gaussian walks ever reach with probability δ.

    If δ is large, no walk with steps of at most the planned variances crosses more often; up to 0.2
    the two agree.

    Args:
        times: the grid.
        delta: the error to spend over all looks.
        shape: at least 0 for every look; zeros are Pocock's constant boundary.
    """
    added = np.array(shape)
    return GaussianBoundary(np.array(times), added, _solved(times, added, delta))


@lru_cache(maxsize=64)
def boundary_by_starts(
    times: Weights, delta: float, shape: Weights, starts: tuple[int, ...]
) -> GaussianBoundary:
    """Return levels √(t (a + shape)) that spend δ for clocks that begin at any of some points.

    Args:
        starts: grid points, 0 and later ones. A clock that begins between two of them is held to
            the height of the earlier.
    """
    heights = [_height(times[start:], np.array(shape[start:]), delta) for start in starts]
    a = np.repeat(heights, np.diff(starts, append=len(times)))
    return GaussianBoundary(np.array(times), np.array(shape), a)


def _height(times: Weights, shape: Array, delta: float) -> float:
    """Return the height a at which steps as planned spend δ, or less if smaller ones cross more."""
    weights, planned = tuple(np.diff(times, prepend=0.0).tolist()), delta
    while True:

        def excess(a: float, spent: float = planned) -> float:
            return _crossing_probability(weights, np.sqrt(a + shape)) - spent

        a = _root(excess, len(times), planned)
        worst = worst_crossing(np.array(times), a + shape)
        if worst <= ABOVE * delta:
            return a
        planned *= delta / worst


def _solved(times: Weights, shape: Array, delta: float) -> float:
    """Return the height a at which a Gaussian walk crosses with probability δ."""
    spent = delta if delta <= LARGE_DELTA else delta * (1 - GRID_MARGIN)

    def excess(a: float) -> float:
        return _crossing(times, np.sqrt(a + shape), delta) - spent

    return _root(excess, len(times), delta)


def _root(excess: Callable[[float], float], looks: int, delta: float) -> float:
    """Return the height at which nothing is spent in excess any more."""
    lowest, union = 1e-3, 2 * np.log(looks / delta) + 1
    if excess(lowest) <= 0:
        return lowest
    a = float(optimize.brentq(excess, lowest, union, xtol=1e-7))
    while excess(a) > 1e-9 * delta:  # the margin of levels that fall jumps
        a += 1e-6
    return a


def _crossing(times: Weights, levels: Array, delta: float) -> float:
    """Return the probability of crossing: the worst there is where δ is large."""
    if delta > LARGE_DELTA:
        return worst_crossing(np.array(times), levels**2)
    return _crossing_probability(tuple(np.diff(times, prepend=0.0).tolist()), levels)


def _crossing_probability(weights: Weights, boundary: Array) -> float:
    """P(W_t ≥ c_t √V_t for some t) of a Gaussian walk (Armitage, McPherson and Rowe, 1969).

    It carries the density of S = W / √V among walks that have not crossed, by Gauss–Legendre
    quadrature.
    """
    variance, n_nodes = weights[0], _resolving(weights, boundary)
    states, measure = _quadrature(boundary[0], n_nodes)
    mass = measure * np.exp(-(states**2) / 2) / np.sqrt(2 * np.pi)
    crossed = float(special.ndtr(-boundary[0]))
    for weight, c in zip(weights[1:], boundary[1:], strict=True):
        keep, step = _step(variance, weight)
        crossed += float(mass @ special.ndtr((keep * states - c) / step))
        following, measure = _quadrature(c, n_nodes)
        distance = (following[None, :] - keep * states[:, None]) / step
        mass = measure * (mass @ np.exp(-(distance**2) / 2)) / (step * np.sqrt(2 * np.pi))
        states, variance = following, variance + weight
    return crossed


@lru_cache(maxsize=64)
def mixture_boundary(times: Weights, delta: float, shape: Weights) -> MixtureBoundary:
    """Return the boundary of a mixture martingale; the arguments are as for a Gaussian one."""
    rates, shares = mixture(tuple(np.diff(times, prepend=0.0)), delta, shape)
    return MixtureBoundary(np.array(times), rates, shares, delta)


@lru_cache(maxsize=64)
def mixture(weights: Weights, delta: float, strictness: Weights = ()) -> tuple[Array, Array]:
    """Rates η_k and shares π_k of the martingale Σ_k π_k exp(η_k W − η_k² V / 2).

    The shares solve a linear programme: the lowest level a such that every look crosses at or below
    √(a + strictness_t).
    """
    variances = np.cumsum(weights)
    roots = np.sqrt(variances)
    rates = np.geomspace(1.0 / roots[-1], 8.0 / roots[0], MIXTURE_RATES)
    shape = np.array(strictness or (0.0,) * len(weights))

    def best_mixture(level: float) -> tuple[float, Array]:
        """Return the largest log of the smallest look's mixture at this level, and the mixture."""
        distance = np.sqrt(level + shape)[:, None] - rates * roots[:, None]
        smallest, shares = _maximin(np.exp((shape[:, None] - distance**2) / 2))
        return level / 2 + float(np.log(smallest)), shares

    # a union over the looks reaches this without any mixture
    union = 2 * np.log(len(weights) / delta)

    def excess(level: float) -> float:
        return best_mixture(level)[0] + float(np.log(delta))

    lowest = 0.1 * union
    level = (
        lowest if excess(lowest) >= 0 else optimize.brentq(excess, lowest, 1.1 * union, xtol=1e-3)
    )
    return rates, best_mixture(level)[1]


def _maximin(gain: Array) -> tuple[float, Array]:
    """Return the mixture π that makes the smallest entry of gain @ π largest, and that entry.

    Of the least total p ≥ 0 with gain @ p ≥ 1: scaled to 1, it is π.
    """
    n_looks, n_rates = gain.shape
    programme: dict[str, Any] = {"c": np.ones(n_rates), "A_ub": -gain, "b_ub": -np.ones(n_looks)}
    solved = optimize.linprog(**programme, method="highs")
    if solved.x is None:  # the simplex method stalls where many mixtures are nearly as good
        solved = optimize.linprog(**programme, method="highs-ipm")
    if solved.x is None:
        raise ArithmeticError(
            f"the linear programme for the mixture boundary failed: {solved.message}"
        )
    mixture = np.maximum(solved.x, 0.0)
    mixture /= mixture.sum()
    return float((gain @ mixture).min()), mixture


def _resolving(weights: Weights, boundary: Array) -> int:
    """Nodes that resolve the smallest step.

    A density of deviation s on nodes h apart is integrated to within exp(−2 π² s² / h²); Legendre's
    nodes are widest apart in the middle, by π / 2 times the average.
    """
    steps = np.sqrt(np.array(weights) / np.cumsum(weights)).min()
    span = float(np.max(boundary)) - LOWEST
    return int(np.clip(np.ceil(np.pi / 2 * span / (RESOLVED * steps)), FEWEST_NODES, MOST_NODES))


@lru_cache(maxsize=16)
def _legendre(n_nodes: int) -> tuple[Array, Array]:
    return np.polynomial.legendre.leggauss(n_nodes)


def _quadrature(c: float, n_nodes: int) -> tuple[Array, Array]:
    """Nodes and weights on [LOWEST, c], the states of a walk that has not crossed."""
    nodes, measure = _legendre(n_nodes)
    half = (c - LOWEST) / 2
    return half * (nodes + 1) + LOWEST, half * measure


def _step(variance: float, weight: float) -> tuple[float, float]:
    """S' = keep · S + step · ξ when a step of this weight follows."""
    total = variance + weight
    return float(np.sqrt(variance / total)), float(np.sqrt(weight / total))
