"""Families of instances: each function gives a problem and its true θ."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from surefoot.arrays import Array
from surefoot.errors import InputError
from surefoot.problem.problem import RobustProblem

Instance = tuple[RobustProblem, Array]

PERTURBATIONS = 5
SMALL_ANGLE = 0.01
SPHERE_RADIUS = 0.05


def irrelevant_dimensions(d: int) -> Instance:
    """Return the paper's Experiment 1: d + 1 arms, of which only e₁ and e₁ + sin(0.01) e₂ are
    close.

    The paper adds a scalar to a vector in y_j(x_{d+1}); it is taken along e₁, which leaves the
    other dimensions irrelevant.
    """
    unit = np.eye(d)
    steps = 0.01 * np.arange(1, PERTURBATIONS + 1)
    arms = np.vstack([unit, unit[0] + math.sin(SMALL_ANGLE) * unit[1]])
    perturbations = [np.outer(steps, e) for e in unit]
    perturbations.append(np.outer(steps + 1 - math.cos(SMALL_ANGLE), unit[0]))
    return RobustProblem.paper(arms, perturbations), 2 * unit[0]


def unit_sphere(n: int, d: int = 10, rng: np.random.Generator | None = None) -> Instance:
    """Return the paper's Experiment 2: n arms on a sphere; θ is the one of the two closest arms
    that is best.
    """
    generator = np.random.default_rng(0) if rng is None else rng
    arms = on_sphere(generator, n, d)
    products = arms @ arms.T - 2 * np.eye(n)
    i, j = np.unravel_index(int(np.argmax(products)), products.shape)
    perturbations = [SPHERE_RADIUS * on_sphere(generator, PERTURBATIONS, d) for _ in range(n)]
    for close in (int(i), int(j)):
        perturbations[close] = -SPHERE_RADIUS * arms[close : close + 1]
    return RobustProblem.paper(arms, perturbations), arms[int(i)].copy()


def classic(d: int, angle: float = 0.1) -> Instance:
    """Return the standard linear-bandit instance: unit vectors and one arm at a small angle to the
    best; nothing errs.
    """
    close = np.zeros(d)
    close[:2] = math.cos(angle), math.sin(angle)
    arms = np.vstack([np.eye(d), close])
    return RobustProblem.paper(arms, [np.zeros((1, d))] * (d + 1)), 2 * np.eye(d)[0]


def random_robust(
    n_arms: int = 8,
    n_perturbations: int = 10,
    d: int = 5,
    gap: float = 0.3,
    rng: np.random.Generator | None = None,
) -> Instance:
    """Return random arms in which half of the perturbations are equally bad: several bind at once.

    The best arm is a random one; the others fall short by gap, 1.5 gap, 2 gap, …
    """
    generator = np.random.default_rng(0) if rng is None else rng
    theta = on_sphere(generator, 1, d)[0]
    shortfalls = generator.permutation(
        np.concatenate([[0.0], gap * (1 + 0.5 * np.arange(n_arms - 1))])
    )
    arms = _across(generator, n_arms, theta) + np.outer(1 - shortfalls, theta)
    perturbations = [_half_binding(generator, n_perturbations, theta) for _ in range(n_arms)]
    return RobustProblem.paper(arms, perturbations), theta


def near_tie(
    n_arms: int = 5, gap: float = 0.01, d: int = 3, rng: np.random.Generator | None = None
) -> Instance:
    """Return two arms whose robust values differ by a small gap, the others by half a unit; five
    perturbations an arm.
    """
    generator = np.random.default_rng(0) if rng is None else rng
    theta = on_sphere(generator, 1, d)[0]
    shortfalls = np.concatenate([[0.0, gap], np.full(n_arms - 2, 0.5)])
    arms = _across(generator, n_arms, theta) + np.outer(1 - shortfalls, theta)
    perturbations = [_half_binding(generator, PERTURBATIONS, theta) for _ in range(n_arms)]
    return RobustProblem.paper(arms, perturbations), theta


def on_sphere(generator: np.random.Generator, n: int, d: int) -> Array:
    """Return (n, d) points uniform on the unit sphere."""
    points = generator.standard_normal((n, d))
    return np.asarray(points / np.linalg.norm(points, axis=1, keepdims=True))


def _across(generator: np.random.Generator, n: int, theta: Array) -> Array:
    """Return (n, d) random vectors orthogonal to a unit vector."""
    points = on_sphere(generator, n, len(theta))
    return np.asarray(points - np.outer(points @ theta, theta))


def _half_binding(generator: np.random.Generator, n: int, theta: Array) -> Array:
    """Return (n, d) perturbations that cost 0.2 for the first half of them, and less for the
    others.
    """
    cost = np.where(np.arange(n) < (n + 1) // 2, 0.2, generator.uniform(0, 0.2, n))
    return 0.2 * _across(generator, n, theta) + np.outer(cost, theta)


STEP = 0.4  # between the perturbations of an arm, where means are monotone


def table(means: ArrayLike) -> Instance:
    """Return the instance of an (n_arms, n_perturbations) table of mean rewards."""
    values = np.asarray(means, dtype=np.float64)
    if values.ndim != 2:
        raise InputError(f"means have shape {values.shape}: give one row per arm")
    return tabular(*values.shape), values.ravel()


def tabular(n_arms: int, n_perturbations: int) -> RobustProblem:
    """Return arms with equally many perturbations each, without any structure."""
    places = np.indices((n_arms, n_perturbations), dtype=np.float64).reshape(2, -1).T
    arms = np.repeat(np.arange(n_arms), n_perturbations)
    return RobustProblem.from_pairs(places, arms, features="tabular")


def slippage(n_arms: int = 10, n_perturbations: int = 5, gap: float = 1.0) -> Instance:
    """Return SC: the first arm is best, each other is worse by the gap in its first pair alone.

    It is the hardest case of a procedure that knows the gap.
    """
    means = np.zeros((n_arms, n_perturbations))
    means[1:, 0] = -gap
    return table(means)


def slippage_everywhere(n_arms: int = 10, n_perturbations: int = 5, gap: float = 1.0) -> Instance:
    """Return SC2: the first arm is best, each other is worse by the gap in all its pairs."""
    means = np.zeros((n_arms, n_perturbations))
    means[1:] = -gap
    return table(means)


def monotone_means(n_arms: int = 10, n_perturbations: int = 5, gap: float = 1.0) -> Instance:
    """Return MM: every arm is worse than the one before by the gap, and every further pair of an
    arm is better than the one before by 0.4 gaps.
    """
    arms, pairs = np.arange(n_arms)[:, None], np.arange(n_perturbations)[None, :]
    return table(gap * (STEP * pairs - arms))


def unequal_scales(n_arms: int = 10, n_perturbations: int = 5) -> Array:
    """Return (n_pairs,) UV: standard deviations whose squares rise from 1 to 7 over the pairs. The
    first arm is the quietest.
    """
    return np.sqrt(np.linspace(1.0, 7.0, n_arms * n_perturbations))


GAMES = (
    ((0.4, 0.5), (0.3, 0.35)),
    ((0.4, 0.5), (0.3, 0.45)),
    ((0.45, 0.5, 0.55), (0.35, 0.4, 0.6), (0.3, 0.47, 0.52)),
)


def coin_game(number: int) -> Instance:
    """Return game 1, 2 or 3, whose rewards are coins: 0 or 1 with the chances in `GAMES`. Simulate
    them with family="bernoulli".
    """
    if number not in (1, 2, 3):
        raise InputError(f"there is no game {number!r}: choose 1, 2 or 3")
    return table(GAMES[number - 1])
