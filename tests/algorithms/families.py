"""The four families on which every valid algorithm must keep its error rate, and algorithms made
for an instance.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from surefoot.algorithms import ALGORITHMS, PEERS, Algorithm, Settings, algorithm_from
from surefoot.arrays import Array
from surefoot.experiments.instances import (
    Instance,
    irrelevant_dimensions,
    near_tie,
    random_robust,
    unit_sphere,
)
from surefoot.noise import Bounded, Gaussian, Noise
from surefoot.problem.problem import RobustProblem
from surefoot.simulate import Family, LinearSimulator

FAMILIES = {
    "irrelevant dimensions": lambda: irrelevant_dimensions(4),
    "unit sphere": lambda: unit_sphere(10, 6, np.random.default_rng(3)),
    "several bind": lambda: random_robust(6, 10, 4, rng=np.random.default_rng(4)),
    "near tie": lambda: near_tie(5, gap=0.03, rng=np.random.default_rng(5)),
}

NAMES = list(ALGORITHMS)


COINS = ("m-lucb", "m-kl-lucb", "m-racing")  # for rewards in an interval only
ZONES = ("two-stage-rsb", "kn-rsb", "ak-rsb")  # with an indifference zone
TRACKING = (
    "robust-track-and-stop",
    "robust-lazy-track-and-stop",
    "robust-lingame",
    "robust-frank-wolfe-sampling",
)
SPENDERS = ("stableopt", "r-ocba", "ar-ocba", "equal")  # of a budget
CERTIFYING = [name for name in NAMES if name not in ZONES + SPENDERS]


def made_for(name: str, instance: Instance, **others: Any) -> Algorithm:
    """The algorithm of that name; the oracle is told θ, and a zone is a little below the gap."""
    options: dict[str, Any] = {"theta": instance[1]} if name == "oracle" else {}
    if name in ZONES:
        gap = float(instance[0].robust_gaps(instance[1]).min())
        options = {"zone": 0.99 * gap if np.isfinite(gap) else 1.0}
    if name in ("kn-rsb", "ak-rsb"):
        options |= {"step": 20}
    if name in COINS:
        options = {"growth": 4.0}
    if name in TRACKING:
        options = {"growth": 3.0}  # a design for each look is what they spend their time on
    return algorithm_from(name, **options, **others)


def noise_for(name: str, scale: float = 1.0) -> Noise:
    """Gaussian noise of that scale, or the coins' interval."""
    return Bounded(0.0, 1.0) if name in COINS else Gaussian(scale)


def settings_for(name: str, **changes: Any) -> Settings:
    """Usual settings; some algorithms cannot do without a budget, peers do not know the model."""
    usual: dict[str, Any] = {
        "delta": 0.05,
        "noise": noise_for(name),
        "budget": 3000 if name in SPENDERS else None,
        "misfit": math.inf if name in PEERS else 0.0,
    }
    return Settings(**{**usual, **changes})


def simulated(
    name: str, instance: Instance, noise: Any = 1.0, seed: int = 0, family: Family = "gaussian"
) -> LinearSimulator:
    """Rewards of the instance; for algorithms of coins, coins whose means are in the same order."""
    if name not in COINS:
        return LinearSimulator(*instance, noise, seed=seed, family=family)
    coins = LinearSimulator(instance[0], 0 * instance[1], seed=seed, family="bernoulli")
    coins.means = _squeezed(instance)
    return coins


def finish(run: Algorithm, simulator: LinearSimulator) -> None:
    """Pull whatever a run asks for until it ends."""
    while phase := run.next_phase():
        run.update(simulator.pull(phase))


def game(instance: Instance) -> Instance:
    """Coins without any model, whose means are in the same order as the instance's."""
    problem = instance[0]
    coins = RobustProblem.from_pairs(problem.parameters, problem.arm_of_pair, features="tabular")
    return coins, _squeezed(instance)


def _squeezed(instance: Instance) -> Array:
    """(n_pairs,) the means, from 0.1 to 0.9."""
    means = instance[0].pair_means(instance[1])
    span = means.max() - means.min()
    return np.asarray(0.1 + 0.8 * (means - means.min()) / (span if span > 0 else 1.0))
