from __future__ import annotations

import numpy as np
import pytest

from surefoot.algorithms import StopReason
from surefoot.errors import InputError
from surefoot.noise import Bounded, Gaussian
from surefoot.simulate import LinearSimulator, identify
from surefoot.testing import ErrorTest
from tests.algorithms.games import slippage, solved, table

NEAR = [[0.0, 0.3, 0.6], [-0.2, 0.5, 0.6], [-0.9, 0.0, 0.4], [-1.5, 0.1, 0.0]]


def test_the_budget_is_spent_and_what_is_sure_is_said() -> None:
    result = solved("prime", table(NEAR), scale=2.0, budget=500, aim="guess")
    assert result.samples == 500
    assert result.reason is StopReason.SPENT
    assert not result.certified
    assert result.arm in result.candidates
    assert result.attained_confidence is not None
    assert "best guess" in result.sentence


def test_it_stops_before_the_end_when_it_is_sure() -> None:
    result = solved("prime", slippage(3, 2), scale=0.1, budget=100_000, aim="guess")
    assert result.certified
    assert result.samples < 100_000


def test_pulls_go_to_the_worst_pairs_of_the_best_arms() -> None:
    counts = solved("prime", table(NEAR), scale=1.0, budget=3000, aim="guess").counts
    assert counts.reshape(4, 3)[:2, 0].sum() > 0.7 * counts.sum()


@pytest.mark.parametrize("budget", [0, 1, 5, 13, 40])
@pytest.mark.parametrize("noise", [Gaussian(), Gaussian(1.0), Bounded(0, 1)])
def test_small_budgets(budget: int, noise: object) -> None:
    result = solved(
        "prime",
        table([[0.5, 0.7], [0.4, 0.9]]),
        family="bernoulli",
        noise=noise,  # type: ignore[arg-type]
        budget=budget,
        aim="guess",
    )
    assert result.samples == budget


def test_what_cannot_be_guessed_is_refused() -> None:
    instance = slippage(3, 2)
    with pytest.raises(InputError, match="give budget and misfit=math"):
        solved("prime", instance, aim="guess")
    with pytest.raises(InputError, match="does not spend a budget on a guess"):
        solved("kn-rsb", instance, aim="guess", budget=100)
    with pytest.raises(InputError, match='choose "certify", "guess" or "beat baseline"'):
        solved("prime", instance, aim="win", budget=100)
    with pytest.raises(InputError, match="give budget and misfit=math"):
        identify(
            instance[0],
            LinearSimulator(*instance),
            delta=0.05,
            noise=Gaussian(),
            misfit=0,
            budget=100,
            aim="guess",
        )


@pytest.mark.statistical
def test_candidates_hold_the_best_arm() -> None:
    """Elimination in a run that guesses is as valid as in one that certifies."""
    instance = table([[0.0, 0.0], [-0.05, 0.2], [0.1, -1.0]])
    found = [
        solved("prime", instance, seed=seed, budget=600, delta=0.2, aim="guess")
        for seed in np.random.SeedSequence(4).spawn(100)
    ]
    lost = sum(0 not in result.candidates for result in found)
    assert sum(len(result.candidates) < 3 for result in found) > 25
    assert not ErrorTest(100, 100, lost, 0.2, 600.0).rejected


@pytest.mark.parametrize("budget", [301, 318, 352, 420])
def test_whole_batches_do_not_keep_a_budget_from_being_spent(budget: int) -> None:
    game = table([[0.4, 0.5], [0.3, 0.35], [0.3, 0.45]])
    settings = {"noise": Bounded(0, 1), "aim": "guess", "budget": budget}
    result = solved("prime", game, family="bernoulli", **settings)
    assert (result.samples, result.reason) == (budget, StopReason.SPENT)
