"""Unfinished studies of earlier versions go on to the end that they would have had."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from surefoot.algorithms import Result
from surefoot.algorithms.prime import Tuning
from surefoot.evidence import betting, caution, misfit, student
from surefoot.guides import gaussian_process, kernels, regressor, tabular, trend
from surefoot.study import Pull, Study

DATA = Path(__file__).parent.parent / "data"


def _response(pull: Pull) -> float:
    x, y = pull.features
    return float(0.3 + 0.5 * x - 0.25 * x * x + 0.25 * y - 0.1 * np.sin(3 * y))


def falling(pull: Pull) -> float:
    """A curved response with rare falls: both a guide and skewness matter."""
    rng = pull.rng()
    return _response(pull) + 0.2 * rng.normal() - 0.1 * rng.exponential() ** 2


def coin(pull: Pull) -> float:
    return float(pull.rng().random() < _response(pull))


def linear(pull: Pull) -> float:
    """Noise that differs from pair to pair: pulls are put into batches, a witness joins them."""
    x, y = pull.features
    return float(0.5 * x + 0.3 * y + 0.6 * (1 + x) * pull.rng().normal())


def _end_of(name: str, simulate: Callable[[Pull], float], folder: Path, told: int) -> Result:
    copy = folder / "old.db"
    shutil.copy(DATA / f"{name}.db", copy)
    with Study.open(copy) as study:
        assert study.told == told
        return study.run(simulate, "serial")


def _is(result: Result, end: dict[str, Any]) -> None:
    assert result.arm == end["arm"]
    assert result.samples == end["samples"]
    assert result.reason.name == end["reason"]
    assert len(result.history) == end["phases"]
    assert result.counts.tolist() == end["counts"]


def test_an_unfinished_prime_study_of_0_1_0_goes_on_to_its_end(tmp_path: Path) -> None:
    end = json.loads((DATA / "study_prime_v1.json").read_text())

    def simulate(pull: Pull) -> float:
        return float(pull.features @ np.array(end["theta"]) + pull.rng().normal())

    _is(_end_of("study_prime_v1", simulate, tmp_path, 150), end)


@pytest.mark.parametrize(
    ("kind", "simulate", "told"),
    [("pairs", falling, 150), ("wealth", coin, 400), ("batches", linear, 60)],
)
def test_an_unfinished_study_without_a_noise_level_goes_on_to_its_end(
    kind: str,
    simulate: Callable[[Pull], float],
    told: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Guides and evidence are what they were, and so are constants that the files do not name."""
    later = {"pooled_pulls": 5, "score_least": 9, "skew_pulls": 9.0, "wealth_least": 9}
    defaults: dict[str, Any] = Tuning.__init__.__kwdefaults__
    monkeypatch.setattr(Tuning.__init__, "__kwdefaults__", defaults | later)
    end = json.loads((DATA / "study_prime_ends.json").read_text())[kind]
    _is(_end_of(f"study_prime_{kind}", simulate, tmp_path, told), end)


@pytest.mark.parametrize(
    ("module", "constants"),
    [
        (betting, {"BOLDEST": 0.8, "SCEPTICAL": 12.0}),
        (caution, {"CLEAR": 2.0}),
        (misfit, {"MODELLED": 1e-9, "LEAST_STRAY": 0.05, "ONE_SIDED": 2.0}),
        (student, {"SECOND_FALL": 2.0, "ROUNDING": 1e-12}),
        (trend, {"VAGUE": 100.0, "BEYOND": 3, "LEAST_ERROR": 1e-9}),
        (tabular, {"LEAST_KEPT": 0.5}),
        (regressor, {"PER_PARAMETER": 10}),
        (gaussian_process, {"MOST": 400, "MOST_FOR_LENGTHS": 120}),
        (kernels, {"SIZES": (1e-2, 1e2), "LENGTHS": (0.1, 100.0)}),
    ],
    ids=lambda value: value.__name__.split(".")[-1] if hasattr(value, "__name__") else "",
)
def test_what_guides_and_evidence_are_is_part_of_the_file_format(
    module: Any, constants: dict[str, Any]
) -> None:
    """To tune one of these, make it a field of `Tuning`, with this value in its `UNNAMED`."""
    assert {name: getattr(module, name) for name in constants} == constants
