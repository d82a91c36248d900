"""A simulator made of a study's own estimates: what the study would do if they were the truth."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from surefoot.algorithms import Result
from surefoot.arrays import Array
from surefoot.errors import InputError
from surefoot.study.file.description import Description
from surefoot.study.pull import Pull

OF_ESTIMATE = 3  # the second number of a key: neither a pull's own stream nor a block's
NEARLY_ALL = 1 - 1e-9  # of the variance that rewards in a range can have


@dataclass(frozen=True, eq=False)
class EstimatedSimulator:
    """Rewards with the means and standard deviations that a study found.

    They are normal; where rewards have a range they are beta distributed on it, with the same
    means and deviations, or those of 0/1 rewards where the deviations are as large as can be.
    Pulls are independent: what common random numbers saved in the study is not in here.

    Attributes:
        means: (n_pairs,) as measured: costs if the study minimises.
        scales: (n_pairs,) standard deviations of single pulls.
        limits: the range of the rewards, if they have one.
    """

    means: Array
    scales: Array
    limits: tuple[float, float] | None = None

    @classmethod
    def of(cls, description: Description, result: Result) -> EstimatedSimulator:
        """The estimates of a study as they stand; pairs without replicates have typical noise."""
        scales = result.noise_scales
        if not result.samples or scales is None or not np.isfinite(scales).any():
            raise InputError(
                "the study has no estimate yet of its means and its noise: run it first, at least "
                "for its first phases"
            )
        known = scales[np.isfinite(scales)]
        limits = description.settings.noise.limits
        means = description.sign * result.pair_means
        return cls(
            np.clip(means, *limits) if limits else means,
            np.where(np.isfinite(scales), scales, np.median(known)),
            limits,
        )

    def __call__(self, pull: Pull) -> float:
        source = np.random.SeedSequence(pull.study_seed, spawn_key=(pull.id, OF_ESTIMATE))
        generator = np.random.default_rng(source)
        mean, scale = float(self.means[pull.pair]), float(self.scales[pull.pair])
        if self.limits is None:
            return mean + scale * generator.standard_normal()
        return _within(self.limits, mean, scale, generator)


def _within(
    limits: tuple[float, float], mean: float, scale: float, generator: np.random.Generator
) -> float:
    low, high = limits
    share = (mean - low) / (high - low)
    most = share * (1 - share)  # the variance of 0/1 rewards
    variance = (scale / (high - low)) ** 2
    if variance <= 0 or most <= 0:
        return mean
    if variance >= NEARLY_ALL * most:
        return high if generator.random() < share else low
    size = most / variance - 1
    return low + (high - low) * float(generator.beta(share * size, (1 - share) * size))
