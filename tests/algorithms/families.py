"""The four families on which every valid algorithm must keep its error rate, and algorithms made
for an instance.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from surefoot.algorithms import ALGORITHMS, Algorithm, Settings, algorithm_from
from surefoot.experiments.instances import (
    Instance,
    irrelevant_dimensions,
    near_tie,
    random_robust,
    unit_sphere,
)
from surefoot.noise import Gaussian

FAMILIES = {
    "irrelevant dimensions": lambda: irrelevant_dimensions(4),
    "unit sphere": lambda: unit_sphere(10, 6, np.random.default_rng(3)),
    "several bind": lambda: random_robust(6, 10, 4, rng=np.random.default_rng(4)),
    "near tie": lambda: near_tie(5, gap=0.03, rng=np.random.default_rng(5)),
}

NAMES = list(ALGORITHMS)


def made_for(name: str, instance: Instance) -> Algorithm:
    """The algorithm of that name; the oracle is told θ."""
    options: dict[str, Any] = {"theta": instance[1]} if name == "oracle" else {}
    return algorithm_from(name, **options)


def settings_for(name: str, **changes: Any) -> Settings:
    """Usual settings; StableOPT cannot do without a budget."""
    usual: dict[str, Any] = {
        "delta": 0.05,
        "noise": Gaussian(1.0),
        "budget": 3000 if name == "stableopt" else None,
    }
    return Settings(**{**usual, **changes})
