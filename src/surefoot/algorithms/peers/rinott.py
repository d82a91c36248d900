"""Rinott's constant: how many standard errors apart two-stage means must be for a given P(CS)."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from scipy import optimize, special, stats

from surefoot.arrays import Array
from surefoot.errors import InputError

NODES = 160
TAIL = 1e-15  # of χ², left out on either side


@lru_cache(maxsize=256)
def rinott_constant(n_systems: int, first_pulls: int, probability: float) -> float:
    """Return h such that the best of k systems with normal rewards is selected with this
    probability (Rinott, 1978).

    It solves ∫ [∫ Φ(h / √(ν (1/x + 1/y))) f(x) dx]^(k−1) f(y) dy = probability, where f is the
    density of χ² with ν = n₀ − 1 degrees of freedom; here by Gauss-Legendre quadrature in
    log x.
    """
    if n_systems < 2 or first_pulls < 2 or not 1 / n_systems < probability < 1:
        raise InputError(
            f"rinott_constant({n_systems}, {first_pulls}, {probability:g}) does not exist: it "
            "needs two systems and two first pulls at least, and a probability above 1 / systems "
            "and below 1"
        )
    freedom = first_pulls - 1
    nodes, density = _chi_square(freedom)
    width = np.sqrt(freedom * (1 / nodes[:, None] + 1 / nodes[None, :]))

    def missed(h: float) -> float:
        """Return the excess of the error rate over the allowed one: by tails, which keep their
        digits.
        """
        wrong = special.ndtr(-h / width) @ density
        all_right = np.expm1((n_systems - 1) * np.log1p(-wrong)) @ density
        return float(-all_right - (1 - probability))

    largest = 1.0
    while missed(largest) > 0:
        largest *= 2
    return float(optimize.brentq(missed, 0.0, largest, xtol=1e-10))


def _chi_square(freedom: int) -> tuple[Array, Array]:
    """Nodes and weights that integrate against the law of χ²."""
    ends = np.log(stats.chi2(freedom).ppf([TAIL, 1 - TAIL]))
    places, weights = np.polynomial.legendre.leggauss(NODES)
    nodes = np.exp(ends.mean() + np.diff(ends) / 2 * places)
    density = weights * nodes * stats.chi2(freedom).pdf(nodes)
    return nodes, density / density.sum()
