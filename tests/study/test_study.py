"""Ask, tell, open and continue."""

from __future__ import annotations

import pickle
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

import surefoot as sf
from surefoot.errors import InputError
from surefoot.study import Study, StudyFileError
from surefoot.study.file.chain import phase_seed
from surefoot.study.file.storage import ReadStorage
from surefoot.study.pull import PullFactory
from tests.study.toys import (
    THETA,
    Rounds,
    linear,
    open_toy,
    read_toy,
    rewards_of,
    same_result,
    toy_problem,
    toy_study,
)


def finish(study: Study) -> Study:
    for pull in study.pulls():
        study.tell(pull.id, linear(pull))
    return study


def test_ask_gives_one_phase_as_a_plain_list(path: Path) -> None:
    with toy_study(path) as study:
        pulls = study.ask()
        assert type(pulls) is list
        study.tell_many([(pull.id, linear(pull)) for pull in pulls])
        assert [pull.id for pull in pulls] == list(range(16))
        assert [pull.id for pull in study.ask()] == list(range(16, 36))


def test_pulls_wait_for_the_phase_to_be_told(path: Path) -> None:
    with toy_study(path) as study:
        pulls = study.pulls()
        for number in range(15):
            study.tell(next(pulls), float(number))
        untold = next(pulls)
        assert list(pulls) == []
        study.tell(untold, 1.0)
        assert len(study.ask()) == 20


def test_a_loop_over_pulls_goes_through_all_phases(path: Path) -> None:
    with toy_study(path) as study:
        finish(study)
        assert study.done
        assert study.state == "finished"
        assert study.told == study.result.samples == 16 + 20 + 20
        assert study.ask() == []


def test_the_result_is_that_of_the_algorithm_alone(path: Path) -> None:
    """The same rewards, summed in the order of the pulls' numbers, give the same run without any
    study.
    """
    with toy_study(path) as study:
        result = finish(study).result
        make, head = PullFactory(study.problem, study.id, 0), study.description.head
    storage = ReadStorage(path)
    seeds = [phase_seed(head, stored.index, stored.plan) for stored in storage.phases()]
    storage.close()
    run = Rounds().start(toy_problem(), sf.Settings(delta=0.05, noise=sf.Gaussian(1.0), misfit=0))
    number = 0
    stored = rewards_of(path)
    while phase := run.next_phase():
        block = stored[number : number + phase.samples]
        seeded = make.seeded(seeds[phase.index])
        assert [linear(seeded(n, phase.index, pair)) for n, pair, _ in block] == [
            reward for *_, reward in block
        ]
        run.update(
            sf.Outcome.from_rewards(
                phase.index, 8, [p for _, p, _ in block], [r for *_, r in block]
            )
        )
        number += phase.samples
    assert same_result(run.result, result)


def test_any_order_of_tells_gives_the_same_bits(path: Path, tmp_path: Path) -> None:
    generator = np.random.default_rng(0)
    with toy_study(path) as study:
        expected = finish(study).result
    with toy_study(tmp_path / "shuffled.db") as study:
        while pulls := study.ask(1000):
            for k in generator.permutation(len(pulls)):
                study.tell(pulls[k], linear(pulls[k]))
        assert same_result(study.result, expected)
    assert rewards_of(path) == rewards_of(tmp_path / "shuffled.db")


def test_reopening_at_every_pull_changes_nothing(path: Path, tmp_path: Path) -> None:
    with toy_study(path) as study:
        expected = finish(study).result
    other = tmp_path / "reopened.db"
    toy_study(other).close()
    done = False
    while not done:
        with open_toy(other) as study:
            for pull in study.ask(3):
                study.tell(pull.id, linear(pull))
            done, result = study.done, study.result
    assert same_result(result, expected)


def test_what_was_asked_and_not_told_is_asked_again_after_reopening(path: Path) -> None:
    with toy_study(path) as study:
        first = [pull.id for pull in study.ask(5)]
        assert [pull.id for pull in study.ask(5)] == [5, 6, 7, 8, 9]
        study.tell(1, 0.5)
    with open_toy(path) as study:
        assert first == [0, 1, 2, 3, 4]
        assert [pull.id for pull in study.ask(5)] == [0, 2, 3, 4, 5]


