"""PRIME with limits: it finds the best arm that qualifies, and errs seldom enough."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy import stats

import surefoot as sf
from surefoot.algorithms.settings import Settings
from surefoot.certify import LimitedCertifier
from surefoot.certify.walk import Walks
from surefoot.plan import by_claims
from surefoot.plan.by_claims import _best_shares

DELTA, RUNS, FALSE_ALARM = 0.2, 12, 1e-4
OBJECTIVE = np.array([[4.0, 4.5], [3.0, 3.0], [3.0, 3.5], [1.0, 1.5]])
COST = np.array([[1.0, 2.6], [1.0, 2.0], [0.5, 2.0], [1.0, 1.0]])  # at most 2: the first is unfit
FAILS = np.array([[0.1, 0.6], [0.05, 0.1], [0.3, 0.1], [0.05, 0.05]])  # at most 0.2 or so


def problem() -> sf.RobustProblem:
    names = [["as planned", "flu"]] * 4
    arms, parts = np.arange(4.0)[:, None], [np.array([[0.0], [0.1]])] * 4
    return sf.RobustProblem.paper(arms, parts, features="tabular", perturbation_names=names)


def simulator(
    seed: int, objective: Any = OBJECTIVE, cost: Any = COST, family: Any = "gaussian"
) -> sf.SeveralOutputs:
    """Return a simulator with an output "cost", or of 0 and 1 "cost" too."""
    one, two = np.random.SeedSequence(seed).spawn(2)
    other = sf.TableSimulator(np.ravel(cost), 1.0, two, family=family)
    return sf.SeveralOutputs(sf.TableSimulator(np.ravel(objective), 1.0, one), {"cost": other})


def found(seed: int, limit: dict[str, Any], **asked: Any) -> sf.Result:
    simulated = {key: asked.pop(key) for key in ("objective", "cost", "family") if key in asked}
    given = {"delta": DELTA, "noise": sf.Gaussian(1.0), "budget": 60_000} | asked
    run = simulator(seed, **simulated)
    return sf.identify(problem(), run, limits={"cost": limit}, misfit=math.inf, **given)


NOISES = {
    "known": (sf.Gaussian(1.0), {"noise": sf.Gaussian(1.0)}),
    "unknown": (sf.Gaussian(), {}),
    "sub-gaussian": (sf.SubGaussian(1.0), {"noise": sf.SubGaussian(1.0)}),
    "equal": (sf.Gaussian(equal=True), {"noise": sf.Gaussian(equal=True)}),
}


@pytest.mark.parametrize("name", NOISES)
def test_the_best_arm_that_qualifies_is_found_under_every_noise(name: str) -> None:
    noise, limit = NOISES[name]
    cost = np.array([[1.0, 3.2], [1.0, 1.0], [0.5, 1.0], [1.0, 1.0]])
    objective = np.array([[4.0, 4.5], [3.0, 3.0], [2.0, 3.5], [1.0, 1.5]])
    asked = {"noise": noise, "cost": cost, "objective": objective, "delta": 1e-4}
    result = found(1, {"at_most": 2.0, **limit}, **asked)
    assert (result.certified, result.arm) == (True, 1)
    assert result.qualifying is not None
    assert result.qualifying.shown[1]
    assert result.qualifying.unfit[0]
    assert "of the arms that keep cost at most 2" in result.sentence
    assert result.against_limits[0].values[1] == pytest.approx(1.0, abs=0.5)


@pytest.mark.parametrize("shared", [False, True])
def test_failures_of_0_and_1_are_bet_on(shared: bool) -> None:
    limit = {"at_most": 0.4, "noise": sf.Bounded(0, 1)}
    objective = OBJECTIVE - np.arange(4.0)[:, None] / 2
    cost = np.where(FAILS > 0.5, 0.9, 0.1)
    asked: dict[str, Any] = {"noise": sf.Gaussian(), "cost": cost, "family": "bernoulli"}
    asked |= {"common_random_numbers": shared, "objective": objective, "delta": 1e-4}
    result = found(2, limit, **asked)
    assert (result.certified, result.arm) == (True, 1)


@pytest.mark.parametrize(
    ("measure", "best"), [("worst", 1), ("mean", 0), ({"as planned": 0.1, "flu": 0.9}, 1)]
)
def test_limits_are_held_in_their_own_measure(measure: Any, best: int) -> None:
    cost = np.array([[-1.0, 3.2], [1.0, 1.0], [0.5, 1.0], [1.0, 1.0]])
    objective = np.array([[4.0, 4.5], [3.0, 3.0], [2.0, 3.5], [1.0, 1.5]])
    limit = {"at_most": 2.0, "measure": measure, "noise": sf.Gaussian(1.0)}
    result = found(3, limit, cost=cost, objective=objective, delta=1e-4)
    assert (result.certified, result.arm) == (True, best)


def test_a_limit_from_below_is_one_of_the_negated_output() -> None:
    above = found(4, {"at_most": 2.0, "noise": sf.Gaussian(1.0)}, cost=COST - 1.0)
    below = found(4, {"at_least": -2.0, "noise": sf.Gaussian(1.0)}, cost=COST - 1.0)
    assert above.arm == 0
    assert below.certified


def test_nobody_qualifies_is_a_certified_answer() -> None:
    result = found(5, {"at_most": -3.0, "noise": sf.Gaussian(1.0)}, delta=1e-4)
    assert result.certified
    assert result.reason is sf.StopReason.NONE_QUALIFIES
    assert len(result.candidates) == 0
    assert result.sentence.startswith("No arm keeps cost at most -3, with 99.99 % confidence")


def test_a_single_arm_is_held_against_its_limit_too() -> None:
    one = sf.RobustProblem.paper([[0.0]], [[[0.0], [0.1]]], features="tabular")
    run = simulator(6, objective=[1.0, 1.0], cost=[1.0, 1.0])
    asked: dict[str, Any] = {"delta": 1e-4, "noise": sf.Gaussian(1.0), "misfit": math.inf}
    result = sf.identify(one, run, limits={"cost": {"at_most": 2.0}}, **asked)
    assert result.certified
    assert result.samples > 0


@pytest.mark.statistical
def test_answers_are_wrong_with_probability_delta_at_most_on_a_limit_and_at_a_tie() -> None:
    """Arms 1 and 2 lie on the limit, to within the slack, and are tied within the tolerance."""
    wrong = unfinished = 0
    slack, tolerance = 0.5, 0.5
    limit = {"at_most": 2.0, "noise": sf.Gaussian(1.0), "slack": slack}
    for seed in range(RUNS):
        result = found(100 + seed, limit, tolerance=tolerance)
        unfinished += not result.certified
        wrong += result.certified and result.arm not in (1, 2)
    assert unfinished == 0
    assert wrong <= stats.binom.isf(FALSE_ALARM, RUNS, DELTA)


PLAIN: dict[str, dict[str, Any]] = {
    "pairs": {"noise": sf.Gaussian()},
    "pairs, tolerance": {"noise": sf.Gaussian(1.0), "tolerance": 0.2},
    "shared streams": {"noise": sf.Gaussian(), "common_random_numbers": True},
    "a model": {"noise": sf.Gaussian(), "misfit": 0.0},
    "bets": {"noise": sf.Bounded(0.0, 1.0)},
}


@pytest.mark.parametrize("name", PLAIN)
def test_the_worst_case_without_limits_is_planned_without_their_room(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It costs no pull that other questions can be asked: they are planned elsewhere."""
    asked: dict[str, Any] = {"misfit": math.inf, "delta": DELTA, "budget": 4000} | PLAIN[name]
    table, family = (FAILS, "bernoulli") if name == "bets" else (OBJECTIVE, "gaussian")

    def run() -> tuple[int, list[int], list[float]]:
        source = sf.TableSimulator(np.ravel(table), 1.0, seed=2, family=family)
        result = sf.identify(problem(), source, measure="worst", **asked)
        return result.arm, result.counts.tolist(), result.values.tolist()

    def never(*_: object, **__: object) -> None:
        raise AssertionError("a plain problem was planned as another question")

    before = run()
    for name_of in vars(by_claims):
        if callable(getattr(by_claims, name_of)) and not name_of.startswith("__"):
            monkeypatch.setattr(by_claims, name_of, never)
    monkeypatch.setattr(LimitedCertifier, "__init__", never)
    monkeypatch.setattr(Walks, "count", never)
    assert run() == before


