"""Several phases in flight: no plan depends on which pulls came back sooner, and files prove it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

import surefoot as sf
from surefoot.algorithms import Settings, algorithm_from
from surefoot.algorithms.base import Proposal
from surefoot.algorithms.planner import Past, Planner
from surefoot.statistics import Outcome, Phase
from surefoot.study import Pull, Study, StudyReader, verify
from surefoot.study.file.encoding import commitment_bytes, layout_bytes

N_ARMS, N_PAIRS = 3, 6
MEANS = np.array([1.4, 1.6, 0.4, 1.0, 0.0, 0.8])


def simulate(pull: Pull) -> float:
    return float(MEANS[pull.pair] + pull.rng().normal())


def problem() -> sf.RobustProblem:
    return sf.RobustProblem.from_pairs(np.eye(N_PAIRS), np.repeat(np.arange(N_ARMS), 2))


def create(path: Path, in_flight: int = 2, **given: Any) -> Study:
    asked = {"delta": 0.1, "noise": sf.Gaussian(), "parallel": 4, "seed": 7} | given
    return Study.create(path, problem(), in_flight=in_flight, **asked)


def fingerprint(path: Path) -> str:
    found = verify(path)
    assert found.certified, found.sentence
    assert found.fingerprint is not None
    return found.fingerprint


def tell_in_any_order(path: Path, generator: np.random.Generator) -> None:
    """Tell a few pulls of any open phases, then go on in another process, until all is told."""
    done = False
    while not done:
        with Study.open(path) as study:
            pulls = study.ask()
            for place in generator.permutation(len(pulls))[: generator.integers(1, 40)].tolist():
                if not study.done:
                    study.tell(pulls[place], simulate(pulls[place]))
            done = study.done


@pytest.mark.parametrize("in_flight", [1, 2, 3])
def test_the_bits_do_not_depend_on_workers_orders_and_kills(tmp_path: Path, in_flight: int) -> None:
    path = tmp_path / "here.db"
    with create(path, in_flight) as study:
        result = study.run(simulate, "serial")
    by_simulator = {fingerprint(path)}
    for name, workers in (("threads", "threads"), ("three", 3)):
        with create(tmp_path / f"{name}.db", in_flight) as study:
            assert study.run(simulate, workers).samples == result.samples
        by_simulator.add(fingerprint(study.path))
    by_hand = set()
    for seed in (1, 2):
        killed = tmp_path / f"killed-{seed}.db"
        create(killed, in_flight).close()
        tell_in_any_order(killed, np.random.default_rng(seed))
        by_hand.add(fingerprint(killed))
        with StudyReader(killed) as reader:
            assert reader.recorded.sentence == result.sentence
    assert len(by_simulator) == len(by_hand) == 1  # who gave the rewards is part of either
    assert result.certified
    assert result.arm == 0


@pytest.mark.parametrize("misfit", [0.0, 0.1, np.inf])
def test_a_phase_is_chosen_without_the_rewards_of_those_in_flight(misfit: float) -> None:
    """Other rewards of phase 4 change no commitment before that of phase 4 + k."""
    asked, k = problem(), 3
    noise = sf.Gaussian(1.0)
    settings = Settings(delta=0.1, noise=noise, parallel=9, in_flight=k, misfit=misfit)

    def committed(other: int | None) -> list[bytes]:
        run, found = algorithm_from("prime").start(asked, settings), []
        while (phase := run.next_phase()) and len(found) < 10:
            for each in run.flying[len(found) - phase.index :]:
                made = run.commitment_of(each)
                assert made is not None
                found.append(layout_bytes(each) + commitment_bytes(made.claims, made.variances))
            run.update(_outcome(phase, 1 if phase.index == other else 0))
        return found

    first, second = committed(None), committed(4)
    assert first[: 4 + k] == second[: 4 + k]
    assert first[4 + k] != second[4 + k]


def _outcome(phase: Phase, variant: int) -> Outcome:
    generator = np.random.default_rng([phase.index, variant])
    pairs = np.repeat(np.arange(N_PAIRS), phase.counts)
    rewards = 0.05 * MEANS[pairs] + generator.normal(size=len(pairs))
    return Outcome.from_rewards(phase, N_PAIRS, pairs, rewards)


def test_what_is_in_flight_at_the_end_is_called_off_and_said_to_be(tmp_path: Path) -> None:
    path = tmp_path / "study.db"
    with create(path, noise=sf.Gaussian(0.1)) as study:
        flying: list[Pull] = []
        while not study.done:
            flying += study.ask()
            one = flying.pop()  # of the newest phase
            oldest = [pull for pull in flying if pull.phase == flying[0].phase]
            flying = flying[len(oldest) :]
            for pull in (one, *oldest):
                study.tell(pull, float(MEANS[pull.pair] + 0.1 * pull.rng().normal()))
        size, simulated = study.called_off
        assert (size, simulated) == (len(flying) + 1, 1)
        before = study.result.samples
        with pytest.warns(sf.SurefootWarning, match="was called off"):
            assert not study.tell(flying[0], 0.0)
        assert study.ask() == []
    with StudyReader(path) as reader:
        status = reader.status()
    assert (status.called_off, status.unused, status.told) == (size, 1, before + 1)
    with Study.open(path) as again:
        assert again.done
        assert again.called_off == (size, 1)
        assert again.result.samples == before
    assert fingerprint(path)


def test_a_budget_counts_pulls_in_flight_and_is_spent_to_the_end(tmp_path: Path) -> None:
    for name, asked in (("none", {}), ("guess", {"aim": "guess"})):
        path = tmp_path / f"{name}.db"
        with create(path, 3, budget=90, noise=sf.Gaussian(20.0), **asked) as study:
            result = study.run(simulate, "serial")
            assert result.samples <= 90
            assert study.called_off == (0, 0)
            assert not result.certified
            assert name != "guess" or result.samples == 90


def test_the_number_in_flight_may_change_on_the_way(tmp_path: Path) -> None:
    path = tmp_path / "study.db"
    with create(path, 3) as study:
        for pull in study.ask():
            study.tell(pull, simulate(pull))
        study.change(in_flight=1)
        assert study.run(simulate, "serial").certified
    assert fingerprint(path)


@dataclass(eq=False)
class Greedy(Planner):
    """Claims with the leader's pairs whatever is in flight; waits with the first claims."""

    name: ClassVar[str] = "greedy"

    def propose(self, past: Past) -> Proposal | None:
        counts = np.full(N_PAIRS, 10)
        if not past.tally.samples:
            return None if past.certifier.open else Proposal(counts, 5)
        claims = past.challenge(int(np.argmax(past.means.reshape(3, 2).min(axis=1))), counts, 5)
        return Proposal(counts, 5, claims=claims, variances=past.variances)


def test_a_planner_of_ones_own_may_have_phases_in_flight_too(tmp_path: Path) -> None:
    path = tmp_path / "own.db"
    with Study.create(
        path, problem(), Greedy(), delta=0.1, noise=sf.Gaussian(), in_flight=3, seed=3
    ) as study:
        assert study.run(simulate, "serial").certified
    assert fingerprint(path)


def test_an_algorithm_that_learns_from_every_phase_has_one_in_flight(tmp_path: Path) -> None:
    with pytest.raises(sf.InputError, match="leave in_flight at 1"):
        Study.create(
            tmp_path / "rage.db", problem(), "robust-rage", delta=0.1, noise=sf.Gaussian(1.0),
            in_flight=2,
        )  # fmt: skip
    with pytest.raises(sf.InputError, match="in_flight=0 must be a whole number"):
        create(tmp_path / "none.db", 0)
