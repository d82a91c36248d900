"""Plans: studies that might be made, what they cost, and the simulated clock of a cluster."""

from __future__ import annotations

import itertools
import math
import os
import tracemalloc
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import surefoot as sf
from surefoot.algorithms import Settings, algorithm_from
from surefoot.errors import InputError
from surefoot.simulate import TableSimulator
from surefoot.statistics import Phase
from surefoot.study.before.intended import IntendedStudy, unit_gap_theta
from surefoot.study.before.pilot import Pilot
from surefoot.study.before.plan import Cost, Patience, Quantiles, expected_costs
from surefoot.study.before.timetable import Timetable, Took, timed
from surefoot.study.forecast import Durations
from surefoot.system.processes import ProcessPool
from tests.study.toys import toy_problem

UNKNOWN = sf.Settings(delta=0.05, noise=sf.Gaussian(equal=True), misfit=0)


def intended(settings: sf.Settings = UNKNOWN, **changes: object) -> IntendedStudy:
    return IntendedStudy(toy_problem(), settings, algorithm_from("prime"), **changes)


def costs(asked: IntendedStudy, gaps: tuple[float, ...], runs: int = 2) -> list[Cost]:
    return expected_costs(asked, gaps, Patience(math.inf, runs))


def test_hardness_grows_with_the_inverse_square_of_the_gap() -> None:
    wide, narrow = costs(intended(compare=True), (0.1, 1.0))
    assert (wide.gap, narrow.gap) == (1.0, 0.1)
    assert narrow.hardness == pytest.approx(100 * wide.hardness)
    assert narrow.lower_bound == pytest.approx(100 * wide.lower_bound)
    assert list(narrow.pulls) == ["prime", "robust-rage", "robust-static"]
    assert narrow.pulls["prime"].mean > narrow.lower_bound / 3
    assert all(spread.mean > 0 and spread.runs == 2 for spread in narrow.pulls.values())


def test_the_scale_of_the_noise_does_not_matter_to_a_gap_in_its_units() -> None:
    small = sf.Settings(delta=0.05, noise=sf.Gaussian(0.01), misfit=0)
    (one,), (other,) = (costs(intended(settings), (0.5,), 1) for settings in (UNKNOWN, small))
    assert one.hardness == pytest.approx(other.hardness, rel=1e-6)


def direct(tolerance: float) -> sf.Settings:
    return sf.Settings(delta=0.05, noise=sf.Gaussian(), misfit=math.inf, tolerance=tolerance)


def test_a_tolerance_counts_once_a_pilot_says_how_large_the_noise_is() -> None:
    pilot = pilot_of(scale=2.0)
    (strict,) = costs(intended(direct(0.0), pilot=pilot), (0.2,))
    (eased,) = costs(intended(direct(1.0), pilot=pilot), (0.2,))
    (not_counted,) = costs(intended(direct(1.0)), (0.2,))
    (plain,) = costs(intended(direct(0.0)), (0.2,))
    assert eased.pulls["prime"].mean < strict.pulls["prime"].mean / 2
    assert math.isnan(eased.lower_bound)
    assert not_counted.pulls == plain.pulls


def test_common_random_numbers_save_what_the_pilot_says() -> None:
    settings = sf.Settings(
        delta=0.05, noise=sf.Gaussian(), misfit=math.inf, common_random_numbers=True
    )
    means = [
        costs(intended(settings, pilot=pilot_of(1.0, common)), (0.2,))[0].pulls["prime"].mean
        for common in (0.0, 0.95)
    ]
    assert means[1] < means[0] / 2


def test_workers_shorten_the_time_and_not_the_pulls() -> None:
    (alone,), (many,) = (costs(intended(workers=count), (0.5,)) for count in (1, 20))
    assert alone.pulls["prime"] == many.pulls["prime"]
    assert list(many.pulls) == ["prime", "prime, parallel 20"]
    assert alone.seconds["prime"].mean == pytest.approx(alone.pulls["prime"].mean)
    assert many.seconds["prime"].mean < alone.seconds["prime"].mean / 4


