"""PRIME beside the procedures that others have for this problem, on their own test problems.

`SUREFOOT_BENCH_RUNS=20 python -m benchmarks peers` takes fewer runs than the 1 000 of a cell, for a
first look; `SUREFOOT_BENCH_PEERS=zone,streams,games,linear,budget` chooses experiments, and
`SUREFOOT_BENCH_CELLS=.` takes all of their cells, not only those of the documentation.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from itertools import product, zip_longest

import numpy as np

from benchmarks.contests import Cell, held
from benchmarks.linear import linear_rows
from benchmarks.table import Row, published
from surefoot.algorithms.peers import ArOcba, Equal, KnRsb, MKlLucb, MLucb, MRacing, ROcba
from surefoot.experiments.instances import GAMES, unequal_scales
from surefoot.noise import Bounded
from surefoot.paper.peers import (
    CONTENDERS,
    DEVIATION,
    KINDS,
    PRIME,
    TOLERANCE,
    ZONE,
    Kind,
    PeerContender,
    PeerContest,
    mean_rewards,
)

RUNS = int(os.environ.get("SUREFOOT_BENCH_RUNS", "1000"))
SHOWN = (
    r"^10 × 5 (SC|SC2|MM), equal variances$|correlation 0.8$|^game 1, δ = 0.1$"
    r"|^20 × 5, sd falling, c = (0|50)$"
)
CHOSEN = os.environ.get("SUREFOOT_BENCH_PEERS", "zone,streams,games,linear,budget").split(",")
SIZES = ((5, 5), (10, 5), (10, 10), (20, 10))
# mean samples of a second implementation, 10 × 5, variance 4, in the order of CONTENDERS
SPREADS = {
    "equal": (lambda n_arms, n_own: DEVIATION, 0.85),
    "unequal": (unequal_scales, 1.0),
    "falling": (lambda n_arms, n_own: unequal_scales(n_arms, n_own)[::-1], 1.0),
}
REFERENCE: dict[tuple[Kind, str], Sequence[float | None]] = {
    ("SC", "equal"): (18_806, 13_532, 7_293, None, 3_190),
    ("SC2", "equal"): (18_810, 13_539, 7_290, None, 2_297),
    ("MM", "equal"): (None, 13_515, 7_310, None, 1_311),
    ("SC", "unequal"): (None, 13_526, 7_285, None, 2_084),
}
FIRST = (10, 40)  # other first stages: 20 is neither the best nor the worst of KN-RSB's
IN_A_ZONE = (
    *CONTENDERS[:-1],
    *(PeerContender(f"KN-RSB, n₀ = {n}", KnRsb(zone=ZONE, first_pulls=n)) for n in FIRST),
    CONTENDERS[-1],
)
SHARED = {"common_random_numbers": True}
SHARING = (
    PeerContender("KN-RSB", KnRsb(zone=ZONE), SHARED),
    *(PeerContender(f"KN-RSB, n₀ = {n}", KnRsb(zone=ZONE, first_pulls=n), SHARED) for n in FIRST),
    PeerContender(PRIME, "prime", {"tolerance": TOLERANCE, "common_random_numbers": "auto"}),
)
# of each game, the mean samples of M-KL-LUCB, heuristic, by an independent implementation
IN_GAMES = (1_852, 1_622, 2_588)
# turns of 1 % of a pair's pulls: at most as much too many, and a fraction of the turns
HEURISTIC = PeerContender("M-KL-LUCB, heuristic", MKlLucb(threshold="heuristic", growth=0.01))
PROVED = (
    PeerContender("M-LUCB, proved", MLucb(growth=0.01)),
    PeerContender("M-KL-LUCB, proved", MKlLucb(growth=0.01)),
    PeerContender("M-Racing, proved", MRacing(growth=0.01)),
)
PLAYERS = (HEURISTIC, *PROVED, PeerContender(PRIME, "prime"))
LEAST_STEP, STEPS = 50, 200  # of the budget, that the OCBA rules decide about at once


def rows() -> Iterator[Row]:
    experiments = {
        "zone": _zones,
        "streams": _streams,
        "games": _games,
        "linear": lambda: linear_rows(RUNS),
        "budget": _budgets,
    }
    for name in CHOSEN:
        yield from experiments[name]()


def _zones() -> Iterator[Row]:
    for n_arms, n_own in SIZES:
        for kind in KINDS:
            for spread, (scales, target) in SPREADS.items():
                if spread == "falling" and (n_arms, n_own) != (10, 5):
                    continue
                contest = PeerContest(
                    f"{n_arms} × {n_own} {kind}, {spread} variances",
                    mean_rewards(kind, n_arms, n_own),
                    scales(n_arms, n_own),
                )
                known = REFERENCE.get((kind, spread)) if (n_arms, n_own) == (10, 5) else None
                yield from _contested(contest, IN_A_ZONE, target, known)


def _streams() -> Iterator[Row]:
    for kind, spread, correlation in product(KINDS, ("equal", "unequal"), (0.0, 0.5, 0.8)):
        scales, target = SPREADS[spread]
        said = ", unequal variances" if spread == "unequal" else ""
        contest = PeerContest(
            f"10 × 5 {kind}, common random numbers, correlation {correlation:g}{said}",
            mean_rewards(kind, 10, 5),
            scales(10, 5),
            correlation=correlation,
        )
        yield from _contested(contest, SHARING, target)


def _games() -> Iterator[Row]:
    for delta in (0.1, 0.01, 0.001):
        for number, (means, reference) in enumerate(zip(GAMES, IN_GAMES, strict=True), 1):
            contest = PeerContest(
                f"game {number}, δ = {delta:g}",
                np.array(means),
                noise=Bounded(0, 1),
                family="bernoulli",
                delta=delta,
            )
            known = (reference,) if delta == 0.1 else None
            yield from _contested(contest, PLAYERS, 0.85, known)


def _contested(
    contest: PeerContest,
    contenders: Sequence[PeerContender],
    target: float,
    known: Sequence[float | None] | None = None,
) -> Iterator[Row]:
    """A row for each contender, the last of which is PRIME, and one for PRIME / best valid peer."""
    if not published(contest.name, SHOWN):
        return
    cells = held([(contest, contender, RUNS) for contender in contenders])
    references = zip_longest(contenders, cells, known or ())
    for contender, cell, reference in references:
        yield _measured(f"{contest.name}: {contender.label}", cell, reference)
    *peers, prime = zip(contenders, cells, strict=True)
    valid = [cell for contender, cell in peers if contender is not HEURISTIC]
    ratio, error = prime[1].over(min(valid, key=lambda cell: cell.mean))
    yield Row(
        f"{contest.name}: PRIME / best valid peer",
        f"{ratio:.2f} ± {error:.2f}",
        f"≤ {target:g}",
        ratio <= target,
    )


def _measured(work: str, cell: Cell, reference: float | None) -> Row:
    if reference is None:
        return Row(work, str(cell))
    return Row(work, str(cell), f"{reference} ± 5 %", cell.near(reference))


def _budgets() -> Iterator[Row]:
    """The probability of the right answer, k = 20, N = (20 + c) k m."""
    for n_own in (5, 20):
        i, j = np.meshgrid(np.arange(1, 21), np.arange(1, n_own + 1), indexing="ij")
        place = 0.2 * i + j
        deviations = {
            "16": np.full(place.shape, 16.0),
            "rising": 12 + np.sqrt(place),
            "falling": 12 + 1 / place,
        }
        for spread, scales in deviations.items():
            contest = PeerContest(f"20 × {n_own}, sd {spread}", -(0.5 * i - 0.2 * j - 1), scales)
            for extra in (0, 10, 50, 100):
                if published(f"{contest.name}, c = {extra}", SHOWN):
                    yield _budget(contest, extra, (20 + extra) * 20 * n_own)


def _budget(contest: PeerContest, extra: int, budget: int) -> Row:
    step, spent = max(LEAST_STEP, budget // STEPS), {"budget": budget}
    contenders = [
        PeerContender("equal", Equal(), spent),
        PeerContender("R-OCBA", ROcba(increment=step), spent),
        PeerContender("AR-OCBA", ArOcba(increment=step), spent),
        PeerContender(PRIME, "prime", spent | {"aim": "guess"}),
    ]
    cells = held([(contest, contender, RUNS) for contender in contenders])
    shown = [
        f"{contender.label} {cell.right:.2f}"
        for contender, cell in zip(contenders, cells, strict=True)
    ]
    best = max(cells[:-1], key=lambda cell: cell.right)
    return Row(
        f"{contest.name}, c = {extra}: right, of {best.runs} runs",
        f"{', '.join(shown)} (± {best.right_error:.2f})",
        "PRIME not below the best by more than its standard error",
        cells[-1].right >= best.right - best.right_error,
    )
