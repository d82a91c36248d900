"""What every test of an algorithm needs: the algorithm, settings and rewards made for it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from surefoot.algorithms import Algorithm, Result, Settings, StopReason
from surefoot.errors import InputError
from surefoot.experiments.instances import Instance
from surefoot.noise import Gaussian, Noise
from surefoot.problem.problem import RobustProblem
from surefoot.simulate import Family, LinearSimulator


class Harness:
    """The differences between algorithms; a suite overrides what does not fit its own.

    Attributes:
        certifies: whether it ends with a certificate.
        spends_budget: whether it cannot do without a budget.
        misfit: how far it is asked to trust the model.
    """

    certifies = True
    spends_budget = False
    misfit = 0.0

    def make(self, instance: Instance) -> Algorithm:
        """The algorithm for this instance."""
        raise NotImplementedError("give the suite a method make(instance)")

    def noise(self, scale: float = 1.0) -> Noise:
        """Return the noise model that it is told for rewards with noise of this scale."""
        return Gaussian(scale)

    def simulator(
        self, instance: Instance, noise: Any = 1.0, seed: int = 0, family: Family = "gaussian"
    ) -> LinearSimulator:
        """Rewards of the instance."""
        return LinearSimulator(*instance, noise, seed=seed, family=family)

    def settings(self, **changes: Any) -> Settings:
        """Usual settings, with these changes."""
        usual: dict[str, Any] = {
            "delta": 0.05,
            "noise": self.noise(),
            "budget": 3000 if self.spends_budget else None,
            "misfit": self.misfit,
        }
        return Settings(**{**usual, **changes})

    def begun(self, instance: Instance, **changes: Any) -> Algorithm:
        return self.make(instance).start(instance[0], self.settings(**changes))

    def solved(
        self, instance: Instance, scale: float = 1.0, seed: int = 0, **changes: Any
    ) -> Result:
        run = self.begun(instance, **({"noise": self.noise(scale)} | changes))
        return finished(run, self.simulator(instance, scale, seed))

    def right(self, result: Result, instance: Instance) -> bool:
        """The best arm, with a certificate from every algorithm that gives any."""
        problem, theta = instance
        assert result.certified == self.certifies
        ended = result.certified or result.reason.selects
        ended |= result.reason is StopReason.NO_CERTIFICATE
        return ended and result.arm == problem.best_arm(theta)

    def refused(self, noise: Noise) -> bool:
        """Return whether the algorithm is not made for this kind of noise; then it must say so."""
        if noise.kind in getattr(self.make(two_arms()), "noises", noise.kind):
            return False
        with pytest.raises(InputError, match="is not made for"):
            self.begun(two_arms(), noise=noise)
        return True


def finished(run: Algorithm, simulator: LinearSimulator) -> Result:
    """The result of a run to its end, every phase of which is in order."""
    while phase := run.next_phase():
        assert phase.counts.shape == (run.problem.n_pairs,)
        assert phase.counts.dtype == np.int64
        assert (phase.counts >= 0).all()
        assert phase.samples > 0
        run.update(simulator.pull(phase))
    return run.result


def two_arms() -> Instance:
    """The smallest problem there is."""
    return RobustProblem([[1.0, 0.0], [0.0, 1.0]], [np.zeros((1, 2))] * 2), np.array([1.0, 0.2])
