from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from surefoot.algorithms import StopReason
from surefoot.algorithms.peers import TwoStageRsb, rinott_constant
from surefoot.errors import InputError
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
    assert result.reason is StopReason.INDIFFERENCE_ZONE
    assert len(result.history) == 2
    assert result.samples == pytest.approx(4 * h**2 / 0.7**2 * variances.sum(), rel=0.01)


def test_one_sample_rule() -> None:
    result = solved(TwoStageRsb(zone=0.5, rule="one-sample"), slippage(4, 3), scale=2.0, seed=3)
    t = stats.t.ppf(1 - 0.05 / 6, 19)
    expected = 12 * (2 * t * 2.0 / 0.5) ** 2
    assert result.samples == pytest.approx(expected, rel=0.3)
    assert math.isfinite(result.values[0])


def test_quiet_pairs_need_no_second_stage() -> None:
    result = solved(TwoStageRsb(zone=1.0), slippage(3, 2), scale=0.01)
    assert (result.counts == 20).all()
    assert result.arm == 0
    assert result.candidates.tolist() == [0]


def test_an_unknown_rule_is_refused() -> None:
    with pytest.raises(InputError, match='choose "additive"'):
        solved(TwoStageRsb(zone=1.0, rule="middle"), slippage(3, 2))  # type: ignore[arg-type]


@pytest.mark.statistical
def test_errors_where_all_gaps_are_the_zone() -> None:
    instance, scales = slippage(4, 3), np.linspace(1, 3, 12)
    test = errors(
        lambda seed: solved(TwoStageRsb(zone=1.0), instance, scale=scales, seed=seed), 0, 400
    )
    assert not test.rejected
