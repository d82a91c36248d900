"""What a study will cost."""

from __future__ import annotations

import pytest

import surefoot as sf
from surefoot.algorithms import algorithm_from
from surefoot.errors import InputError
from surefoot.study.plan import expected_costs
from tests.study.toys import toy_problem

SETTINGS = sf.Settings(delta=0.05, noise=sf.Gaussian())


def test_hardness_grows_with_the_inverse_square_of_the_gap() -> None:
    wide, narrow = expected_costs(
        toy_problem(), SETTINGS, algorithm_from("prime"), gaps=(1.0, 0.1), draws=2
    )
    assert narrow.hardness == pytest.approx(100 * wide.hardness)
    assert narrow.lower_bound == pytest.approx(100 * wide.lower_bound)
    assert list(narrow.pulls) == ["prime", "robust-rage", "robust-static"]
    pulls = narrow.pulls["prime"]
    assert pulls is not None
    assert pulls > narrow.lower_bound / 3
    assert all(value is not None and value > 0 for value in narrow.pulls.values())


def test_the_scale_of_the_noise_does_not_matter_to_a_gap_in_its_units() -> None:
    small = sf.Settings(delta=0.05, noise=sf.Gaussian(0.01))
    (one,) = expected_costs(toy_problem(), SETTINGS, algorithm_from("prime"), gaps=(0.5,), draws=1)
    (other,) = expected_costs(toy_problem(), small, algorithm_from("prime"), gaps=(0.5,), draws=1)
    assert one.hardness == pytest.approx(other.hardness, rel=1e-6)


def test_a_single_arm_has_no_cost() -> None:
    with pytest.raises(InputError, match="nothing has to be pulled"):
        list(
            expected_costs(sf.RobustProblem([[1.0]], [[[0.0]]]), SETTINGS, algorithm_from("prime"))
        )
