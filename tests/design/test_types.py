import math

import numpy as np

from surefoot.design import Design


def test_gap_is_relative_to_the_bound_and_support_lists_the_pairs():
    design = Design(np.array([0.5, 0.0, 0.5]), value=1.1, lower_bound=1.0)
    assert math.isclose(design.gap, 0.1)
    assert design.support.tolist() == [0, 2]
    assert "2 of 3 pairs" in repr(design)


def test_gap_without_a_positive_bound():
    assert Design(np.ones(1), 1.0, 0.0).gap == math.inf
    assert Design(np.ones(1), 0.0, 0.0).gap == 0.0
