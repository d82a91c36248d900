"""Each method's choice for one patient: the paper's two by its own rules, PRIME with the linear
model and without.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from surefoot.algorithms import Result
from surefoot.arrays import Array
from surefoot.experiments.bolus.problem import BolusSimulator, Dosing, branch
from surefoot.noise import Gaussian
from surefoot.simulate import identify

CALCULATOR = "Calculator"
WORST_OF_ALL = "(worst pair of all)"  # no method: the most harmful error of the most harmful arm


@dataclass(frozen=True)
class Method:
    """A way to tune the calculator.

    Attributes:
        label: its row in the tables.
        algorithm: its name in surefoot.
        model: "linear" (the paper's features) or "tabular" (nothing assumed).
        policy: the paper's rules to the letter, or the proved ones.
    """

    label: str
    algorithm: str
    model: Literal["linear", "tabular"]
    policy: Literal["paper", "valid"]


ROBUST_RAGE = Method("Robust RAGE", "robust-rage", "linear", "paper")
STABLEOPT = Method("StableOPT", "stableopt", "linear", "paper")
PRIME_LINEAR = Method("PRIME, linear", "prime", "linear", "valid")
PRIME_TABULAR = Method("PRIME, tabular", "prime", "tabular", "valid")
METHODS = (STABLEOPT, ROBUST_RAGE, PRIME_LINEAR, PRIME_TABULAR)
LABELS = (CALCULATOR, *(method.label for method in METHODS))


@dataclass(frozen=True)
class Question:
    """What is asked of every method.

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
    dosing: Dosing, scales: Array, question: Question, source: np.random.SeedSequence
) -> dict[str, Result]:
    """One result a method, by label. StableOPT, which cannot stop by itself, gets as many pulls as
    Robust RAGE used.
    """
    rage = run_method(ROBUST_RAGE, dosing, scales, question, source)
    results = {
        STABLEOPT.label: run_method(
            STABLEOPT, dosing, scales, question, source, budget=rage.samples
        ),
        ROBUST_RAGE.label: rage,
    }
    for method in (PRIME_LINEAR, PRIME_TABULAR):
        results[method.label] = run_method(method, dosing, scales, question, source)
    return results


def run_method(
    method: Method,
    dosing: Dosing,
    scales: Array,
    question: Question,
    source: np.random.SeedSequence,
    budget: int | None = None,
) -> Result:
    """Run one method with simulated days of its own."""
    problem = dosing.linear if method.model == "linear" else dosing.tabular
    return identify(
        problem,
        BolusSimulator(dosing, branch(source, METHODS.index(method))),
        method.algorithm,
        delta=question.delta,
        noise=Gaussian(scales),
        tolerance=question.tolerance if method.algorithm == "prime" else 0.0,
        budget=question.budget if budget is None else budget,
        confidence=method.policy,
    )
