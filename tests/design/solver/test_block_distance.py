import daqp
import numpy as np
import pytest

from surefoot.design.solver.block_distance import Solved, solve_blocks


def solve(rows, gaps, starts):
    count, dimension = len(starts) - 1, rows.shape[1]
    multipliers, solved = np.zeros(len(rows)), room(len(rows) + count, count, dimension)
    used = solve_blocks(rows, gaps, np.asarray(starts), multipliers, solved)
    distance, epsilon, basis, owner = solved
    return distance, epsilon, multipliers, basis[:used], owner[:used]


def room(capacity, count, dimension):
    basis, owner = np.empty((capacity, dimension)), np.empty(capacity, dtype=np.int64)
    return Solved(np.empty(count), np.empty((count, dimension)), basis, owner)


@pytest.mark.parametrize("dimension", [1, 2, 5, 12])
@pytest.mark.parametrize("size", [1, 3, 20])
def test_agrees_with_another_solver(dimension, size):
    generator = np.random.default_rng([dimension, size])
    rows = generator.normal(size=(30 * size, dimension)) + 0.5
    gaps = np.abs(rows @ np.ones(dimension)) * generator.uniform(0.2, 1.0, size=len(rows))
    rows *= np.sign(rows @ np.ones(dimension))[:, None]
    gaps[::4] *= -1  # rows that ask for nothing
    gaps[::size] = np.abs(gaps[::size])
    distance, epsilon, *_ = solve(rows, gaps, np.arange(0, len(rows) + 1, size))
    for k in range(30):
        block, gap = rows[k * size : (k + 1) * size], gaps[k * size : (k + 1) * size]
        free = np.zeros(size, dtype=np.int32)
        _, half, flag, _ = daqp.solve(
            np.eye(dimension), np.zeros(dimension), block, np.full(size, 1e30), gap, free
        )
        assert flag == 1
        assert distance[k] == pytest.approx(2 * half, rel=1e-7)
        assert (block @ epsilon[k] >= gap - 1e-8 * np.abs(gap).max()).all()
        assert epsilon[k] @ epsilon[k] == pytest.approx(distance[k], rel=1e-9)


def test_multipliers_prove_the_distance():
    generator = np.random.default_rng(1)
    rows, gaps = generator.normal(size=(40, 9)), generator.normal(size=40)
    starts = np.arange(0, 41, 8)
    distance, _, multipliers, _, _ = solve(rows, gaps, starts)
    for k in range(5):
        part = slice(starts[k], starts[k + 1])
        point = multipliers[part] @ rows[part]
        assert (multipliers[part] >= 0).all()
        assert multipliers[part] @ gaps[part] == pytest.approx(1.0)
        assert 1 / (point @ point) == pytest.approx(distance[k], rel=1e-9)


def test_basis_with_epsilon_spans_the_active_rows():
    generator = np.random.default_rng(2)
    rows, gaps = generator.normal(size=(60, 6)), generator.uniform(0.5, 1.0, size=60)
    starts = np.arange(0, 61, 6)
    _, epsilon, multipliers, basis, owner = solve(rows, gaps, starts)
    assert owner.size > 0
    for k in range(10):
        active = rows[starts[k] : starts[k + 1]][multipliers[starts[k] : starts[k + 1]] > 0]
        full = np.vstack([epsilon[k] / np.linalg.norm(epsilon[k]), basis[owner == k]])
        assert len(full) == len(active)
        np.testing.assert_allclose(full @ full.T, np.eye(len(full)), atol=1e-10)
        np.testing.assert_allclose(active @ full.T @ full, active, atol=1e-9)


def test_a_warm_start_gives_the_same_answer():
    generator = np.random.default_rng(3)
    rows, gaps = generator.normal(size=(50, 5)), generator.uniform(-0.5, 1.0, size=50)
    starts = np.arange(0, 51, 5)
    cold = solve(rows, gaps, starts)
    moved = rows + 0.01 * generator.normal(size=rows.shape)
    solved = room(60, 10, 5)
    solve_blocks(moved, gaps, starts, cold[2].copy(), solved)
    np.testing.assert_allclose(solved.distance, solve(moved, gaps, starts)[0], rtol=1e-9)


def test_nothing_to_gain_and_nothing_to_separate():
    rows = np.array([[1.0, 0.0], [1.0, 0.0], [-1.0, 0.0]])
    # no row has a positive gap: already won
    assert solve(rows[:1], np.array([-1.0]), [0, 1])[0][0] == 0.0
    assert solve(rows[1:], np.ones(2), [0, 2])[0][0] > 1e12  # v and −v both at least 1: impossible


def test_repeated_and_dependent_rows_do_no_harm():
    rows = np.repeat(np.array([[2.0, 0.0], [0.0, 1.0], [2.0, 1.0]]), 3, axis=0)
    distance, epsilon, *_ = solve(rows, np.ones(9), [0, 9])
    np.testing.assert_allclose(epsilon[0], [0.5, 1.0])
    assert distance[0] == pytest.approx(1.25)
