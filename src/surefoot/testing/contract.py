"""The contract of an algorithm: resuming, refusing, budgets, options."""

from __future__ import annotations

import json
import pickle
from dataclasses import fields
from typing import Any

import numpy as np
import pytest

from surefoot.algorithms import Algorithm, Result, Settings, StopReason
from surefoot.algorithms.settings import ABILITIES
from surefoot.errors import InputError
from surefoot.experiments.instances import (
    Instance,
    classic,
    irrelevant_dimensions,
    on_sphere,
    unit_sphere,
)
from surefoot.noise import Gaussian, Noise, SubGaussian
from surefoot.problem.problem import RobustProblem
from surefoot.simulate import Family, LinearSimulator
from surefoot.statistics import Outcome


class Harness:
    """The differences between algorithms; a suite overrides defaults that do not fit its own.

    Attributes:
        certifies: whether it ends with a certificate.
        spends_budget: whether it cannot do without a budget.
        misfit: how far it is asked to trust the model.
    """

    certifies = True
    spends_budget = False
    misfit = 0.0

    def make(self, instance: Instance) -> Algorithm:
        """Return the algorithm for this instance."""
        raise NotImplementedError("give the suite a method make(instance)")

    def noise(self, scale: float = 1.0) -> Noise:
        """Return the noise model that it is told for rewards with noise of this scale."""
        return Gaussian(scale)

    def simulator(
        self, instance: Instance, noise: Any = 1.0, seed: int = 0, family: Family = "gaussian"
    ) -> LinearSimulator:
        """Rewards of the instance."""
        return LinearSimulator(*instance, noise, seed=seed, family=family)

    def settings(self, **changes: Any) -> Settings:
        """Usual settings, with these changes."""
        usual: dict[str, Any] = {
            "delta": 0.05,
            "noise": self.noise(),
            "budget": 3000 if self.spends_budget else None,
            "misfit": self.misfit,
        }
        return Settings(**{**usual, **changes})

    def begun(self, instance: Instance, **changes: Any) -> Algorithm:
        return self.make(instance).start(instance[0], self.settings(**changes))

    def solved(
        self, instance: Instance, scale: float = 1.0, seed: int = 0, **changes: Any
    ) -> Result:
        run = self.begun(instance, **({"noise": self.noise(scale)} | changes))
        return _finished(run, self.simulator(instance, scale, seed))

    def right(self, result: Result, instance: Instance) -> bool:
        """Return the best arm, with a certificate from every algorithm that gives any."""
        problem, theta = instance
        assert result.certified == self.certifies
        ended = result.certified or result.reason.selects
        ended |= result.reason is StopReason.NO_CERTIFICATE
        return ended and result.arm == problem.best_arm(theta)

    def refused(self, noise: Noise) -> bool:
        """Return whether the algorithm is not made for this kind of noise; then it must say so."""
        if noise.kind in getattr(self.make(_two_arms()), "noises", noise.kind):
            return False
        with pytest.raises(InputError, match="is not made for"):
            self.begun(_two_arms(), noise=noise)
        return True


def _finished(run: Algorithm, simulator: LinearSimulator) -> Result:
    """Return the result of a run to its end, every phase of which is in order."""
    while phase := run.next_phase():
        assert phase.counts.shape == (run.problem.n_pairs,)
        assert phase.counts.dtype == np.int64
        assert (phase.counts >= 0).all()
        assert phase.samples > 0
        run.update(simulator.pull(phase))
    return run.result


def _two_arms() -> Instance:
    """Return the smallest problem there is."""
    return RobustProblem.paper([[1.0, 0.0], [0.0, 1.0]], [np.zeros((1, 2))] * 2), np.array(
        [1.0, 0.2]
    )


