"""AK-RSB: feasibility checks and comparisons at the same time."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy import stats

import surefoot as sf
from surefoot.algorithms import Settings
from surefoot.algorithms.peers import AkRsb, KnRsb

ZONE, RUNS, DELTA = 0.8, 60, 0.2
OBJECTIVE = np.array([[2 * ZONE, 3.0], [ZONE, 2.0], [0.0, 1.0]])
COST = np.array([[-3.0, ZONE], [-ZONE, -3.0], [-ZONE, -ZONE]])  # at most 0: the first misses it


def problem() -> sf.RobustProblem:
    arms, parts = np.arange(3.0)[:, None], [np.array([[0.0], [0.1]])] * 3
    return sf.RobustProblem.paper(arms, parts, features="tabular")


def selected(seed: int, cost: Any = COST, **asked: Any) -> sf.Result:
    one, two = np.random.SeedSequence(seed).spawn(2)
    outputs = {"cost": sf.TableSimulator(np.ravel(cost), 1.0, two)}
    simulator = sf.SeveralOutputs(sf.TableSimulator(OBJECTIVE.ravel(), 1.0, one), outputs)
    given: dict[str, Any] = {"delta": DELTA, "noise": sf.Gaussian(), "misfit": math.inf}
    given |= {"limits": {"cost": {"at_most": 0.0}}} | asked
    return sf.identify(problem(), simulator, AkRsb(zone=ZONE, limit_zone=ZONE, step=2), **given)


@pytest.mark.statistical
def test_the_best_feasible_arm_is_selected_as_often_as_promised() -> None:
    """All means are exactly a zone apart and away from the limit: its hardest promise."""
    results = [selected(seed) for seed in range(RUNS)]
    assert {result.reason for result in results} == {sf.StopReason.INDIFFERENCE_ZONE}
    wrong = sum(result.arm != 1 for result in results)
    assert wrong <= stats.binom.isf(1e-4, RUNS, DELTA)
    assert not any(result.certified for result in results)


def test_no_arm_is_selected_where_all_miss_a_limit() -> None:
    result = selected(1, np.full(6, 4.0), delta=0.01)
    assert result.reason is sf.StopReason.NONE_FEASIBLE
    assert not result.certified


def test_limits_are_held_in_their_own_measure() -> None:
    limits = {"cost": {"at_most": 0.0, "measure": "mean"}}
    assert selected(2, limits=limits, delta=0.01).arm == 0


def test_without_limits_it_is_the_procedure_that_it_extends() -> None:
    asked: dict[str, Any] = {"delta": 0.05, "noise": sf.Gaussian(), "misfit": math.inf}
    samples = []
    for chosen in (AkRsb(zone=ZONE), KnRsb(zone=ZONE)):
        simulator = sf.TableSimulator(OBJECTIVE.ravel(), 1.0, np.random.SeedSequence(3))
        samples.append(sf.identify(problem(), simulator, chosen, **asked).samples)
    assert samples[0] == samples[1]


def test_what_it_was_not_made_for_is_refused() -> None:
    limits = {"cost": {"at_most": 0.5, "noise": sf.Bounded(0, 1)}}
    with pytest.raises(sf.InputError, match="not made for bounded noise of 'cost'"):
        selected(1, limits=limits)
    settings = Settings(
        delta=0.1, noise=sf.Gaussian(), misfit=math.inf, limits={"cost": {"at_most": 0.0}}
    )
    with pytest.raises(sf.InputError, match="limit_zone to be a positive number"):
        AkRsb(zone=ZONE).start(problem(), settings)
