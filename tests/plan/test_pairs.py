"""The course without a model: first pulls, a pilot, then comparisons that count."""

from __future__ import annotations

import math

import numpy as np
import pytest

import surefoot as sf
from surefoot.plan import worst_case
from tests.plan import phases
from tests.plan.phases import asked, learnt, pairs_of

PROBLEM = sf.RobustProblem.paper([[0.0], [1.0], [2.0]], [[[-0.1], [0.1]]] * 3, features="tabular")
MEANS = np.array([5.0, 5.2, 1.0, 1.1, 0.0, 0.3])  # the first arm is clearly best
TUNING = sf.Tuning()


def begun(**options: object) -> sf.Prime:
    given = {"noise": sf.Gaussian(), "misfit": math.inf, "guide": "tabular"}
    return phases.begun(PROBLEM, **(given | options))


def after(run: sf.Prime, means: np.ndarray, seed: int = 0) -> None:
    pairs = pairs_of(asked(run))
    learnt(run, means[pairs] + np.random.default_rng(seed).normal(0, 0.5, len(pairs)))


def test_first_every_pair_that_the_guide_needs_is_pulled_and_nothing_counts() -> None:
    run = begun()
    assert asked(run).counts.tolist() == [TUNING.pilot_pulls] * 6
    after(run, MEANS)
    assert run.evidence is None
    assert run.leader == 0


def test_a_clear_leader_is_compared_with_one_pair_of_every_rival() -> None:
    run = begun()
    after(run, MEANS)
    phase = asked(run)
    (claims,) = run.certifier.open[0].claims
    assert claims.challenger == 0
    assert claims.points.tolist() == [0, 1]
    rivals = claims.shares.columns
    assert [PROBLEM.arm_of_pair[pair] for pair in rivals] == [1, 2]
    compared = [*claims.points, *rivals]
    assert np.flatnonzero(phase.counts).tolist() == sorted(compared)
    assert phase.counts[compared].min() >= phase.batches >= TUNING.score_least
    after(run, MEANS, seed=1)
    assert run.evidence is not None
    assert (run.evidence[1:] > 0).all()
    assert run.evidence[0] == 0


def test_an_unclear_pilot_goes_on_up_to_its_limit() -> None:
    run, pilots = begun(noise=sf.Gaussian(100.0)), 0
    first = int(asked(run).counts.sum())
    while pilots < 50:
        asked(run)
        if run.certifier.open[0].claims:
            break
        after(run, np.zeros(6), seed=pilots)
        pilots += 1
    assert pilots > 2
    assert first < run.samples <= (1.2 * TUNING.pilot_most) * first


def test_a_budget_below_the_first_pulls_is_spread_over_their_pairs() -> None:
    few = asked(begun(budget=4))
    assert few.counts.sum() == 4
    assert few.counts.max() == 1


def test_a_comparison_that_the_budget_does_not_allow_is_not_asked_for() -> None:
    least = 4 * TUNING.score_least  # two pairs of the leader, one of each rival
    for left in (least - 1, least):
        run = begun(budget=6 * TUNING.pilot_pulls + left)
        after(run, MEANS)
        phase = asked(run)
        assert bool(run.certifier.open[0].claims) == (left == least)
        assert phase.counts.sum() <= left


def test_a_leader_within_a_share_of_the_tolerance_stays() -> None:
    """What was gathered in its favour would be lost, and it is good enough."""
    swapped = MEANS + np.array([0.0, 0.0, 4.15, 4.15, 0.0, 0.0])  # the second is better by 0.15
    leaders = []
    for tolerance in (0.0, 10.0):
        run = begun(tolerance=tolerance, noise=sf.Gaussian(0.5))
        after(run, MEANS)
        phase = asked(run)
        claims, variances = run.certifier.open[0].claims, run.certifier.open[0].variances
        more = sf.Phase(phase.index, np.full(6, 4000), phase.batches)
        again = begun(tolerance=tolerance, noise=sf.Gaussian(0.5))
        after(again, MEANS)
        again.recall(more, claims, variances)
        after(again, swapped)
        leaders.append(again.leader)
    assert leaders == [1, 0]


def test_a_budget_is_spent_to_the_last_pull() -> None:
    """What is too little for a phase of 48 arms goes where it improves the guess."""
    problem = sf.RobustProblem.from_pairs(np.eye(96), np.repeat(np.arange(48), 2))
    means = np.linspace(0, 4, 96)
    for budget in (260, 300):
        simulator = sf.TableSimulator(means, 1.0, seed=1)
        given = {"delta": 0.05, "noise": sf.Gaussian(), "misfit": math.inf, "budget": budget}
        result = sf.identify(problem, simulator, **given)
        assert result.samples == budget
        assert result.reason is sf.StopReason.BUDGET
        later = result.counts - result.counts.min()
        assert np.average(means, weights=later) > 2.5


def pulls_of_a_lucky_pair() -> int:
    """Return how often a rival's worst pair is pulled in 4 000 pulls, if it was lucky at first.

    The rival's other pair is hardly worse than the leader's: with that one alone a run is long.
    """
    problem = sf.RobustProblem.paper([[0.0], [1.0]], [[[-0.1], [0.1]]] * 2, features="tabular")
    generator, means = np.random.default_rng(3), np.array([0.0, 0.5, -0.1, -1.0])
    run = phases.begun(problem, noise=sf.Gaussian(), misfit=math.inf, guide="tabular")
    first = np.array([0.0, 0.5, -0.6, 0.8])[pairs_of(asked(run))]
    learnt(run, first + np.tile([-0.5, 0.0, 0.5], 4))
    while run.next_phase() and run.result.samples < 4000:
        pairs = pairs_of(asked(run))
        learnt(run, means[pairs] + generator.normal(0, 0.5, len(pairs)))
    return int(run.result.counts[3])


def test_a_rivals_pair_that_was_lucky_at_first_is_tried_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert pulls_of_a_lucky_pair() > 20
    monkeypatch.setattr(worst_case, "NEGLECT", 0.0)
    assert pulls_of_a_lucky_pair() == 3
