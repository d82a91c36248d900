"""Whether common random numbers pay, and what phases that shared them had in common."""

from __future__ import annotations

import math

import numpy as np
import pytest

import surefoot as sf
from surefoot.plan.contrasts import Race
from surefoot.plan.streams import CommonShifts, Streams
from surefoot.statistics import Outcome, Phase

CONTEST = Race(0, np.arange(2), np.array([1, 2]), np.zeros((2, 2))), np.array([2, 4])
PROBLEM = sf.RobustProblem.from_pairs(np.eye(6), np.repeat(np.arange(3), 2))
AGAINST = np.where(PROBLEM.arm_of_pair == 0, 1.0, -1.0)


def _after(correlation: object, phases: int = 6) -> Streams:
    simulator = sf.LinearSimulator(PROBLEM, np.zeros(6), seed=1, correlation=correlation)
    streams = Streams(6, sf.Tuning())
    for index in range(phases):
        streams.add(simulator.pull(Phase(index, np.full(6, 12), 6, shared=True)))
    return streams


def test_the_first_phase_tries_it() -> None:
    assert Streams(6, sf.Tuning()).pay(*CONTEST)


@pytest.mark.parametrize("correlation", [0.9, 0.5])
def test_it_pays_where_rewards_are_positively_correlated(correlation: float) -> None:
    assert _after(correlation).pay(*CONTEST)


@pytest.mark.parametrize("share", [0.5, 0.9])
def test_it_does_not_pay_where_arms_move_against_each_other(share: float) -> None:
    assert not _after(np.sqrt(share) * AGAINST).pay(*CONTEST)


def test_it_does_not_pay_where_streams_make_no_difference() -> None:
    assert not _after(0.0, phases=12).pay(*CONTEST)


def test_only_pairs_in_point_count() -> None:
    """Arms 0 and 1 move together, arm 2 moves against them: it depends on who is compared."""
    streams = _after(np.where(PROBLEM.arm_of_pair == 2, -0.9, 0.9))
    together = Race(0, np.arange(2), np.array([1]), np.zeros((2, 1))), np.array([2])
    against = Race(0, np.arange(2), np.array([2]), np.zeros((2, 1))), np.array([4])
    assert streams.pay(*together)
    assert not streams.pay(*against)


@pytest.mark.parametrize(("correlation", "shared"), [(0.9, True), (0.9 * AGAINST, False)])
def test_a_run_decides_phase_by_phase(correlation: object, shared: bool) -> None:
    """The pilot always tries it; what came of it decides the phases after."""
    simulator = sf.LinearSimulator(
        PROBLEM, [0, 0.5, -0.3, 0.5, -0.4, 0.2], seed=3, correlation=correlation
    )  # fmt: skip
    phases: list[Phase] = []

    class Watched:
        def pull(self, phase: Phase) -> sf.Outcome:
            phases.append(phase)
            return simulator.pull(phase)

    sf.identify(
        PROBLEM,
        Watched(),
        delta=0.05,
        noise=sf.Gaussian(),
        misfit=math.inf,
        common_random_numbers="auto",
        budget=1500,
    )
    assert phases[0].shared
    compared = [phase.shared for phase in phases[1:] if phase.batches]
    assert np.mean(compared) > 0.9 if shared else np.mean(compared) < 0.3


def _moved_together(index: int, pairs: list[int], means: np.ndarray, shift: np.ndarray) -> Outcome:
    """Noise that is the same for all pairs of a batch, and nothing else."""
    counts, sums = np.zeros(len(means), dtype=np.int64), np.zeros((len(shift), len(means)))
    counts[pairs] = len(shift)
    sums[:, pairs] = means[pairs] + shift[:, None]
    return Outcome(index, counts, sums.sum(axis=0), np.ones(len(means)), sums)


def test_shifts_of_phases_leave_the_means() -> None:
    means, generator = np.array([1.0, 2.0, 4.0, 8.0]), np.random.default_rng(3)
    common, counts, sums = CommonShifts(), np.zeros(4), np.zeros(4)
    for index, pairs in enumerate(([0, 1, 2, 3], [0, 1], [1, 2, 3], [0, 3])):
        outcome = _moved_together(index, pairs, means, 5 * generator.standard_normal(6))
        common.add(outcome)
        counts, sums = counts + outcome.counts, sums + outcome.sums
    plain, mended = sums / counts, common.taken_out(counts, sums)
    assert np.ptp(plain - means) > 1
    assert np.ptp(mended - means) < 0.1 * np.ptp(plain - means)
    assert common.own_share == pytest.approx(0.01)  # all of the noise is common


def test_independent_noise_has_nothing_in_common() -> None:
    generator, common = np.random.default_rng(1), CommonShifts()
    for index in range(20):
        sums = generator.standard_normal((8, 5))
        counts = np.full(5, 8)
        common.add(Outcome(index, counts, sums.sum(axis=0), np.ones(5), sums))
    assert common.own_share > 0.9
    assert CommonShifts().own_share == 1.0


def test_noise_that_all_pairs_have_in_common_cancels() -> None:
    """Differences do not vary: they are known once nothing rare is feared any more."""
    means = [0.0, 0.3, -0.5, 0.3, -0.8, 0.2]

    def result(choice: bool | str, seed: int) -> sf.Result:
        simulator = sf.TableSimulator(means, 1.0, seed, correlation=1.0)
        settings = {"delta": 0.05, "noise": sf.Gaussian(), "misfit": math.inf}
        return sf.identify(PROBLEM, simulator, common_random_numbers=choice, **settings)

    results = {choice: [result(choice, seed) for seed in range(6)] for choice in (False, "auto")}
    apart, auto = (sum(each.samples for each in found) for found in results.values())
    assert all(each.certified and each.arm == 0 for each in results["auto"])
    assert auto < apart / 2


@pytest.mark.parametrize("digits", [0, 3])
def test_rewards_of_few_values_that_move_together_end_too(digits: int) -> None:
    """Batches that repeat say nothing by never varying: then streams are not shared."""

    def simulate(gain: float, rng: np.random.Generator) -> float:
        return gain + round(float(rng.normal()), digits)

    asked = {"common_random_numbers": True, "budget": 3000, "seed": 1}
    answer = sf.find(simulate, {"gain": [0.0, 1.0]}, **asked)
    assert answer.certified
    assert answer.best == {"gain": 1.0}
