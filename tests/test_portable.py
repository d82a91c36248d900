from __future__ import annotations

import json

import numpy as np
import pytest

from surefoot.errors import InputError
from surefoot.problem.problem import RobustProblem

ARMS = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
PERTURBATIONS = [
    np.array([[0.1, 0.0]]),
    np.array([[0.0, 0.1], [0.0, 0.2]]),
    np.array([[0.5, 0.5], [0.0, 0.9]]),
]


@pytest.mark.parametrize("features", ["given", "linear", "quadratic", "tabular"])
def test_json_rebuilds_it_to_the_bit(features: str) -> None:
    generator = np.random.default_rng(0)
    problem = RobustProblem(
        generator.standard_normal((4, 3)),
        [generator.standard_normal((k, 3)) for k in (1, 4, 2, 3)],
        features=features,
    )
    again = RobustProblem.from_json(problem.to_json())
    for name in ("parameters", "features", "pairs", "offsets", "basis"):
        assert getattr(again, name).tobytes() == getattr(problem, name).tobytes()
    assert again.perturbation_names == problem.perturbation_names
    assert repr(again) == repr(problem)


def test_a_feature_map_of_the_callers_own_is_stored_as_its_values() -> None:
    problem = RobustProblem(ARMS, PERTURBATIONS, features=np.exp)
    again = RobustProblem.from_json(problem.to_json())
    assert again.features.tobytes() == problem.features.tobytes()
    assert again.feature_kind == "custom"
    assert RobustProblem.from_json(again.to_json()).pairs.tobytes() == problem.pairs.tobytes()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "this is not JSON"),
        ("[1, 2]", "this JSON holds a list"),
        ("{}", "needs the entry 'parameters'"),
    ],
)
def test_other_text_is_refused(text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        RobustProblem.from_json(text)


@pytest.mark.parametrize("offsets", [[0, 1, 3], [0, 3, 3, 5], [0, 3, 1, 5], [0, 1, 3, 9], [0]])
def test_damaged_offsets_are_refused(offsets: list[int]) -> None:
    data = json.loads(RobustProblem(ARMS, PERTURBATIONS).to_json()) | {"offsets": offsets}
    with pytest.raises(InputError, match="do not divide 5 pairs among the arms"):
        RobustProblem.from_dict(data)


def test_arms_of_another_shape_are_refused():
    described = RobustProblem([[1.0], [2.0]], [[[0.0]]] * 2).to_dict()
    with pytest.raises(InputError, match="2 arms of 1 parameters"):
        RobustProblem.from_dict(described | {"arms": [[1.0]]})
