import numpy as np
import pytest

from surefoot.design.solver.interior_point import SmallProblem, solve
from tests.design.references import exact_programme
from tests.design.solver.test_small_problem import random_blocks


@pytest.mark.parametrize("seed", range(4))
def test_value_and_bound_enclose_the_cone_programme(seed):
    blocks, atoms = random_blocks(seed)
    solution = solve(SmallProblem(atoms, blocks), np.full(12, 1 / 12), np.ones(blocks.count), 1e-6)
    assert solution.value <= solution.bound * (1 + 1e-6)
    parts = [
        (blocks.rows[3 * k : 3 * k + 3], blocks.gaps[3 * k : 3 * k + 3])
        for k in range(blocks.count)
    ]
    assert solution.value == pytest.approx(exact_programme(parts, atoms), rel=1e-5)


def test_a_singular_optimum_is_approached():
    """One block and one row along it: every other weight goes to zero and A becomes singular."""
    blocks, atoms = random_blocks(3, count=1, size=1)
    atoms = np.vstack([atoms, 10 * blocks.rows])
    solution = solve(SmallProblem(atoms, blocks), np.full(13, 1 / 13), np.ones(1), 1e-8)
    assert solution.value <= solution.bound * (1 + 1e-8)
    assert solution.value == pytest.approx(0.01 / blocks.gaps[0] ** 2, rel=1e-7)
    assert solution.weights[12] / solution.weights.sum() == pytest.approx(1.0, abs=1e-6)
