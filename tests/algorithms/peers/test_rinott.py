from __future__ import annotations

import pytest
from scipy import stats

from surefoot.algorithms.peers import rinott_constant
from surefoot.errors import InputError


@pytest.mark.parametrize(
    ("systems", "pulls", "published"),
    [(2, 20, 2.452), (10, 20, 3.875), (10, 10, 4.289), (100, 20, 5.184)],
)
def test_published_values(systems: int, pulls: int, published: float) -> None:
    assert rinott_constant(systems, pulls, 0.95) == pytest.approx(published, abs=1e-3)


def test_many_pulls_give_the_normal_quantile() -> None:
    """With known variances h / √2 is the quantile of one normal comparison."""
    normal = 2**0.5 * stats.norm.ppf(0.99)
    assert rinott_constant(2, 2001, 0.99) == pytest.approx(normal, rel=2e-3)


def test_small_probabilities_of_error() -> None:
    """Twenty pulls and an error of 1e-6: by an independent two-dimensional quadrature."""
    assert rinott_constant(2, 20, 1 - 1e-6) == pytest.approx(8.3466677, rel=1e-6)


@pytest.mark.parametrize("given", [(1, 20, 0.95), (2, 1, 0.95), (2, 20, 0.3), (2, 20, 1.0)])
def test_what_has_no_constant_is_refused(given: tuple[int, int, float]) -> None:
    with pytest.raises(InputError, match="does not exist"):
        rinott_constant(*given)
