import numpy as np
import pytest

from surefoot.design.whitening import whiten
from surefoot.errors import InputError


def test_mean_outer_product_becomes_the_identity_and_criteria_stay():
    generator = np.random.default_rng(0)
    pairs = generator.normal(size=(30, 4)) * [1e-5, 1.0, 1e4, 3.0]
    rows = pairs / generator.uniform(0.5, 2.0, size=30)[:, None]
    new_pairs, new_rows = whiten(pairs, rows)
    np.testing.assert_allclose(new_rows.T @ new_rows / 30, np.eye(4), atol=1e-9)
    weights = generator.dirichlet(np.ones(30))
    before = pairs @ np.linalg.solve((rows.T * weights) @ rows, pairs.T)
    after = new_pairs @ np.linalg.solve((new_rows.T * weights) @ new_rows, new_pairs.T)
    np.testing.assert_allclose(after, before, rtol=1e-6, atol=1e-6 * np.abs(before).max())


@pytest.mark.parametrize("rows", [np.ones((5, 2)), np.array([[1.0, 0.0], [2.0, 0.0]])])
def test_rows_that_do_not_span_are_refused(rows):
    with pytest.raises(InputError, match="do not span"):
        whiten(rows, rows)
