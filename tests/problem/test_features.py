"""Feature maps, and words and truth values as parameters: their columns, numbers and names."""

from __future__ import annotations

import json
import pickle
from typing import Any

import numpy as np
import pandas as pd
import pytest

from surefoot.errors import InputError
from surefoot.problem.coding import Coding, ValueReader, typed, written
from surefoot.problem.features import (
    MAPS,
    FeatureMap,
    LinearFeatures,
    QuadraticFeatures,
    TabularFeatures,
    feature_map,
    map_from_file,
)
from surefoot.problem.problem import RobustProblem

# Feature maps: their columns, names and limits.

PARAMETERS = np.random.default_rng(0).standard_normal((12, 3)) * [1.0, 100.0, 1e-3] + [
    0.0,
    50.0,
    7.0,
]


def test_linear_has_an_intercept_and_standardised_columns() -> None:
    features = LinearFeatures().image(PARAMETERS)
    assert features[:, 0].tolist() == [1.0] * 12
    assert features[:, 1:].mean(axis=0) == pytest.approx(np.zeros(3), abs=1e-9)
    assert features[:, 1:].std(axis=0) == pytest.approx(np.ones(3))


def test_a_constant_parameter_is_no_trouble() -> None:
    features = LinearFeatures().image(np.column_stack([PARAMETERS, np.full(12, 3.0)]))
    assert features[:, 4].tolist() == [0.0] * 12


def test_linear_represents_every_affine_reward() -> None:
    rewards = PARAMETERS @ [1.0, -0.2, 30.0] + 4.0
    features = LinearFeatures().image(PARAMETERS)
    assert features @ np.linalg.lstsq(features, rewards)[0] == pytest.approx(rewards)


def test_quadratic_represents_every_quadratic_reward() -> None:
    x, y, _ = PARAMETERS.T
    rewards = 1 + x * y - 0.01 * y**2
    features = QuadraticFeatures().image(PARAMETERS)
    assert features.shape == (12, 1 + 3 + 6)
    assert features @ np.linalg.lstsq(features, rewards)[0] == pytest.approx(rewards)


def test_tabular_gives_equal_pairs_one_vector_and_others_orthogonal_ones() -> None:
    features = TabularFeatures().image(np.array([[1.0, 2.0], [0.0, 1.0], [1.0, 2.0]]))
    assert (features @ features.T).tolist() == [[1, 0, 1], [0, 1, 0], [1, 0, 1]]


@pytest.mark.parametrize("chosen", MAPS.values(), ids=list(MAPS))
def test_each_map_knows_itself(chosen: FeatureMap) -> None:
    parameters = PARAMETERS[:, :2]
    image = chosen.image(parameters)
    assert image.shape[1] <= chosen.width(*parameters.shape)
    assert len(chosen.names(["a", "b"], image.shape[1])) == image.shape[1]
    assert feature_map(chosen.kind) is chosen
    assert map_from_file(json.loads(json.dumps(chosen.to_file()))) is chosen


def test_products_are_named_in_the_order_of_their_columns() -> None:
    assert QuadraticFeatures().names(["a", "b"], 6) == ["1", "a", "b", "a·a", "a·b", "b·b"]
    columns = QuadraticFeatures().image(PARAMETERS[:, :2])
    assert columns[:, 4] == pytest.approx(columns[:, 1] * columns[:, 2])


def test_a_function_of_the_callers_own_is_kept_as_its_values() -> None:
    problem = RobustProblem.paper(np.eye(2), [np.zeros((1, 2))] * 2, features=lambda p: 2 * p)
    again = pickle.loads(pickle.dumps(problem))  # which a lambda would not survive
    stored = map_from_file(json.loads(json.dumps(again.feature_map.to_file())))
    assert stored.kind == "custom"
    assert np.array_equal(stored.image(problem.parameters), 2 * np.eye(2))


def test_an_unknown_map_is_refused_with_the_choices() -> None:
    with pytest.raises(InputError, match="features='cubic' is not known: choose 'given', 'linear'"):
        RobustProblem.paper(np.eye(2), [np.zeros((1, 2))] * 2, features="cubic")


# Words and truth values as parameters: the numbers that stand for them, and back.

CODED_NAMES = ["model", "depth", "scaled"]
CODING = Coding(CODED_NAMES, {"model": ["forest", "linear"], "scaled": [False, True]})
CODED = np.array([[0.0, 3.0, 1.0], [1.0, 0.5, 0.0]])


def test_numbers_stand_for_values() -> None:
    assert CODING.values(CODED[0]) == {"model": "forest", "depth": 3.0, "scaled": True}
    assert CODING.values(CODED[1])["scaled"] is False
    assert CODING.numeric == [1]


