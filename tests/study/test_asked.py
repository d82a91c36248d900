"""Settings of a study: in and out of its file, and how they reach the algorithm."""

from __future__ import annotations

import json
import math
import sqlite3
import sys
from pathlib import Path

import numpy as np
import pytest

import surefoot as sf
from surefoot.commands import export
from surefoot.errors import InputError
from surefoot.guides import Guess, Guide, Seen
from surefoot.study import Pull, Study, StudyPaused, StudyReader
from surefoot.study.file.description import Description, _settings_from_dict, _settings_to_dict
from tests.study.toys import THETA, toy_problem


class Flat(Guide):
    """Knows nothing."""

    name = "flat"

    def guess(self, seen: Seen) -> Guess:
        return Guess(np.zeros(seen.problem.n_pairs), np.ones(seen.problem.n_pairs))


class Tired(Flat):
    """Fails while it has had enough."""

    name = "tired"
    had_enough = False

    def guess(self, seen: Seen) -> Guess:
        if self.had_enough and seen.counts.sum() > 20:
            raise ZeroDivisionError("no luck")
        return super().guess(seen)


MINE, TIRED = Flat(), Tired()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "study.db"


def make(path: Path, **changes: object) -> Study:
    usual = {"delta": 0.05, "noise": sf.Gaussian(), "misfit": math.inf, "seed": 1, "budget": 60}
    return Study.create(path, toy_problem(), **(usual | changes))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "settings",
    [
        sf.Settings(delta=0.05, noise=sf.Gaussian(), misfit=0),
        sf.Settings(delta=0.05, noise=sf.Gaussian(), misfit=0.25),
        sf.Settings(delta=0.05, noise=sf.Gaussian(equal=True), misfit=math.inf, guide="tabular"),
        sf.Settings(
            delta=0.1,
            noise=sf.Bounded(0, 1),
            misfit=math.inf,
            guide="tests.study.test_asked:MINE",
            common_random_numbers="auto",
            tolerance=0.1,
        ),
    ],
)
def test_settings_come_back_from_a_file(settings: sf.Settings) -> None:
    stored = _settings_to_dict(settings)
    again = _settings_from_dict(json.loads(json.dumps(stored, allow_nan=False)))
    assert _settings_to_dict(again) == stored
    assert (again.misfit, again.guide) == (settings.misfit, settings.guide)
    assert again.common_random_numbers == settings.common_random_numbers
    assert again.noise.evidence == settings.noise.evidence


def no_number(text: str) -> None:
    raise AssertionError(f"{text} is no JSON")


