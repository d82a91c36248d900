"""What designs share: distances of blocks, families, interior point, working sets, few rows."""

from __future__ import annotations

import daqp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from surefoot.design.solver.block_distance import Solved, solve_blocks
from surefoot.design.solver.families import (
    EVERY_BLOCK,
    Directions,
    Hulls,
    Rivalry,
    Vertices,
    apex_in_hull,
    equal_gaps,
    squared_lengths,
)
from surefoot.design.solver.interior_point import Blocks, SmallProblem, solve
from surefoot.design.solver.working_set import (
    _Certified,
    _purified,
    _value_at,
    extreme_rows,
    solve_certified,
    sparse,
)
from tests.design.references import (
    best_arm,
    block_rows,
    exact_programme,
    hull_criterion,
    members,
    ragged_instance,
)


def distances_of(rows, gaps, starts):
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
    distance, epsilon, *_ = distances_of(rows, gaps, np.arange(0, len(rows) + 1, size))
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
    distance, _, multipliers, _, _ = distances_of(rows, gaps, starts)
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
    _, epsilon, multipliers, basis, owner = distances_of(rows, gaps, starts)
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
    cold = distances_of(rows, gaps, starts)
    moved = rows + 0.01 * generator.normal(size=rows.shape)
    solved = room(60, 10, 5)
    solve_blocks(moved, gaps, starts, cold[2].copy(), solved)
    np.testing.assert_allclose(solved.distance, distances_of(moved, gaps, starts)[0], rtol=1e-9)


def test_nothing_to_gain_and_nothing_to_separate():
    rows = np.array([[1.0, 0.0], [1.0, 0.0], [-1.0, 0.0]])
    # no row has a positive gap: already won
    assert distances_of(rows[:1], np.array([-1.0]), [0, 1])[0][0] == 0.0
    assert (
        distances_of(rows[1:], np.ones(2), [0, 2])[0][0] > 1e12
    )  # v and −v both at least 1: impossible


def test_repeated_and_dependent_rows_do_no_harm():
    rows = np.repeat(np.array([[2.0, 0.0], [0.0, 1.0], [2.0, 1.0]]), 3, axis=0)
    distance, epsilon, *_ = distances_of(rows, np.ones(9), [0, 9])
    np.testing.assert_allclose(epsilon[0], [0.5, 1.0])
    assert distance[0] == pytest.approx(1.25)


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


@pytest.fixture
def family():
    pairs, offsets, theta = ragged_instance(0, n_arms=6, dimension=4)
    leader = best_arm(pairs, offsets, theta)
    values = pairs @ theta
    apexes = np.arange(offsets[leader], offsets[leader + 1])
    rivals = np.delete(np.arange(6), leader)
    return Rivalry(pairs, offsets, apexes, rivals, values[apexes], values), theta


def whitener():
    generator = np.random.default_rng(1)
    return generator.normal(size=(4, 4)) + 2 * np.eye(4)


def test_directions_are_priced_by_their_length():
    directions = np.array([[1.0, 0.0], [0.0, 3.0], [2.0, 0.0]])
    prices = Directions(directions).price(np.eye(2), 1.5, 1)
    assert prices.value == 9.0
    assert prices.blocks.tolist() == [1]
    assert Directions(directions).price(np.eye(2), 1.5, 5).blocks.tolist() == [1, 2]


def test_hull_and_vertex_prices_match_loops(family):
    family, theta = family
    transform = whitener()
    information = np.linalg.inv(transform.T @ transform)
    leader = family.own_arm[0]
    blocks = block_rows(family.pairs, family.offsets, leader)
    hulls = [hull_criterion(rows, rows @ theta, information) for _, rows in blocks]
    vertices = []
    for _, rows in blocks:
        gaps = rows @ theta
        ratios = ((rows @ transform.T) ** 2).sum(axis=1) / gaps**2
        vertices.append(ratios[gaps > 0].min())
    for found, expected in ((Hulls(family), hulls), (Vertices(family), vertices)):
        prices = found.price(transform, 0.0, EVERY_BLOCK)
        assert prices.value == pytest.approx(max(expected))
        np.testing.assert_allclose(prices.criteria, np.sort(expected)[::-1], rtol=1e-8)
        np.testing.assert_allclose(prices.criteria, np.array(expected)[prices.blocks], rtol=1e-8)
        few = found.price(transform, np.median(expected), 2)
        assert few.blocks.tolist() == prices.blocks[:2].tolist()
        assert few.value >= max(expected) * (1 - 1e-12)


def test_vertices_choose_the_smallest_row_now(family):
    family, theta = family
    transform = whitener()
    prices = Vertices(family).price(transform, 0.0, EVERY_BLOCK)
    chosen = Vertices(family).blocks(prices.blocks, transform)
    assert chosen.count == chosen.gaps.size
    np.testing.assert_allclose(chosen.rows @ theta, chosen.gaps)
    np.testing.assert_allclose(
        ((chosen.rows @ transform.T) ** 2).sum(axis=1) / chosen.gaps**2, prices.criteria
    )


