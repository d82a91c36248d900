"""Problems from lists of named values: words replace, numbers are added, percentages scale."""

from __future__ import annotations

from typing import Any

import pytest

import surefoot as sf
from surefoot.errors import InputError

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
