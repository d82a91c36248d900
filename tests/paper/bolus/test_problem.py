"""The dosing problem: what the paper fixes, and what a pull is."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from surefoot.errors import InputError
from surefoot.paper.bolus.problem import (
    BolusSimulator,
    day_rewards,
    make_dosing,
    stream,
    stream_numbers,
)
from surefoot.paper.glucose import Calculator, diet, find_patient, lane_seeds, magni_risk, simulate
from surefoot.problem.problem import RobustProblem
from surefoot.statistics import Phase

NAME = "adult#001"


def test_the_problem_of_the_paper() -> None:
    dosing = make_dosing(NAME)
    problem, tdi = dosing.linear, find_patient(NAME).total_daily_insulin
    assert (problem.n_arms, problem.n_pairs, problem.dimension) == (15, 75, 4)
    assert dosing.tabular.dimension == 75
    assert problem.parameter_names == ["lc", "hc", "TDI", "CarbF", "CorrF"]
    lc, hc, insulin, carb, correction = problem.parameters.T
    assert lc * 5 == pytest.approx(hc * 3)
    assert insulin.min() == pytest.approx(0.75 * tdi)
    assert insulin.max() == pytest.approx(1.25 * tdi)
    assert 0.95 <= (carb * insulin / 500).min() < 0.97
    assert 1.03 < (carb * insulin / 500).max() <= 1.05
    assert 1500 <= (correction * insulin).min() < 1600
    assert 2100 < (correction * insulin).max() <= 2200


def test_a_guide_sees_doses_the_first_of_them_curved() -> None:
    dosing = make_dosing(NAME)
    level, carb, square, correction = dosing.curved.features.T
    assert (level == 1).all()
    assert (square == carb**2).all()
    for dose, factor in ((carb, 3), (correction, 4)):
        assert (dose.mean(), dose.std()) == pytest.approx((0, 1))
        # the smaller the factor, the larger the dose
        assert np.corrcoef(dose, 1 / dosing.linear.parameters[:, factor])[0, 1] > 0.999999


def test_the_middle_arm_is_the_standard_calculator() -> None:
    dosing = make_dosing(NAME, n_arms=5)
    baseline = Calculator.baseline(NAME)
    assert dosing.arm_setting(dosing.baseline_arm) == pytest.approx(
        (float(baseline.carb_factor), float(baseline.correction_factor))
    )


def test_errors_depend_on_seed_and_patient_alone() -> None:
    first, again = make_dosing(NAME, seed=3), make_dosing(NAME, seed=3)
    assert (first.linear.parameters == again.linear.parameters).all()
    assert (first.linear.parameters != make_dosing(NAME, seed=4).linear.parameters).any()
    shares = [make_dosing(name).linear.parameters[:, 3:] for name in ("child#001", "child#002")]
    assert (shares[0] / shares[0][0] != shares[1] / shares[1][0]).any()


@pytest.mark.parametrize(("arms", "perturbations"), [(4, 5), (1, 5), (5, 0)])
def test_what_cannot_be_posed_is_refused(arms: int, perturbations: int) -> None:
    with pytest.raises(InputError, match="give"):
        make_dosing(NAME, 0, arms, perturbations)


def test_a_day_is_worth_its_lowest_reward() -> None:
    dosing = make_dosing(NAME)
    source = np.random.SeedSequence(7)
    rewards = day_rewards(dosing, np.array([0, 74]), source)
    seeds = lane_seeds(source, (2, 2))
    for row, day in enumerate(("low", "high")):
        for column, pair in enumerate((0, 74)):
            calculator = Calculator(*dosing.pair_setting(pair))
            history = simulate(NAME, calculator, diet(day), seeds[row, column : column + 1]).bg
            assert rewards[row, column] == pytest.approx(-magni_risk(history).max())


def test_a_phase_is_pulled_as_asked_and_always_alike() -> None:
    dosing = make_dosing(NAME, n_arms=3, n_perturbations=2)
    counts = np.array([3, 0, 2, 1, 0, 4])
    source = stream(1, dosing.patient, "identify")
    first, again, later = (
        BolusSimulator(dosing, source).pull(Phase(index, counts)) for index in (0, 0, 1)
    )
    assert (first.counts == counts).all()
    assert (first.sums == again.sums).all()
    assert (first.sums != later.sums)[counts > 0].any()
    assert (first.sums[counts == 0] == 0).all()
    assert (first.sums[counts > 0] < 0).all()


def test_pulls_have_streams_of_their_own_unless_a_phase_shares_them() -> None:
    counts = np.array([5, 0, 2, 1])
    alone = stream_numbers(Phase(0, counts, batches=2))
    assert alone.tolist() == list(range(8))
    shared = stream_numbers(Phase(0, counts, batches=2, shared=True))
    # the first pair has batches of two and one pull in none, the third batches of one; the single
    # pull of the last fills no batch
    assert shared.tolist() == [0, 1, 2, 3, 4, 0, 2, 5]


def test_settings_of_a_block_meet_the_same_noise() -> None:
    """Two pairs with equal factors differ by nothing but their noise."""
    dosing = make_dosing("child#008", n_arms=3, n_perturbations=2)
    parameters = dosing.linear.parameters.copy()
    parameters[1] = parameters[0]
    parameters[1, 2] += 1  # TDI only names an arm: the calculator uses the factors
    problem = RobustProblem.from_pairs(parameters, dosing.linear.arm_of_pair)
    twins = replace(dosing, linear=problem)
    counts = np.array([6, 6, 0, 3, 0, 0])
    simulator = BolusSimulator(twins, np.random.SeedSequence(3))
    shared = simulator.pull(Phase(0, counts, batches=3, shared=True))
    assert shared.batch_sums.shape == (3, 6)
    assert (shared.batch_sums[:, 0] == shared.batch_sums[:, 1]).all()
    assert len(set(shared.batch_sums[:, 0].tolist())) == 3
    alone = simulator.pull(Phase(0, counts, batches=3))
    assert (alone.batch_sums[:, 0] != alone.batch_sums[:, 1]).all()
    later = simulator.pull(Phase(1, counts, batches=3, shared=True))
    assert not set(later.batch_sums[:, 0].tolist()) & set(shared.batch_sums[:, 0].tolist())


def test_purposes_have_streams_of_their_own() -> None:
    patient = find_patient(NAME)
    words = [
        stream(0, patient, purpose).generate_state(2).tolist()
        for purpose in ("pilot", "truth", "profiles")
    ]
    words.append(stream(0, find_patient("adult#002"), "pilot").generate_state(2).tolist())
    assert len({tuple(word) for word in words}) == 4
