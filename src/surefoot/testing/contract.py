"""The contract of an algorithm: resuming, refusing, budgets, options."""

from __future__ import annotations

import json
import pickle
from dataclasses import fields

import numpy as np
import pytest

from surefoot.algorithms import Algorithm, StopReason
from surefoot.errors import InputError
from surefoot.experiments.instances import classic, irrelevant_dimensions, unit_sphere
from surefoot.noise import Gaussian
from surefoot.statistics import Outcome
from surefoot.testing.harness import Harness, finished, two_arms


class Contract(Harness):
    """The behaviour of every algorithm, whatever the problem."""

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
        instance = two_arms()
        algorithm = self.make(instance)
        run = algorithm.start(instance[0], self.settings())
        finished(run, self.simulator(instance, seed=0))
        assert not hasattr(algorithm, "tally")
        assert algorithm.start(instance[0], self.settings()).samples == 0

    def test_next_phase_is_the_same_until_told(self) -> None:
        run = self.begun(two_arms())
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
        result = self.solved(two_arms())
        assert result.algorithm == self.make(two_arms()).name
        promises = result.reason.certifies or result.reason is StopReason.BUDGET
        assert ("policy valid" in repr(result)) == promises
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
        instance = two_arms()
        run = self.begun(instance)
        with pytest.raises(InputError, match="call next_phase"):
            run.update(Outcome(0, np.ones(2, dtype=np.int64), np.zeros(2), np.zeros(2)))

    def test_other_pulls_than_asked_for_are_refused(self) -> None:
        run = self.begun(two_arms())
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
        instance = two_arms()
        algorithm = self.make(instance)
        stored = json.loads(json.dumps(algorithm.options()))
        rebuilt = type(algorithm).from_options(stored)
        assert rebuilt.options() == stored
        outcome = [
            finished(a.start(instance[0], self.settings()), self.simulator(instance, seed=2))
            for a in (algorithm, rebuilt)
        ]
        assert outcome[0].samples == outcome[1].samples

    def test_the_paper_policy_runs_or_is_refused_with_a_reason(self) -> None:
        instance = classic(3, 0.3)
        algorithm = self.make(instance)
        if algorithm.has_paper_policy:
            result = self.solved(instance, rules="paper")
            assert self.right(result, instance)
            assert "policy paper" in repr(result)
        else:
            with pytest.raises(InputError, match='only rules="valid"'):
                self.begun(instance, rules="paper")

    def test_an_unknown_scale_is_learnt_or_refused_with_a_reason(self) -> None:
        instance = classic(3, 0.5)
        if self.refused(Gaussian()):
            return
        if self.make(instance).needs_scale:
            with pytest.raises(InputError, match="needs the noise scale"):
                self.begun(instance, noise=Gaussian())
        else:
            run = self.begun(instance, noise=Gaussian())
            assert self.right(finished(run, self.simulator(instance, seed=0)), instance)

    def test_tolerance_is_used_or_refused_with_a_reason(self) -> None:
        instance = classic(3, 0.3)
        if self.make(instance).supports_tolerance:
            assert self.solved(instance, tolerance=0.5).certified is self.certifies
        else:
            with pytest.raises(InputError, match="has no tolerance"):
                self.begun(instance, tolerance=0.5)


def _state(run: Algorithm) -> dict[str, bytes]:
    """Everything a run says, but for the phase that is waiting."""
    result = run.result
    shown = {field.name for field in fields(result)} - {"problem", "settings"}
    return {name: pickle.dumps(getattr(result, name)) for name in shown}
