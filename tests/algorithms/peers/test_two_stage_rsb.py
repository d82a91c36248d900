from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from surefoot.algorithms import StopReason
from surefoot.algorithms.peers import TwoStageRsb, rinott_constant
from surefoot.algorithms.peers.two_stage_rsb import RULES, Rule
from surefoot.errors import InputError
from surefoot.problem.problem import RobustProblem
from tests.algorithms.peers.games import errors, slippage, solved


@pytest.mark.parametrize(
    ("rule", "comparisons"), [("additive", 4 + 3 - 2), ("multiplicative", 4 * 3 - 1)]
)
def test_the_counts_are_those_of_the_formula(rule: str, comparisons: int) -> None:
    result = solved(TwoStageRsb(zone=0.7, rule=rule), slippage(4, 3), scale=2.0)
    first = solved(TwoStageRsb(zone=100.0), slippage(4, 3), scale=2.0)
    assert (first.counts == 20).all()
    variances = first.pair_errors**2 * 20  # the same seed, the same first stage
    h = rinott_constant(2, 20, 1 - 0.05 / comparisons)
    assert first.noise_scales is not None
    assert result.reason is StopReason.WITHIN_ZONE
    assert len(result.history) == 2
    assert result.samples == pytest.approx(4 * h**2 / 0.7**2 * variances.sum(), rel=0.01)


def test_one_sample_rule() -> None:
    result = solved(TwoStageRsb(zone=0.5, rule="one-sample"), slippage(4, 3), scale=2.0, seed=3)
    t = stats.t.ppf(1 - 0.05 / 6, 19)
    expected = 12 * (2 * t * 2.0 / 0.5) ** 2
    assert result.samples == pytest.approx(expected, rel=0.3)
    assert math.isfinite(result.values[0])


def test_direct_rule() -> None:
    """The whole zone lies between a rival's worst pair and any pair of the best arm."""
    result = solved(TwoStageRsb(zone=0.7, rule="direct"), slippage(4, 3), scale=2.0)
    first = solved(TwoStageRsb(zone=100.0), slippage(4, 3), scale=2.0)
    h = rinott_constant(2, 20, 1 - 0.05 / (3 * 3))
    variances = first.pair_errors**2 * 20
    assert result.samples == pytest.approx(h**2 / 0.7**2 * variances.sum(), rel=0.01)


def test_a_budget_below_the_first_stage_leaves_nothing_known() -> None:
    result = solved(TwoStageRsb(zone=1.0), slippage(3, 2), budget=50)
    assert result.sentence.startswith("Nothing is known without a pull, not certified; all 3 arms")


def test_quiet_pairs_need_no_second_stage() -> None:
    result = solved(TwoStageRsb(zone=1.0), slippage(3, 2), scale=0.01)
    assert (result.counts == 20).all()
    assert result.arm == 0
    assert result.candidates.tolist() == [0]


def test_an_unknown_rule_is_refused() -> None:
    with pytest.raises(InputError, match='choose "additive"'):
        solved(TwoStageRsb(zone=1.0, rule="middle"), slippage(3, 2))  # type: ignore[arg-type]


@pytest.mark.statistical
@pytest.mark.parametrize("rule", RULES)
def test_errors_where_all_gaps_are_the_zone(rule: Rule) -> None:
    instance, scales = slippage(4, 3), np.linspace(1, 3, 12)
    test = errors(
        lambda seed: solved(TwoStageRsb(zone=1.0, rule=rule), instance, scale=scales, seed=seed),
        0,
        400,
    )
    assert not test.rejected


@pytest.mark.statistical
@pytest.mark.parametrize("rule", ["one-sample", "direct"])
def test_arms_worse_than_the_zone_are_seldom_selected_whatever_the_gaps(rule: Rule) -> None:
    """Good selection: the runner-up is half a zone behind, all others just more than the zone."""
    means = np.array([0.0, 0.0, -0.5, 0.0, -1.01, 0.0, -1.01, 0.0, -1.01, 0.0])
    problem = RobustProblem.from_pairs(np.eye(10), np.repeat(np.arange(5), 2))
    runs = [
        solved(TwoStageRsb(zone=1.0, rule=rule), (problem, means), scale=2.0, seed=seed)
        for seed in range(300)
    ]
    bad = sum(result.arm > 1 for result in runs)
    assert stats.binomtest(bad, 300, 0.05, alternative="greater").pvalue > 0.001
