"""Questions beyond the worst case: pulls for the best mean beside Kim and Nelson's procedure, and
for the best arm that keeps a limit beside the constrained baseline.

`SUREFOOT_BENCH_RUNS=20 python -m benchmarks questions` takes fewer runs, for a first look.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.contests import held
from benchmarks.table import Row
from surefoot.algorithms.peers import AkRsb, KnRsb
from surefoot.arrays import Array
from surefoot.experiments.instances import unequal_scales
from surefoot.paper.peers import (
    DEVIATION,
    PRIME,
    TOLERANCE,
    ZONE,
    PeerContender,
    PeerContest,
    mean_rewards,
)
from surefoot.simulate import SeveralOutputs, TableSimulator

RUNS = int(os.environ.get("SUREFOOT_BENCH_RUNS", "200"))
MEAN = {"measure": "mean"}
FOR_MEANS = (
    PeerContender("KN on the averaged pulls, n₀ = 20", KnRsb(zone=ZONE), MEAN),
    PeerContender("KN on the averaged pulls, n₀ = 10", KnRsb(zone=ZONE, first_pulls=10), MEAN),
    PeerContender(PRIME, "prime", MEAN | {"tolerance": TOLERANCE}),
)
# costs fall from arm to arm by a zone: of the arms that keep the limit, the fourth is best, and it
# and the third are half a zone from it
LIMIT, LIMIT_ZONE = 6.5 * ZONE, 0.5 * ZONE
KEPT: dict[str, Any] = {"cost": {"at_most": LIMIT}}
WITHIN: dict[str, Any] = {"cost": {"at_most": LIMIT, "slack": LIMIT_ZONE}}
UNDER_A_LIMIT = (
    PeerContender("AK-RSB", AkRsb(zone=ZONE, limit_zone=LIMIT_ZONE), {"limits": KEPT}),
    PeerContender(f"{PRIME}, neither zone used", "prime", {"limits": KEPT}),
    PeerContender(PRIME, "prime", {"limits": WITHIN, "tolerance": TOLERANCE}),
)


@dataclass(frozen=True, eq=False)
class LimitedContest(PeerContest):
    """Work in which the best arm must keep a limit.

    Attributes:
        costs: (n_arms, n_own) means of the output "cost", with the noise of the rewards.
    """

    costs: Array = None  # type: ignore[assignment]

    @property
    def best(self) -> int:
        kept = self.costs.max(axis=1) <= LIMIT
        return int(np.argmax(np.where(kept, self.means.min(axis=1), -np.inf)))

    def simulator(self, seed: np.random.SeedSequence) -> Any:
        mine, other = seed.spawn(2)
        cost = TableSimulator(self.costs.ravel(), self.deviations, other)
        return SeveralOutputs(super().simulator(mine), {"cost": cost})


def rows() -> Iterator[Row]:
    for name, kind, scales in (
        ("MM, equal variances of 4", "MM", DEVIATION),
        ("SC2, equal variances of 4", "SC2", DEVIATION),
        ("MM, unequal variances", "MM", unequal_scales(10, 5)),
        ("MM, equal variances of 16", "MM", 2 * DEVIATION),
        ("SC2, equal variances of 16", "SC2", 2 * DEVIATION),
    ):
        means = mean_rewards("MM" if kind == "MM" else "SC2", 10, 5)
        contest = PeerContest(f"mean, 10 × 5 {name}", means, scales)
        yield from _contested(contest, FOR_MEANS, "KN", 0.85)
    costs = ZONE * (9 - np.arange(10))[:, None] - 0.4 * ZONE * np.arange(5)[None, :]
    means = mean_rewards("MM", 10, 5)
    limited = LimitedContest("one limit, 10 × 5 MM", means, DEVIATION, costs=costs)
    yield from _contested(limited, UNDER_A_LIMIT, "AK-RSB", 0.7)


def _contested(
    contest: PeerContest, contenders: Sequence[PeerContender], peer: str, target: float
) -> Iterator[Row]:
    """Yield a row for each contender, PRIME last, and its pulls over those of the best peer."""
    cells = held([(contest, contender, RUNS) for contender in contenders])
    for contender, cell in zip(contenders, cells, strict=True):
        yield Row(f"{contest.name}: {contender.label}", str(cell))
    peers = [c for one, c in zip(contenders, cells, strict=True) if PRIME not in one.label]
    ratio, error = cells[-1].over(min(peers, key=lambda cell: cell.mean))
    said = f"{ratio:.2f} ± {error:.2f}"
    yield Row(f"{contest.name}: PRIME / {peer}", said, f"≤ {target:g}", ratio <= target)
