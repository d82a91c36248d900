import numpy as np
import pytest

from surefoot.design.interior_point import Blocks, Master, whitener_of
from tests.design.references import exact_programme, hull_criterion


def random_blocks(seed, count=6, size=3, dimension=4):
    generator = np.random.default_rng(seed)
    theta = generator.normal(size=dimension)
    rows = generator.normal(size=(count * size, dimension)) + 0.8 * theta
    return Blocks(rows, rows @ theta, np.arange(0, count * size + 1, size)), generator.normal(size=(12, dimension))


def test_whitener_inverts_and_refuses_singular_matrices():
    matrix = np.array([[4.0, 1.0], [1.0, 3.0]])
    whitener = whitener_of(matrix)
    np.testing.assert_allclose(whitener.T @ whitener, np.linalg.inv(matrix))
    assert whitener_of(np.zeros((2, 2))) is None


@pytest.mark.parametrize("seed", range(4))
def test_value_and_bound_enclose_the_cone_programme(seed):
    blocks, atoms = random_blocks(seed)
    solution = Master(atoms, blocks).solve(np.full(12, 1 / 12), np.ones(blocks.count), 1e-6)
    assert solution.value <= solution.bound * (1 + 1e-6)
    parts = [(blocks.rows[3 * k : 3 * k + 3], blocks.gaps[3 * k : 3 * k + 3]) for k in range(blocks.count)]
    assert solution.value == pytest.approx(exact_programme(parts, atoms), rel=1e-5)


def test_geometry_is_linear_along_rays_and_matches_least_squares():
    """f = Fᵀλ, homogeneous of degree one, and 1/f is the criterion of an independent solver."""
    blocks, atoms = random_blocks(7)
    weights = np.random.default_rng(7).dirichlet(np.ones(12))
    master = Master(atoms, blocks)
    geometry, doubled = master.geometry(weights), master.geometry(2 * weights)
    np.testing.assert_allclose(geometry.squares.T @ weights, geometry.distance)
    np.testing.assert_allclose(doubled.distance, 2 * geometry.distance)
    np.testing.assert_allclose(doubled.squares, geometry.squares)
    information = (atoms.T * weights) @ atoms
    for k in range(blocks.count):
        part = slice(3 * k, 3 * k + 3)
        assert hull_criterion(blocks.rows[part], blocks.gaps[part], information) == pytest.approx(
            1 / geometry.distance[k]
        )


def test_squares_are_supergradients():
    """f is concave: its value anywhere is below the linear function F(λ)ᵀ·, on which every lower bound rests."""
    blocks, atoms = random_blocks(9)
    generator = np.random.default_rng(9)
    master = Master(atoms, blocks)
    here = master.geometry(generator.dirichlet(np.ones(12)))
    for _ in range(50):
        other = generator.dirichlet(np.full(12, 0.3)) + 1e-6
        assert (master.geometry(other).distance <= here.squares.T @ other * (1 + 1e-9)).all()


def test_singular_information_is_reported():
    blocks, atoms = random_blocks(1)
    assert Master(atoms, blocks).geometry(np.eye(12)[0]) is None
