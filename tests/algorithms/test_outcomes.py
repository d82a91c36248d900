"""Outcomes that do not answer the phase are refused."""

from __future__ import annotations

import pytest

from surefoot.algorithms.robust_static import RobustStatic
from surefoot.errors import InputError
from surefoot.experiments.instances import random_robust
from surefoot.simulate import LinearSimulator
from surefoot.statistics import Outcome
from tests.algorithms.families import settings_for


def test_outcomes_that_do_not_fit_the_phase_are_refused() -> None:
    problem, _ = instance = random_robust(4, 3, 3)
    run = RobustStatic().start(problem, settings_for("robust-static"))
    phase = run.next_phase()
    assert phase is not None
    good = LinearSimulator(*instance, seed=0).pull(phase)
    sums = good.sums + (phase.counts == 0)
    with pytest.raises(InputError, match="rewards of pairs that were not pulled"):
        run.update(Outcome(0, good.counts, sums, good.scatter))
    with pytest.raises(InputError, match="rewards of pairs that were not pulled"):
        run.update(Outcome(0, good.counts, good.sums, good.scatter + (phase.counts == 0)))
    with pytest.raises(InputError, match="cannot be negative"):
        run.update(Outcome(0, good.counts, good.sums, good.scatter - 1e9))
    with pytest.raises(
        InputError,
        match=r"sums of shape \(11,\).*the problem has 12 pairs: give one entry for each",
    ):
        run.update(Outcome(0, good.counts, good.sums[1:], good.scatter))
    run.update(good)