def test_a_remembering_ask_does_not_repeat_itself_after_reopening(path: Path) -> None:
    with toy_study(path) as study:
        study.ask(5, remember=True)
    with open_toy(path) as study:
        assert [pull.id for pull in study.ask(3, remember=True)] == [5, 6, 7]
        study.tell(2, 1.0)
        assert [pull.id for pull in study.outstanding()] == [0, 1, 3, 4, 5, 6, 7]


def test_streams_depend_on_the_number_alone(path: Path) -> None:
    with toy_study(path) as study:
        pulls = study.ask()
    draws = [pull.rng().normal() for pull in pulls]
    assert draws == [pull.rng().normal() for pull in pulls]
    assert len(set(draws)) == len(pulls)
    source = np.random.SeedSequence(pulls[0].study_seed, spawn_key=(3,))
    assert draws[3] == np.random.default_rng(source).normal()
    assert all(0 <= pull.seed < 2**31 for pull in pulls)


def test_a_pull_says_what_to_simulate(path: Path) -> None:
    with toy_study(path) as study:
        pull = study.ask(1)[0]
        problem = study.problem
    assert pull.parameters == dict(zip("abc", problem.parameters[pull.pair].tolist(), strict=True))
    assert pull.arm == problem.arm_names[problem.arm_of_pair[pull.pair]]
    assert pull.perturbation == problem.perturbation_names[pull.pair]
    assert (pull.features == problem.features[pull.pair]).all()


def test_a_phase_comes_in_a_random_order_with_the_right_counts(path: Path) -> None:
    with toy_study(path) as study:
        pairs = [pull.pair for pull in study.ask(1000)]
    assert np.bincount(pairs).tolist() == [2] * 8
    assert pairs != sorted(pairs)


def test_minimising_turns_signs_for_the_algorithm_but_not_in_the_file(
    path: Path, tmp_path: Path
) -> None:
    def tell_all(study: Study, sign: int) -> sf.Result:
        seen: Counter[int] = Counter()
        for pull in study.pulls():  # another question has other streams
            seen[pull.pair] += 1
            noise = np.random.default_rng([pull.pair, seen[pull.pair]]).normal()
            study.tell(pull.id, sign * float(pull.features @ THETA + noise))
        return study.result

    with toy_study(path) as study:
        highest = tell_all(study, 1)
    with toy_study(tmp_path / "costs.db", direction="minimize") as study:
        lowest = tell_all(study, -1)
        assert (lowest.values == -highest.values).all()
        assert (lowest.lower == -highest.upper).all()
        assert (lowest.upper == -highest.lower).all()
        assert (lowest.arm, lowest.samples) == (highest.arm, highest.samples)
        assert (
            lowest.problem.perturbation_names[lowest.worst_pair]
            == (highest.problem.perturbation_names[highest.worst_pair])
        )
    costs = sorted(-r for *_, r in rewards_of(tmp_path / "costs.db"))
    assert costs == sorted(r for *_, r in rewards_of(path))
    with read_toy(tmp_path / "costs.db") as reader:
        assert (reader.result.values == lowest.values).all()


def test_minimising_finds_the_smallest_worst_cost(tmp_path: Path) -> None:
    # the second has the lower best case and the higher worst case
    costs = np.array([[1.0, 1.2], [0.5, 3.0]])
    problem = sf.RobustProblem.from_pairs(np.arange(4.0)[:, None], [0, 0, 1, 1], features="tabular")
    with Study.create(
        tmp_path / "costs.db",
        problem,
        delta=0.05,
        noise=sf.Gaussian(0.01),
        misfit=0,
        direction="minimize",
    ) as study:
        for pull in study.pulls():
            study.tell(pull.id, costs.ravel()[pull.pair] + 0.01 * pull.rng().normal())
        assert study.result.certified
        assert study.result.arm == 0


def test_a_shipped_algorithm_is_found_again_by_its_name(tmp_path: Path) -> None:
    path = tmp_path / "prime.db"
    settings = {"delta": 0.05, "noise": sf.Gaussian(1.0), "misfit": 0.0, "seed": 5}
    with Study.create(path, toy_problem(), **settings) as study:
        for pull in study.ask(7):
            study.tell(pull.id, linear(pull))
    with Study.open(path) as study:
        interrupted = finish(study).result
    with Study.create(tmp_path / "straight.db", toy_problem(), **settings) as study:
        assert same_result(finish(study).result, interrupted)
    assert interrupted.certified


def test_an_algorithm_of_ones_own_must_be_given_again(path: Path) -> None:
    toy_study(path).close()
    with pytest.raises(InputError, match=r"Study.open\(path, algorithm="):
        Study.open(path)
    with pytest.raises(InputError, match="was made with 'rounds' and options"):
        open_toy(path, rounds=7)
    open_toy(path).close()


