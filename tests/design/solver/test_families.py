import numpy as np
import pytest

from surefoot.design.solver.families import (
    EVERY_BLOCK,
    Directions,
    Hulls,
    Rivalry,
    Vertices,
    apex_in_hull,
    equal_gaps,
)
from surefoot.design.solver.interior_point import Blocks
from tests.design.references import best_arm, block_rows, hull_criterion, members, ragged_instance


@pytest.fixture
def comparison():
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


def test_hull_and_vertex_prices_match_loops(comparison):
    family, theta = comparison
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


def test_vertices_choose_the_smallest_row_now(comparison):
    family, theta = comparison
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


def test_chunks_do_not_change_the_prices(comparison, monkeypatch):
    family, _ = comparison
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
