"""Whole studies with limits, with costs, and against a baseline: what counts as right."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import surefoot as sf
from surefoot.algorithms import algorithm_from
from surefoot.experiments.macroreplication import EstimatedSimulator, Macroreplications, _true_means
from surefoot.experiments.macroreplication import macroreplicate as replicate
from surefoot.study.file.description import Description
from surefoot.study.pull import Pull

NAMES = ["a", "b", "c"]
PROBLEM = sf.RobustProblem.from_pairs(np.eye(6), [0, 0, 1, 1, 2, 2], arm_names=NAMES)
PRICES = np.array([1.0, 1.0, 5.0, 4.0, 9.0, 9.0])
FAILURES = np.array([3.0, 9.0, 1.0, 0.0, 1.0, 1.0])


def priced(pull: Pull) -> dict[str, float]:
    noise = 0.5 * pull.rng().standard_normal(2)
    return {
        "price": float(PRICES[pull.pair] + noise[0]),
        "failures": float(FAILURES[pull.pair] + noise[1]),
    }


def price_alone(pull: Pull) -> float:
    return priced(pull)["price"]


def description(**changes: Any) -> Description:
    asked = {"delta": 0.05, "noise": sf.Gaussian(), "misfit": math.inf} | changes
    settings, prime = sf.Settings(**asked), algorithm_from("prime")
    more = {"direction": "minimize", "seed": 1, "on_identical": "refuse"}
    return Description.fresh("toy", PROBLEM, settings, prime, **more)  # type: ignore[arg-type]


def found(simulator: Any, folder: Path, **changes: Any) -> Macroreplications:
    session = sf.Session(runs=3, out=folder, processes=1)
    return replicate(description(**changes), simulator, session)


def test_the_best_of_costs_is_the_cheapest(tmp_path: Path) -> None:
    many = found(price_alone, tmp_path)
    assert PROBLEM.arm_names[many.truth.best] == "a"
    assert many.right.count == 3


def test_the_right_answer_keeps_the_limits(tmp_path: Path) -> None:
    asked = {"objective": "price", "limits": {"failures": {"at_most": 2.0}}}
    many = found(priced, tmp_path, **asked)
    assert PROBLEM.arm_names[many.truth.best] == "b"
    assert many.right.count == 3
    assert many.certified_and_wrong.count == 0


def test_none_is_right_where_none_qualifies(tmp_path: Path) -> None:
    asked = {"objective": "price", "limits": {"failures": {"at_most": -3.0}}}
    many = found(priced, tmp_path, **asked)
    assert many.truth.nobody
    assert str(many).startswith("best: none")
    assert many.right.count == 3
    assert many.certified_and_wrong.count == 0


def test_estimates_are_of_all_outputs(tmp_path: Path) -> None:
    asked = {"objective": "price", "limits": {"failures": {"at_most": 2.0}}}
    made = description(**asked)
    settings, prime = made.settings, algorithm_from("prime")
    path = tmp_path / "study.db"
    with sf.Study.begin(path, made, prime) as study:
        study.run(priced, "serial")
        simulator = EstimatedSimulator.of(study.description, study.result)
    assert simulator.others["failures"].means == pytest.approx(FAILURES, abs=1.0)
    many = found(simulator, tmp_path / "runs", **asked)
    assert many.right.count == 3
    assert settings.limits[0].output == "failures"


def test_arms_that_beat_the_baseline_are_good() -> None:
    asked = {"aim": "beat baseline", "baseline": "b", "gain": 0.5}
    settings = description(**asked).settings
    truth = _true_means(PROBLEM, settings, -PRICES)
    assert truth.beating(PROBLEM, settings).tolist() == [True, False, False]
