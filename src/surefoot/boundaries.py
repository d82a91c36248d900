"""Sequential boundaries for PRIME: how much evidence is enough, at looks planned before the data.

The evidence against the best arm is dominated by a random walk W with known step variances
(docs/prime.md). A boundary is an array c, one number per look, such that W_t ≥ c_t √V_t ever
happens with probability at most δ.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from scipy import optimize, special

from surefoot.arrays import Array

Weights = tuple[float, ...]

LOWEST = -8.5  # a standardised walk is below this with probability 1e-17
NODES = 96
FEWEST_NODES, MOST_NODES = 48, 400
RESOLVED = 1.0  # distance of nodes in deviations of a step: an error of 3e-9 at most
MIXTURE_RATES = 160
# below 0.3 a step is narrower than the quadrature resolves
SHARES = (
    0.3,
    0.4,
    0.5,
    0.6,
    0.7,
    0.8,
    0.9,
    1.0,
)
LARGE_DELTA = 0.2  # above it, smaller steps than planned can cross a little more often
GRID_MARGIN = 1e-3  # of such a δ, for policies between the shares


@lru_cache(maxsize=64)
def gaussian_boundary(weights: Weights, delta: float, strictness: Weights = ()) -> Array:
    """c_t = √(a + strictness_t), with a such that a Gaussian walk ever crosses with probability δ.

    If δ is large, a is such that no walk with steps of at most those variances crosses more often;
    up to 0.2 that is the same, as a test shows for PRIME's plans.

    Args:
        weights: variances of the planned steps.
        delta: the error to spend over all looks.
        strictness: at least 0 for every look; none is Pocock's constant boundary.
    """
    shape = np.array(strictness or (0.0,) * len(weights))

    probability, spent = crossing_probability, delta
    if delta > LARGE_DELTA:
        probability, spent = worst_crossing_probability, delta * (1 - GRID_MARGIN)

    def excess(level: float) -> float:
        return probability(weights, np.sqrt(level + shape)) - spent

    lowest, union = 1e-3, 2 * np.log(len(weights) / delta) + 1
    level = lowest if excess(lowest) <= 0 else optimize.brentq(excess, lowest, union, xtol=1e-7)
    return _frozen(np.sqrt(level + shape))


def crossing_probability(weights: Weights, boundary: Array) -> float:
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


def worst_crossing_probability(weights: Weights, boundary: Array) -> float:
    """The largest crossing probability if an adversary may shrink the variance of every step.

    A phase that says nothing about a direction counts as T = 0 while V still grows, and a noise
    scale that is only an upper bound makes steps smaller than planned. Backward dynamic programming
    over the share of its variance that each step keeps shows what the worst such policy could
    reach.
    """
    variances = np.cumsum(weights)
    # after the last look nothing can cross
    states, measure, value = (
        np.zeros(0),
        np.zeros(0),
        np.zeros(0),
    )
    for t in range(len(weights) - 1, -1, -1):
        before = variances[t - 1] if t > 0 else 0.0
        earlier, earlier_measure = (
            _quadrature(boundary[t - 1]) if t > 0 else (np.zeros(1), np.ones(1))
        )
        position, root = earlier * np.sqrt(before), np.sqrt(variances[t])
        idle = np.interp(position / root, states, value) if len(states) else np.zeros(len(position))
        best = np.where(position >= boundary[t] * root, 1.0, idle)
        for share in SHARES:
            step = np.sqrt(share * weights[t])
            distance = (states[None, :] * root - position[:, None]) / step
            density = np.exp(-(distance**2) / 2) / (step * np.sqrt(2 * np.pi)) * root
            pulled = special.ndtr((position - boundary[t] * root) / step) + density @ (
                measure * value
            )
            best = np.maximum(best, pulled)
        states, measure, value = earlier, earlier_measure, best
    return float(value[0])


@lru_cache(maxsize=64)
def mixture_boundary(weights: Weights, delta: float, strictness: Weights = ()) -> Array:
    """c_t for sub-Gaussian noise: where the mixture martingale reaches 1/δ.

    It starts at 1, so by Ville's inequality it ever reaches 1/δ with probability at most δ.
    """
    rates, shares = mixture(weights, delta, strictness)
    variances = np.cumsum(weights)
    return _frozen(np.array([_mixture_crossing(rates, shares, v, delta) for v in variances]))


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
        """The largest log of the smallest look's mixture at this level, and the mixture."""
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
    """The mixture π that makes the smallest entry of gain @ π largest, and that entry.

    Of the least total p ≥ 0 with gain @ p ≥ 1: scaled to 1, it is π.
    """
    n_looks, n_rates = gain.shape
    solved = optimize.linprog(np.ones(n_rates), A_ub=-gain, b_ub=-np.ones(n_looks), method="highs")
    if solved.x is None:
        raise ArithmeticError(
            f"the linear programme for the mixture boundary failed: {solved.message}"
        )
    mixture = np.maximum(solved.x, 0.0)
    mixture /= mixture.sum()
    return float((gain @ mixture).min()), mixture


def _mixture_crossing(rates: Array, mixture: Array, variance: float, delta: float) -> float:
    """The one c at which the mixture, which increases in W, reaches 1/δ at variance V."""
    used = mixture > 0
    log_mixture, eta = np.log(mixture[used]), rates[used]

    def excess(c: float) -> float:
        exponents = log_mixture + eta * c * np.sqrt(variance) - eta**2 * variance / 2
        return float(special.logsumexp(exponents) + np.log(delta))

    return float(optimize.brentq(excess, 0.0, 200.0, xtol=1e-10))


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


def _quadrature(c: float, n_nodes: int = NODES) -> tuple[Array, Array]:
    """Nodes and weights on [LOWEST, c], the states of a walk that has not crossed."""
    nodes, measure = _legendre(n_nodes)
    half = (c - LOWEST) / 2
    return half * (nodes + 1) + LOWEST, half * measure


def _step(variance: float, weight: float) -> tuple[float, float]:
    """S' = keep · S + step · ξ when a step of this weight follows."""
    total = variance + weight
    return float(np.sqrt(variance / total)), float(np.sqrt(weight / total))


def _frozen(values: Array) -> Array:
    values.flags.writeable = False
    return values