def test_what_needs_a_distance_sees_a_column_for_each_value() -> None:
    assert CODING.expanded(CODED).tolist() == [[1, 0, 3, 0, 1], [0, 1, 0.5, 1, 0]]
    assert CODING.expanded_names == [
        *("model=forest", "model=linear", "depth", "scaled=false", "scaled=true")
    ]


def test_without_categories_nothing_is_changed() -> None:
    assert Coding(["a", "b", "c"], {}).expanded(CODED) is CODED


@pytest.mark.parametrize(
    ("categories", "words"),
    [
        ({"modle": ["a"]}, "categories has 'modle', but the parameters are"),
        ({"model": ["a", "a"]}, "give each once"),
        ({"model": []}, "give each once"),
        ({"model": ["a", True]}, "True is not a word"),
        ({"model": ["1", "a"]}, "'1' is neither a number nor a word"),
    ],
)
def test_categories_that_cannot_be_used(categories: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words):
        Coding(CODED_NAMES, categories)


def test_a_number_must_stand_for_a_value() -> None:
    for wrong in (2.0, -1.0, 0.5):
        with pytest.raises(InputError, match=r"'model' holds .*, which stands for none of its 2"):
            CODING.check(np.array([[wrong, 0.0, 0.0]]))


@pytest.mark.parametrize(
    ("values", "numbers", "category"),
    [
        ([2, 0.5], [2.0, 0.5], None),
        ([True, False, True], [1.0, 0.0, 1.0], (False, True)),
        (["b", "a", "b"], [0.0, 1.0, 0.0], ("b", "a")),
    ],
)
def test_the_first_value_says_of_what_kind_they_are(
    values: list[Any], numbers: list[float], category: Any
) -> None:
    reader = ValueReader(values[0])
    assert reader.read(values, "entry") == numbers
    assert reader.category == category


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ([1, "two"], "entry 1: 'two' is not a number"),
        ([1, True], "entry 1: True is not a number"),
        ([True, 1], "entry 1: 1 is neither true nor false"),
        (["a", 1], "entry 1: 1 is not a word in quotes"),
        (["a", "1.5"], "entry 1: '1.5' is neither a number nor a word"),
        (["10%"], "entry 0: '10%' is neither"),
        (["True"], "entry 0: 'True' is neither"),
        (["nan"], "entry 0: 'nan' is neither"),
        ([" a"], "entry 0: ' a' is neither"),
        ([""], "entry 0: '' is neither"),
    ],
)
def test_a_mixture_is_refused(values: list[Any], words: str) -> None:
    with pytest.raises(InputError, match=words):
        ValueReader(values[0]).read(values, "entry")


def test_fields_of_a_table_are_of_one_kind() -> None:
    assert typed([" 1", "2.5"]) == [1.0, 2.5]
    assert typed(["True", "false"]) == [True, False]
    assert typed(["lean ", "rich"]) == ["lean", "rich"]


def test_values_as_text() -> None:
    assert [written(value) for value in (True, "a", 4.0)] == ["true", "a", "4.0"]
    assert written(4.0, "g") == "4"


def models() -> RobustProblem:
    frame = pd.DataFrame(
        {
            "arm": ["F", "F", "L", "L"],
            "perturbation": ["plain", "shifted", "plain", "shifted"],
            "model": ["forest", "forest", "linear", "linear"],
            "shift": [0.0, 0.5, 0.0, 0.5],
            "clean": [True, False, True, False],
        }
    )
    return RobustProblem.from_frame(frame, features="linear")


def test_a_problem_keeps_its_categories(tmp_path: Any) -> None:
    problem = models()
    assert problem.coding.categories == {"model": ("forest", "linear"), "clean": (False, True)}
    assert problem.describe_pair(3) == {
        "arm": "L",
        "perturbation": "shifted",
        "model": "linear",
        "shift": 0.5,
        "clean": False,
    }
    problem.to_csv(tmp_path / "models.csv")
    for again in (
        RobustProblem.from_json(problem.to_json()),
        RobustProblem.from_csv(tmp_path / "models.csv", features="linear"),
        RobustProblem.from_frame(problem.to_frame(), features="linear"),
    ):
        assert again.to_dict() == problem.to_dict()
        assert again.features.tobytes() == problem.features.tobytes()


def test_features_see_words_as_columns_of_zeros_and_ones() -> None:
    problem = models()
    assert problem.feature_names[:3] == ["1", "model=forest", "model=linear"]
    assert problem.dimension == 3  # a level, the model, and the shift, which is also what is clean
    tabular = RobustProblem.from_frame(problem.to_frame(), features="tabular")
    assert tabular.dimension == 4
    squares = RobustProblem.from_frame(problem.to_frame(), features=lambda rows: rows**2)
    assert squares.features.tolist()[1] == [1, 0, 0.25, 1, 0]


def test_a_problem_of_numbers_is_written_as_before() -> None:
    assert "categories" not in RobustProblem.paper([[1.0], [2.0]], [[[0.0]], [[0.0]]]).to_dict()
