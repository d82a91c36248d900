"""The compiled outlook against the same formulas in NumPy and SciPy."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import special

from surefoot.algorithms.prime.outlook import Outlook, Standing
from surefoot.algorithms.prime.schedule import Look
from surefoot.algorithms.prime.tuning import Tuning

TUNING = Tuning()
FORESIGHT = TUNING.foresight


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


def outlook(entries: Standing) -> Outlook:
    return Outlook(entries, look(), FORESIGHT)


def scores(entries: Standing, ahead: float, pulls: float) -> np.ndarray:
    now = look()
    needs = (now.boundary * np.sqrt(now.variance + ahead) - entries.held) / np.sqrt(ahead)
    spreads = np.sqrt(1 + TUNING.doubt * pulls * (entries.doubts / entries.lengths) ** 2)
    return np.asarray((np.sqrt(pulls) * entries.gaps / entries.lengths - needs) / spreads)


def log_chance(entries: Standing, ahead: float, pulls: float) -> float:
    return float(special.log_ndtr(scores(entries, ahead, pulls)).sum())


def test_the_most_pressing_are_those_with_the_least_scores() -> None:
    entries = standing(0)
    chosen = outlook(entries).most_pressing(5.0).standing
    assert len(chosen.gaps) == TUNING.most_rivals
    least = np.sort(scores(entries, 5.0, 5.0 * (look().size / look().weight)))[: TUNING.most_rivals]
    assert np.sort(scores(chosen, 5.0, 5.0 * (look().size / look().weight))) == pytest.approx(least)


def test_few_entries_are_all_pressing() -> None:
    entries = standing(0, n=TUNING.most_rivals)
    assert outlook(entries).most_pressing(5.0).standing is entries


def test_needs_and_spreads_make_up_the_scores() -> None:
    entries, ahead = standing(1), 4.0
    rivals = outlook(entries).rivals(ahead)
    gains = np.sqrt(rivals.pulls) * rivals.gaps / entries.lengths
    assert rivals.pulls == pytest.approx(4.0 / 2.0 * 40.0)
    assert (gains - rivals.needs) / rivals.spreads == pytest.approx(
        scores(entries, ahead, rivals.pulls)
    )


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("gap", [0.02, 0.3, 1.0])
def test_the_horizon_is_the_first_weight_with_enough_hope(seed: int, gap: float) -> None:
    entries, now = standing(seed, n=20, gap=gap), look()
    ahead = now.weight * (1000 * (1 + now.variance / now.weight)) ** FORESIGHT.ahead
    chances = np.array(
        [log_chance(entries, weight, weight * (now.size / now.weight)) for weight in ahead]
    )
    hopeful = np.flatnonzero(chances >= np.log(TUNING.hope))
    expected = ahead[hopeful[0]] if len(hopeful) else ahead[np.argmax(chances)]
    assert outlook(entries).horizon() == pytest.approx(expected)


def test_without_hope_the_horizon_is_where_there_is_most() -> None:
    entries = standing(0, n=20)
    blind = entries._replace(gaps=1e-3 * entries.gaps)
    now, chances = look(), []
    for weight in now.weight * (1000 * (1 + now.variance / now.weight)) ** FORESIGHT.ahead:
        chances.append((log_chance(blind, weight, weight * (now.size / now.weight)), weight))
    assert max(chances)[0] < np.log(TUNING.hope)
    assert outlook(blind).horizon() == pytest.approx(max(chances)[1])


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("gap", [0.3, 1.5, 3.0])
def test_the_size_trades_pulls_for_the_chance_of_another_phase(seed: int, gap: float) -> None:
    entries, now = standing(seed, n=5, gap=gap), look()
    chances = np.exp([log_chance(entries, now.weight, size * now.size) for size in FORESIGHT.sizes])
    costs = FORESIGHT.sizes + TUNING.patience * (1 - chances)
    factor = FORESIGHT.sizes[np.argmin(costs)] if chances[-1] > TUNING.feeble else 1.0
    assert outlook(entries).pulls(entries.lengths) == round(factor * now.size)


def test_other_lengths_change_the_size_as_they_change_the_chance() -> None:
    entries = standing(3, n=5, gap=1.5)
    sizes = [outlook(entries).pulls(entries.lengths / factor) for factor in (5.0, 1.2)]
    assert sizes[0] < sizes[1]