def test_equal_gaps_compare_every_pair_with_every_other_arm():
    pairs, offsets, _ = ragged_instance(3)
    family = equal_gaps(pairs, offsets, np.array([0, 2, 4]))
    prices = Vertices(family).price(np.eye(3), 0.0, EVERY_BLOCK)
    expected = []
    for arm in (0, 2, 4):
        for z in members(offsets, arm):
            for rival in (other for other in (0, 2, 4) if other != arm):
                expected.append(
                    min(((pairs[z] - pairs[w]) ** 2).sum() for w in members(offsets, rival))
                )
    np.testing.assert_allclose(prices.criteria, np.sort(expected)[::-1])


def test_chunks_do_not_change_the_prices(family, monkeypatch):
    family, _ = family
    whole = Vertices(family).price(whitener(), 0.0, EVERY_BLOCK)
    monkeypatch.setattr("surefoot.design.solver.families.CHUNK_ENTRIES", 1)
    monkeypatch.setattr("surefoot.design.solver.families.HULL_CHUNK", 2)
    pieces = Vertices(family).price(whitener(), 0.0, EVERY_BLOCK)
    np.testing.assert_array_equal(whole.blocks, pieces.blocks)
    np.testing.assert_allclose(whole.criteria, pieces.criteria)
    hulls = Hulls(family).price(whitener(), 0.0, EVERY_BLOCK)
    assert hulls.value == pytest.approx(hulls.criteria[0])


def test_apex_in_hull():
    inside = np.array([[1.0, 0.0], [-1.0, 1.0], [-1.0, -1.0]])
    outside = inside + np.array([1.1, 0.0])
    edge = inside + np.array([1.0, 0.5])  # 0 on the side between the last two rows
    blocks = Blocks(np.vstack([inside, outside, edge]), np.ones(9), np.arange(0, 10, 3))
    assert apex_in_hull(blocks, np.eye(2)).tolist() == [True, False, True]


PAIRS = np.array([[0.0, 0.0], [1.0, 0.0], [3.0, 0.0], [0.0, 2.0], [5.0, 5.0]])
OFFSETS = np.array([0, 2, 3, 5])


def comparison(theta):
    values = PAIRS @ theta
    return Rivalry(
        PAIRS,
        OFFSETS,
        np.array([0, 1]),
        np.array([1, 2]),
        values[:2],
        values,
    )


def test_rows_and_gaps_of_blocks():
    """Identity 1 * 2 + 1: the second apex against the second rival, arm 2."""
    blocks = comparison(np.array([-1.0, -1.0])).rows_of(np.array([3, 0]))
    np.testing.assert_array_equal(blocks.starts, [0, 2, 3])
    np.testing.assert_array_equal(blocks.rows, [[1, -2], [-4, -5], [-3, 0]])
    np.testing.assert_array_equal(blocks.gaps, [1, 9, 3])


def test_ratios_take_the_smallest_pair_with_a_positive_gap():
    ((first, ratios),) = comparison(np.array([-1.0, 0.0])).vertex_ratios(np.eye(2))
    assert first == 0
    np.testing.assert_allclose(ratios, [[9 / 3**2, 50 / 5**2], [4 / 2**2, 41 / 4**2]])


def test_gaps_of_rounding_size_are_none():
    nearly = comparison(np.array([0.0, 1e-20]))
    assert nearly.smallest_gap < 1e-20
    shifted = Rivalry(
        PAIRS,
        OFFSETS,
        np.array([0]),
        np.array([1]),
        np.array([1.0 + 1e-15]),
        np.ones(5),
    )
    ((_, ratios),) = shifted.vertex_ratios(np.eye(2))
    assert ratios[0, 0] == np.inf
    assert shifted.rows_of(np.array([0])).gaps.tolist() == [0.0]


def test_an_apex_is_never_compared_with_its_own_arm():
    ((_, ratios),) = equal_gaps(PAIRS, OFFSETS, np.array([0, 2])).vertex_ratios(np.eye(2))
    assert ratios.shape == (4, 2)
    assert ratios[0, 0] == ratios[1, 0] == ratios[2, 1] == ratios[3, 1] == 0.0
    assert ratios[0, 1] == pytest.approx(4.0)


def test_squared_lengths():
    np.testing.assert_array_equal(squared_lengths(np.array([[3.0, 4.0], [0.0, 1.0]])), [25.0, 1.0])