def test_outputs_without_a_limit_cost_no_pulls() -> None:
    asked: dict[str, Any] = {"noise": sf.Gaussian(), "misfit": math.inf, "delta": DELTA}
    beside = sf.identify(problem(), simulator(3), **asked)
    one, _ = np.random.SeedSequence(3).spawn(2)
    alone = sf.identify(problem(), sf.TableSimulator(np.ravel(OBJECTIVE), 1.0, one), **asked)
    assert beside.counts.tolist() == alone.counts.tolist()


def test_shares_make_the_claim_that_lacks_most_as_small_as_can_be() -> None:
    weights = np.array([[1.0, 4.0, 0.0], [0.0, 1.0, 9.0]])
    lacking = (weights / _best_shares(weights)).sum(axis=1)
    assert lacking[0] == pytest.approx(lacking[1], rel=0.02)
    rng = np.random.default_rng(np.random.SeedSequence(1))
    for _ in range(200):
        other = rng.dirichlet(np.ones(3))
        assert (weights / other).sum(axis=1).max() >= 0.98 * lacking.max()


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"misfit": 0.0}, "misfit=0 does not go with limits"),
        ({"rarest": 0.1}, "rarest does not go with limits"),
        ({"limits": {"cost": {}}}, "has no number: give at_most or at_least"),
        ({"limits": {"cost": {"at_most": 1.0, "at_least": 0.0}}}, "one of the two"),
        ({"limits": {"cost": {"atmost": 1.0}}}, "give some of at_most"),
        ({"limits": {"cost": {"at_most": 1.0, "slack": -1.0}}}, "must be 0 or more"),
        ({"limits": 3}, "must be limits by the names"),
        (
            {
                "noise": sf.Gaussian(),
                "common_random_numbers": True,
                "limits": {"cost": {"at_most": 1.0, "noise": sf.Gaussian(2.0)}},
            },
            r"the limit of 'cost' has Gaussian\(scale=2.0\): give it Gaussian\(\) or Bounded",
        ),
        ({"limits": {"cost": {"at_most": 2, "noise": sf.Bounded(0, 1)}}}, "decides nothing"),
    ],
)
def test_limits_that_cannot_be_held_are_refused(asked: dict[str, Any], said: str) -> None:
    given: dict[str, Any] = {"limits": {"cost": {"at_most": 1.0}}, "noise": sf.Gaussian(1.0)}
    with pytest.raises(sf.InputError, match=said):
        Settings(delta=0.1, **(given | asked))


def test_algorithms_without_limits_and_outcomes_without_the_output_are_refused() -> None:
    asked: dict[str, Any] = {"delta": 0.1, "noise": sf.Gaussian(1.0), "misfit": math.inf}
    asked |= {"limits": {"cost": {"at_most": 1.0}}}
    run = simulator(1)
    with pytest.raises(sf.InputError, match="looks at no other outputs"):
        sf.identify(problem(), run, "kn-rsb", **asked)
    with pytest.raises(sf.InputError, match="has no 'cost', which has a limit"):
        sf.identify(problem(), run.objective, **asked)
