"""Simulators that were not written for surefoot: answers are right by brute force, and certified.

`tests/truths.py` pulls every pair many times, and `tests/data/truths` keeps what it found.
"""

from __future__ import annotations

import json
import re
import runpy
import shutil
import tomllib
from pathlib import Path

import pytest

from surefoot.algorithms import Result
from surefoot.study.toml.config import StudyConfig
from tests.documents import ROOT
from tests.truths import TRUTHS

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
