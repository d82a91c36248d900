"""One suite that every algorithm passes."""

from __future__ import annotations

import math
from typing import Any

from surefoot.algorithms import PEERS, Algorithm
from surefoot.experiments.instances import Instance
from surefoot.noise import Noise
from surefoot.simulate import Family, LinearSimulator
from surefoot.testing import AlgorithmSuite
from tests.algorithms.families import NAMES, SPENDERS, ZONES, made_for, noise_for, simulated

CHOICES: dict[str, dict[str, Any]] = {  # that an algorithm has beside its usual ones
    "two-stage-rsb": {"rule": ("multiplicative", "one-sample", "direct")},
    "m-lucb": {"threshold": ("heuristic",)},
    "m-kl-lucb": {"threshold": ("heuristic",)},
    "m-racing": {"threshold": ("heuristic",)},
}
# of such a choice: that it is kept, resumes to the bit, and ends with the answer that it may give
OF_CHOICES = (
    "test_options_rebuild_the_algorithm",
    "test_resuming_is_feeding_what_was_pulled",
    "test_two_arms_one_perturbation_each",
)


def suite_of(name: str, **others: Any) -> type[AlgorithmSuite]:
    """The suite for the algorithm of that name, with its usual options or others."""

    class Suite(AlgorithmSuite):
        certifies = name not in ZONES + SPENDERS and others.get("threshold") != "heuristic"
        spends_budget = name in SPENDERS
        misfit = math.inf if name in PEERS else 0.0

        def make(self, instance: Instance) -> Algorithm:
            return made_for(name, instance, **others)

        def noise(self, scale: float = 1.0) -> Noise:
            return noise_for(name, scale)

        def simulator(
            self, instance: Instance, noise: Any = 1.0, seed: int = 0, family: Family = "gaussian"
        ) -> LinearSimulator:
            return simulated(name, instance, noise, seed, family)

    for member in dir(AlgorithmSuite) if others else ():
        if member.startswith("test_") and member not in OF_CHOICES:
            setattr(Suite, member, None)
    Suite.__name__ = Suite.__qualname__ = " ".join(["Test", name, *others.values()])
    return Suite


SUITES = [suite_of(name) for name in NAMES] + [
    suite_of(name, **{option: choice})
    for name, options in CHOICES.items()
    for option, choices in options.items()
    for choice in choices
]
globals().update({suite.__name__: suite for suite in SUITES})
