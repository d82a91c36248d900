"""Sheets of pulls that people fill in: whatever a row says must be what was asked."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from surefoot import Gaussian, RobustProblem
from surefoot.errors import InputError
from surefoot.study import Study
from surefoot.study.sheet import read_sheet, write_sheet

Rows = list[dict[str, str]]


@pytest.fixture(params=[False, True], ids=["own streams", "shared streams"])
def study(tmp_path: Path, request: pytest.FixtureRequest) -> Study:
    problem = RobustProblem.paper(
        np.array([[1 / 3, 1e-7], [2.0, 1234567.0], [2.5, 0.0]]),
        [np.array([[0.0, 0.0], [0.125, 1.0]])] * 3,
        arm_names=["1.10", "low, slow", "1.1"],
        parameter_names=["gain", "-delay"],
    )
    return Study.create(
        tmp_path / "study.db",
        problem,
        delta=0.05,
        noise=Gaussian(),
        common_random_numbers=request.param,
        seed=3,
    )


def handed_out(study: Study) -> Rows:
    file = io.StringIO()
    write_sheet(study, study.ask(9, remember=True), file)
    rows = list(csv.DictReader(io.StringIO(file.getvalue())))
    return [row | {"reward": str(number)} for number, row in enumerate(rows)]


def told(study: Study, rows: Rows) -> list[tuple[int, float]]:
    path = study.path.with_suffix(".csv")
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, rows[0].keys())
        writer.writeheader()
        writer.writerows(rows)
    rewards, identifier = read_sheet(study, path)
    study.tell_many(rewards, study=identifier)
    return rewards


def test_a_sheet_comes_back_as_it_went(study: Study) -> None:
    rows = handed_out(study)
    assert told(study, rows[::-1]) == [(int(r["pull"]), float(r["reward"])) for r in rows[::-1]]


@pytest.mark.parametrize(
    "columns",
    [
        ("arm", "perturbation", "gain", "'-delay", "reward"),
        ("arm", "reward"),
        ("gain", "reward"),
        ("'-delay", "perturbation", "gain"),
        ("pull", "seed"),
        ("pull",),
    ],
)
def test_columns_sorted_apart_from_the_others_refuse_the_sheet(
    study: Study, columns: tuple[str, ...]
) -> None:
    rows = handed_out(study)
    by_value = sorted(rows, key=lambda row: (row["gain"], row["'-delay"], row["pull"]))
    moved = [
        row | {key: other[key] for key in columns}
        for row, other in zip(rows, by_value, strict=True)
    ]
    with pytest.raises(InputError, match=r"pull \d+ was asked for with .*Nothing was stored"):
        told(study, moved)
    assert study.told == 0


@pytest.mark.parametrize(
    "seen",
    [
        lambda row: {"gain": f"{float(row['gain']):.6g}"},
        lambda row: {"'-delay": "{:.5E}".format(float(row["'-delay"]))},
        lambda row: {"gain": f" {row['gain']} ", "perturbation": ""},
        lambda row: {"arm": row["arm"].removeprefix("'"), "remark": "operator Z"},
    ],
)
def test_a_spreadsheets_own_ways_of_writing_are_understood(
    study: Study, seen: Callable[[dict[str, str]], dict[str, str]]
) -> None:
    assert len(told(study, [row | seen(row) for row in handed_out(study)])) == 9


def test_a_zero_that_a_spreadsheet_ate_is_no_other_arm(study: Study) -> None:
    """Arms are called 1.10 and 1.1: a row of one is not stored as the other's."""
    rows = [row for row in handed_out(study) if row["arm"] == "1.10"]
    with pytest.raises(InputError, match=r"with arm = 1\.10, but its row says '1\.1'"):
        told(study, [row | {"arm": "1.1"} for row in rows])
    assert told(study, [row | {"arm": " 1.10"} for row in rows])


def test_a_pull_that_stands_twice_is_refused(study: Study) -> None:
    rows = handed_out(study)
    with pytest.raises(InputError, match="pull 0 stands twice"):
        told(study, [*rows, next(row for row in rows if row["pull"] == "0") | {"reward": "9"}])


def test_the_sheets_own_columns_are_no_parameters(tmp_path: Path) -> None:
    for name in ("study", "pull", "reward"):
        problem = RobustProblem.paper(
            np.eye(2), [np.zeros((1, 2))] * 2, parameter_names=[name, "b"]
        )
        with pytest.raises(InputError, match=f"cannot be called '{name}'"):
            Study.create(tmp_path / "study.db", problem, delta=0.05, noise=Gaussian())
