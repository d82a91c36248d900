"""Outputs that have limits: estimates by pair, and what limits are held against."""

from __future__ import annotations

import numpy as np
import pytest

import surefoot as sf
from surefoot.algorithms import Tally
from surefoot.algorithms.settings import Settings
from surefoot.algorithms.verdict import StopReason, Verdict
from surefoot.statistics import Outcome, Phase

LIMITS = {
    "failed": {"at_most": 0.4, "noise": sf.Bounded(0, 1)},
    "wait": [{"at_most": 30, "measure": "mean"}, {"at_least": 5}],
}


def test_each_limit_is_held_against_its_own_measure_of_the_pairs() -> None:
    problem = sf.RobustProblem.from_lists(
        [{"a": 0.0}, {"a": 2.0}], {"planned": {}, "worn": {"a": 1.0}}
    )
    settings = Settings(delta=0.05, noise=sf.Gaussian(), limits=LIMITS)
    generator, pairs = np.random.default_rng(5), np.repeat(np.arange(4), 500)
    waits = np.array([4.0, 10.0, 20.0, 50.0])[pairs] + generator.standard_normal(2000)
    failed = (generator.random(2000) < np.array([0.1, 0.5, 0.2, 0.3])[pairs]).astype(float)
    phase = Phase(0, np.full(4, 500))
    rewards = generator.standard_normal(2000)
    others = {"failed": failed, "wait": waits, "beside": waits}
    outcome = Outcome.from_rewards(phase, 4, pairs, rewards, others)
    tally = Tally.empty(problem, settings).after(outcome)
    survivors = np.ones(2, dtype=bool)
    result = tally.result(Verdict("any", 0, StopReason.RUNNING, survivors, []))
    assert set(result.outputs) == {"failed", "wait"}
    np.testing.assert_allclose(result.outputs["wait"].means, waits.reshape(4, -1).mean(axis=1))
    rate, mean, least = result.against_limits
    np.testing.assert_allclose(rate.values, failed.reshape(4, -1).mean(axis=1)[[1, 3]])
    assert mean.values == pytest.approx([7.0, 35.0], abs=0.3)
    assert least.values == pytest.approx([4.0, 20.0], abs=0.3)
    for each in result.against_limits:
        assert (each.lower < each.values).all()
        assert (each.values < each.upper).all()
    assert 0 <= rate.lower.min() <= rate.upper.max() <= 1
    turned = result.turned(settings)
    assert turned.against_limits[1].values.tolist() == mean.values.tolist()
