"""How noisy the reward is: scales per pair from a pilot, made larger on purpose.

Sensor noise acts only through the correction term, so most days of a pair are nearly alike and a
rare one is much worse. A pilot that saw no such day says little: a pair that looked quiet is not
believed to be quieter than most.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import special

from surefoot.arrays import Array
from surefoot.paper.bolus.problem import Dosing, day_rewards

REPLICATES = 40  # pilot pulls of every pair
ERROR = 0.05  # a Gaussian pair's scale is below its standard deviation with this probability
FLOOR_SHARE = 0.9  # no scale is below this quantile of the patient's inflated scales
LEAST_SCALE = 0.05  # in units of the reward: where no pilot pull differed from another


@dataclass(frozen=True, eq=False)
class Pilot:
    """What the pilot said.

    Attributes:
        deviations: (n_pairs,) standard deviations of the pilot's rewards.
        scales: (n_pairs,) what the algorithms are told.
        samples: pulls spent; none of them counts for any algorithm.
    """

    deviations: Array
    scales: Array
    samples: int

    def covered(self, true_deviations: Array) -> float:
        """The share of pairs whose scale is no smaller than the given standard deviation."""
        return float((self.scales >= true_deviations).mean())


def run_pilot(
    dosing: Dosing, source: np.random.SeedSequence, replicates: int = REPLICATES
) -> Pilot:
    """Pull every pair a few times."""
    n_pairs = dosing.linear.n_pairs
    pairs = np.repeat(np.arange(n_pairs), replicates)
    rewards = day_rewards(dosing, pairs, source).sum(axis=0).reshape(n_pairs, replicates)
    deviations = rewards.std(axis=1, ddof=1)
    return Pilot(deviations, scales_from(deviations, replicates), len(pairs))


def scales_from(deviations: Array, replicates: int) -> Array:
    """Upper confidence limits of the standard deviations (χ², as for Gaussian noise), then the
    floor.
    """
    freedom = replicates - 1
    upper = deviations * np.sqrt(freedom / special.chdtri(freedom, 1 - ERROR))
    return np.asarray(np.maximum(upper, max(float(np.quantile(upper, FLOOR_SHARE)), LEAST_SCALE)))
