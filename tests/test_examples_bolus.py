"""The dosing examples: the same study through the study engine, and with the original simulator."""

from __future__ import annotations

import importlib
import shutil
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from surefoot.paper.bolus.problem import day_rewards, make_dosing
from surefoot.problem.problem import RobustProblem
from surefoot.study import Pull
from surefoot.study.toml.config import StudyConfig

EXAMPLES = Path(__file__).parent.parent / "examples"
FILES = ("bolus.toml", "bolus_simulator.py", "bolus_arms.csv", "bolus_perturbations.csv")


@pytest.fixture
def load(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(sys, "path", [str(EXAMPLES), *sys.path])
    return importlib.import_module


def pull(problem: RobustProblem, pair: int, number: int = 0) -> Pull:
    parameters = dict(zip(problem.parameter_names, problem.parameters[pair].tolist(), strict=True))
    return Pull(number, "test", 0, pair, "arm", "error", parameters, problem.features[pair], 1)


def test_the_configuration_asks_what_the_command_asks() -> None:
    configured, ours = (
        StudyConfig(EXAMPLES / "bolus.toml").problem(),
        make_dosing("adult#001").linear,
    )
    assert (configured.parameters == ours.parameters).all()
    assert configured.arm_names == ours.arm_names
    assert configured.perturbation_names == ours.perturbation_names


def test_the_tables_are_what_the_example_writes(load: Any, tmp_path: Path) -> None:
    load("bolus_simulator").write_tables(tmp_path)
    for name in FILES[2:]:
        assert (tmp_path / name).read_text() == (EXAMPLES / name).read_text()


def test_the_study_runs_and_stops_at_its_budget(tmp_path: Path, load: Any) -> None:
    for name in FILES:
        shutil.copy(EXAMPLES / name, tmp_path)
    file = tmp_path / "bolus.toml"
    file.write_text(file.read_text().replace("budget = 10000", "budget = 300"))
    config = StudyConfig(file)
    with config.open_study() as study:
        result = study.run(load("bolus_simulator").simulate, "threads")
    assert 225 <= result.samples <= 300
    assert result.values.max() < 0


def test_a_pull_is_worth_the_same_as_in_the_experiment(load: Any) -> None:
    dosing = make_dosing("adult#001")
    simulator = load("bolus_simulator")
    rewards = [simulator.simulate(pull(dosing.linear, 20, number)) for number in range(60)]
    many = day_rewards(dosing, np.full(500, 20), np.random.SeedSequence(3)).sum(axis=0)
    standard_error = many.std() * np.sqrt(1 / 60 + 1 / 500)
    assert abs(np.mean(rewards) - many.mean()) < 5 * standard_error


@pytest.mark.reference
def test_stock_simglucose_agrees_where_the_sensor_does_not_matter(
    load: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """adult#007's smallest doses: hardly a reading is corrected, so nearly all days are alike in
    both simulators.
    """
    example = load("stock_simglucose")
    _bypass_pandas(example, monkeypatch)
    dosing = make_dosing("adult#007")
    pair = 12
    usual = np.median(day_rewards(dosing, np.full(101, pair), np.random.SeedSequence(0)), axis=1)
    assert example.simulate(pull(dosing.linear, pair), "adult#007") == pytest.approx(
        usual.sum(), abs=0.05
    )


def _bypass_pandas(example: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same arithmetic, ten times faster; tests/paper/glucose holds the two equal to the bit."""
    from tests.paper.glucose.reference import without_pandas

    stock = example.T1DSimEnv
    seeds: list[int] = []
    sensor = example.CGMSensor.withName

    def with_name(name: str, seed: int) -> Any:
        seeds.append(seed)
        return sensor(name, seed=seed)

    def quick(patient: Any, monitor: Any, pump: Any, scenario: Any) -> Any:
        return stock(*without_pandas(patient, monitor, pump, seeds[-1]), scenario)

    monkeypatch.setattr(example.CGMSensor, "withName", with_name)
    monkeypatch.setattr(example, "T1DSimEnv", quick)
