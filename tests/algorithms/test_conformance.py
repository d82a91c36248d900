"""One suite that every algorithm passes."""

from __future__ import annotations

import json
import pickle
from typing import Any

import numpy as np
import pytest

from surefoot.algorithms import Algorithm, Result, StopReason, stored_algorithm
from surefoot.errors import InputError
from surefoot.experiments.instances import (
    Instance,
    classic,
    irrelevant_dimensions,
    on_sphere,
    unit_sphere,
)
from surefoot.noise import Gaussian, Noise, SubGaussian
from surefoot.problem import RobustProblem
from surefoot.simulate import LinearSimulator
from surefoot.statistics import Outcome
from tests.algorithms.families import (
    NAMES,
    SPENDERS,
    ZONES,
    made_for,
    noise_for,
    settings_for,
    simulated,
)

pytestmark = pytest.mark.parametrize("name", NAMES)


def begun(name: str, instance: Instance, **changes: Any) -> Algorithm:
    return made_for(name, instance).start(instance[0], settings_for(name, **changes))


def finished(run: Algorithm, simulator: LinearSimulator) -> Result:
    while phase := run.next_phase():
        assert phase.counts.shape == (run.problem.n_pairs,)
        assert phase.counts.dtype == np.int64
        assert (phase.counts >= 0).all()
        assert phase.samples > 0
        run.update(simulator.pull(phase))
    return run.result


def solved(
    name: str, instance: Instance, scale: float = 1.0, seed: int = 0, **changes: Any
) -> Result:
    run = begun(name, instance, **({"noise": noise_for(name, scale)} | changes))
    return finished(run, simulated(name, instance, scale, seed))


def right(result: Result, instance: Instance) -> bool:
    """The best arm, with a certificate from every algorithm that gives any."""
    problem, theta = instance
    assert result.certified == (result.algorithm not in ZONES + SPENDERS)
    other = (StopReason.NO_CERTIFICATE, StopReason.INDIFFERENCE_ZONE)
    return (result.certified or result.reason in other) and result.arm == problem.best_arm(theta)


def refused(name: str, noise: Noise) -> bool:
    """Whether the algorithm is not made for this kind of noise; then it must say so."""
    if noise.kind in getattr(made_for(name, two_arms()), "noises", noise.kind):
        return False
    with pytest.raises(InputError, match="is not made for"):
        begun(name, two_arms(), noise=noise)
    return True


def two_arms() -> Instance:
    return RobustProblem([[1.0, 0.0], [0.0, 1.0]], [np.zeros((1, 2))] * 2), np.array([1.0, 0.2])


def test_same_seed_same_run_to_the_bit(name: str) -> None:
    instance = unit_sphere(8, 4)
    first, second = solved(name, instance, seed=7), solved(name, instance, seed=7)
    assert first.samples == second.samples
    assert first.theta.tobytes() == second.theta.tobytes()
    assert [r.counts.tobytes() for r in first.history] == [
        r.counts.tobytes() for r in second.history
    ]


def test_resuming_is_replaying(name: str) -> None:
    instance = classic(3, 0.3)
    run, simulator = begun(name, instance), simulated(name, instance, seed=3)
    outcomes: list[Outcome] = []
    while phase := run.next_phase():
        outcomes.append(simulator.pull(phase))
        run.update(outcomes[-1])
    again = begun(name, instance)
    for outcome in outcomes:
        again.next_phase()
        again.update(outcome)
    assert again.next_phase() is None
    assert repr(again.result) == repr(run.result)
    assert again.result.pair_means.tobytes() == run.result.pair_means.tobytes()


def test_starting_leaves_the_algorithm_as_it_was(name: str) -> None:
    instance = two_arms()
    algorithm = made_for(name, instance)
    run = algorithm.start(instance[0], settings_for(name))
    finished(run, simulated(name, instance, seed=0))
    assert not hasattr(algorithm, "tally")
    assert algorithm.start(instance[0], settings_for(name)).samples == 0


def test_next_phase_is_the_same_until_told(name: str) -> None:
    run = begun(name, two_arms())
    assert run.next_phase() is run.next_phase()


def test_a_result_at_any_time(name: str) -> None:
    instance = classic(3, 0.3)
    run, simulator = begun(name, instance), simulated(name, instance, seed=3)
    for _ in range(3):
        result = run.result
        assert 0 <= result.arm < instance[0].n_arms
        assert result.arm in result.candidates
        assert result.reason is StopReason.RUNNING
        assert not result.certified
        assert len(result.to_frame()) == len(result.history)
        assert "not certified" in result.sentence
        phase = run.next_phase()
        if phase is None:
            break
        run.update(simulator.pull(phase))
    assert run.samples > 0


