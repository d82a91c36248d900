from __future__ import annotations

import numpy as np
import pytest

from surefoot.algorithms.estimates import Estimates, Frame, decided
from surefoot.algorithms.fitting import information
from surefoot.experiments.instances import classic

PROBLEM = classic(3)[0]
SCALES = np.array([1.0, 2.0, 0.5, 1.0])


def estimates() -> Estimates:
    return Frame.of(PROBLEM, SCALES).estimate(np.full(4, 3), np.zeros(4))


@pytest.mark.parametrize(("pulls", "decisions"), [(10, 4), (3, 4), (1, 1), (1000, 7)])
def test_decisions_share_the_pulls_evenly(pulls: int, decisions: int) -> None:
    shares: list[int] = []

    def choose(_: Estimates, share: int) -> int:
        shares.append(share)
        return len(shares) % 4

    counts = decided(choose, estimates(), SCALES, pulls, decisions)
    assert counts.sum() == sum(shares) == pulls
    assert len(shares) == min(pulls, decisions)
    assert max(shares) - min(shares) <= 1


def test_each_decision_sees_the_pulls_decided_before_it() -> None:
    seen: list[np.ndarray] = []

    def choose(now: Estimates, _: int) -> int:
        seen.append(now.widths)
        return 1

    decided(choose, estimates(), SCALES, 10, 2)
    rows = PROBLEM.pairs / SCALES[:, None]
    for widths, extra in zip(seen, (0, 5), strict=True):
        inverse = np.linalg.inv(information(rows, np.array([3, 3 + extra, 3, 3])))
        assert widths == pytest.approx([np.sqrt(z @ inverse @ z) for z in PROBLEM.pairs])
