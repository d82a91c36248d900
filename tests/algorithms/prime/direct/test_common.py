"""What shared streams have in common is taken out of the means that choices are made from."""

from __future__ import annotations

import numpy as np
import pytest

from surefoot.algorithms.prime.direct.common import CommonShifts
from surefoot.statistics import Outcome


def phase(index: int, pairs: list[int], means: np.ndarray, shift: np.ndarray) -> Outcome:
    """Noise that is the same for all pairs of a batch, and nothing else."""
    counts, sums = np.zeros(len(means), dtype=np.int64), np.zeros((len(shift), len(means)))
    counts[pairs] = len(shift)
    sums[:, pairs] = means[pairs] + shift[:, None]
    return Outcome(index, counts, sums.sum(axis=0), np.ones(len(means)), sums)


def test_shifts_of_phases_leave_the_means() -> None:
    means, generator = np.array([1.0, 2.0, 4.0, 8.0]), np.random.default_rng(3)
    common, counts, sums = CommonShifts(), np.zeros(4), np.zeros(4)
    for index, pairs in enumerate(([0, 1, 2, 3], [0, 1], [1, 2, 3], [0, 3])):
        outcome = phase(index, pairs, means, 5 * generator.standard_normal(6))
        common.add(outcome)
        counts, sums = counts + outcome.counts, sums + outcome.sums
    plain, mended = sums / counts, common.taken_out(counts, sums)
    assert np.ptp(plain - means) > 1
    assert np.ptp(mended - means) < 0.1 * np.ptp(plain - means)
    assert common.own_share == pytest.approx(0.01)  # all of the noise is common


def test_independent_noise_has_nothing_in_common() -> None:
    generator, common = np.random.default_rng(1), CommonShifts()
    for index in range(20):
        sums = generator.standard_normal((8, 5))
        counts = np.full(5, 8)
        common.add(Outcome(index, counts, sums.sum(axis=0), np.ones(5), sums))
    assert common.own_share > 0.9
    assert CommonShifts().own_share == 1.0