class Contract(Harness):
    """The behaviour of every algorithm, on every problem."""

    def test_same_seed_same_run_to_the_bit(self) -> None:
        instance = unit_sphere(8, 4)
        first, second = self.solved(instance, seed=7), self.solved(instance, seed=7)
        assert first.samples == second.samples
        assert first.theta.tobytes() == second.theta.tobytes()
        assert [r.counts.tobytes() for r in first.history] == [
            r.counts.tobytes() for r in second.history
        ]

    def test_resuming_is_feeding_what_was_pulled(self) -> None:
        instance = classic(3, 0.3)
        run, simulator = self.begun(instance), self.simulator(instance, seed=3)
        outcomes: list[Outcome] = []
        while phase := run.next_phase():
            outcomes.append(simulator.pull(phase))
            run.update(outcomes[-1])
        again = self.begun(instance)
        for outcome in outcomes:
            again.next_phase()
            again.update(outcome)
        assert again.next_phase() is None
        assert repr(again.result) == repr(run.result)
        assert again.result.pair_means.tobytes() == run.result.pair_means.tobytes()

    def test_starting_leaves_the_algorithm_as_it_was(self) -> None:
        instance = _two_arms()
        algorithm = self.make(instance)
        run = algorithm.start(instance[0], self.settings())
        _finished(run, self.simulator(instance, seed=0))
        assert not hasattr(algorithm, "tally")
        assert algorithm.start(instance[0], self.settings()).samples == 0

    def test_next_phase_is_the_same_until_told(self) -> None:
        run = self.begun(_two_arms())
        assert run.next_phase() is run.next_phase()

    def test_a_result_at_any_time(self) -> None:
        instance = classic(3, 0.3)
        run, simulator = self.begun(instance), self.simulator(instance, seed=3)
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

    def test_the_result_says_what_produced_it(self) -> None:
        result = self.solved(_two_arms())
        assert result.algorithm == self.make(_two_arms()).name
        assert "the paper's rules" not in repr(result)
        assert result.reason.value in repr(result)
        assert result.samples == result.counts.sum() == result.to_frame()["total"].iloc[-1]

    def test_an_outcome_with_nan_is_refused_and_changes_nothing(self) -> None:
        instance = irrelevant_dimensions(3)
        run = self.begun(instance)
        phase = run.next_phase()
        assert phase is not None
        before = _state(run)
        good = self.simulator(instance, seed=0).pull(phase)
        bad = good.sums.copy()
        bad[int(np.flatnonzero(phase.counts)[0])] = np.nan
        with pytest.raises(InputError, match="not finite numbers: mend the simulator"):
            run.update(Outcome(phase.index, good.counts, bad, good.scatter))
        assert _state(run) == before
        run.update(good)
        assert run.samples == phase.samples

    def test_outcomes_twice_or_out_of_order_are_refused(self) -> None:
        instance = irrelevant_dimensions(3)
        run, simulator = self.begun(instance), self.simulator(instance, seed=0)
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

    def test_an_update_before_any_phase_is_refused(self) -> None:
        instance = _two_arms()
        run = self.begun(instance)
        with pytest.raises(InputError, match="call next_phase"):
            run.update(Outcome(0, np.ones(2, dtype=np.int64), np.zeros(2), np.zeros(2)))

    def test_other_pulls_than_asked_for_are_refused(self) -> None:
        run = self.begun(_two_arms())
        phase = run.next_phase()
        assert phase is not None
        with pytest.raises(InputError, match="tell exactly the pulls"):
            run.update(Outcome(0, phase.counts + 1, np.zeros(2), np.zeros(2)))

    @pytest.mark.parametrize("budget", [0, 1, 2, 7, 40])
    def test_budgets_are_kept(self, budget: int) -> None:
        instance = irrelevant_dimensions(5)
        result = self.solved(instance, budget=budget)
        assert result.samples <= budget
        assert not result.certified
        assert result.reason in (StopReason.BUDGET, StopReason.NO_CERTIFICATE)
        assert instance[0].best_arm(instance[1]) in result.candidates
        assert 0 <= result.arm < instance[0].n_arms

    def test_options_rebuild_the_algorithm(self) -> None:
        instance = _two_arms()
        algorithm = self.make(instance)
        stored = json.loads(json.dumps(algorithm.options()))
        rebuilt = type(algorithm).from_options(stored)
        assert rebuilt.options() == stored
        outcome = [
            _finished(a.start(instance[0], self.settings()), self.simulator(instance, seed=2))
            for a in (algorithm, rebuilt)
        ]
        assert outcome[0].samples == outcome[1].samples

    def test_what_it_supports_has_a_known_name(self) -> None:
        assert self.make(_two_arms()).supports <= set(ABILITIES)

    def test_the_paper_policy_runs_or_is_refused_with_a_reason(self) -> None:
        instance = classic(3, 0.3)
        algorithm = self.make(instance)
        if "paper rules" in algorithm.supports:
            result = self.solved(instance, rules="paper")
            assert self.right(result, instance)
            assert "by the paper's rules" in repr(result)
        else:
            with pytest.raises(InputError, match='only rules="valid"'):
                self.begun(instance, rules="paper")

    def test_an_unknown_scale_is_learnt_or_refused_with_a_reason(self) -> None:
        instance = classic(3, 0.5)
        if self.refused(Gaussian()):
            return
        if "unknown scale" not in self.make(instance).supports:
            with pytest.raises(InputError, match="needs the noise scale"):
                self.begun(instance, noise=Gaussian())
        else:
            run = self.begun(instance, noise=Gaussian())
            assert self.right(_finished(run, self.simulator(instance, seed=0)), instance)

    def test_tolerance_is_used_or_refused_with_a_reason(self) -> None:
        instance = classic(3, 0.3)
        if "tolerance" in self.make(instance).supports:
            assert self.solved(instance, tolerance=0.5).certified is self.certifies
        else:
            with pytest.raises(InputError, match="has no tolerance"):
                self.begun(instance, tolerance=0.5)


def _state(run: Algorithm) -> dict[str, bytes]:
    """Everything a run says, but for the phase that is waiting."""
    result = run.result
    shown = {field.name for field in fields(result) if not field.name.endswith("_later")}
    shown = shown - {"problem", "settings"} | {"attained_confidence", "leads"}
    return {name: pickle.dumps(getattr(result, name)) for name in shown}


