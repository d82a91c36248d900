"""PRIME beside the procedures that others have for this problem, on their own test problems.

`SUREFOOT_BENCH_RUNS=20 python -m benchmarks peers` takes a fifth of the runs, for a first look;
`SUREFOOT_BENCH_PEERS=zone,streams,games,linear,budget` chooses experiments.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

import numpy as np

from benchmarks.contests import Cell, Contender, Contest, held
from benchmarks.table import Row
from surefoot.algorithms.peers import (
    ArOcba,
    Equal,
    KnRsb,
    MKlLucb,
    MLucb,
    MRacing,
    ROcba,
    TwoStageRsb,
)
from surefoot.arrays import Array
from surefoot.experiments.instances import Instance, classic, on_sphere
from surefoot.noise import Bounded, Gaussian
from surefoot.problem import RobustProblem
from surefoot.simulate import LinearSimulator, identify

RUNS = int(os.environ.get("SUREFOOT_BENCH_RUNS", "100"))
CHOSEN = os.environ.get("SUREFOOT_BENCH_PEERS", "zone,streams,games,linear,budget").split(",")
ZONE = 1.0
SIZES = ((5, 5), (10, 5), (10, 10), (20, 10))
PRIME = "PRIME"
# tolerance: a hair below the zone, so that the best arm is the only right answer
NOTHING_KNOWN = Contender(PRIME, "prime", {"tolerance": 0.999 * ZONE})
SELECTORS = (
    Contender("two-stage, multiplicative", TwoStageRsb(zone=ZONE, rule="multiplicative")),
    Contender("two-stage, additive", TwoStageRsb(zone=ZONE, rule="additive")),
    Contender("two-stage, one-sample", TwoStageRsb(zone=ZONE, rule="one-sample")),
    Contender("KN-RSB", KnRsb(zone=ZONE)),
    NOTHING_KNOWN,
)
# mean samples of an independent implementation, 10 × 5, σ = 2
REFERENCE = {
    ("SC", "equal"): (18_806, 13_532, 7_293, 3_190),
    ("SC2", "equal"): (18_810, 13_539, 7_290, 2_297),
    ("MM", "equal"): (None, 13_515, 7_310, 1_311),
    ("SC", "unequal"): (None, 13_526, 7_285, 2_084),
}
GAMES = {
    "game 1": ([[0.4, 0.5], [0.3, 0.35]], 1_852),
    "game 2": ([[0.4, 0.5], [0.3, 0.45]], 1_622),
    "game 3": ([[0.45, 0.5, 0.55], [0.35, 0.4, 0.6], [0.3, 0.47, 0.52]], 2_588),
}
HEURISTIC = "M-KL-LUCB, heuristic"
PLAYERS = (
    Contender(HEURISTIC, MKlLucb(threshold="heuristic")),
    Contender("M-LUCB, proved", MLucb(growth=0.02)),
    Contender("M-KL-LUCB, proved", MKlLucb(growth=0.02)),
    Contender("M-Racing, proved", MRacing(growth=0.02)),
    Contender(PRIME, "prime"),
)
PUBLISHED = {  # FWS, LinGame: mean samples on the classic instance, d = 6, ω = 0.1
    0.1: (1_030, 2_319),
    0.01: (1_614, 3_431),
    0.001: (2_229, 4_326),
    0.0001: (2_839, 5_120),
}
SPENDERS = (
    Contender("equal", Equal()),
    Contender("R-OCBA", ROcba(increment=50)),
    Contender("AR-OCBA", ArOcba(increment=50)),
    Contender(PRIME, "prime", {"objective": "guess"}),
)


def rows() -> Iterator[Row]:
    experiments = {
        "zone": _zones,
        "streams": _streams,
        "games": _games,
        "linear": _linear,
        "budget": _budgets,
    }
    for name in CHOSEN:
        yield from experiments[name]()


def configuration(kind: str, n_arms: int, n_own: int) -> Array:
    """(n_arms, n_own) mean rewards: slippage in one or all pairs of the rivals, or steps."""
    costs = np.zeros((n_arms, n_own))
    if kind == "SC":
        costs[1:, 0] = ZONE
    elif kind == "SC2":
        costs[1:] = ZONE
    else:
        costs = 1.0 * np.arange(n_arms)[:, None] - 0.4 * np.arange(n_own)[None, :]
    return np.asarray(-costs)


def _zones() -> Iterator[Row]:
    for n_arms, n_own in SIZES:
        for kind in ("SC", "SC2", "MM"):
            for spread in ("equal", "unequal"):
                yield from _zone(n_arms, n_own, kind, spread)


def _zone(n_arms: int, n_own: int, kind: str, spread: str) -> Iterator[Row]:
    variances = np.full(n_arms * n_own, 4.0)
    if spread == "unequal":
        variances = np.linspace(1, 7, n_arms * n_own)
    scales = np.sqrt(variances).reshape(n_arms, n_own)
    name = f"{n_arms} × {n_own} {kind}, {spread} variances"
    contest = Contest(name, configuration(kind, n_arms, n_own), scales)
    cells = held([(contest, contender, RUNS) for contender in SELECTORS])
    known = REFERENCE.get((kind, spread), ()) if (n_arms, n_own) == (10, 5) else ()
    for contender, cell, reference in zip(SELECTORS, cells, (*known, *[None] * 5), strict=False):
        yield _against(f"{name}: {contender.label}", cell, reference)
    yield _ratio(name, cells[:-1], cells[-1], 0.85 if spread == "equal" else 1.0)


def _against(work: str, cell: Cell, reference: float | None) -> Row:
    if reference is None:
        return Row(work, str(cell), "", True)
    return Row(work, str(cell), f"{reference} ± 5 %", cell.near(reference))


def _ratio(name: str, peers: list[Cell], prime: Cell, target: float) -> Row:
    best = min(cell.mean for cell in peers)
    ratio = prime.mean / best
    return Row(f"{name}: PRIME / best peer", f"{ratio:.2f}", f"≤ {target:g}", ratio <= target)


def _streams() -> Iterator[Row]:
    """Common random numbers, in slippage."""
    for correlation in (0.0, 0.5, 0.8):
        name = f"10 × 5 SC, common random numbers, correlation {correlation:g}"
        contest = Contest(name, configuration("SC", 10, 5), 2.0, correlation=correlation)
        contenders = (
            Contender("KN-RSB", KnRsb(zone=ZONE), {"common_random_numbers": True}),
            Contender(PRIME, "prime", {"tolerance": 0.999 * ZONE, "common_random_numbers": "auto"}),
        )
        cells = held([(contest, contender, RUNS) for contender in contenders])
        for contender, cell in zip(contenders, cells, strict=True):
            yield _against(f"{name}: {contender.label}", cell, None)
        yield _ratio(name, cells[:1], cells[1], 0.85)


def _games() -> Iterator[Row]:
    for delta in (0.1, 0.01, 0.001):
        for name, (means, published) in GAMES.items():
            contest = Contest(
                f"{name}, δ = {delta:g}",
                np.array(means),
                noise=Bounded(0, 1),
                family="bernoulli",
                delta=delta,
            )
            cells = held([(contest, player, RUNS) for player in PLAYERS])
            for player, cell in zip(PLAYERS, cells, strict=True):
                reference = published if player.label == HEURISTIC and delta == 0.1 else None
                yield _against(f"{contest.name}: {player.label}", cell, reference)
            yield _ratio(contest.name, cells[1:-1], cells[-1], 0.85)


def _linear() -> Iterator[Row]:
    for delta, (fws, lingame) in PUBLISHED.items():
        cell = _modelled(classic(6), delta)
        yield Row(
            f"classic, d = 6, δ = {delta:g}: PRIME (published: FWS {fws}, LinGame {lingame})",
            str(cell),
            f"≤ {fws}",
            cell.mean <= fws,
        )
    cell = _modelled(fifty_arms(), 0.01)
    yield Row(
        "50 arms, d = 20, δ = 0.01: PRIME (published best, LinGapE, heuristic: 29 900)",
        str(cell),
        "≤ 29900",
        cell.mean <= 29_900,
    )


def fifty_arms() -> Instance:
    """e₁ … e₁₀ and forty random unit arms of mean at most 0.5, in twenty dimensions."""
    generator = np.random.default_rng(2026)
    theta = np.concatenate([[1.0], [0.9] * 4, [0.8] * 5, generator.uniform(-1, 0, 10)])
    arms = list(np.eye(20)[:10])
    while len(arms) < 50:
        arm = on_sphere(generator, 1, 20)[0]
        if arm @ theta <= 0.5:
            arms.append(arm)
    return RobustProblem(np.array(arms), [np.zeros((1, 20))] * 50), theta


def _modelled(instance: Instance, delta: float) -> Cell:
    problem, theta = instance
    found = [
        identify(
            problem,
            LinearSimulator(problem, theta, seed=seed),
            delta=delta,
            noise=Gaussian(1.0),
        )
        for seed in np.random.SeedSequence(2026).spawn(RUNS)
    ]
    samples = np.array([result.samples for result in found])
    wrong = sum(result.arm != problem.best_arm(theta) for result in found)
    return Cell(float(samples.mean()), float(samples.std() / np.sqrt(RUNS)), wrong, RUNS)


def _budgets() -> Iterator[Row]:
    """The probability of the right answer, k = 20, N = (20 + c) k m."""
    for n_own in (5, 20):
        i, j = np.meshgrid(np.arange(1, 21), np.arange(1, n_own + 1), indexing="ij")
        place = 0.2 * i + j
        deviations = {"16": np.full(place.shape, 16.0), "rising": 12 + np.sqrt(place)}
        for spread, scales in (deviations | {"falling": 12 + 1 / place}).items():
            contest = Contest(f"20 × {n_own}, sd {spread}", -(0.5 * i - 0.2 * j - 1), scales)
            for extra in (0, 10, 50, 100):
                yield from _budget(contest, extra, (20 + extra) * 20 * n_own)


def _budget(contest: Contest, extra: int, budget: int) -> Iterator[Row]:
    contenders = [
        Contender(c.label, c.algorithm, c.settings | {"budget": budget}) for c in SPENDERS
    ]
    cells = held([(contest, contender, 2 * RUNS) for contender in contenders])
    shown = [
        f"{contender.label} {cell.right:.2f}"
        for contender, cell in zip(contenders, cells, strict=True)
    ]
    best = max(cells[:-1], key=lambda cell: cell.right)
    yield Row(
        f"{contest.name}, c = {extra}: right of {2 * RUNS} (± {best.right_error:.2f})",
        ", ".join(shown),
        "PRIME not below the best by more than its standard error",
        cells[-1].right >= best.right - best.right_error,
    )
