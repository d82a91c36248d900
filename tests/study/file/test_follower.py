"""The answer read from a writer's notes is that of the algorithm fed anew, to the bit."""

import numpy as np
import pytest

from surefoot import Gaussian, RobustProblem, Study, StudyReader
from surefoot.study.file.storage import records
from tests.study.toys import THETA, Rounds, open_toy, same_result, toy_problem, toy_study


def linear(pull):
    return float(pull.features @ THETA + 0.5 * pull.rng().normal())


def create(path, algorithm="prime", **options):
    settings = {"delta": 0.05, "noise": Gaussian(0.5), "misfit": 0.0, "seed": 3} | options
    return Study.create(path, toy_problem(6), algorithm, **settings)


def same_history(one, other):
    def plain(result):
        return [
            (
                r.phase,
                r.total,
                r.leader,
                r.boundary,
                r.survivors.tobytes(),
                r.counts.tobytes(),
                r.evidence is None,
            )
            for r in result.history
        ]

    evidence = zip(one.history, other.history, strict=True)
    return plain(one) == plain(other) and all(
        a.evidence is None or (a.evidence == b.evidence).all() for a, b in evidence
    )


@pytest.mark.parametrize("algorithm", ["prime", "robust-rage", "robust-static"])
def test_what_was_noted_and_what_is_fed_agree_after_every_phase(tmp_path, algorithm):
    path = tmp_path / "study.db"
    with create(path, algorithm) as study, StudyReader(path) as reader:
        while not study.done:
            study.tell_many([(pull.id, linear(pull)) for pull in study.ask()])
            with StudyReader(path) as fresh:
                assert same_result(reader.recorded, fresh.result)
                assert same_history(reader.recorded, fresh.result)
        assert reader.recorded.certified
        assert repr(reader.recorded) == repr(study.result)


def test_a_phase_that_is_not_complete_changes_nothing(tmp_path):
    path = tmp_path / "study.db"
    with create(path) as study, StudyReader(path) as reader:
        pulls = study.ask()
        study.tell_many([(pull.id, linear(pull)) for pull in pulls[:-1]])
        assert reader.recorded.samples == 0
        study.tell(pulls[-1].id, linear(pulls[-1]))
        assert reader.recorded.samples == len(pulls)


def test_the_notes_of_an_algorithm_that_we_do_not_ship_are_enough(tmp_path):
    path = tmp_path / "toy.db"
    with toy_study(path) as study:
        study.run(linear, "serial")
    with StudyReader(path) as reader, open_toy(path) as study:
        assert same_result(reader.recorded, study.result)
        assert reader.recorded.algorithm == "rounds"


def test_a_study_of_one_arm_is_finished_without_a_phase(tmp_path):
    path = tmp_path / "one.db"
    problem = RobustProblem.paper(np.eye(1), [np.zeros((1, 1))])
    with Study.create(path, problem, delta=0.05, noise=Gaussian(1.0), misfit=0) as study:
        assert study.done
    with StudyReader(path) as reader:
        assert reader.recorded.certified


class Certain(Rounds):
    """Evidence without bounds."""

    def learn(self, outcome):
        super().learn(outcome)
        self.evidence, self.boundary = np.array([np.inf, -np.inf, 0.1, 2.5]), 3.0


def test_infinite_evidence_survives_the_file(tmp_path):
    path = tmp_path / "study.db"
    with Study.create(path, toy_problem(), Certain(2), delta=0.05, noise=Gaussian(1.0)) as study:
        study.run(linear, "serial")
    with StudyReader(path) as reader:
        assert [record.evidence.tolist() for record in reader.recorded.history] == [
            [np.inf, -np.inf, 0.1, 2.5]
        ] * 2


def test_where_the_notes_do_not_tell_all_the_algorithm_is_fed(tmp_path, monkeypatch):
    monkeypatch.setattr(records, "MOST_EVIDENCE", 3)
    path = tmp_path / "study.db"
    with create(path) as study:
        study.run(linear, "serial")
        expected = study.result
    with StudyReader(path) as reader:
        assert same_history(reader.recorded, expected)
        assert reader.recorded.history[-1].evidence is not None
