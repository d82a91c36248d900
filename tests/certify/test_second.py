"""The kernel and the second checker agree on random runs, phase by phase."""

from __future__ import annotations

import numpy as np
import pytest

from tests.certify import random_runs, second

RUNS = 118  # for each noise and misfit: 2 000 in all
CASES = [(noise, misfit) for noise in random_runs.NOISES for misfit in (0.0, 0.1, 0.5, np.inf)]
CASES = [case for case in CASES if case[0] != "wealth" or case[1] == np.inf]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_both_checkers_prove_the_same(case: tuple[str, float]) -> None:
    for run in range(RUNS):
        seed = np.random.SeedSequence(7, spawn_key=(CASES.index(case), run))
        _compare(random_runs.Maker(np.random.default_rng(seed), *case))


def _compare(maker: random_runs.Maker) -> None:
    certifier, proved = random_runs.certifier(maker), second.check(maker.setting, maker.steps)
    for step, expected in zip(random_runs.steps(maker), proved, strict=True):
        certifier.update(certifier.commit(**step.given), step.outcome, step.lower)
        assert set(np.flatnonzero(certifier.survivors).tolist()) == expected.survivors
        assert certifier.answer() == expected.answer()
        for ell in (None, *expected.near) if maker.setting.tolerance else (None,):
            walk = [expected.walk(arm, -1 if ell is None else ell) for arm in expected.arms]
            assert certifier.walks.walk(eased=ell) == pytest.approx(walk, rel=1e-8, abs=1e-8)
        for ell, near in certifier.walks.near.items():
            assert set(np.flatnonzero(near).tolist()) == expected.near[ell]