def test_an_existing_file_is_not_replaced(path: Path) -> None:
    path.write_text("my thesis")
    with pytest.raises(StudyFileError, match="exists already"):
        toy_study(path)
    assert path.read_text() == "my thesis"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"direction": "up"}, "direction='up'"),
        ({"seed": -1}, "seed=-1"),
        ({"seed": 0.5}, "seed=0.5"),
        ({"delta": 2}, "delta=2"),
    ],
)
def test_bad_options_leave_no_file(path: Path, options: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        toy_study(path, **options)
    assert list(path.parent.iterdir()) == []


@pytest.mark.parametrize("n", [0, -1, 1.5, "all"])
def test_a_senseless_number_of_pulls_is_refused(path: Path, n: object) -> None:
    with toy_study(path) as study, pytest.raises(InputError, match="1 or more"):
        study.ask(n)  # type: ignore[arg-type]


def test_a_single_arm_needs_no_pulls(path: Path) -> None:
    problem = sf.RobustProblem.paper([[1.0]], [[[0.0]]])
    with Study.create(path, problem, delta=0.05, noise=sf.Gaussian(), misfit=0) as study:
        assert study.done
        assert study.result.certified
        assert study.ask() == []
        with pytest.raises(InputError, match="it has asked for no pull"):
            study.tell(0, 1.0)


def test_an_open_phase_is_finished_as_it_was_stored(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with toy_study(path) as study:
        for pull in study.ask(10):
            study.tell(pull.id, linear(pull))
    planned = Rounds.next_counts
    monkeypatch.setattr(Rounds, "next_counts", lambda self: planned(self) + 1)
    with open_toy(path) as study:
        assert len(study.ask()) == 6


def test_the_budget_may_be_raised(path: Path, tmp_path: Path) -> None:
    with toy_study(tmp_path / "straight.db") as study:
        expected = finish(study).result
    with toy_study(path, budget=40) as study:
        assert finish(study).result.reason is sf.StopReason.BUDGET
        assert (study.state, study.told) == ("finished", 36)
    with open_toy(path) as study:
        with pytest.raises(InputError, match="budget=20 is below the 36 pulls"):
            study.change(budget=20)
        study.change(budget=None)
        assert study.state == "running"
        assert same_result(finish(study).result, expected)
    assert rewards_of(path) == rewards_of(tmp_path / "straight.db")


def test_a_budget_that_was_planned_with_cannot_be_changed(path: Path) -> None:
    """Robust Static fits its last phase to the budget: with another one it would have pulled
    otherwise.
    """
    with Study.create(
        path, toy_problem(), "robust-static", delta=0.05, noise=sf.Gaussian(1.0), budget=3
    ) as study:
        finish(study)
        with pytest.raises(InputError, match="planned with its budget of 3"):
            study.change(budget=100)
        assert study.state == "finished"


def test_a_pull_arrives_at_a_worker_as_it_was_sent(path: Path) -> None:
    with toy_study(path) as study:
        pull = study.ask(1)[0]
    copy = pickle.loads(pickle.dumps(pull))
    assert {
        name: getattr(copy, name)
        for name in ("id", "study", "phase", "pair", "arm", "perturbation")
    } == {
        name: getattr(pull, name)
        for name in ("id", "study", "phase", "pair", "arm", "perturbation")
    }
    assert copy.parameters == pull.parameters
    assert copy.features.tobytes() == pull.features.tobytes()
    assert copy.rng().normal() == pull.rng().normal()


def test_the_best_parameters_are_those_of_the_arm_as_nothing_goes_wrong(path: Path) -> None:
    arms = [[1.0, 0.0], [2.0, 0.0], [3.0, 0.0]]
    problem = sf.RobustProblem.paper(arms, [[[0.5, 1.0]]] * 3, parameter_names=["gain", "demand"])
    options = {"delta": 0.05, "noise": sf.Gaussian(1.0), "misfit": 0.0, "seed": 1}
    with Study.create(path, problem, **options) as study:
        study.run(lambda pull: 9 * pull.parameters["gain"] + pull.rng().normal(), "serial")
    with sf.StudyReader(path) as reader:
        assert reader.result.best_parameters == {"gain": 3.0, "demand": 0.0}
        assert "arm 2 is at the end of the values of gain" in repr(reader.result)