def test_the_result_says_what_produced_it(name: str) -> None:
    result = solved(name, two_arms())
    assert result.algorithm == name
    assert "policy valid" in repr(result)
    assert result.reason.value in repr(result)
    assert result.samples == result.counts.sum() == result.to_frame()["total"].iloc[-1]


def test_two_arms_one_perturbation_each(name: str) -> None:
    assert right(solved(name, two_arms()), two_arms())


def test_one_arm_is_trivial(name: str) -> None:
    instance = RobustProblem([[1.0, 2.0]], [[[0.0, 0.1], [0.1, 0.0]]]), np.ones(2)
    result = solved(name, instance)
    assert result.certified
    assert result.reason is StopReason.ONE_ARM
    assert (result.arm, result.samples) == (0, 0)
    assert "only arm" in result.sentence


def test_one_dimension(name: str) -> None:
    instance = (
        RobustProblem([[1.0], [2.0], [3.0]], [[[0.1]], [[0.1], [0.2]], [[0.1], [2.5]]]),
        np.array([1.0]),
    )
    assert right(solved(name, instance), instance)


def test_rank_deficient_pairs(name: str) -> None:
    thin = np.random.default_rng(0).standard_normal((2, 5))
    arms = np.array([[1.0, 0.0], [0.0, 1.0], [0.3, 0.3]]) @ thin
    instance = (
        RobustProblem(arms, [np.zeros((1, 5)), 0.1 * thin, 0.1 * thin]),
        np.linalg.pinv(thin) @ [0.2, 1.0],
    )
    assert instance[0].dimension == 2
    assert right(solved(name, instance), instance)


def test_a_thousand_arms(name: str) -> None:
    generator = np.random.default_rng(0)
    arms = on_sphere(generator, 1000, 3) * generator.uniform(0.2, 0.7, (1000, 1))
    arms[400] = [1.5, 0.0, 0.0]
    instance = (
        RobustProblem(arms, [0.05 * on_sphere(generator, 1, 3) for _ in arms]),
        np.array([1.0, 0.0, 0.0]),
    )
    budget = 25_000 if name in SPENDERS else None
    assert right(solved(name, instance, budget=budget), instance)


def test_perturbation_sets_of_very_different_sizes(name: str) -> None:
    generator = np.random.default_rng(2)
    arms = np.array([[1.0, 0.0, 0.0], [0.4, 0.4, 0.0], [0.3, 0.0, 0.5]])
    perturbations = [0.1 * on_sphere(generator, size, 3) for size in (1, 400, 7)]
    instance = RobustProblem(arms, perturbations), np.array([1.0, 0.1, 0.0])
    assert right(solved(name, instance), instance)


@pytest.mark.parametrize("size", [1e9, 1e-9])
def test_rewards_of_any_size(name: str, size: float) -> None:
    problem, theta = two_arms()
    result = solved(name, (problem, size * theta), scale=size)
    assert right(result, (problem, theta))
    assert np.isfinite(result.theta).all()


def test_large_rewards_with_little_noise(name: str) -> None:
    problem = RobustProblem([[1.0, 1.0, 0.0], [1.0, 0.0, 1.0]], [np.zeros((1, 3))] * 2)
    instance = problem, np.array([1e9, 3.0, 1.0])
    assert right(solved(name, instance), instance)


def test_features_in_very_different_units(name: str) -> None:
    problem, theta = two_arms()
    units = np.array([1e8, 1e-6])
    scaled = RobustProblem(problem.features * units, [np.zeros((1, 2))] * 2)
    assert right(solved(name, (scaled, theta / units)), (problem, theta))


def test_noise_of_another_scale_for_each_pair(name: str) -> None:
    problem, theta = instance = classic(3, 0.5)
    scales = np.array([0.5, 1.0, 3.0, 2.0])
    if refused(name, Gaussian(scales)):
        return
    run = begun(name, instance, noise=Gaussian(scales))
    result = finished(run, simulated(name, (problem, theta), scales))
    assert right(result, instance)


def test_sub_gaussian_noise(name: str) -> None:
    instance = classic(3, 0.5)
    if refused(name, SubGaussian(1.0)):
        return
    run = begun(name, instance, noise=SubGaussian(1.0))
    assert right(finished(run, simulated(name, instance, family="rademacher")), instance)


def test_an_outcome_with_nan_is_refused_and_changes_nothing(name: str) -> None:
    instance = irrelevant_dimensions(3)
    run = begun(name, instance)
    phase = run.next_phase()
    assert phase is not None
    before = _state(run)
    good = simulated(name, instance, seed=0).pull(phase)
    bad = good.sums.copy()
    bad[int(np.flatnonzero(phase.counts)[0])] = np.nan
    with pytest.raises(InputError, match="not finite numbers: mend the simulator"):
        run.update(Outcome(phase.index, good.counts, bad, good.scatter))
    assert _state(run) == before
    run.update(good)
    assert run.samples == phase.samples


