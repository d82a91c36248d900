"""Algorithms and settings: what is refused, and how a run ends."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from surefoot.algorithms import Settings, StopReason, algorithm_from
from surefoot.algorithms.robust_static import RobustStatic
from surefoot.algorithms.settings import SMALLEST_DELTA
from surefoot.errors import InputError
from surefoot.experiments.instances import random_robust
from surefoot.noise import Gaussian, Noise, SubGaussian
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


# Outcomes that do not answer the phase are refused.


def test_outcomes_that_do_not_fit_the_phase_are_refused() -> None:
    problem, _ = instance = random_robust(4, 3, 3)
    run = RobustStatic().start(problem, settings_for("robust-static"))
    phase = run.next_phase()
    assert phase is not None
    good = LinearSimulator(*instance, seed=0).pull(phase)
    sums = good.sums + (phase.counts == 0)
    with pytest.raises(InputError, match="rewards of pairs that were not pulled"):
        run.update(Outcome(0, good.counts, sums, good.scatter))
    with pytest.raises(InputError, match="rewards of pairs that were not pulled"):
        run.update(Outcome(0, good.counts, good.sums, good.scatter + (phase.counts == 0)))
    with pytest.raises(InputError, match="cannot be negative"):
        run.update(Outcome(0, good.counts, good.sums, good.scatter - 1e9))
    with pytest.raises(
        InputError,
        match=r"sums of shape \(11,\).*the problem has 12 pairs: give one entry for each",
    ):
        run.update(Outcome(0, good.counts, good.sums[1:], good.scatter))
    run.update(good)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"delta": 0.0}, "delta=0.0 is not a probability"),
        ({"delta": 1.0}, "is not a probability"),
        ({"delta": "5%"}, "is text: write the number without quotes"),
        ({"delta": True}, "is not a probability"),
        ({"delta": 1e-320}, "delta=1e-320 is too small .*: give 1e-12 or more"),
        ({"noise": Gaussian(1e308)}, r"scales from 1e\+308 to 1e\+308: measure rewards in a unit"),
        ({"noise": Gaussian([1.0, 1e-200])}, "scales from 1e-200 to 1"),
        ({"tolerance": 10**400}, "must be a number ≥ 0"),
        ({"budget": 10**30}, "budget=1000000000000000000000000000000 must be a whole number"),
        ({"budget": 10**5000}, "budget=a number of over 40 digits must be a whole number"),
        ({"budget": True}, "budget=True must be a whole number"),
        (
            {"noise": 1.0},
            "noise=1.0 does not say what is known about the noise: give surefoot.Gaussian",
        ),
        ({"tolerance": -0.1}, "tolerance=-0.1 must be a number ≥ 0"),
        ({"tolerance": np.nan}, "tolerance=nan must be a number ≥ 0"),
        ({"budget": -1}, "budget=-1 must be a whole number"),
        ({"budget": 1.5}, "budget=1.5 must be a whole number"),
        ({"budget": np.inf}, "budget=inf must be a whole number"),
        ({"budget": "many"}, "budget='many' must be a whole number"),
        ({"on_misfit": "shrug"}, "on_misfit='shrug' is not known"),
        ({"misfit": -0.1}, "misfit=-0.1 must be a number ≥ 0.*or math.inf for no model"),
        ({"misfit": -np.inf}, "misfit=-inf must be a number ≥ 0"),
        ({"misfit": np.nan}, "misfit=nan must be a number ≥ 0"),
        ({"misfit": "inf"}, "misfit='inf' must be a number ≥ 0"),
        ({"misfit": np.full(2, np.inf)}, "must be a number ≥ 0"),
        ({"misfit": 0, "guide": "trend"}, "misfit=0 trusts a model, which is its own guide"),
    ],
)
def test_settings_that_cannot_be_used(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Settings(**({"delta": 0.05, "noise": Gaussian(1.0)} | changes))


def test_numbers_of_numpy_become_plain_ones() -> None:
    """Study files are JSON: a numpy integer once ended in a traceback there."""
    settings = Settings(
        delta=np.float32(0.25),
        noise=Gaussian(1.0),
        misfit=np.float32(np.inf),
        tolerance=np.int64(1),
        budget=np.int64(70),
    )
    kept = (settings.delta, settings.misfit, settings.tolerance, settings.budget)
    assert kept == (0.25, np.inf, 1.0, 70)
    assert [type(value) for value in kept] == [float, float, float, int]


@pytest.mark.parametrize(("misfit", "modelled"), [(0, True), (0.1, True), (np.inf, False)])
def test_only_an_infinite_misfit_does_without_a_model(misfit: float, modelled: bool) -> None:
    assert Settings(delta=0.05, noise=Gaussian(), misfit=misfit).modelled == modelled
    assert not Settings(delta=0.05, noise=Gaussian()).modelled


@pytest.mark.parametrize("noise", [Gaussian(1.0), Gaussian(), SubGaussian(1.0)])
def test_the_smallest_delta_can_be_solved_for(noise: Noise) -> None:
    problem = RobustProblem.paper([[1.0, 0.0], [0.0, 1.0]], [[[0.0, 0.0]], [[0.0, 0.0]]])
    simulator = LinearSimulator(problem, [8.0, 0.0], 1.0, np.random.SeedSequence(1))
    result = identify(problem, simulator, "prime", delta=SMALLEST_DELTA, noise=noise, misfit=0)
    assert result.certified
    assert result.arm == 0
