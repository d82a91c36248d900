from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from surefoot.algorithms import StopReason, algorithm_from
from surefoot.algorithms.robust_static import RobustStatic
from surefoot.errors import InputError
from surefoot.experiments.instances import random_robust
from surefoot.noise import Gaussian
from surefoot.problem.problem import RobustProblem
from surefoot.simulate import LinearSimulator, identify
from surefoot.statistics import MOST_PULLS, Outcome
from tests.algorithms.families import settings_for


def test_options_that_an_algorithm_does_not_have() -> None:
    with pytest.raises(InputError, match="'uniform' does not take these options"):
        algorithm_from("uniform", speed=3)


def test_a_run_that_would_never_end_stops_before_counts_lose_their_digits() -> None:
    """Under an exact tie no rule can stop; the run must still end."""
    problem = RobustProblem.paper(np.eye(2), [np.zeros((1, 2))] * 2)
    run = RobustStatic().start(problem, settings_for("robust-static"))
    while phase := run.next_phase():
        run.update(Outcome(phase.index, phase.counts, 1.0 * phase.counts, np.zeros(2)))
    assert run.result.reason is StopReason.LOOKS_SPENT
    assert MOST_PULLS / 2 < run.samples <= MOST_PULLS
    assert not run.result.certified


def bent_run(**settings: Any) -> Any:
    """Rewards that no linear model fits, yet a clear winner."""
    problem, theta = random_robust(4, 6, 3, gap=0.5)
    simulator = LinearSimulator(problem, theta, 0.05, seed=0)
    simulator.means = simulator.means + 0.3 * np.sin(7.0 * np.arange(problem.n_pairs))
    return identify(problem, simulator, "uniform", delta=0.05, noise=Gaussian(0.05), **settings)


def test_a_rejected_model_is_not_certified_unless_the_user_says_so() -> None:
    rejected = bent_run()
    assert rejected.reason is StopReason.MODEL_REJECTED
    assert not rejected.certified
    assert rejected.model_check.rejected
    assert "model rejected" in repr(rejected)
    assert bent_run(on_misfit="ignore").certified
    assert bent_run(rules="paper").certified