def test_times_are_as_spread_as_the_pilots() -> None:
    pilot = pilot_of(1.0)
    slow = replace(
        pilot, times=np.where(np.arange(pilot.times.size) % 10, 0.0, 5.0).reshape(pilot.times.shape)
    )
    (even,), (uneven,) = (
        costs(intended(pilot=each, workers=8), (0.5,), 4) for each in (pilot, slow)
    )
    assert slow.durations.mean == pilot.durations.mean
    assert uneven.seconds["prime"].mean > 1.2 * even.seconds["prime"].mean


def test_a_wider_gap_is_never_dearer() -> None:
    found = costs(intended(direct(0.0)), (2.0, 1.5, 1.0, 0.7, 0.5), 8)
    means = [cost.pulls["prime"].mean for cost in found]
    assert means == sorted(means)
    assert {cost.pulls["prime"].runs for cost in found} == {8}


def test_it_stops_before_its_time_is_up_and_says_how_far_it_came() -> None:
    ticks = itertools.count()
    shown: list[float] = []

    class Seen:
        def update(self, snapshot: object) -> None:
            shown.append(snapshot.share)  # type: ignore[attr-defined]

        def close(self) -> None:
            shown.append(-1)

    def clock() -> float:
        return float(next(ticks))

    found = expected_costs(intended(), (1.0, 0.5), Patience(30.0, 1000, Seen(), clock))
    assert 1 <= found[0].pulls["prime"].runs < 20
    assert shown[-1] == -1
    assert sorted(shown[:-1]) == shown[:-1]
    assert shown[-2] <= 1
    (wide, narrow) = expected_costs(intended(), (1.0, 0.5), Patience(0.0, 1000, clock=clock))
    assert wide.pulls["prime"].runs == 1
    assert narrow.pulls["prime"].runs == 0


def test_the_same_costs_come_from_any_number_of_processes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """This process makes the first round, and those of a process that dies."""
    asked, made = intended(workers=4), list[int]()

    class Seen(ProcessPool):
        def submit(self, *given: Any) -> Any:
            made.append(given[-1])
            return super().submit(*given)

    class Dying(ProcessPool):
        def submit(self, *given: Any) -> Any:
            return super().submit(os._exit, 1)

    def found(processes: int, pool: type[ProcessPool] = Seen) -> str:
        monkeypatch.setattr("surefoot.study.before.plan.START_UP", 0.0)
        monkeypatch.setattr("surefoot.study.before.plan.ProcessPool", pool)
        return repr(expected_costs(asked, (1.0, 0.5), Patience(1e9, 6, processes=processes)))

    alone = found(1)
    assert not made
    assert found(3) == alone
    assert made == [1, 2, 3, 4, 5]
    assert found(2, Dying) == alone


def test_studies_without_an_answer_are_counted_and_left_out_of_the_mean() -> None:
    assert Quantiles.of([10.0, 20.0, math.inf]) == (15.0, 11.0, 19.0, 3, 1)
    nothing = Quantiles.of([math.inf])
    assert math.isnan(nothing.mean)
    assert (nothing.runs, nothing.unanswered) == (1, 1)


def test_a_large_problem_is_planned_without_what_compares_every_pair_with_every_arm() -> None:
    problem = large_problem(5000, 20)
    tracemalloc.start()
    try:
        asked = IntendedStudy(problem, UNKNOWN, algorithm_from("prime"), compare=True)
        (cost,) = costs(asked, (2.0,), 1)
        assert tracemalloc.get_traced_memory()[1] < 200e6
    finally:
        tracemalloc.stop()
    assert list(cost.pulls) == ["prime", "robust-static"]


def test_the_pairs_own_hardness_is_left_out_where_it_would_take_too_long() -> None:
    asked = IntendedStudy(large_problem(50, 10), direct(0.0), algorithm_from("prime"))
    (cost,) = costs(asked, (2.0,), 1)
    assert math.isnan(cost.hardness)
    assert cost.pulls["prime"].runs == 1
    assert np.isfinite(cost.pulls["prime"].mean)


def test_the_price_of_seeing_what_is_rare_is_shown() -> None:
    settings = sf.Settings(delta=0.05, noise=sf.Gaussian(), misfit=math.inf, rarest=0.02)
    (cost,) = costs(intended(settings), (2.0,), 4)
    assert list(cost.pulls) == ["prime", "prime, no rarest"]
    assert cost.pulls["prime"].low > cost.pulls["prime, no rarest"].high


