from __future__ import annotations

import numpy as np
import pytest

from surefoot.errors import InputError
from surefoot.features import feature_map, feature_names, linear, quadratic, tabular
from surefoot.problem import RobustProblem

PARAMETERS = np.random.default_rng(0).standard_normal((12, 3)) * [1.0, 100.0, 1e-3] + [
    0.0,
    50.0,
    7.0,
]


def test_linear_has_an_intercept_and_standardised_columns() -> None:
    features = linear(PARAMETERS)
    assert features[:, 0].tolist() == [1.0] * 12
    assert features[:, 1:].mean(axis=0) == pytest.approx(np.zeros(3), abs=1e-9)
    assert features[:, 1:].std(axis=0) == pytest.approx(np.ones(3))


def test_a_constant_parameter_is_no_trouble() -> None:
    features = linear(np.column_stack([PARAMETERS, np.full(12, 3.0)]))
    assert features[:, 4].tolist() == [0.0] * 12


def test_linear_represents_every_affine_reward() -> None:
    rewards = PARAMETERS @ [1.0, -0.2, 30.0] + 4.0
    features = linear(PARAMETERS)
    assert features @ np.linalg.lstsq(features, rewards)[0] == pytest.approx(rewards)


def test_quadratic_represents_every_quadratic_reward() -> None:
    x, y, _ = PARAMETERS.T
    rewards = 1 + x * y - 0.01 * y**2
    features = quadratic(PARAMETERS)
    assert features.shape == (12, 1 + 3 + 6)
    assert features @ np.linalg.lstsq(features, rewards)[0] == pytest.approx(rewards)


def test_tabular_gives_equal_pairs_one_vector_and_others_orthogonal_ones() -> None:
    features = tabular(np.array([[1.0, 2.0], [0.0, 1.0], [1.0, 2.0]]))
    assert (features @ features.T).tolist() == [[1, 0, 1], [0, 1, 0], [1, 0, 1]]


def test_names_match_the_columns() -> None:
    names = ["a", "b"]
    parameters = PARAMETERS[:, :2]
    for kind in ("given", "linear", "quadratic", "tabular"):
        columns = feature_map(kind)(parameters).shape[1]
        assert len(feature_names(kind, names, columns)) == columns
    assert feature_names("quadratic", names, 6) == ["1", "a", "b", "a·a", "a·b", "b·b"]


def test_an_unknown_map_is_refused_with_the_choices() -> None:
    with pytest.raises(InputError, match="features='cubic' is not known: choose 'given', 'linear'"):
        RobustProblem(np.eye(2), [np.zeros((1, 2))] * 2, features="cubic")
