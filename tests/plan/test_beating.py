"""PRIME where all that is asked is an arm as good as the baseline."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy import stats

import surefoot as sf

RUNS, DELTA, FALSE_ALARM = 12, 0.2, 1e-4
MEANS = np.array([[2.0, 2.5], [1.9, 2.0], [0.5, 1.0], [0.0, 0.5]])


def problem() -> sf.RobustProblem:
    arms, parts = np.arange(4.0)[:, None], [np.array([[0.0], [0.1]])] * 4
    return sf.RobustProblem.paper(arms, parts, features="tabular")


def beaten(seed: int, means: Any = MEANS, **asked: Any) -> sf.Result:
    simulator = sf.TableSimulator(np.ravel(means), 1.0, np.random.SeedSequence(seed))
    given: dict[str, Any] = {"delta": DELTA, "noise": sf.Gaussian(1.0), "budget": 4_000}
    given |= {"aim": "beat baseline", "baseline": "arm 2", "misfit": math.inf} | asked
    return sf.identify(problem(), simulator, **given)


@pytest.mark.parametrize("noise", [sf.Gaussian(1.0), sf.Gaussian()], ids=repr)
def test_it_stops_before_it_is_known_which_arm_is_best(noise: sf.Gaussian) -> None:
    result = beaten(1, noise=noise, delta=0.01)
    assert result.certified
    assert result.reason is sf.StopReason.BEATS_BASELINE
    assert result.arm in (0, 1)
    assert "is at least as good as arm 2, the baseline, in the worst case" in result.sentence
    assert result.leads is not None
    assert result.leads.over_baseline is not None
    assert result.leads.over_baseline >= 0
    asked: dict[str, Any] = {"aim": "certify", "tolerance": 0.2, "budget": None}
    assert result.samples < 0.6 * beaten(1, noise=noise, delta=0.01, **asked).samples


def test_a_gain_takes_longer_than_not_to_be_worse() -> None:
    samples = [beaten(2, gain=gain, delta=0.01).samples for gain in (-1.0, 0.0, 1.0)]
    assert samples == sorted(samples)
    assert samples[0] < samples[2]


@pytest.mark.statistical
def test_a_baseline_that_is_best_is_seldom_said_to_be_beaten() -> None:
    """All arms are tied, so that none is better by the gain, however small."""
    claimed = sum(beaten(100 + seed, np.zeros(8), budget=1_500).certified for seed in range(RUNS))
    assert claimed <= stats.binom.isf(FALSE_ALARM, RUNS, DELTA)


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"baseline": None}, "needs baseline"),
        ({"tolerance": 0.1}, "does not go with tolerance"),
        ({"misfit": 0.0}, "does not go with misfit=0"),
        ({"aim": "certify", "gain": 1.0}, "gain is for"),
        ({"gain": math.nan}, "gain=nan must be a number"),
    ],
)
def test_what_does_not_go_with_a_baseline_is_refused(asked: dict[str, Any], said: str) -> None:
    with pytest.raises(sf.InputError, match=said):
        beaten(1, **asked)


def test_others_do_not_stop_once_a_baseline_is_beaten() -> None:
    simulator = sf.TableSimulator(np.ravel(MEANS), 1.0, np.random.SeedSequence(1))
    asked: dict[str, Any] = {"delta": 0.1, "noise": sf.Gaussian(1.0), "misfit": math.inf}
    with pytest.raises(sf.InputError, match="does not stop once a baseline is beaten"):
        sf.identify(problem(), simulator, "kn-rsb", aim="beat baseline", baseline="arm 2", **asked)
