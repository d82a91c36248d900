"""Feature maps: their columns, names and limits."""

from __future__ import annotations

import json
import pickle

import numpy as np
import pytest

from surefoot.errors import InputError
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
