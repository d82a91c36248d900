from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from surefoot.errors import InputError
from surefoot.problem.problem import RobustProblem


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
            "column 'x', row 1: 'two' is not a number",
        ),
        (pd.DataFrame({"arm": ["a", None], "x": [1.0, 2.0]}), "row 1 has no arm"),
        (
            pd.DataFrame({"arm": ["a", "b"], "x": [1.0, np.nan]}),
            "column 'x', row 1: nan is not a finite number",
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
    with pytest.raises(InputError, match="column 'x': 'lots' is not a number"):
        RobustProblem.from_csv(path)


def test_every_digit_of_a_file_counts(tmp_path: Path) -> None:
    values = np.random.default_rng(0).standard_normal((2000, 1)) * 10.0 ** np.random.default_rng(
        1
    ).integers(-8, 9, (2000, 1))
    built = RobustProblem.from_pairs(values, np.arange(2000))
    built.to_csv(tmp_path / "digits.csv")
    assert RobustProblem.from_csv(tmp_path / "digits.csv").parameters.tobytes() == values.tobytes()


def test_names_that_look_like_nothing_are_names(tmp_path: Path) -> None:
    path = tmp_path / "names.csv"
    path.write_text("arm,perturbation,x\nNone,NA,1\nNA,null,2\nnan,,3\n")
    built = RobustProblem.from_csv(path)
    assert built.arm_names == ["None", "NA", "nan"]
    assert built.perturbation_names == ["NA", "null", ""]


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ("a,p,1_000", "column 'x': '1_000' is not a number"),
        ("a,p,1\nb,p,true", "column 'x': 'true' is not a number"),
        ("a,p,true\nb,p,1", "column 'x', row 1: '1' is neither true nor false"),
        ("a,p,NA", "column 'x', row 0: 'NA' is neither a number nor a word"),
        ("a,p,good\nb,p,1", "column 'x', row 1: '1' is neither a number nor a word"),
        ("a,p,", "column 'x': '' is not a number"),
        ("a,p,1e400", "column 'x': '1e400' is not a finite number"),
        ("a,p,9007199254740993", "more digits than a number can hold.*become 9007199254740992"),
        ("a,p,1\na,p,2", "the perturbation 'p' stands twice for arm 'a'"),
        ("a,p,1,5", "line 2 has 4 fields, the header 3"),
        ("a,p", "line 2 has 2 fields, the header 3"),
        (",p,1", "row 0 has no arm"),
        ('"a,p,1', "is not a CSV table in UTF-8 .unexpected end of data"),
        ("a,p," + "1" * 200_000, "field larger than field limit"),
    ],
)
def test_fields_that_cannot_be_used(tmp_path: Path, rows: str, message: str) -> None:
    path = tmp_path / "table.csv"
    path.write_text(f"arm,perturbation,x\n{rows}\n")
    with pytest.raises(InputError, match=message):
        RobustProblem.from_csv(path)


def test_a_file_in_another_encoding_is_named(tmp_path: Path) -> None:
    path = tmp_path / "latin.csv"
    path.write_bytes("arm,x\ngrün,1\nrot,2\n".encode("latin-1"))
    with pytest.raises(InputError, match=r"latin\.csv' is not a CSV table in UTF-8"):
        RobustProblem.from_csv(path)


def test_large_whole_numbers_that_are_exact_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "large.csv"
    path.write_text(f"arm,x\na,{2**60}\nb,{2**53}\n")
    assert RobustProblem.from_csv(path).parameters.ravel().tolist() == [2.0**60, 2.0**53]
