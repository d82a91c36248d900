from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from surefoot.errors import InputError
from surefoot.problem import RobustProblem


def problem() -> RobustProblem:
    generator = np.random.default_rng(0)
    return RobustProblem(
        generator.standard_normal((3, 2)) / 3,
        [generator.standard_normal((k, 2)) for k in (2, 1, 3)],
        arm_names=["low", "01", "high, very"],
        parameter_names=["dose", "delay"],
    )


def test_a_frame_has_a_row_for_each_pair() -> None:
    frame = problem().to_frame()
    assert list(frame.columns) == ["arm", "perturbation", "dose", "delay"]
    assert frame["arm"].tolist() == ["low"] * 2 + ["01"] + ["high, very"] * 3


def test_csv_comes_back_to_the_bit(tmp_path: Path) -> None:
    path = tmp_path / "problem.csv"
    problem().to_csv(path)
    again = RobustProblem.from_csv(path)
    assert again.parameters.tobytes() == problem().parameters.tobytes()
    assert again.arm_names == problem().arm_names
    assert again.perturbation_names == problem().perturbation_names
    assert again.parameter_names == problem().parameter_names


def test_rows_in_any_order_and_without_perturbation_names() -> None:
    frame = pd.DataFrame({"arm": ["b", "a", "b"], "x": [1.0, 2.0, 3.0]})
    built = RobustProblem.from_frame(frame)
    assert built.arm_names == ["b", "a"]
    assert built.parameters.tolist() == [[1.0], [3.0], [2.0]]


def test_features_are_passed_on() -> None:
    built = RobustProblem.from_frame(problem().to_frame(), features="linear")
    assert built.feature_names == ["1", "dose", "delay"]


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        (pd.DataFrame({"x": [1.0]}), r"columns \['x'\], but none called 'arm'"),
        (pd.DataFrame({"arm": ["a"]}), "1 rows and 0 parameter columns"),
        (pd.DataFrame({"arm": [], "x": []}), "0 rows and 1 parameter columns"),
        (
            pd.DataFrame({"arm": ["a", "b"], "x": [1.0, "two"]}),
            "column 'x' holds 'two': every parameter must be a number",
        ),
        (pd.DataFrame({"arm": ["a", None], "x": [1.0, 2.0]}), "row 1 has no arm"),
        (
            pd.DataFrame({"arm": ["a", "b"], "x": [1.0, np.nan]}),
            "pairs holds nan at row 1, column 0",
        ),
    ],
)
def test_tables_that_cannot_be_used(frame: pd.DataFrame, message: str) -> None:
    with pytest.raises(InputError, match=message):
        RobustProblem.from_frame(frame)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there is no file"):
        RobustProblem.from_csv(tmp_path / "missing.csv")
    empty = tmp_path / "empty.csv"
    empty.write_text("")
    with pytest.raises(InputError, match="is not a CSV table"):
        RobustProblem.from_csv(empty)
    binary = tmp_path / "binary.csv"
    binary.write_bytes(b"\xff\xfe\x00arm,x\n\x80")
    with pytest.raises(InputError, match=r"is not a CSV table|none called 'arm'"):
        RobustProblem.from_csv(binary)


def test_text_in_a_file_is_shown_in_the_error(tmp_path: Path) -> None:
    path = tmp_path / "text.csv"
    path.write_text("arm,x\na,1\nb,lots\n")
    with pytest.raises(InputError, match="column 'x' holds 'lots'"):
        RobustProblem.from_csv(path)


def test_every_digit_of_a_file_counts(tmp_path: Path) -> None:
    values = np.random.default_rng(0).standard_normal((2000, 1)) * 10.0 ** np.random.default_rng(
        1
    ).integers(-8, 9, (2000, 1))
    built = RobustProblem.from_pairs(values, np.arange(2000))
    built.to_csv(tmp_path / "digits.csv")
    assert RobustProblem.from_csv(tmp_path / "digits.csv").parameters.tobytes() == values.tobytes()
