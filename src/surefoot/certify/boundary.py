"""How much evidence is enough: a boundary on a grid of times, fixed before any data.

The evidence against the best arm is at most a walk that adds, whenever its clock goes on by w, a
variable of known law and variance w or less. Clocks stop on the grid alone. A boundary is valid
for δ if no such walk ever reaches it with a probability above δ: steps may be skipped, stand still
or be smaller than the clock says. Where a clock begins is fixed before its first score, so a clock
that begins late, and takes fewer looks, may have a boundary of its own.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from functools import lru_cache

import numpy as np
from scipy import special

from surefoot.arrays import Array, IntArray, fixed
from surefoot.errors import InputError

ABOVE = 1 + 1e-6  # rounding of a probability
LOWEST = -8.5  # a standardised walk is below this with probability 1e-17
NODES, MEASURE = np.polynomial.legendre.leggauss(96)  # on [−1, 1]
FALLING = 1.03  # where levels fall, nodes may miss this share of the probability
# of a step's variance that an adversary may leave; below 0.3 a step is narrower than nodes resolve
SHARES = (0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)


class Boundary(ABC):
    """The evidence that eliminates an arm, at each point of a grid.

    Attributes:
        times: (n_points,) where clocks may stop, increasing.
        level: (n_points,) the walk that eliminates an arm whose clock began at the first.
    """

    times: Array
    level: Array

    def root(self, before: IntArray, after: IntArray) -> Array:
        """Return the factor of scores as clocks go from grid points (−1: none yet) to others."""
        earlier = np.where(before >= 0, self.times[before], 0.0)
        return np.sqrt(self.times[after] - earlier)

    def levels(self, starts: IntArray, places: IntArray) -> Array:
        """Return the walks that eliminate arms at grid points, by where their clocks began."""
        return self.level[places]

    def groups(self, starts: IntArray) -> IntArray:
        """Return starts up to these, alike where strengths of one size have one p-value."""
        return np.zeros_like(starts)

    def check(self, delta: float) -> None:
        """Raise an error unless the boundary is valid for δ."""
        times = self.times
        if not (len(times) and times[0] > 0 and (np.diff(times) > 0).all() and times[-1] < np.inf):
            raise InputError("a boundary needs times that increase from above 0")

    @abstractmethod
    def strength(self, places: IntArray, walk: Array) -> Array:
        """Return the strength of walks at grid points, comparable over points."""

    @abstractmethod
    def p_value(self, strength: float, group: int = 0) -> float:
        """Return the smallest δ at which this strength would have been enough at some look."""


class GaussianBoundary(Boundary):
    """Levels √(t (a + shape)) for walks with normal steps.

    Args:
        times: (n_points,) the grid.
        shape: (n_points,) by how much the squared level, per unit of time, exceeds a.
        a: its height; or (n_points,) heights, for clocks that begin at each point.
    """

    def __init__(self, times: Array, shape: Array, a: Array | float) -> None:
        self.times, self.shape, self.a = fixed(times), fixed(shape), fixed(a)
        self._heights = np.broadcast_to(self.a, self.times.shape)
        lower = ~(self._heights[1:] >= self._heights[:-1])
        self._groups = np.flatnonzero(np.append(True, lower))  # each until the next one begins
        every = np.arange(len(self.times))
        self.level = fixed(self.levels(np.zeros_like(every), every))

    def check(self, delta: float) -> None:
        """Check the first start of each group: a later one reads a part of its looks."""
        super().check(delta)
        for group in self._groups.tolist():
            a = float(self._heights[group])
            if not (a + self.shape[group:] > 0).all():
                raise InputError("a boundary must lie above 0")
            if not self._crossing(a, group) <= ABOVE * delta:
                raise InputError(
                    f"walks that stand still now and then would cross this boundary with a "
                    f"probability above delta = {delta:g}: raise it, or plan fewer looks"
                )

    def levels(self, starts: IntArray, places: IntArray) -> Array:
        squared = self.times[places] * (self._heights[starts] + self.shape[places])
        return np.sqrt(np.maximum(squared, 0.0))

    def groups(self, starts: IntArray) -> IntArray:
        return self._groups[np.searchsorted(self._groups, starts, side="right") - 1]

    def strength(self, places: IntArray, walk: Array) -> Array:
        squared = walk**2 / self.times[places] - self.shape[places]
        return np.where(walk > 0, squared, -np.inf)

    def p_value(self, strength: float, group: int = 0) -> float:
        lowest = strength + self.shape[group:].min()
        return self._crossing(strength, group) if lowest > 0 else 1.0

    def _crossing(self, a: float, start: int) -> float:
        return worst_crossing(self.times[start:], np.maximum(a + self.shape[start:], 1e-12))


class _VilleBoundary(Boundary):
    """A non-negative supermartingale that begins at 1, held against 1/δ.

    By Ville's inequality it ever reaches 1/δ with probability at most δ.
    """

    delta: float

    def check(self, delta: float) -> None:
        super().check(delta)
        if not self.delta <= ABOVE * delta:
            raise InputError(f"the boundary spends {self.delta:g}, more than delta = {delta:g}")

    def p_value(self, strength: float, group: int = 0) -> float:
        return math.exp(min(-strength, 0.0))


class MixtureBoundary(_VilleBoundary):
    """The level at which the martingale Σ_k π_k exp(η_k W − η_k² t / 2) reaches 1/δ.

    It is a supermartingale for sub-Gaussian steps of variance w or less.

    Args:
        times: (n_points,) the grid.
        rates: (n_rates,) η.
        shares: (n_rates,) π ≥ 0, adding up to 1 at most.
        delta: δ.
    """

    def __init__(self, times: Array, rates: Array, shares: Array, delta: float) -> None:
        self.times, self.rates, self.shares = fixed(times), fixed(rates), fixed(shares)
        self.delta, places = delta, np.arange(len(times))
        low, high = np.zeros(len(times)), 200.0 * np.sqrt(times)
        for _ in range(200):  # the martingale increases in W: halve until digits end
            middle = (low + high) / 2
            enough = self.strength(places, middle) >= math.log(1 / delta)
            low, high = np.where(enough, low, middle), np.where(enough, middle, high)
        self.level = fixed(high)

    def check(self, delta: float) -> None:
        super().check(delta)
        if not ((self.shares >= 0).all() and self.shares.sum() <= ABOVE and (self.rates > 0).all()):
            raise InputError("a mixture needs rates above 0, and shares that add up to 1 at most")

    def strength(self, places: IntArray, walk: Array) -> Array:
        exponents = np.outer(walk, self.rates) - np.outer(self.times[places], self.rates**2 / 2)
        return np.asarray(special.logsumexp(exponents, b=self.shares, axis=1))


class WealthBoundary(_VilleBoundary):
    """The logarithm of a wealth that reaches 1/δ; wealth has no clock."""

    def __init__(self, delta: float) -> None:
        self.delta = delta
        self.times, self.level = fixed(np.ones(1)), fixed(np.array([math.log(1 / delta)]))

    def root(self, before: IntArray, after: IntArray) -> Array:
        return np.ones(len(after))

    def strength(self, places: IntArray, walk: Array) -> Array:
        return walk


def worst_crossing(times: Array, squares: Array) -> float:
    """Bound the probability that W(t)² ≥ c² t, for these c², at some time of the grid."""
    margin = FALLING if (np.diff(times * squares) < 0).any() else 1.0
    levels = tuple(np.sqrt(squares).tolist())
    return min(1.0, margin * crossing(tuple(times.tolist()), levels))


@lru_cache(maxsize=256)
def crossing(times: tuple[float, ...], levels: tuple[float, ...]) -> float:
    """Return the largest probability that W(t) ≥ c(t) √t at some time of the grid.

    An adversary may shrink the variance of every step, to nothing even, knowing the walk so far:
    backward dynamic programming over the share of its variance that each step keeps. Integrals are
    Gauss–Legendre sums over W / √t (Armitage, McPherson and Rowe, 1969).
    """
    states, measure, value = (np.zeros(0),) * 3  # after the last look nothing can cross
    for t in range(len(times) - 1, -1, -1):
        before, root = times[t - 1] if t else 0.0, math.sqrt(times[t])
        half = (levels[t - 1] - LOWEST) / 2  # states of a walk that has not crossed before
        earlier, weights = half * (NODES + 1) + LOWEST, half * MEASURE
        if not t:
            earlier, weights = np.zeros(1), np.ones(1)
        position = earlier * math.sqrt(before)
        idle = np.interp(position / root, states, value) if len(states) else np.zeros(len(position))
        best = np.where(position >= levels[t] * root, 1.0, idle)
        distance = states[None, :] * root - position[:, None]
        for share in SHARES:
            step = math.sqrt(share * (times[t] - before))
            density = np.exp(-((distance / step) ** 2) / 2) / (step * math.sqrt(2 * math.pi)) * root
            crossed = special.ndtr((position - levels[t] * root) / step)
            best = np.maximum(best, crossed + density @ (measure * value))
        states, measure, value = earlier, weights, best
    return float(value[0])


def student_widths(counts: IntArray, squares: Array, alpha: float, kappa: float = 0.1) -> Array:
    """Return (n_pairs,) half-widths about each pair's mean that hold for all its n at once.

    Let rewards of a pair be independent N(μ, σ²), d = Ȳ − μ and S their squares about Ȳ. Then
    M_n = √(κ/(n + κ)) ((S + n d²) / (S + n d² κ/(n + κ)))^{n/2} is the likelihood ratio of what
    deviations from μ show up to their scale: effects d/σ ~ N(0, 1/κ) against none. It is a
    martingale from M₁ = 1, so by Ville's inequality M_n < 1/α for all n with probability 1 − α, and
    M_n < 1/α solved for |d| is the half-width: two-sided, with no σ. Neither the choice of pulls
    nor their end matters, as the event is of the pair's own sequence of rewards.

    Args:
        counts: (n_pairs,) pulls of each pair; too few give ∞.
        squares: (n_pairs,) squared deviations from the mean of all these pulls.
        alpha: probability that the half-widths of a pair fail at any n.
        kappa: pulls that the guess of no effect is worth.
    """
    n = np.maximum(counts, 1)
    growth = (np.log1p(n / kappa) - 2 * np.log(alpha)) / n
    bracket = 1 - np.exp(growth) * kappa / (n + kappa)
    square, finite = np.full(len(n), np.inf), bracket > 0
    np.divide(np.expm1(growth) * squares, n * bracket, out=square, where=finite)
    return np.asarray(np.sqrt(square))
