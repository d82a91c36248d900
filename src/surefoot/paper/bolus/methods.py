"""Each method's choice for one patient, and the pilot for the methods that need noise scales.

Sensor noise acts only through the correction term, so most days of a pair are nearly alike and a
rare one is much worse. A pilot without such a day says little: a pair that looked quiet is not
believed to be quieter than most.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from scipy import special

from surefoot.algorithms import Result, Settings, algorithm_from
from surefoot.arrays import Array
from surefoot.experiments.comparison import finished
from surefoot.noise import Gaussian
from surefoot.paper.bolus.problem import BolusSimulator, Dosing, branch, day_rewards

REPLICATES = 40  # pilot pulls of every pair
ERROR = 0.05  # a Gaussian pair's scale is below its standard deviation with this probability
FLOOR_SHARE = 0.9  # no scale is below this quantile of the patient's inflated scales
LEAST_SCALE = 0.05  # in units of the reward: where no pilot pull differed from another


@dataclass(frozen=True, eq=False)
class MethodPilot:
    """The findings of the pilot.

    Attributes:
        deviations: (n_pairs,) standard deviations of the pilot's rewards.
        scales: (n_pairs,) noise scales given to the algorithms.
        samples: pulls spent, which count for no algorithm.
    """

    deviations: Array
    scales: Array
    samples: int

    def covered(self, true_deviations: Array) -> float:
        """Return the share of pairs whose scale is no smaller than the given standard deviation."""
        return float((self.scales >= true_deviations).mean())


def run_pilot(
    dosing: Dosing, source: np.random.SeedSequence, replicates: int = REPLICATES
) -> MethodPilot:
    """Pull every pair a few times."""
    n_pairs = dosing.linear.n_pairs
    pairs = np.repeat(np.arange(n_pairs), replicates)
    rewards = day_rewards(dosing, pairs, source).sum(axis=0).reshape(n_pairs, replicates)
    deviations = rewards.std(axis=1, ddof=1)
    return MethodPilot(deviations, _scales_from(deviations, replicates), len(pairs))


def _scales_from(deviations: Array, replicates: int) -> Array:
    """Return upper confidence limits of the standard deviations (χ², as for Gaussian noise), not
    below the floor.
    """
    freedom = replicates - 1
    upper = deviations * np.sqrt(freedom / special.chdtri(freedom, 1 - ERROR))
    return np.asarray(np.maximum(upper, max(float(np.quantile(upper, FLOOR_SHARE)), LEAST_SCALE)))


CALCULATOR = "Calculator"
WORST_OF_ALL = "(worst pair of all)"  # no method: the most harmful error of the most harmful arm


@dataclass(frozen=True)
class Method:
    """A way to tune the calculator.

    Attributes:
        label: its row in the tables.
        algorithm: its name in surefoot.
        model: "linear" (the paper's features), "curved" (a guide's) or "tabular" (nothing assumed).
        policy: the paper's rules, or the proved ones.
        misfit: how far a certificate relies on the model; ∞: not at all. With a model, the noise
            scales of a pilot are needed too.
        shares: whether settings may share the sensor's noise (common random numbers).
    """

    label: str
    algorithm: str
    model: Literal["linear", "curved", "tabular"]
    policy: Literal["paper", "valid"]
    misfit: float = 0.0
    shares: bool = False

    @property
    def needs_scales(self) -> bool:
        return math.isfinite(self.misfit)


ROBUST_RAGE = Method("Robust RAGE", "robust-rage", "linear", "paper")
STABLEOPT = Method("StableOPT", "stableopt", "linear", "paper")
PRIME_LINEAR = Method("PRIME, linear", "prime", "linear", "valid")
PRIME_TABULAR = Method("PRIME, tabular", "prime", "tabular", "valid")
PRIME_PAIRS = Method("PRIME, pairs", "prime", "curved", "valid", math.inf)
PRIME_SHARED = Method("PRIME, pairs, shared noise", "prime", "curved", "valid", math.inf, True)
# their places number the random streams: new ones go to the end
METHODS = (STABLEOPT, ROBUST_RAGE, PRIME_LINEAR, PRIME_TABULAR, PRIME_PAIRS, PRIME_SHARED)
LABELS = (CALCULATOR, *(method.label for method in METHODS))


@dataclass(frozen=True)
class Assignment:
    """The question that every method is asked.

    Attributes:
        delta: the probability with which a certified answer may be wrong.
        tolerance: how far from the best worst case is near enough, in units of the reward; only
            PRIME can use it.
        budget: pulls that a method may spend.
    """

    delta: float = 0.05
    tolerance: float = 0.0
    budget: int = 10_000


def choose(
    methods: Sequence[Method],
    dosing: Dosing,
    scales: Array | None,
    question: Assignment,
    source: np.random.SeedSequence,
) -> dict[str, Result]:
    """Return one result per method, by label. StableOPT, which cannot stop by itself, gets as many
    pulls as Robust RAGE used.
    """
    results: dict[str, Result] = {}
    for method in sorted(methods, key=lambda method: method is STABLEOPT):
        asked = question
        if method is STABLEOPT and ROBUST_RAGE.label in results:
            asked = replace(question, budget=results[ROBUST_RAGE.label].samples)
        results[method.label] = run_method(method, dosing, scales, asked, source)
    return results


def run_method(
    method: Method,
    dosing: Dosing,
    scales: Array | None,
    question: Assignment,
    source: np.random.SeedSequence,
) -> Result:
    """Run one method with simulated days of its own.

    Args:
        scales: (n_pairs,) of the noise, from a pilot; for methods that need them.
    """
    problems = {
        "linear": dosing.linear,
        "curved": dosing.curved,
        "tabular": dosing.tabular,
    }
    settings = Settings(
        delta=question.delta,
        noise=Gaussian(scales) if method.needs_scales else dosing.reward.noise,
        tolerance=question.tolerance if method.algorithm == "prime" else 0.0,
        budget=question.budget,
        rules=method.policy,
        misfit=method.misfit,
        common_random_numbers=method.shares,
    )
    run = algorithm_from(method.algorithm).start(problems[method.model], settings)
    simulator = BolusSimulator(dosing, branch(source, METHODS.index(method)))
    return finished(run, simulator).result
