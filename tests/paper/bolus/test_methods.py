"""What each method is asked, and by whose rules."""

from __future__ import annotations

import numpy as np
import pytest

from surefoot.paper.bolus.methods import (
    METHODS,
    PRIME_PAIRS,
    PRIME_SHARED,
    PRIME_TABULAR,
    ROBUST_RAGE,
    STABLEOPT,
    Assignment,
    choose,
)
from surefoot.paper.bolus.problem import make_dosing

DOSING = make_dosing("adult#001", n_arms=5, n_perturbations=2)
SCALES = np.full(10, 2.0)


def test_every_method_chooses_and_stableopt_spends_what_rage_spent() -> None:
    results = choose(METHODS, DOSING, SCALES, Assignment(budget=3000), np.random.SeedSequence(0))
    assert set(results) == {method.label for method in METHODS}
    assert results[STABLEOPT.label].samples == results[ROBUST_RAGE.label].samples > 0
    assert not results[STABLEOPT.label].certified
    assert results[PRIME_TABULAR.label].certified
    for method in METHODS:
        result = results[method.label]
        assert (result.algorithm, result.settings.rules) == (method.algorithm, method.policy)
        problem = {
            "linear": DOSING.linear,
            "curved": DOSING.curved,
            "tabular": DOSING.tabular,
        }[method.model]
        assert result.problem is problem
        if method.needs_scales:
            assert (result.settings.noise.scales(10) == SCALES).all()
        assert result.settings.misfit == method.misfit


def test_the_budget_binds_everyone_and_the_tolerance_prime_alone() -> None:
    results = choose(
        METHODS,
        DOSING,
        SCALES,
        Assignment(delta=0.1, tolerance=0.7, budget=40),
        np.random.SeedSequence(0),
    )
    assert max(result.samples for result in results.values()) <= 40
    tolerances = {label: result.settings.tolerance for label, result in results.items()}
    assert tolerances == {m.label: 0.7 if m.algorithm == "prime" else 0.0 for m in METHODS}
    assert {result.settings.delta for result in results.values()} == {0.1}


def test_direct_comparisons_are_told_no_scale_and_may_share_noise() -> None:
    results = choose(
        (PRIME_PAIRS, PRIME_SHARED), DOSING, None, Assignment(), np.random.SeedSequence(1)
    )
    assert {result.settings.noise.known for result in results.values()} == {False}
    assert results[PRIME_PAIRS.label].settings.common_random_numbers is False
    assert results[PRIME_SHARED.label].settings.common_random_numbers is not False
    assert all(result.certified for result in results.values())
    assert len({result.arm for result in results.values()}) == 1


@pytest.mark.parametrize("number", [1, 2])
def test_other_sources_mean_other_noise(number: int) -> None:
    question = Assignment(budget=300)
    first, other = (
        choose((ROBUST_RAGE,), DOSING, SCALES, question, np.random.SeedSequence(seed))
        for seed in (0, number)
    )
    assert (first[ROBUST_RAGE.label].pair_means != other[ROBUST_RAGE.label].pair_means).any()
