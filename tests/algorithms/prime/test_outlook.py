"""The compiled outlook against the same formulas in NumPy and SciPy."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import special

from surefoot.algorithms.prime import outlook
from surefoot.algorithms.prime.outlook import Look, Standing


def standing(seed: int, n: int = 60, gap: float = 1.0) -> Standing:
    generator = np.random.default_rng(seed)
    return Standing(
        generator.standard_normal((n, 3)),
        gap * generator.uniform(0.5, 1.5, n),
        generator.uniform(0.05, 0.2, n),
        generator.uniform(1.0, 3.0, n),
        generator.normal(1.0, 1.0, n),
    )


def look() -> Look:
    return Look(variance=6.0, weight=2.0, size=40.0, boundary=2.9)


def scores(comparisons: Standing, ahead: float, pulls: float) -> np.ndarray:
    now = look()
    needs = (now.boundary * np.sqrt(now.variance + ahead) - comparisons.held) / np.sqrt(ahead)
    spreads = np.sqrt(1 + outlook.DOUBT * pulls * (comparisons.doubts / comparisons.lengths) ** 2)
    return np.asarray((np.sqrt(pulls) * comparisons.gaps / comparisons.lengths - needs) / spreads)


def log_chance(comparisons: Standing, ahead: float, pulls: float) -> float:
    return float(special.log_ndtr(scores(comparisons, ahead, pulls)).sum())


def test_the_most_pressing_are_those_with_the_least_scores() -> None:
    comparisons = standing(0)
    chosen = comparisons.most_pressing(look(), 5.0)
    assert len(chosen.gaps) == outlook.MOST_RIVALS
    least = np.sort(scores(comparisons, 5.0, 5.0 * (look().size / look().weight)))[
        : outlook.MOST_RIVALS
    ]
    assert np.sort(scores(chosen, 5.0, 5.0 * (look().size / look().weight))) == pytest.approx(least)


def test_few_comparisons_are_all_pressing() -> None:
    comparisons = standing(0, n=outlook.MOST_RIVALS)
    assert comparisons.most_pressing(look(), 5.0) is comparisons


def test_needs_and_spreads_make_up_the_scores() -> None:
    comparisons, ahead = standing(1), 4.0
    rivals = comparisons.rivals(look(), ahead)
    gains = np.sqrt(rivals.pulls) * rivals.gaps / comparisons.lengths
    assert rivals.pulls == pytest.approx(4.0 / 2.0 * 40.0)
    assert (gains - rivals.needs) / rivals.spreads == pytest.approx(
        scores(comparisons, ahead, rivals.pulls)
    )


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("gap", [0.02, 0.3, 1.0])
def test_the_horizon_is_the_first_weight_with_enough_hope(seed: int, gap: float) -> None:
    comparisons, now = standing(seed, n=20, gap=gap), look()
    ahead = now.weight * (1000 * (1 + now.variance / now.weight)) ** outlook.AHEAD
    chances = np.array(
        [log_chance(comparisons, weight, weight * (now.size / now.weight)) for weight in ahead]
    )
    hopeful = np.flatnonzero(chances >= np.log(outlook.HOPE))
    expected = ahead[hopeful[0]] if len(hopeful) else ahead[np.argmax(chances)]
    assert comparisons.horizon(now) == pytest.approx(expected)


def test_without_hope_the_horizon_is_where_there_is_most() -> None:
    comparisons = standing(0, n=20)
    blind = comparisons._replace(gaps=1e-3 * comparisons.gaps)
    now, chances = look(), []
    for weight in now.weight * (1000 * (1 + now.variance / now.weight)) ** outlook.AHEAD:
        chances.append((log_chance(blind, weight, weight * (now.size / now.weight)), weight))
    assert max(chances)[0] < np.log(outlook.HOPE)
    assert blind.horizon(now) == pytest.approx(max(chances)[1])


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("gap", [0.3, 1.5, 3.0])
def test_the_size_trades_pulls_for_the_chance_of_another_phase(seed: int, gap: float) -> None:
    comparisons, now = standing(seed, n=5, gap=gap), look()
    chances = np.exp(
        [log_chance(comparisons, now.weight, size * now.size) for size in outlook.SIZES]
    )
    costs = outlook.SIZES + outlook.PATIENCE * (1 - chances)
    factor = outlook.SIZES[np.argmin(costs)] if chances[-1] > outlook.FEEBLE else 1.0
    assert comparisons.pulls(now) == round(factor * now.size)


def test_other_lengths_change_the_size_as_they_change_the_chance() -> None:
    comparisons, now = standing(3, n=5, gap=1.5), look()
    sizes = [
        comparisons._replace(lengths=comparisons.lengths / factor).pulls(now)
        for factor in (5.0, 1.2)
    ]
    assert sizes[0] < sizes[1]
