import numpy as np
import pytest

from surefoot.design.solver.interior_point import Blocks, SmallProblem
from tests.design.references import hull_criterion


def random_blocks(seed, count=6, size=3, dimension=4):
    generator = np.random.default_rng(seed)
    theta = generator.normal(size=dimension)
    rows = generator.normal(size=(count * size, dimension)) + 0.8 * theta
    return Blocks(rows, rows @ theta, np.arange(0, count * size + 1, size)), generator.normal(
        size=(12, dimension)
    )


def test_geometry_is_linear_along_rays_and_matches_least_squares():
    """f = Fᵀλ, homogeneous of degree one, and 1/f is the criterion of an independent solver."""
    blocks, atoms = random_blocks(7)
    weights = np.random.default_rng(7).dirichlet(np.ones(12))
    problem = SmallProblem(atoms, blocks)
    geometry, doubled = problem.geometry(weights), problem.geometry(2 * weights)
    np.testing.assert_allclose(geometry.squares.T @ weights, geometry.distance)
    np.testing.assert_allclose(doubled.distance, 2 * geometry.distance)
    np.testing.assert_allclose(doubled.squares, geometry.squares)
    scaled = geometry.scaled(2.0)
    for name in ("whitener", "atoms", "distance", "epsilon", "response", "squares"):
        np.testing.assert_allclose(getattr(scaled, name), getattr(doubled, name), atol=1e-12)
    information = (atoms.T * weights) @ atoms
    for k in range(blocks.count):
        part = slice(3 * k, 3 * k + 3)
        assert hull_criterion(blocks.rows[part], blocks.gaps[part], information) == pytest.approx(
            1 / geometry.distance[k]
        )


def test_squares_are_supergradients():
    """f is concave: its value anywhere is below the linear function F(λ)ᵀ·, on which every lower
    bound rests.
    """
    blocks, atoms = random_blocks(9)
    generator = np.random.default_rng(9)
    problem = SmallProblem(atoms, blocks)
    here = problem.geometry(generator.dirichlet(np.ones(12)))
    for _ in range(50):
        other = generator.dirichlet(np.full(12, 0.3)) + 1e-6
        assert (problem.geometry(other).distance <= here.squares.T @ other * (1 + 1e-9)).all()


def test_singular_information_is_reported():
    blocks, atoms = random_blocks(1)
    assert SmallProblem(atoms, blocks).geometry(np.eye(12)[0]) is None


def test_curvature_is_the_second_derivative():
    blocks, atoms = random_blocks(5, count=3)
    weights = np.random.default_rng(5).dirichlet(np.ones(12)) + 0.05
    multipliers = np.array([0.5, 1.0, 2.0])
    problem = SmallProblem(atoms, blocks)
    here = problem.geometry(weights)
    whole = (
        here.curvature(multipliers)
        - (here.squares * (2 * multipliers / here.distance)) @ here.squares.T
    )
    for i in range(12):
        step = 1e-6 * np.eye(12)[i]
        ahead, behind = problem.geometry(weights + step), problem.geometry(weights - step)
        slope = (ahead.squares - behind.squares) @ multipliers / 2e-6
        np.testing.assert_allclose(-slope, whole[i], rtol=1e-4, atol=1e-5 * np.abs(whole).max())