class Variety(Harness):
    """Problems on which an algorithm must find the best arm."""

    def test_two_arms_one_perturbation_each(self) -> None:
        assert self.right(self.solved(_two_arms()), _two_arms())

    def test_one_arm_is_trivial(self) -> None:
        instance = RobustProblem.paper([[1.0, 2.0]], [[[0.0, 0.1], [0.1, 0.0]]]), np.ones(2)
        result = self.solved(instance)
        assert result.certified
        assert result.reason is StopReason.ONE_ARM
        assert (result.arm, result.samples) == (0, 0)
        assert "only arm" in result.sentence

    def test_one_dimension(self) -> None:
        instance = (
            RobustProblem.paper([[1.0], [2.0], [3.0]], [[[0.1]], [[0.1], [0.2]], [[0.1], [2.5]]]),
            np.array([1.0]),
        )
        assert self.right(self.solved(instance), instance)

    def test_rank_deficient_pairs(self) -> None:
        thin = np.random.default_rng(0).standard_normal((2, 5))
        arms = np.array([[1.0, 0.0], [0.0, 1.0], [0.3, 0.3]]) @ thin
        instance = (
            RobustProblem.paper(arms, [np.zeros((1, 5)), 0.1 * thin, 0.1 * thin]),
            np.linalg.pinv(thin) @ [0.2, 1.0],
        )
        assert instance[0].dimension == 2
        assert self.right(self.solved(instance), instance)

    def test_a_thousand_arms(self) -> None:
        generator = np.random.default_rng(0)
        arms = on_sphere(generator, 1000, 3) * generator.uniform(0.2, 0.7, (1000, 1))
        arms[400] = [1.5, 0.0, 0.0]
        instance = (
            RobustProblem.paper(arms, [0.05 * on_sphere(generator, 1, 3) for _ in arms]),
            np.array([1.0, 0.0, 0.0]),
        )
        budget = 25_000 if self.spends_budget else None
        assert self.right(self.solved(instance, budget=budget), instance)

    def test_perturbation_sets_of_very_different_sizes(self) -> None:
        generator = np.random.default_rng(2)
        arms = np.array([[1.0, 0.0, 0.0], [0.4, 0.4, 0.0], [0.3, 0.0, 0.5]])
        perturbations = [0.1 * on_sphere(generator, size, 3) for size in (1, 400, 7)]
        instance = RobustProblem.paper(arms, perturbations), np.array([1.0, 0.1, 0.0])
        assert self.right(self.solved(instance), instance)

    @pytest.mark.parametrize("size", [1e9, 1e-9])
    def test_rewards_of_any_size(self, size: float) -> None:
        problem, theta = _two_arms()
        result = self.solved((problem, size * theta), scale=size)
        assert self.right(result, (problem, theta))
        assert np.isfinite(result.theta).all()

    def test_large_rewards_with_little_noise(self) -> None:
        problem = RobustProblem.paper([[1.0, 1.0, 0.0], [1.0, 0.0, 1.0]], [np.zeros((1, 3))] * 2)
        instance = problem, np.array([1e9, 3.0, 1.0])
        assert self.right(self.solved(instance), instance)

    def test_features_in_very_different_units(self) -> None:
        problem, theta = _two_arms()
        units = np.array([1e8, 1e-6])
        scaled = RobustProblem.paper(problem.features * units, [np.zeros((1, 2))] * 2)
        assert self.right(self.solved((scaled, theta / units)), (problem, theta))

    def test_noise_of_another_scale_for_each_pair(self) -> None:
        problem, theta = instance = classic(3, 0.5)
        scales = np.array([0.5, 1.0, 3.0, 2.0])
        if self.refused(Gaussian(scales)):
            return
        run = self.begun(instance, noise=Gaussian(scales))
        result = _finished(run, self.simulator((problem, theta), scales))
        assert self.right(result, instance)

    def test_sub_gaussian_noise(self) -> None:
        instance = classic(3, 0.5)
        if self.refused(SubGaussian(1.0)):
            return
        run = self.begun(instance, noise=SubGaussian(1.0))
        assert self.right(_finished(run, self.simulator(instance, family="rademacher")), instance)

    def test_a_shared_pair_does_no_harm(self) -> None:
        arms = np.array([[1.0, 0.0], [1.0, 0.0]])
        problem = RobustProblem.paper(arms, [[[0.0, 0.0]], [[0.0, 0.0], [0.0, 1.0]]])
        instance = problem, np.array([1.0, 0.7])
        assert self.right(self.solved(instance), instance)

    def test_units_of_rewards_do_not_matter(self) -> None:
        """All widths follow the noise: rewards and noise eight times larger change no pull."""
        problem, theta = classic(3, 0.4)
        one, eight = (
            self.solved((problem, size * theta), scale=size, seed=5) for size in (1.0, 8.0)
        )
        assert one.samples == eight.samples
        assert one.arm == eight.arm
        assert [r.counts.tolist() for r in one.history] == [
            r.counts.tolist() for r in eight.history
        ]