def test_parallel_phases_cost_pulls_and_save_time() -> None:
    settings = sf.Settings(delta=0.05, noise=sf.Gaussian(), misfit=math.inf, parallel=64)
    (cost,) = costs(intended(settings, workers=64), (0.2,), 16)
    wide, narrow = "prime", "prime, parallel 1"
    assert list(cost.pulls) == [wide, narrow, "prime, in_flight 1"]
    assert cost.seconds[wide].mean < cost.seconds[narrow].mean / 1.2
    assert cost.pulls[wide].mean < 4 * cost.pulls[narrow].mean


@pytest.mark.parametrize(
    "asked",
    [
        {"measure": "mean"},
        {"limits": {"wait": {"at_most": 3.0, "slack": 1.0}, "failures": {"at_least": 0.0}}},
        {"aim": "beat baseline", "baseline": "arm 1", "gain": 5.0},
    ],
    ids=["mean", "limits", "baseline"],
)
def test_every_question_can_be_planned(asked: dict[str, Any]) -> None:
    arms, parts = np.arange(3.0)[:, None], [np.array([[0.0], [0.1]])] * 3
    problem = sf.RobustProblem.paper(arms, parts, features="tabular")
    settings = sf.Settings(delta=0.2, noise=sf.Gaussian(), misfit=math.inf, **asked)
    study = IntendedStudy(problem, settings, algorithm_from("prime"))
    wide, narrow = expected_costs(study, (2.0, 0.5), Patience(1e9, 2))
    assert wide.pulls["prime"].runs == narrow.pulls["prime"].runs == 2
    assert wide.pulls["prime"].unanswered == 0
    assert wide.pulls["prime"].mean < narrow.pulls["prime"].mean
    assert math.isnan(wide.hardness)  # the lower bound is for the worst case of all arms


SETTINGS = sf.Settings(delta=0.05, noise=sf.Gaussian(), misfit=0)


def pilot_of(scale: float, common: float = 0.0) -> Pilot:
    """Pulls with this noise, of which a share of the variance is common to a row."""
    generator = np.random.default_rng(0)
    shared, own = generator.normal(size=(400, 1)), generator.normal(size=(400, 4))
    rewards = scale * (np.sqrt(common) * shared + np.sqrt(1 - common) * own)
    return Pilot(np.arange(4), rewards, np.full(rewards.shape, 0.5))


def large_problem(n_arms: int, n_perturbations: int) -> sf.RobustProblem:
    generator = np.random.default_rng(0)
    shape = (n_perturbations, 3)
    return sf.RobustProblem.paper(
        generator.normal(size=(n_arms, 3)),
        [0.1 * generator.normal(size=shape) for _ in range(n_arms)],
        features="linear",
    )


def test_a_single_arm_has_no_cost() -> None:
    with pytest.raises(InputError, match="nothing has to be pulled"):
        IntendedStudy(sf.RobustProblem.paper([[1.0]], [[[0.0]]]), SETTINGS, algorithm_from("prime"))


def test_a_budget_for_a_guess_leaves_nothing_to_plan() -> None:
    settings = replace(SETTINGS, misfit=math.inf, budget=400, aim="guess")
    with pytest.raises(InputError, match="nothing to plan"):
        IntendedStudy(large_problem(3, 2), settings, algorithm_from("prime"))


def test_a_problem_too_large_to_be_simulated_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError, match='choose algorithm = "prime"'):
        IntendedStudy(large_problem(1000, 20), SETTINGS, algorithm_from("robust-rage"))
    monkeypatch.setattr("surefoot.study.before.intended.MOST_PAIRS", 100)
    with pytest.raises(InputError, match="120 pairs: plan for a part of at most 100"):
        IntendedStudy(large_problem(12, 10), SETTINGS, algorithm_from("prime"))


def test_noise_is_as_given_or_as_the_pilot_says_or_one() -> None:
    problem, prime = toy_problem(), algorithm_from("prime")
    known = sf.Settings(delta=0.05, noise=sf.Gaussian(3.0), misfit=0)
    assert IntendedStudy(problem, known, prime, pilot_of(2.0)).typical == 3
    assert IntendedStudy(problem, SETTINGS, prime, pilot_of(2.0)).typical == pytest.approx(
        2, rel=0.1
    )
    unknown = IntendedStudy(problem, SETTINGS, prime)
    assert (unknown.typical, unknown.knows_unit) == (1, False)


