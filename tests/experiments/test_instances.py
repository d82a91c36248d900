from __future__ import annotations

import math

import numpy as np
import pytest

from surefoot import InputError
from surefoot.experiments import instances
from surefoot.experiments.instances import (
    classic,
    irrelevant_dimensions,
    near_tie,
    random_robust,
    unit_sphere,
)


@pytest.mark.parametrize("d", [2, 5, 10])
def test_irrelevant_dimensions_has_the_papers_values(d: int) -> None:
    problem, theta = irrelevant_dimensions(d)
    values = problem.robust_values(theta)
    assert (problem.n_arms, problem.n_pairs, problem.dimension) == (d + 1, 5 * (d + 1), d)
    assert problem.best_arm(theta) == 0
    assert values[0] == pytest.approx(1.90)
    assert values[d] == pytest.approx(2 * math.cos(0.01) - 0.1)
    assert values[1:d] == pytest.approx(np.zeros(d - 1))


@pytest.mark.parametrize("n", [10, 40])
def test_unit_sphere_has_the_papers_best_arm(n: int) -> None:
    problem, theta = unit_sphere(n, rng=np.random.default_rng(n))
    best = problem.best_arm(theta)
    assert problem.n_arms == n
    assert problem.dimension == 10
    assert problem.robust_values(theta)[best] == pytest.approx(1.05)
    single = np.flatnonzero(np.diff(problem.offsets) == 1)
    assert best in single
    assert len(single) == 2
    assert np.linalg.norm(theta) == pytest.approx(1.0)


def test_classic_has_singletons_and_one_close_arm() -> None:
    problem, theta = classic(6)
    assert (problem.n_arms, problem.n_pairs) == (7, 7)
    assert problem.robust_gaps(theta)[6] == pytest.approx(2 * (1 - math.cos(0.1)))


def test_random_robust_has_the_gap_and_several_worst_pairs() -> None:
    problem, theta = random_robust(6, 10, 4, gap=0.3, rng=np.random.default_rng(2))
    best = problem.best_arm(theta)
    assert problem.robust_gaps(theta)[best] == pytest.approx(0.3)
    means, values = problem.pair_means(theta), problem.robust_values(theta)
    binding = [np.sum(means[problem.pairs_of(a)] < values[a] + 1e-9) for a in range(6)]
    assert min(binding) >= 5


def test_near_tie_has_its_gap() -> None:
    problem, theta = near_tie(5, gap=0.01)
    assert problem.best_arm(theta) == 0
    assert problem.robust_gaps(theta) == pytest.approx([0.01, 0.01, 0.5, 0.5, 0.5])


def test_the_same_generator_gives_the_same_instance() -> None:
    for family in (unit_sphere, random_robust, near_tie):
        one, two, other = (family(6, rng=np.random.default_rng(seed)) for seed in (1, 1, 2))
        assert one[0].pairs.tobytes() == two[0].pairs.tobytes()
        assert one[0].pairs.tobytes() != other[0].pairs.tobytes()


@pytest.mark.parametrize(
    ("make", "gaps"),
    [
        (instances.slippage, [1, 1, 1]),
        (instances.slippage_everywhere, [1, 1, 1]),
        (instances.monotone_means, [1, 1, 2]),
    ],
)
def test_the_first_arm_is_best_by_the_gap(make, gaps: list[float]) -> None:
    problem, means = make(3, 2, 2.0)
    assert problem.best_arm(means) == 0
    assert problem.robust_gaps(means) == pytest.approx(2 * np.array(gaps))
    assert problem.n_pairs == problem.dimension == 6


def test_games_and_tables() -> None:
    problem, means = instances.coin_game(3)
    assert problem.robust_values(means) == pytest.approx([0.45, 0.35, 0.3])
    with pytest.raises(InputError, match="choose 1, 2 or 3"):
        instances.coin_game(4)
    with pytest.raises(InputError, match="one row per arm"):
        instances.table([1.0, 2.0])
    assert instances.unequal_scales(2, 2) ** 2 == pytest.approx([1, 3, 5, 7])
