"""Numbers by the names of pairs, from a mapping or a table."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from surefoot.errors import InputError
from surefoot.problem.problem import RobustProblem
from surefoot.problem.tables.numbers import numbers_from_csv, pair_numbers

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
