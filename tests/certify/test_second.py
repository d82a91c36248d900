"""The kernel and the second checker agree on random runs, phase by phase."""

from __future__ import annotations

import numpy as np
import pytest

from tests.certify import random_runs, second

RUNS = 100  # for each noise and misfit: 2 000 in all
MISFITS = (0.0, 0.1, 0.5, np.inf)


@pytest.mark.parametrize("misfit", MISFITS)
@pytest.mark.parametrize("noise", random_runs.NOISES)
def test_both_checkers_prove_the_same(noise: str, misfit: float) -> None:
    place = (random_runs.NOISES.index(noise), MISFITS.index(misfit))
    for run in range(RUNS):
        rng = np.random.default_rng(np.random.SeedSequence(7, spawn_key=(*place, run)))
        _compare(random_runs.Maker(rng, noise, misfit))


def _compare(maker: random_runs.Maker) -> None:
    certifier, bets = random_runs.certifier(maker), maker.noise == "wealth"
    proved = second.check(maker.setting, maker.steps)
    for index, (step, expected) in enumerate(zip(maker.steps, proved, strict=True)):
        phase, outcome = random_runs.kernel_phase(index, step)
        claims = [random_runs.kernel_claims(claim, bets) for claim in step.claims]
        variances = None if step.variances is None else np.array(step.variances)
        certifier.update(
            certifier.commit(phase, claims, variances), outcome, random_runs.limits(step)
        )
        assert set(np.flatnonzero(certifier.survivors).tolist()) == expected.survivors
        assert certifier.walks.walk() == pytest.approx(expected.walk, rel=1e-8, abs=1e-8)
        for ell, walk in expected.eased.items():
            assert certifier.walks.walk(eased=ell) == pytest.approx(walk, rel=1e-8, abs=1e-8)
            near = np.flatnonzero(certifier.walks.near[ell]).tolist()
            assert set(near) == expected.near[ell]