def test_a_working_set_reaches_the_answer_of_the_whole_problem(monkeypatch):
    generator = np.random.default_rng(0)
    rows, directions = generator.normal(size=(140, 5)), generator.normal(size=(300, 5))
    whole = solve_certified(rows, Directions(directions), 1e-4)
    monkeypatch.setattr("surefoot.design.solver.working_set.ALL_ATOMS", 10)
    monkeypatch.setattr("surefoot.design.solver.working_set.FIRST_BLOCKS", 1)
    grown = solve_certified(rows, Directions(directions), 1e-4)
    assert grown.rounds > whole.rounds
    assert grown.value <= grown.bound * (1 + 1e-4)
    assert grown.value == pytest.approx(whole.value, rel=2e-4)


def test_extreme_rows_span_the_space():
    generator = np.random.default_rng(2)
    rows = generator.normal(size=(1_000, 6))
    assert np.linalg.matrix_rank(rows[extreme_rows(rows)]) == 6
    flat = np.hstack([100 * rows[:, :5], np.zeros((1_000, 1))])
    flat[3] = [0, 0, 0, 0, 0, 1]
    assert 3 in extreme_rows(flat)


def whitened(rows, weights):
    root = np.linalg.cholesky((rows.T * weights) @ rows)
    return np.linalg.solve(root, rows.T).T


@settings(max_examples=50)
@given(st.integers(0, 10_000), st.integers(1, 4), st.integers(1, 40))
def test_keeps_information_and_sum_on_few_rows(seed, dimension, extra):
    generator = np.random.default_rng(seed)
    rows = generator.normal(size=(dimension + extra, dimension))
    weights = generator.dirichlet(np.full(len(rows), 0.3)) + 1e-6
    fewer = _purified(whitened(rows, weights), weights)
    assert (fewer >= 0).all()
    assert fewer.sum() == pytest.approx(weights.sum(), rel=1e-6)
    assert np.count_nonzero(fewer) <= dimension * (dimension + 1) // 2 + 1
    np.testing.assert_allclose(
        (rows.T * fewer) @ rows,
        (rows.T * weights) @ rows,
        atol=1e-6 * np.trace((rows.T * weights) @ rows),
    )


def test_independent_rows_are_left_alone():
    weights = np.array([0.2, 0.3, 0.5])
    np.testing.assert_array_equal(_purified(whitened(np.eye(3), weights), weights), weights)


def test_many_rows_are_left_alone(monkeypatch):
    monkeypatch.setattr("surefoot.design.solver.working_set.MOST_ROWS", 3)
    weights = np.full(4, 0.25)
    assert _purified(np.ones((4, 1)), weights) is weights


def test_zeros_cost_no_more_than_the_tolerance():
    generator = np.random.default_rng(1)
    rows, family = generator.normal(size=(100, 4)), Directions(generator.normal(size=(20, 4)))
    found = solve_certified(rows, family, 1e-3)
    cut = sparse(rows, family, found, 1e-3)
    assert np.count_nonzero(cut.weights) < np.count_nonzero(found.weights)
    assert cut.value <= cut.bound * (1 + 1e-3)
    assert cut.value == pytest.approx(_value_at(rows, family, cut.weights))


def test_zeros_may_leave_a_singular_design_if_nothing_needs_more():
    rows = np.eye(3)
    found = solve_certified(rows, Directions(np.array([[0.0, 2.0, 0.0]])), 1e-3)
    cut = sparse(rows, Directions(np.array([[0.0, 2.0, 0.0]])), found, 1e-3)
    assert cut.weights.tolist() == [0.0, 1.0, 0.0]
    assert cut.value == pytest.approx(4.0)


def test_rows_along_one_line_are_merged():
    """Five multiples of each unit vector, of which only two directions matter much: one or two of
    each are enough.
    """
    generator = np.random.default_rng(5)
    rows = np.concatenate([np.outer(np.linspace(0.95, 1.0, 5), unit) for unit in np.eye(6)])
    weights = generator.dirichlet(np.ones(30))
    family = Directions(np.eye(6))
    found = _Certified(weights, _value_at(rows, family, weights), 1.0, 1)
    cut = sparse(rows, family, found, 1e-6)
    assert np.count_nonzero(cut.weights) <= 7
    assert cut.value <= found.value * (1 + 1e-6)


def test_many_tiny_weights_are_polished_away():
    """Half the weight lies on 20 000 near copies of e₂, each too small to matter: e₁ and e₂ alone
    do as well.
    """
    copies = np.column_stack([np.linspace(-1e-6, 1e-6, 20_000), np.ones(20_000)])
    rows, family = np.vstack([np.eye(2), copies]), Directions(np.ones((1, 2)))
    weights = np.concatenate([[0.5, 1e-3], np.full(20_000, 0.499 / 20_000)])
    found = _Certified(weights, _value_at(rows, family, weights), 4.0 * (1 - 1e-5), 1)
    cut = sparse(rows, family, found, 1e-3)
    assert cut.weights[:2] == pytest.approx([0.5, 0.5], abs=1e-2)
    assert np.count_nonzero(cut.weights) == 2
    assert cut.value <= 4.0 * (1 + 1e-3)
