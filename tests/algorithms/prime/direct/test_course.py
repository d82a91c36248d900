"""The course without a model: first pulls, a pilot, then comparisons that count."""

from __future__ import annotations

import numpy as np

import surefoot as sf
from surefoot.algorithms.prime.course import Layout
from surefoot.algorithms.prime.direct import DirectCourse, direct_course
from surefoot.algorithms.tally import Tally
from tests.algorithms.prime.phases import learnt, pairs_of

PROBLEM = sf.RobustProblem([[0.0], [1.0], [2.0]], [[[-0.1], [0.1]]] * 3, features="tabular")
MEANS = np.array([5.0, 5.2, 1.0, 1.1, 0.0, 0.3])  # the first arm is clearly best


def begun(**options: object) -> tuple[DirectCourse, Tally]:
    given = {"delta": 0.05, "noise": sf.Gaussian(), "trust": "pairs", "guide": "tabular"}
    settings = sf.Settings(**(given | options))  # type: ignore[arg-type]
    return direct_course(PROBLEM, settings, sf.Tuning()), Tally.empty(PROBLEM, settings)


def after(
    course: DirectCourse, tally: Tally, layout: Layout, means: np.ndarray, seed: int = 0
) -> Tally:
    pairs = pairs_of(layout)
    rewards = means[pairs] + np.random.default_rng(seed).normal(0, 0.5, len(pairs))
    return learnt(course, tally, layout, rewards)


def test_first_every_pair_that_the_guide_needs_is_pulled_and_nothing_counts() -> None:
    course, tally = begun()
    layout = course.next(tally, np.inf)
    assert layout is not None
    assert layout.counts.tolist() == [course.tuning.pilot_pulls] * 6
    after(course, tally, layout, MEANS)
    assert course.elimination.evidence is None
    assert course.order.tolist() == [0, 1, 2]


def test_a_clear_leader_is_compared_with_one_pair_of_every_rival() -> None:
    course, tally = begun()
    layout = course.next(tally, np.inf)
    assert layout is not None
    tally = after(course, tally, layout, MEANS)
    layout = course.next(tally, np.inf)
    assert layout is not None
    contest = course.contest
    assert contest is not None
    assert contest.challenger == 0
    assert contest.own.tolist() == [0, 1]
    assert [PROBLEM.arm_of_pair[pair] for pair in contest.rivals] == [1, 2]
    assert np.flatnonzero(layout.counts).tolist() == sorted(contest.pairs)
    assert layout.counts[contest.pairs].min() >= layout.batches >= course.judge.least_batches
    after(course, tally, layout, MEANS, seed=1)
    evidence = course.elimination.evidence
    assert evidence is not None
    assert (evidence[1:] > 0).all()
    assert evidence[0] == 0


def test_an_unclear_pilot_goes_on_up_to_its_limit() -> None:
    course, tally = begun(noise=sf.Gaussian(100.0))
    pilots = 0
    while pilots < 50:
        layout = course.next(tally, np.inf)
        assert layout is not None
        if course.contest is not None:
            break
        tally, pilots = after(course, tally, layout, np.zeros(6), seed=pilots), pilots + 1
    first = course.first_pulls
    assert first is not None
    assert pilots > 2
    assert first < tally.samples <= (1.2 * course.tuning.pilot_most) * first


def test_a_budget_below_the_first_pulls_is_spread_over_their_pairs() -> None:
    course, tally = begun()
    few = course.next(tally, 4)
    assert few is not None
    assert few.counts.sum() == 4
    assert few.counts.max() == 1


def test_a_comparison_that_the_budget_does_not_allow_is_not_asked_for() -> None:
    course, tally = begun()
    layout = course.next(tally, np.inf)
    assert layout is not None
    tally = after(course, tally, layout, MEANS)
    least = 4 * course.judge.least_batches  # two pairs of the leader, one of each rival
    assert course.next(tally, least - 1) is None
    enough = course.next(tally, least)
    assert enough is not None
    assert enough.counts.sum() == least


def test_a_leader_within_a_share_of_the_tolerance_stays() -> None:
    """What was gathered in its favour would be lost, and it is good enough."""
    swapped = MEANS + np.array([0.0, 0.0, 4.15, 4.15, 0.0, 0.0])  # the second is better by 0.15
    leaders = []
    for tolerance in (0.0, 10.0):
        course, tally = begun(tolerance=tolerance, noise=sf.Gaussian(0.5))
        layout = course.next(tally, np.inf)
        assert layout is not None
        tally = after(course, tally, layout, MEANS)
        layout = course.next(tally, np.inf)
        assert layout is not None
        assert course.contest is not None
        more = Layout(np.full(6, 4000), layout.batches)
        after(course, tally, more, swapped)
        leaders.append(int(course.order[0]))
    assert leaders == [1, 0]
