"""An adversarial planner at exact ties, and how often the best arm is eliminated.

Arm 0 is the designated best. Each arm has two points, pairs or ("mixtures") weighted means of two
pairs whose own means are far apart, or ("sorted") all those with at most `MOST` of each pair; both
of arm 0 and the worst of each other arm have one and the same mean, so no score against arm 0 has a
drift that would help or hurt. Under a tolerance arm 1 is worse by exactly the tolerance: to find
arm 0 near it is an error as well.

The saboteur only ever tests arm 0. It leads with the arm that was luckiest so far, compares by the
unluckiest points of arm 0, begins its clock at any quarter of the grid, goes through the rest point
by point, stands still in random phases, commits to a phase before the last one is scored, lies
about variances, stakes and limits, and never stops.

`python -m tests.certify.saboteur --runs 2000` prints one line for each kind of noise and trust;
`--quarter 3` begins all clocks three quarters along the grid.
"""

from __future__ import annotations

import argparse
import time
from collections import deque
from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from scipy import stats

from surefoot.arrays import Array
from surefoot.certify import (
    BatchScores,
    Boundary,
    Certifier,
    Claims,
    Commitment,
    EqualScores,
    Question,
    Rows,
    ScaleScores,
    Scores,
    Stakes,
    SubGaussianScores,
    WealthBoundary,
    WealthScores,
)
from surefoot.certify.certifier import Lower
from surefoot.noise.boundaries import boundary_by_starts, mixture_boundary
from surefoot.statistics import Outcome, Phase

SEED = 11
DELTAS = (0.2, 0.05, 0.01)
MISFITS = (0.0, 0.1, np.inf)
SCORES: dict[str, type[Scores]] = {
    "known": ScaleScores,
    "coins": SubGaussianScores,
    "equal": EqualScores,
    "batches": BatchScores,
    "shared": BatchScores,
    "mixtures": BatchScores,
    "wealth": WealthScores,
    "sorted": ScaleScores,
}
QUARTERS = (0, 1, 2, 3)
OFFSETS = np.array([0, 2, 4, 6])
BEST, BELOW = 0, 1  # arms: the best, and the one that is worse by the tolerance
ARM_OF = np.array([0, 0, 1, 1, 2, 2])
DECISIVE = np.array([True, True, True, False, True, False])  # pairs of the tied means
HIGH = 40.0  # means of all other pairs
MOST = 0.7  # of each pair, in the mixtures that arms are the least of
MIXED = Rows(
    np.arange(0, 13, 2),
    np.array([0, 1, 0, 1, 2, 3, 2, 3, 4, 5, 4, 5]),
    np.tile([0.5, 0.5, 0.1, 0.9], 3),
)  # of two pairs each; the second leans to the higher pair
SCALES = np.array([0.4, 2.5, 1.0, 0.7, 1.8, 1.0])
LOADS = np.array(
    [1.5, -1.0, 2.0, 1.0, -0.5, 1.0]
)  # of the noise that shared streams have in common
UNKNOWN = 2.7  # the factor of all scales, where one is unknown
MARGIN = 1 - 1e-3  # of δ, that boundaries spend: the kernel refuses more than δ by a millionth
IDLE = 0.04  # of phases, in which clocks go on and nothing is compared
AHEAD = 0.15  # of phases, that are committed before the last is scored
STILL = 0.05  # of phases, in which a clock stands still, and what was concluded is asked again
ROOM = 0.05  # of phases, in which limits above all scores are handed in


class Row(NamedTuple):
    """One line of the table.

    Attributes:
        noise: one of `SCORES`.
        misfit: ε.
        tolerance: of the answer.
        delta: δ.
    """

    noise: str
    misfit: float
    tolerance: float
    delta: float

    @property
    def exact(self) -> bool:
        """Whether every score has exactly the law that the boundary was solved for."""
        return self.noise not in ("coins", "wealth", "sorted") and self.misfit != 0.1

    @property
    def batched(self) -> bool:
        return SCORES[self.noise].least_batches > 0


def rows() -> list[Row]:
    """List the table's lines."""
    return [
        Row(noise, misfit, tolerance, delta)
        for noise in SCORES
        for misfit in (MISFITS if noise not in ("wealth", "sorted") else (np.inf,))
        for tolerance in (0.0, 0.1 if noise == "wealth" else 0.5)
        for delta in DELTAS
    ]


@lru_cache(maxsize=64)
def boundary(noise: str, n_points: int, growth: float, delta: float) -> Boundary:
    """Return a level boundary on growth**k that spends δ, from each quarter of the grid on."""
    times = tuple((growth ** np.arange(n_points)).tolist())
    if noise == "wealth":
        return WealthBoundary(delta)
    if noise == "coins":
        return mixture_boundary(times, delta, (0.0,) * n_points)
    return boundary_by_starts(times, delta * MARGIN, (0.0,) * n_points, starts(n_points))


