"""Every example runs as it stands, in a folder of its own, and finds what is right by brute force.

For simulators that were not written for surefoot `tests/truths.py` pulls every pair many times, and
`tests/data/truths` keeps what it found.
"""

from __future__ import annotations

import importlib
import json
import os
import re
import runpy
import shutil
import subprocess
import sys
import tomllib
import types
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from surefoot.algorithms import Result
from surefoot.paper.bolus.problem import day_rewards, make_dosing
from surefoot.problem.problem import RobustProblem
from surefoot.study import verify
from surefoot.study.pull import Pull, PullFactory
from surefoot.study.toml.config import StudyConfig
from tests.documents import ROOT
from tests.landings import EXAMPLE, landings
from tests.truths import TRUTHS

EXAMPLES = ROOT / "examples"
STUDIES = {"inventory": "usual", "pendulum": "firm", "queue": "service=4"}
BIAS = "lower=7000"  # of the amplifier; 6000 and 8000 are within its tolerance


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A copy of the examples: studies leave their files beside them."""
    return Path(
        shutil.copytree(
            EXAMPLES, tmp_path / "examples", ignore=shutil.ignore_patterns("*.db*", "__pycache__")
        )
    )


def _run(folder: Path, *command: str) -> str:
    environment = {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "OMP_NUM_THREADS": "1",
    }
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize(("name", "best"), STUDIES.items())
def test_a_study_finds_the_best_worst_case(name: str, best: str, folder: Path) -> None:
    output = _run(folder, "surefoot", "run", "--quiet", "--processes", "1", f"{name}.toml")
    assert output.startswith(f"{best} has the best worst case")
    assert "95 % confidence" in output


@pytest.fixture
def page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """The names of a notebook that runs in an empty folder."""
    monkeypatch.chdir(tmp_path)
    module = types.ModuleType("__main__")
    monkeypatch.setitem(sys.modules, "__main__", module)
    return vars(module)


def cells_of(notebook: str) -> list[str]:
    """The code of a notebook, which holds no outputs, so that none can be stale."""
    cells = json.loads((EXAMPLES / notebook).read_text())["cells"]
    code = [cell for cell in cells if cell["cell_type"] == "code"]
    assert all(cell["outputs"] == [] for cell in code)
    return ["".join(cell["source"]) for cell in code]


def test_the_notebook_of_a_forecast_runs(page: dict[str, Any]) -> None:
    for cell in cells_of("forecast.ipynb"):
        exec(cell, page)
    assert page["answer"].certified
    assert page["answer"].best["weight"] == 0.2
    assert "weight=0.2" in Path("sales.html").read_text()


def test_the_notebook_of_figure_1_runs_with_two_runs_of_each(page: dict[str, Any]) -> None:
    for cell in cells_of("figure1.ipynb"):
        exec(cell.replace("runs = 10", "runs = 2"), page)
    table = page["table"]
    assert table["instance"].nunique() == 2
    assert table["algorithm"].nunique() == 5
    assert table["wrong"].sum() == 0
    assert "by length" in json.dumps(page["found"].chart().to_dict())


def test_a_circuit_across_its_corners(folder: Path) -> None:
    if shutil.which("ngspice") is None and not os.environ.get("CI"):
        pytest.skip("ngspice is not installed: apt-get install ngspice")
    output = _run(folder, "surefoot", "run", "--quiet", "circuit.toml")
    assert output.startswith(f"{BIAS} has the best worst case to within 1, with 95 % confidence")


@pytest.mark.parametrize(("name", "best"), [("random_planner", "arm 0"), ("gp_planner", "arm 4")])
def test_whoever_plans_the_answer_is_certified(name: str, best: str, folder: Path) -> None:
    output = _run(folder, sys.executable, f"{name}.py")
    assert output.startswith(f"{best} has the best worst case")


def test_every_example_is_in_the_gallery_with_its_picture() -> None:
    text = (ROOT / "docs" / "gallery.md").read_text()
    for path in EXAMPLES.rglob("*.toml"):
        named = path.name if path.parent == EXAMPLES else path.parent.name
        assert f"examples/{named}" in text
    pictures = re.findall(r"\(images/(gallery-[^)]+)\)", text)
    assert len(pictures) >= len(STUDIES) + 1
    assert all((ROOT / "docs" / "images" / name).exists() for name in pictures)


def test_the_quickstart(folder: Path) -> None:
    assert _run(folder, sys.executable, "quickstart.py").startswith(
        "steady has the best worst case, with 95 %"
    )


def test_by_hand_a_table_goes_back_and_forth(folder: Path) -> None:
    output = _run(folder, "./by_hand.sh")
    assert output.count("new rewards stored") >= 2
    assert "cool and long has the best worst case, with 95 % confidence" in output


def test_every_configuration_describes_a_problem(folder: Path) -> None:
    paths = sorted(folder.glob("*.toml"))
    assert {*STUDIES, "by_hand", "bolus"} <= {path.stem for path in paths}
    for path in paths:
        assert StudyConfig(path).problem().n_arms >= 3


def test_the_best_of_an_optuna_search_is_certified(folder: Path) -> None:
    output = _run(folder, sys.executable, "optuna_search.py")
    assert output.startswith("the search likes {'name': 'trial")
    assert "has the best worst case" in output
    assert "with 95 % confidence" in output


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


NAMES = ["cartpole", "clinic", "models", "simopt_inventory", "water"]
SCRIPTS = ["epidemic", "machine_shop"]
MOST_LINES, MOST_OF_A_SCRIPT = 25, 30
CLEARLY = 2.0  # standard errors


def configuration(name: str) -> Path:
    return Path(ROOT / "examples" / name / "study.toml")


@pytest.mark.parametrize("name", NAMES)
def test_a_study_says_little(name: str) -> None:
    text = configuration(name).read_text()
    assert len(text.splitlines()) <= MOST_LINES
    said = tomllib.loads(text)
    assert "features" not in said
    assert "scale" not in said.get("noise", {})


@pytest.mark.parametrize("name", NAMES)
def test_the_truth_leaves_no_doubt_about_what_is_right(name: str) -> None:
    truth = json.loads((TRUTHS / f"{name}.json").read_text())
    arms = StudyConfig(configuration(name)).problem().arm_names
    assert list(truth["arms"]) == arms
    assert truth["made by"].startswith(f"python -m tests.truths {name}")
    right = good_arms(name)
    assert 0 < len(right) < len(arms)


@pytest.mark.parametrize("name", NAMES)
def test_it_is_found_and_certified(name: str, tmp_path: Path) -> None:
    result = run(name, tmp_path)
    assert result.certified
    assert result.arm_name in good_arms(name)


def run(name: str, folder: Path) -> Result:
    """The example as it stands, in a folder of its own."""
    config = StudyConfig(shutil.copytree(configuration(name).parent, folder / name) / "study.toml")
    with config.open_study() as study:
        return study.run(config.simulator(study.problem), "serial")


def good_arms(name: str) -> set[str]:
    """The arms that may be within the tolerance of the best."""
    said = tomllib.loads(configuration(name).read_text())
    arms = json.loads((TRUTHS / f"{name}.json").read_text())["arms"]
    sign = -1 if said.get("direction") == "minimize" else 1
    best = max(sign * arm["worst"] for arm in arms.values())
    return {
        called
        for called, arm in arms.items()
        if best - sign * arm["worst"] <= said["tolerance"] + CLEARLY * arm["error"]
    }


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_script_is_a_function_and_a_call(name: str) -> None:
    code = (ROOT / "examples" / f"{name}.py").read_text()
    parts = re.findall(r"^(?:def |answer =).*?(?=\n\n\n|\Z)", code, re.MULTILINE | re.DOTALL)
    assert len(parts) == 2
    assert len(re.findall(r"\S.*$", "\n".join(parts), re.MULTILINE)) <= MOST_OF_A_SCRIPT


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_script_finds_what_is_right(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    answer = runpy.run_path(str(ROOT / "examples" / f"{name}.py"))["answer"]
    assert answer.certified
    assert answer.verify().certified
    assert answer.sentence in capsys.readouterr().out
    arms = json.loads((TRUTHS / f"{name}.json").read_text())["arms"]
    assert list(arms) == answer.problem.arm_names
    own, sign = arms.pop(answer.arm), 1 if answer.result.minimize else -1
    assert min(sign * (arm["worst"] - own["worst"]) - 4 * arm["error"] for arm in arms.values()) > 0


BLOCKS = 60  # pulls of every pair


@pytest.mark.parametrize("name", ["clinic", "cart", "insulin"])
def test_the_answer_is_right_by_brute_force_certified_and_verified(
    name: str, tmp_path: Path
) -> None:
    shutil.copytree(ROOT / "examples" / "limits", tmp_path / "limits")
    config = StudyConfig(tmp_path / "limits" / f"{name}.toml")
    with config.open_study() as study:
        result = study.run(config.simulator(study.problem), "serial")
    assert result.certified
    assert result.arm in best_by_force(config)
    assert verify(config.file).certified


def test_a_lander_is_found_on_landings_that_were_recorded(tmp_path: Path) -> None:
    """The tests do without Box2D: each pull is one of the landings that `tests.landings` kept."""
    shutil.copytree(EXAMPLE.parent, tmp_path / "limits")
    config, seen = StudyConfig(tmp_path / "limits" / EXAMPLE.name), landings()
    number = len(seen["fuel"][0])

    def land(pull: Pull) -> dict[str, float]:
        which = pull.rng().integers(number)
        return {name: float(each[pull.pair, which]) for name, each in seen.items()}

    with config.open_study() as study:
        result = study.run(land, "serial")
    problem, settings = config.problem(), config.settings
    (limit,) = settings.limits
    margins = problem.worst_of(seen["landed"].mean(axis=1) - limit.value)
    fuel = -problem.worst_of(-seen["fuel"].mean(axis=1))
    kept = margins >= 0
    assert 0 < kept.sum() < problem.n_arms
    assert fuel.argmin() not in np.flatnonzero(kept)  # who lands on least fuel often crashes
    assert result.certified
    assert margins[result.arm] >= -limit.slack
    assert fuel[result.arm] <= fuel[kept].min() + settings.tolerance
    assert verify(config.file).certified


def best_by_force(config: StudyConfig) -> list[int]:
    """Pull every pair many times; the arms that keep the limit and are best within the tolerance.

    Whoever keeps it, and whoever is best, is clear by far more than errors of the means.
    """
    problem, settings = config.problem(), config.settings
    simulate, make = config.simulator(problem), PullFactory(problem, "truth", 1)
    (limit,) = settings.limits
    pulls = [
        [simulate(make(block * problem.n_pairs + k, 0, k, block)) for k in range(problem.n_pairs)]
        for block in range(BLOCKS)
    ]
    objective, other = (
        np.array([[pull[name] for pull in block] for block in pulls]).mean(axis=0)
        for name in (settings.objective, limit.output)
    )
    sign = -1 if config.values.direction == "minimize" else 1
    values = problem.worst_of(sign * objective)
    margins = problem.worst_of(limit.sign * (other - limit.value))
    kept = margins >= 0
    assert 0 < kept.sum() < problem.n_arms  # the limit decides something
    best = values[kept].max()
    return np.flatnonzero(kept & (values >= best - settings.tolerance)).tolist()
