from __future__ import annotations

import numpy as np
import pytest

from surefoot.algorithms import Result, StopReason
from surefoot.experiments.instances import Instance, irrelevant_dimensions, random_robust
from surefoot.noise import Gaussian
from surefoot.simulate import LinearSimulator, identify


def found(instance: Instance, budget: int) -> Result:
    simulator = LinearSimulator(*instance, seed=0)
    return identify(
        instance[0], simulator, "uniform", delta=0.05, noise=Gaussian(1.0), budget=budget
    )


@pytest.mark.parametrize("budget", [7, 100, 1234])
def test_the_budget_is_spent_evenly(budget: int) -> None:
    result = found(irrelevant_dimensions(5), budget)
    assert result.reason is StopReason.BUDGET
    assert result.samples == budget
    assert np.ptp(result.counts) <= 1


def test_it_stops_when_it_is_sure() -> None:
    instance = random_robust()
    result = found(instance, 10**6)
    assert result.certified
    assert result.samples < 10**6
    assert result.arm == instance[0].best_arm(instance[1])