def test_a_study_without_a_model_is_simulated_without_one() -> None:
    """A misfit in the unit of the rewards means nothing without a pilot; none at all does."""
    for misfit, simulated in ((math.inf, math.inf), (0.1, 0.0)):
        settings = replace(SETTINGS, misfit=misfit)
        intended = IntendedStudy(toy_problem(), settings, algorithm_from("prime"))
        assert intended.contestants()["prime"][1].misfit == simulated


def test_random_parameters_have_a_robust_gap_of_one() -> None:
    problem = toy_problem()
    theta = unit_gap_theta(problem, np.random.default_rng(3))
    assert problem.robust_gaps(theta).min() == pytest.approx(1)


def test_a_misfit_counts_where_the_unit_is_known() -> None:
    problem, prime = toy_problem(), algorithm_from("prime")
    for noise, misfit in ((sf.Gaussian(1.0), 0.1), (sf.Gaussian(), 0.0)):
        settings = sf.Settings(delta=0.05, noise=noise, misfit=0.1)
        simulated = IntendedStudy(problem, settings, prime).contestants()["prime"][1]
        assert simulated.misfit == misfit


MEANS = np.array([1.0, 1.2, 0.2, 0.4])


def study(workers: int, in_flight: int, seed: int = 0, least: float = 0.1) -> Took:
    problem = sf.RobustProblem.from_pairs(np.eye(4), [0, 0, 1, 1])
    settings = Settings(delta=0.05, noise=sf.Gaussian(1.0), parallel=4, in_flight=in_flight)
    run = algorithm_from("prime").start(problem, settings)
    clock = np.random.default_rng(seed)
    return timed(
        run,
        TableSimulator(MEANS, 1.0, seed),
        workers,
        lambda pairs: clock.uniform(least, 1.0, len(pairs)),
        clock,
    )


def test_one_worker_is_always_busy_and_pulls_one_after_the_other() -> None:
    took = study(workers=1, in_flight=1, least=1.0)
    assert took.busy == pytest.approx(1.0)
    assert took.seconds == pytest.approx(took.pulls) == took.result.samples


def test_workers_wait_for_the_last_pull_of_a_phase_unless_the_next_is_there() -> None:
    """By hand: lengths 1, 1, 4 on 2 workers end at 1, 1 and 5; the next phase begins at 5 or 1."""
    for waits, end, begun in ((True, 7.0, 5), (False, 5.0, 5)):
        lengths = iter([np.array([1.0, 1.0, 4.0]), np.array([2.0, 2.0])])
        table = Timetable(2, lambda pairs, drawn=lengths: next(drawn))
        generator = np.random.default_rng(0)
        table.begin(Phase(0, np.array([3])), generator)
        if waits:
            table.end(0)
        table.begin(Phase(1, np.array([2]), overlaps=int(not waits)), generator)
        table.end(0)
        table.end(1)
        took = table.took(None)  # type: ignore[arg-type]
        assert (took.seconds, took.pulls) == (end, begun)
        assert took.busy == pytest.approx(10 / (2 * end))


def test_phases_in_flight_keep_workers_busier() -> None:
    alone, two = ([study(4, k, seed).busy for seed in range(5)] for k in (1, 2))
    assert np.mean(two) > np.mean(alone) + 0.05


def test_pulls_that_begin_after_the_answer_are_not_counted() -> None:
    took = study(workers=2, in_flight=2)
    assert took.result.samples <= took.pulls
    assert took.busy <= 1 + 1e-9


def test_lengths_are_drawn_from_those_of_the_pair_or_of_all_where_it_was_not_tried() -> None:
    known = Durations(np.array([2, 0, 2, 0]), np.array([5.0, 1.0, 6.0, 2.0]))
    drawn = known.lengths(4, np.random.default_rng(0))
    found = {pair: set(drawn(np.full(100, pair)).tolist()) for pair in range(4)}
    assert found == {0: {1.0, 2.0}, 1: {1.0, 2.0, 5.0, 6.0}, 2: {5.0, 6.0}, 3: {1.0, 2.0, 5.0, 6.0}}
    assert known.mean == 3.5
