"""Statistics of glucose histories."""

from __future__ import annotations

import numpy as np
import pytest
from simglucose.analysis.risk import risk_index

from surefoot.errors import InputError
from surefoot.paper.glucose import magni_risk, score


def test_times_are_shares_of_the_samples_and_the_range_includes_its_ends():
    scores = score([69.999, 70.0, 100.0, 180.0, 180.001])
    assert (scores["time_below"], scores["time_in_range"], scores["time_above"]) == (0.2, 0.6, 0.2)
    assert (scores["min"], scores["max"]) == (69.999, 180.001)


def test_indices_average_the_reference_s_risk_over_all_samples():
    bg = np.random.default_rng(0).uniform(20, 500, size=(2, 50))
    scores = score(bg)
    for lane in range(2):
        each = np.array([risk_index([value], 1)[:2] for value in bg[lane]])
        assert scores["lbgi"][lane] == pytest.approx(each[:, 0].mean())
        assert scores["hbgi"][lane] == pytest.approx(each[:, 1].mean())


def test_the_magni_risk_is_least_near_138_and_steeper_below():
    bg = np.linspace(20, 600, 20_000)
    risk = magni_risk(bg)
    best = bg[risk.argmin()]
    assert best == pytest.approx(np.exp(3.7932 ** (1 / 0.8353)), abs=0.05)
    assert 137 < best < 139
    assert np.all(np.diff(risk[bg < best]) < 0)
    assert np.all(np.diff(risk[bg > best]) > 0)
    assert magni_risk(best / 2) > magni_risk(best * 2)


def test_the_worst_risk_is_the_highest_of_the_history():
    bg = np.random.default_rng(1).uniform(30, 400, size=(20, 481))
    np.testing.assert_allclose(score(bg)["magni_risk"], magni_risk(bg).max(axis=1), rtol=1e-12)


@pytest.mark.parametrize("bg", [[], [100.0, np.nan], [np.inf]])
def test_what_is_no_history_is_refused(bg):
    with pytest.raises(InputError, match="empty or not finite"):
        score(bg)


@pytest.mark.parametrize("collapsed", [1.0, 0.5, 0.0, -1e-12, -30.0])
def test_a_collapsed_history_scores_as_one_never_as_nan(collapsed):
    scores = score([150.0, collapsed])
    assert all(np.isfinite(value) for value in scores.values())
    assert scores["magni_risk"] == pytest.approx(10 * (3.35506 * 3.7932) ** 2)
    assert scores["lbgi"] == pytest.approx(10 * (1.509 * 5.381) ** 2 / 2)
    assert scores["min"] == collapsed