def test_outcomes_twice_or_out_of_order_are_refused(name: str) -> None:
    instance = irrelevant_dimensions(3)
    run, simulator = begun(name, instance), simulated(name, instance, seed=0)
    phase = run.next_phase()
    assert phase is not None
    outcome = simulator.pull(phase)
    with pytest.raises(InputError, match="outcomes come in order, each once"):
        run.update(Outcome(phase.index + 1, outcome.counts, outcome.sums, outcome.scatter))
    run.update(outcome)
    before = _state(run)
    with pytest.raises(InputError, match="call next_phase"):
        run.update(outcome)
    run.next_phase()
    with pytest.raises(InputError, match="outcomes come in order, each once"):
        run.update(outcome)
    assert run.samples == phase.samples
    assert _state(run)["pair_averages"] == before["pair_averages"]


def test_an_update_before_any_phase_is_refused(name: str) -> None:
    instance = two_arms()
    run = begun(name, instance)
    with pytest.raises(InputError, match="call next_phase"):
        run.update(Outcome(0, np.ones(2, dtype=np.int64), np.zeros(2), np.zeros(2)))


def test_other_pulls_than_asked_for_are_refused(name: str) -> None:
    run = begun(name, two_arms())
    phase = run.next_phase()
    assert phase is not None
    with pytest.raises(InputError, match="tell exactly the pulls"):
        run.update(Outcome(0, phase.counts + 1, np.zeros(2), np.zeros(2)))


@pytest.mark.parametrize("budget", [0, 1, 2, 7, 40])
def test_budgets_are_kept(name: str, budget: int) -> None:
    instance = irrelevant_dimensions(5)
    result = solved(name, instance, budget=budget)
    assert result.samples <= budget
    assert not result.certified
    assert result.reason in (StopReason.BUDGET, StopReason.NO_CERTIFICATE)
    assert instance[0].best_arm(instance[1]) in result.candidates
    assert 0 <= result.arm < instance[0].n_arms


def test_a_shared_pair_does_no_harm(name: str) -> None:
    arms = np.array([[1.0, 0.0], [1.0, 0.0]])
    problem = RobustProblem(arms, [[[0.0, 0.0]], [[0.0, 0.0], [0.0, 1.0]]])
    instance = problem, np.array([1.0, 0.7])
    assert right(solved(name, instance), instance)


def test_options_rebuild_the_algorithm(name: str) -> None:
    instance = two_arms()
    algorithm = made_for(name, instance)
    stored = json.loads(json.dumps(algorithm.options()))
    rebuilt = stored_algorithm(name, stored)
    assert rebuilt.options() == stored
    outcome = [
        finished(a.start(instance[0], settings_for(name)), simulated(name, instance, seed=2))
        for a in (algorithm, rebuilt)
    ]
    assert outcome[0].samples == outcome[1].samples


def test_the_paper_policy_runs_or_is_refused_with_a_reason(name: str) -> None:
    instance = classic(3, 0.3)
    algorithm = made_for(name, instance)
    if algorithm.has_paper_policy:
        result = solved(name, instance, confidence="paper")
        assert right(result, instance)
        assert "policy paper" in repr(result)
    else:
        with pytest.raises(InputError, match='only confidence="valid"'):
            begun(name, instance, confidence="paper")


def test_an_unknown_scale_is_learnt_or_refused_with_a_reason(name: str) -> None:
    instance = classic(3, 0.5)
    if refused(name, Gaussian()):
        return
    if made_for(name, instance).needs_scale:
        with pytest.raises(InputError, match="needs the noise scale"):
            begun(name, instance, noise=Gaussian())
    else:
        run = begun(name, instance, noise=Gaussian())
        assert right(finished(run, simulated(name, instance, seed=0)), instance)


def test_tolerance_is_used_or_refused_with_a_reason(name: str) -> None:
    instance = classic(3, 0.3)
    if made_for(name, instance).supports_tolerance:
        assert solved(name, instance, tolerance=0.5).certified
    else:
        with pytest.raises(InputError, match="has no tolerance"):
            begun(name, instance, tolerance=0.5)


def test_units_of_rewards_do_not_matter(name: str) -> None:
    """All widths follow the noise: rewards and noise eight times larger give the same run."""
    problem, theta = classic(3, 0.4)
    one, eight = (solved(name, (problem, size * theta), scale=size, seed=5) for size in (1.0, 8.0))
    assert one.samples == eight.samples
    assert one.arm == eight.arm
    assert [r.counts.tolist() for r in one.history] == [r.counts.tolist() for r in eight.history]


def _state(run: Algorithm) -> dict[str, bytes]:
    """Everything a run says, but for the phase that is waiting."""
    result = run.result
    shown = {
        key: value for key, value in vars(result).items() if key not in ("problem", "settings")
    }
    return {key: pickle.dumps(value) for key, value in shown.items()}