@pytest.mark.parametrize(("misfit", "kept"), [(0, 0.0), (0.25, 0.25), (math.inf, "inf")])
def test_every_misfit_is_json_wherever_it_is_written(
    path: Path, misfit: float, kept: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the study file, in its export and in its certificate; each is read back as it was."""
    monkeypatch.chdir(path.parent)
    with make(path, misfit=misfit, noise=sf.Gaussian(0.1), budget=None, tolerance=2.0) as study:
        assert study.run(lambda pull: 0.1 * pull.rng().normal(), "serial").certified
    connection = sqlite3.connect(path)
    entries = {
        key: json.loads(value, parse_constant=no_number)
        for key, value in connection.execute("SELECT key, value FROM study")
    }
    connection.close()
    export.command(path, Path("study.json"))
    export.command(path, certificate=Path("proof.json"))
    exported, proof = (
        json.loads(Path(name).read_text(), parse_constant=no_number)
        for name in ("study.json", "proof.json")
    )
    for written in (entries, exported, proof["question"]):
        assert written["settings"]["misfit"] == kept
        assert Description.from_entries(written).settings.misfit == misfit
    with Study.open(path) as study:
        assert study.description.settings.misfit == misfit
    assert sf.verify(path).certified
    assert sf.verify("proof.json").certified


def test_a_study_trusts_no_model_unless_it_is_told_to_or_its_algorithm_needs_one(
    tmp_path: Path,
) -> None:
    settings = {"delta": 0.05, "noise": sf.Gaussian(1.0)}
    for number, (algorithm, said, expected) in enumerate(
        [("prime", {}, math.inf), ("prime", {"misfit": 0.5}, 0.5), ("robust-static", {}, 0.0)]
    ):
        with Study.create(
            tmp_path / f"{number}.db", toy_problem(), algorithm, **settings, **said
        ) as study:
            assert study.description.settings.misfit == expected


def test_a_profit_that_bends_is_not_certified_wrong(tmp_path: Path) -> None:
    """What is sold is the smaller of stock and demand: a plane says "stock little", wrongly."""
    problem = sf.RobustProblem.from_lists(
        [{"stock": float(stock)} for stock in (2, 4, 6, 8, 10)],
        [{"name": "usual"}, {"name": "few come", "demand": -4.0}],
        environment={"demand": 8.0},
    )
    assert problem.dimension < problem.n_pairs

    def profit(pull: Pull) -> float:
        stock, demand = pull.parameters["stock"], pull.parameters["demand"]
        return 5 * min(stock, demand) - 2 * stock + pull.rng().normal()

    def found(seed: int, **said: float) -> sf.Result:
        name = tmp_path / f"{seed}-{len(said)}.db"
        with Study.create(
            name, problem, delta=0.05, noise=sf.Gaussian(), seed=seed, **said
        ) as study:
            return study.run(profit, "serial")

    for seed in range(5):
        result = found(seed)
        assert result.certified
        assert result.arm_name == "stock=4"
    assert not any(found(seed, misfit=0).arm_name == "stock=4" for seed in range(5))


def test_a_guide_of_ones_own_is_kept_by_its_name(path: Path) -> None:
    with make(path, guide="tests.study.test_asked:MINE") as study:
        counts = np.bincount([pull.pair for pull in study.ask()], minlength=8)
    with StudyReader(path) as reader:
        assert reader.settings.guide == "tests.study.test_asked:MINE"
    assert (counts > 0).all()  # a guide that knows nothing wants to see all pairs


def test_a_study_goes_on_where_a_guide_failed_once_it_is_mended(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    changes = {"guide": "tests.study.test_asked:TIRED", "budget": 400}
    with make(tmp_path / "never-tired.db", **changes) as study:
        whole = study.run(success, "serial")
    monkeypatch.setattr(TIRED, "had_enough", True)
    with make(path, **changes) as study:
        with pytest.raises(InputError, match=r"guide 'tired' failed.*no luck.*no reward is lost"):
            study.run(success, "serial")
        told = study.told
        assert told > 20
    monkeypatch.setattr(TIRED, "had_enough", False)
    with Study.open(path) as study:
        assert study.told == told
        again = study.run(success, "serial")
    assert (again.arm, again.samples) == (whole.arm, whole.samples)
    assert np.array_equal(again.counts, whole.counts)


@pytest.mark.parametrize(
    ("guide", "words"),
    [
        (MINE, "cannot be kept in a study file"),
        ("oracle", "cannot be kept in a study file"),
        ("no_such_module:guide", "import no_such_module before"),
        ("tests.study.test_asked:YOURS", "has no 'YOURS'"),
        ("tests.study.test_asked:THETA", "is not known"),
    ],
)
def test_a_guide_that_cannot_be_found_is_refused_before_there_is_a_file(
    path: Path, guide: object, words: str
) -> None:
    with pytest.raises(InputError, match=words):
        make(path, guide=guide)
    assert not path.exists()


def chance(pull: Pull) -> float:
    return 1 / (1 + np.exp(-float(pull.features @ THETA)))


def success(pull: Pull) -> float:
    return float(pull.rng().random() < chance(pull))


@pytest.mark.parametrize("direction", ["maximize", "minimize"])
def test_success_rates_are_certified_in_both_directions(path: Path, direction: str) -> None:
    noise = sf.Bounded(0, 1)
    with make(path, noise=noise, direction=direction, tolerance=0.1, budget=4000) as study:
        result, problem = study.run(success, "serial"), study.problem
        assert study.description.settings.noise.limits == (0, 1)
    sign = 1 if direction == "maximize" else -1
    worst = problem.worst_of(sign / (1 + np.exp(-problem.pairs @ THETA)))
    assert result.certified
    assert worst[result.arm] >= worst.max() - 0.1


@pytest.mark.parametrize("reward", [-0.01, 1.5])
def test_a_reward_that_cannot_be_is_refused_and_nothing_is_lost(path: Path, reward: float) -> None:
    with make(path, noise=sf.Bounded(0, 1), direction="minimize") as study:
        study.tell(0, 1.0)
        with pytest.raises(InputError, match="lie between 0 and 1"):
            study.tell_many([(1, 0.0), (2, reward)])
        with pytest.raises(InputError, match="lie between 0 and 1"):
            study.correct(0, reward)
        assert study.told == 1


def test_a_simulator_that_gives_such_a_reward_pauses_the_study(path: Path) -> None:
    with make(path, noise=sf.Bounded(0, 1)) as study:
        with pytest.raises(StudyPaused, match="the study says that all lie between 0 and 1"):
            study.run(lambda pull: 2.0 if pull.id == 7 else success(pull), "serial", retries=0)
        assert study.told >= 7
        assert study.run(success, "serial").samples == study.told


def test_a_reader_needs_no_guide_to_show_how_a_study_stands(path: Path) -> None:
    """Nothing is imported because a file names it."""
    with make(path, guide="tests.study.test_asked:MINE") as study:
        for pull in study.ask():
            study.tell(pull, float(pull.rng().normal()))
    with sqlite3.connect(path) as connection:
        connection.execute(
            "UPDATE study SET value = replace(value, 'tests.study.test_asked', 'this')"
        )
    with StudyReader(path) as reader:
        assert reader.status().told == study.told
        assert reader.recorded.samples == study.told
    with pytest.raises(InputError, match="import this before"):
        Study.open(path)
    assert "this" not in sys.modules