def starts(n_points: int) -> tuple[int, ...]:
    """Return where clocks begin: at the quarters of the grid."""
    return tuple(quarter * n_points // 4 for quarter in QUARTERS)


class World:
    """Rewards at an exact tie.

    Attributes:
        question: what is compared and trusted; its features are drawn.
        means: (n_pairs,) μ.
        scales: (n_pairs,) as the kernel is told.
    """

    def __init__(self, row: Row, rng: np.random.Generator) -> None:
        self.row, self.rng = row, rng
        wealth = row.noise == "wealth"
        self.means = np.where(DECISIVE, 0.5 if wealth else 0.0, 0.9 if wealth else HIGH)
        mixed = row.noise == "mixtures"
        if mixed:
            self.means[2:] = np.tile([-HIGH, HIGH], 2)
        sorts = row.noise == "sorted"
        if sorts:
            self.means[2:] = np.tile([(MOST - 1) * HIGH, MOST * HIGH], 2)
        self.means[OFFSETS[BELOW]] -= row.tolerance / (0.5 if mixed else MOST if sorts else 1.0)
        misfit = row.misfit * rng.choice([-1.0, 1.0], 6) if row.misfit == 0.1 else 0.0
        features = np.column_stack([self.means - misfit, rng.normal(size=(6, 2))])
        if np.isinf(row.misfit):
            features = np.eye(6)
        self.question = Question.worst_case(OFFSETS, features, row.misfit)
        if mixed:
            self.question = Question(OFFSETS, MIXED, features, row.misfit)
        if sorts:
            self.question = replace(self.question, most=np.full(6, MOST))
        self.scales = {"wealth": np.full(6, 0.5), "coins": np.ones(6)}.get(row.noise, SCALES)

    def pull(self, phase: Phase) -> Outcome:
        """Draw the rewards of a phase: batch by batch, then the pulls outside of batches."""
        most = int(phase.counts.max())
        rewards = self._rewards(most)
        turn, counts = np.arange(most)[:, None], phase.counts
        sums = np.where(turn < counts, rewards, 0.0).sum(axis=0)
        means = sums / np.maximum(counts, 1)
        scatter = np.where(turn < counts, (rewards - means) ** 2, 0.0).sum(axis=0)
        if not phase.batches:
            return Outcome(phase.index, counts, sums, scatter)
        size = np.where(counts >= phase.batches, counts // phase.batches, 0)
        begin = np.arange(phase.batches)[:, None] * size
        total = np.concatenate([np.zeros((1, 6)), np.cumsum(rewards, axis=0)])
        batch_sums = np.take_along_axis(total, begin + size, axis=0) - np.take_along_axis(
            total, begin, axis=0
        )
        return Outcome(phase.index, counts, sums, scatter, batch_sums)

    def _rewards(self, most: int) -> Array:
        noise, shape = self.row.noise, (most, 6)
        if noise == "wealth":
            return (self.rng.random(shape) < self.means).astype(np.float64)
        if noise == "coins":
            return np.asarray(self.means + self.rng.choice([-1.0, 1.0], shape))
        own = self.rng.normal(size=shape) * (UNKNOWN if noise == "equal" else 1.0)
        common = self.rng.normal(size=(most, 1)) * LOADS if noise == "shared" else 0.0
        return np.asarray(self.means + SCALES * own + common)


class Saboteur:
    """A planner that tries to eliminate the best arm."""

    def __init__(self, world: World, n_points: int, quarter: int | None = None) -> None:
        self.world, self.row, self.rng = world, world.row, world.rng
        self.sums, self.counts = np.zeros((2, 6))
        drawn = int(self.rng.choice(QUARTERS))
        self.start = starts(n_points)[drawn if quarter is None else quarter]
        self.number, self.phases = 0, n_points - self.start

    def propose(self) -> tuple[Phase, Claims, Array | None]:
        """Choose a phase and claims against the best arm."""
        rng, index = self.rng, self.number
        self.number += 1
        batches = int(rng.integers(2, 6)) if self.row.batched else 0
        counts = rng.integers(max(batches, 2), batches + 5, 6)
        if self.row.noise == "shared":  # equal numbers of pulls: batches share no stream
            counts[:] = counts[0]
        idle = rng.random() < IDLE
        if idle and rng.random() < 0.5:  # the claim would need a pair that is not pulled
            counts[DECISIVE] = 0
        pairs = self.sums / np.maximum(self.counts, 1)
        means = self.world.question.points.dot(pairs[:, None])[:, 0]
        lead = [means[OFFSETS[ell]] for ell in (1, 2)]
        ell = 1 + int(np.argmax(lead) if rng.random() < 0.7 else rng.integers(2))
        shares = _shares(means, rng, empty=idle and bool(counts.all()))
        if self.row.noise == "sorted" and len(shares.values):
            worse = MOST if means[0] < means[1] else 1 - MOST
            share = worse if rng.random() < 0.7 else rng.uniform(1 - MOST, MOST)
            shares = Rows(np.array([0, 2]), np.array([0, 1]), np.array([share, 1 - share]))
        still = index > 0 and rng.random() < STILL
        clock = 0 if self.row.noise == "wealth" else self.start + index - still
        claims = Claims(
            ell,
            np.arange(OFFSETS[ell], OFFSETS[ell + 1]),
            np.array([BEST]),
            np.array([clock]),
            shares,
            self._deviation(),
            self._stakes() if self.row.noise == "wealth" else None,
        )
        shared = self.row.noise == "shared"
        lie = np.exp(rng.normal(0.0, 2.0, 6)) if SCORES[self.row.noise].guesses else None
        return Phase(index, counts, batches, shared), claims, lie

    def learn(self, outcome: Outcome) -> None:
        """Remember which pairs were lucky."""
        self.sums, self.counts = self.sums + outcome.sums, self.counts + outcome.counts

    def _deviation(self) -> Array:
        if not self.row.misfit:
            return np.zeros(())
        return np.array(self.rng.choice([np.inf, np.inf, np.inf, 0.3, 0.0]))

    def _stakes(self) -> Stakes:
        rng = self.rng
        means, doubts = rng.uniform(0.0, 0.6, (2, 1)), rng.uniform(0.005, 0.3, (2, 1))
        return Stakes(means, doubts, rng.uniform(0.02, 0.4, (2, 1)), float(rng.choice([0.0, 0.1])))


def _shares(means: Array, rng: np.random.Generator, empty: bool) -> Rows:
    """Return one row over the points of the best arm: mostly its unluckiest."""
    if empty:
        return Rows(np.array([0, 0]), np.zeros(0, dtype=np.int64), np.zeros(0))
    if rng.random() < 0.7:
        return Rows(np.array([0, 1]), np.array([int(np.argmin(means[:2]))]), np.ones(1))
    share = rng.random()
    return Rows(np.array([0, 2]), np.array([0, 1]), np.array([share, 1 - share]))


def fails(
    row: Row, rng: np.random.Generator, n_points: int, growth: float, quarter: int | None = None
) -> bool:
    """Return whether the saboteur gets the best arm eliminated, or found near a worse one."""
    world = World(row, rng)
    saboteur = Saboteur(world, n_points, quarter)
    certifier = Certifier(
        world.question,
        SCORES[row.noise](world.scales),
        boundary(row.noise, n_points, growth, row.delta),
        delta=row.delta,
        tolerance=row.tolerance,
    )
    waiting: deque[Commitment] = deque()
    while saboteur.number < saboteur.phases or waiting:
        if saboteur.number < saboteur.phases:
            phase, claims, lie = saboteur.propose()
            waiting.append(certifier.commit(phase, [claims], lie))
            if len(waiting) == 1 and rng.random() < AHEAD:
                continue
        commitment = waiting.popleft()
        outcome = world.pull(commitment.phase)
        lower = _lower(rng) if rng.random() < ROOM else None
        certifier.update(commitment, outcome, lower)
        saboteur.learn(outcome)
        near = certifier.walks.near.get(BELOW)
        if not certifier.survivors[BEST] or (near is not None and near[BEST]):
            return True
    return False


def _lower(rng: np.random.Generator) -> Lower:
    """Draw limits: some far above all sums, which must not raise any; others lower for a while."""
    limit = float(rng.choice([1e6, 1e6, 0.0]))
    return lambda claims, scores, said, root: np.full(scores.shape, limit)


def errors(
    row: Row, runs: int, n_points: int = 40, growth: float = 1.12, quarter: int | None = None
) -> int:
    """Count the runs that fail, each with a stream of its own."""
    place = rows().index(row)
    streams = (np.random.SeedSequence(SEED, spawn_key=(place, run)) for run in range(runs))
    drawn = (np.random.default_rng(each) for each in streams)
    return sum(fails(row, rng, n_points, growth, quarter) for rng in drawn)


def table(
    noises: list[str], runs: int, n_points: int, growth: float, quarter: int | None
) -> Iterator[str]:
    """Yield the lines of some noises, with P(as many errors or more) if their rate were δ."""
    yield "| noise | ε | tolerance | δ | errors | rate / δ | p-value | exact law | seconds |"
    yield "|---|---|---|---|---|---|---|---|---|"
    for row in (each for each in rows() if each.noise in noises):
        begun = time.perf_counter()
        found = errors(row, runs, n_points, growth, quarter)
        p = float(stats.binom.sf(found - 1, runs, row.delta))
        ratio, mark = found / runs / row.delta, "yes" if row.exact else "no"
        seconds = time.perf_counter() - begun
        yield (
            f"| {row.noise} | {row.misfit:g} | {row.tolerance:g} | {row.delta:g} "
            f"| {found}/{runs} | {ratio:.2f} | {p:.3f} | {mark} | {seconds:.0f} |"
        )


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--runs", type=int, default=2000)
    parser.add_argument("--noises", nargs="+", choices=list(SCORES), default=list(SCORES))
    parser.add_argument("--points", type=int, default=40, help="points of the grid")
    parser.add_argument(
        "--growth", type=float, default=1.12, help="of the grid, from point to point"
    )
    parser.add_argument(
        "--quarter", type=int, choices=QUARTERS, help="of the grid where all clocks begin"
    )
    given = parser.parse_args()
    for line in table(given.noises, given.runs, given.points, given.growth, given.quarter):
        print(line, flush=True)


if __name__ == "__main__":
    main()
