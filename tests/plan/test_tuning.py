"""PRIME's constants: explained, checked, stored with a study and never changed under it."""

from __future__ import annotations

import json
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import surefoot as sf
from surefoot.algorithms import algorithm_from, stored_algorithm
from surefoot.doubt import NormalityPenalty
from surefoot.errors import InputError
from surefoot.experiments.instances import random_robust
from surefoot.plan import Prime, Tuning, prime
from surefoot.plan.tuning import COSTS_SAMPLES, ENTERS_BOUNDARY, ROBUSTNESS
from surefoot.study import Pull, Study

DOUBTS = ("skew_hidden", "fall", "quiet", "quiet_pulls")


def test_every_constant_says_what_it_means_and_what_it_affects() -> None:
    assert len(fields(Tuning)) <= 30
    for constant in fields(Tuning):
        assert len(constant.metadata["meaning"].split()) >= 3
        assert constant.metadata["effect"] in (ENTERS_BOUNDARY, ROBUSTNESS, COSTS_SAMPLES)
    assert {f.name for f in fields(Tuning) if f.metadata["effect"] == ENTERS_BOUNDARY} == {
        "looks",
        "growth",
        "trust",
        "strict",
        "grid_middle",
        "grid_rise",
    }


@pytest.mark.parametrize("constant", [f.name for f in fields(Tuning)])
def test_every_constant_is_used(constant: str) -> None:
    sources = Path(prime.__file__).parent
    inner = "suspicion" if constant in DOUBTS else constant
    users = [p for p in sources.rglob("*.py") if p.name != "tuning.py"]
    assert any(f".{inner}" in path.read_text() for path in users)


def test_shapes_are_doubted_by_default_as_by_any_planner() -> None:
    assert Tuning().suspicion == NormalityPenalty()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("growth", 1.0),
        ("growth", float("nan")),
        ("growth", "1.2"),
        ("growth", True),
        ("looks", 0),
        ("looks", 3.5),
        ("pair_pulls", 0),
        ("exploration", (0.1,)),
        ("grid_rise", -1.0),
    ],
)
def test_an_unsuitable_value_is_refused_with_one_sentence(name: str, value: object) -> None:
    with pytest.raises(InputError, match=rf"^tuning: {name}=.* must "):
        Tuning(**{name: value})  # type: ignore[arg-type]


def test_what_is_no_tuning_or_no_constant_is_refused() -> None:
    with pytest.raises(InputError, match="must be a Tuning"):
        Prime(tuning=0.5)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="speed is no constant of PRIME"):
        algorithm_from("prime", tuning={"speed": 2})
    with pytest.raises(InputError, match="does not take these options"):
        stored_algorithm("prime", {"speed": 2})


def test_whatever_numbers_are_given_the_same_tuning_comes_out() -> None:
    given = Tuning(looks=np.int64(9), doubt=1)
    assert given == Tuning(looks=9, doubt=1.0)
    assert type(given.looks) is int
    assert type(given.doubt) is float


def test_options_pass_through_json() -> None:
    tuned = Prime(tuning=Tuning(growth=1.3, doubt=0.1))
    stored = json.loads(json.dumps(tuned.options()))
    assert stored == tuned.options()
    rebuilt = stored_algorithm("prime", stored)
    assert isinstance(rebuilt, Prime)
    assert rebuilt.tuning == tuned.tuning


def test_a_configuration_names_only_what_differs() -> None:
    tuned = algorithm_from("prime", tuning={"growth": 1.3})
    assert isinstance(tuned, Prime)
    assert tuned.tuning == Tuning(growth=1.3)


@pytest.fixture
def retuned(monkeypatch: pytest.MonkeyPatch) -> None:
    """A later version, whose defaults plan differently."""
    defaults: dict[str, Any] = Tuning.__init__.__kwdefaults__
    later = {"unit": 9, "growth": 1.4, "hope": 0.9}
    monkeypatch.setattr(Tuning.__init__, "__kwdefaults__", defaults | later)


def test_a_study_goes_on_as_it_began_when_the_defaults_have_changed(
    tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    problem, theta = random_robust(4, 3, 3)

    def simulate(pull: Pull) -> float:
        return float(pull.features @ theta + pull.rng().normal())

    def begun(path: Path) -> Study:
        return Study.create(
            path, problem, "prime", delta=0.05, noise=sf.Gaussian(1.0), misfit=0, seed=2
        )

    with begun(tmp_path / "straight.db") as study:
        expected = study.run(simulate, "serial")
    with begun(tmp_path / "halted.db") as study:
        while study.told < 60:
            study.tell_many([(pull.id, simulate(pull)) for pull in study.ask(1)])
    request.getfixturevalue("retuned")
    with Study.open(tmp_path / "halted.db") as study:
        result = study.run(simulate, "serial")
    assert result.counts.tolist() == expected.counts.tolist()
