"""Every example runs as it stands, in a folder of its own, and finds what it should."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import types
from pathlib import Path
from typing import Any

import pytest

from surefoot.study.toml.config import StudyConfig
from tests.documents import ROOT

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
