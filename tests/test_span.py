from __future__ import annotations

import numpy as np
import pytest

from surefoot.errors import InputError
from surefoot.problem.span import basis_of


def test_a_redundant_column_goes_and_every_mean_stays() -> None:
    generator = np.random.default_rng(0)
    features = generator.standard_normal((6, 2)) @ generator.standard_normal((2, 4))
    basis = basis_of(features)
    assert basis.shape == (4, 2)
    theta = generator.standard_normal(4)
    reduced, *_ = np.linalg.lstsq(features @ basis, features @ theta, rcond=None)
    assert features @ basis @ reduced == pytest.approx(features @ theta)


def test_full_rank_keeps_its_coordinates() -> None:
    assert basis_of(np.array([[1.0, 2.0], [3.0, 4.0]])).tolist() == np.eye(2).tolist()


def test_units_do_not_change_the_rank() -> None:
    features = np.random.default_rng(0).standard_normal((6, 3)) * np.array([1e8, 1.0, 1e-8])
    assert basis_of(features).shape == (3, 3)


def test_all_zero_features_are_refused() -> None:
    with pytest.raises(InputError, match=r"all pairs are zero.*nothing to find"):
        basis_of(np.zeros((2, 2)))
