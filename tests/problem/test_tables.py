"""Problems from lists of named values: words replace, numbers are added, percentages scale."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import surefoot as sf
from surefoot.errors import InputError
from surefoot.problem.problem import RobustProblem
from surefoot.problem.tables import numbers_from_csv, pair_numbers

ARMS: list[dict[str, Any]] = [
    {"model": "logistic", "depth": 2, "scaled": True},
    {"model": "forest", "depth": 8, "scaled": True},
]
WRONG: list[dict[str, Any]] = [
    {"name": "as trained"},
    {"name": "noisy", "noise": "50%", "depth": -1},
    {"name": "raw", "scaled": False, "weather": "storm"},
    {"name": "swapped", "arm": "model=forest, depth=8", "model": "tree"},
]


def problem(**options: Any) -> sf.RobustProblem:
    around = {"noise": 0.2, "weather": "calm"}
    return sf.RobustProblem.from_lists(ARMS, WRONG, environment=around, **options)


def test_every_kind_of_value_may_be_perturbed() -> None:
    built = problem()
    assert built.arm_names == ["model=logistic, depth=2", "model=forest, depth=8"]
    first = {"model": "logistic", "depth": 2, "scaled": True, "noise": 0.2, "weather": "calm"}
    assert built.values_of(0) == first
    assert built.values_of(1) == first | {"depth": 1.0, "noise": pytest.approx(0.3)}
    assert built.values_of(2) == first | {"scaled": False, "weather": "storm"}
    assert built.n_pairs == 7
    assert built.values_of(6)["model"] == "tree"
    assert built.nominal_values(1) == first | {"model": "forest", "depth": 8}
    assert built.coding.categories["model"] == ("logistic", "forest", "tree")


def test_without_perturbations_nothing_goes_wrong() -> None:
    built = sf.RobustProblem.from_lists(ARMS)
    assert built.perturbation_names == ["none", "none"]
    assert sf.RobustProblem.from_lists(ARMS[:1]).arm_names == [
        "model=logistic, depth=2, scaled=true"
    ]


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ({"scaled": 0}, "in entry 1, scaled: 0 is neither true nor false"),
        ({"model": 3}, "in entry 1, model: 3 is not a word"),
        ({"depth": "deep"}, "in entry 1, depth: 'deep' is no offset"),
        ({"depth": True}, "in entry 1, depth: True is no offset"),
        ({"size": 1}, "entry 1 .*changes 'size', which no arm has"),
        ({"arm": "nobody", "depth": 1}, "entry 1 .* is for arm 'nobody'"),
    ],
)
def test_perturbations_that_do_not_fit(row: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words):
        sf.RobustProblem.from_lists(ARMS, [row])


def test_an_arm_must_be_as_the_first() -> None:
    for arms, words in (
        ([*ARMS, {"model": 1, "depth": 1, "scaled": True}], "model of entry 3: 1 is not a word"),
        ([*ARMS, {"depth": 1}], "entry 3 has parameters"),
        ([{"arm": 1}], "cannot be called 'arm'"),
        ([], "there are none"),
    ):
        with pytest.raises(InputError, match=words):
            sf.RobustProblem.from_lists(arms)


def test_the_environment_is_checked_too() -> None:
    with pytest.raises(InputError, match="environment: noise: nan is not a finite number"):
        sf.RobustProblem.from_lists(ARMS, environment={"noise": float("nan")})


def table_problem() -> RobustProblem:
    generator = np.random.default_rng(0)
    return RobustProblem.paper(
        generator.standard_normal((3, 2)) / 3,
        [generator.standard_normal((k, 2)) for k in (2, 1, 3)],
        arm_names=["low", "01", "high, very"],
        parameter_names=["dose", "delay"],
    )


def test_a_frame_has_a_row_for_each_pair() -> None:
    frame = table_problem().to_frame()
    assert list(frame.columns) == ["arm", "perturbation", "dose", "delay"]
    assert frame["arm"].tolist() == ["low"] * 2 + ["01"] + ["high, very"] * 3


def test_csv_comes_back_to_the_bit(tmp_path: Path) -> None:
    path = tmp_path / "problem.csv"
    table_problem().to_csv(path)
    again = RobustProblem.from_csv(path)
    assert again.parameters.tobytes() == table_problem().parameters.tobytes()
    assert again.arm_names == table_problem().arm_names
    assert again.perturbation_names == table_problem().perturbation_names
    assert again.parameter_names == table_problem().parameter_names


def test_rows_in_any_order_and_without_perturbation_names() -> None:
    frame = pd.DataFrame({"arm": ["b", "a", "b"], "x": [1.0, 2.0, 3.0]})
    built = RobustProblem.from_frame(frame)
    assert built.arm_names == ["b", "a"]
    assert built.parameters.tolist() == [[1.0], [3.0], [2.0]]


def test_features_are_passed_on() -> None:
    built = RobustProblem.from_frame(table_problem().to_frame(), features="linear")
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


PROBLEM = RobustProblem.from_lists(
    [{"name": "4 nurses", "n": 4}, {"name": "6 nurses", "n": 6}],
    [{"name": "usual"}, {"name": "ill", "n": -1}],
)


def numbers(**named: Any) -> list[float]:
    return pair_numbers(PROBLEM, named, "scale").tolist()


def test_the_most_precise_name_counts() -> None:
    assert numbers(others=1) == [1, 1, 1, 1]
    assert numbers(**{"others": 1, "4 nurses / ill": 30}) == [1, 30, 1, 1]
    assert numbers(**{"4 nurses": 2, "6 nurses": 3}) == [2, 2, 3, 3]
    assert numbers(**{"ill": 5, "usual": 4, "6 nurses / ill": 9}) == [4, 5, 4, 9]


@pytest.mark.parametrize(
    ("named", "words"),
    [
        ({"4 nurses / ill": 30}, "none is given for '4 nurses / usual'.*`others = …`"),
        ({"4 nurses / il": 30}, "there is no '4 nurses / il'; did you mean '4 nurses / ill'"),
        ({"others": 1, "ill": True}, "scale of 'ill': True is not a number"),
        ({"others": 1, "ill": 2, "4 nurses": 3}, "either could be meant for '4 nurses / ill'"),
    ],
)
def test_names_that_leave_a_doubt(named: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words):
        numbers(**named)


def test_a_name_of_an_arm_and_of_a_perturbation() -> None:
    twice = RobustProblem.from_lists(
        [{"name": "a", "n": 1}, {"name": "b", "n": 2}], [{"name": "a"}]
    )
    with pytest.raises(InputError, match="'a' could mean more than one thing"):
        pair_numbers(twice, {"a": 1, "others": 2}, "scale")


def test_a_table_may_leave_out_what_does_not_matter(tmp_path: Path) -> None:
    def read(text: str) -> list[float]:
        (tmp_path / "scales.csv").write_text(text)
        return numbers_from_csv(PROBLEM, tmp_path / "scales.csv", "scale").tolist()

    assert read("arm,perturbation,scale\n,,1\n4 nurses,ill,30\n") == [1, 30, 1, 1]
    assert read("perturbation,scale\nusual,1\nill,2\n") == [1, 2, 1, 2]
    for text, words in [
        ("arm,scale\nnobody,1\n", "row 0 is for arm 'nobody' .*do not exist"),
        ("arm,scale\n4 nurses,1\n4 nurses,2\n", "row 1 .*had a row before"),
        ("arm,sd\n4 nurses,1\n", r"has the columns \['arm', 'sd'\]: it needs 'scale'"),
        ("arm,scale\n4 nurses,x\n", "'x' is not a number"),
        ("arm,scale\n4 nurses,1\n", "none is given for '6 nurses / usual'"),
    ]:
        with pytest.raises(InputError, match=words):
            read(text)
