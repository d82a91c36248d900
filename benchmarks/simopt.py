"""PRIME and its peers on simulators that we did not write: two inventory models of SimOpt.

A run draws its rewards from 5 000 stored replicates of each model (`benchmarks.simopt_models`), so
the truth is known exactly: it is their means. `SUREFOOT_BENCH_RUNS=20` takes fewer runs.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from benchmarks.contests import Cell, held
from benchmarks.simopt_models import MODELS, Model
from benchmarks.table import Row
from surefoot.algorithms.peers import Equal, KnRsb, TwoStageRsb
from surefoot.arrays import Array
from surefoot.experiments.instances import tabular
from surefoot.noise import Gaussian
from surefoot.paper.peers import PeerContender
from surefoot.problem.problem import RobustProblem
from surefoot.statistics import Outcome, Phase, places_in_batches

RUNS = int(os.environ.get("SUREFOOT_BENCH_RUNS", "100"))
STREAMS = {"never": False, "always": True, "auto": "auto"}
FIRST = (10, 20, 40)  # pulls of each pair in KN-RSB's first stage: which is best is not told
GROWTH = 1.25  # from one budget of equal allocation to the next


@dataclass(frozen=True)
class Replicated:
    """Work whose rewards are stored replicates of a model."""

    model: Model
    noise: Gaussian = field(default_factory=Gaussian)
    delta: float = 0.05

    @property
    def values(self) -> Array:
        """(n_arms,) the true worst means."""
        means = self.model.replicates().mean(axis=0)
        return np.asarray(means.reshape(len(self.model.arms), -1).min(axis=1))

    @property
    def best(self) -> int:
        return int(np.argmax(self.values))

    @property
    def gap(self) -> float:
        second, first = np.sort(self.values)[-2:]
        return float(first - second)

    def problem(self) -> RobustProblem:
        return tabular(len(self.model.arms), len(self.model.perturbations))

    def simulator(self, seed: np.random.SeedSequence) -> Drawn:
        return Drawn(self.model.replicates(), np.random.default_rng(seed))


@dataclass(eq=False)
class Drawn:
    """Pulls that draw rows of a table, with replacement: one row for each pull, or for each stream
    that pulls share.

    Attributes:
        table: (n_rows, n_pairs) rewards; a row is what one stream gives for every pair.
        generator: where the rows come from.
    """

    table: Array
    generator: np.random.Generator

    def pull(self, phase: Phase) -> Outcome:
        n_rows, n_pairs = self.table.shape
        pairs = np.repeat(np.arange(n_pairs), phase.counts)
        rows = self.generator.integers(n_rows, size=len(pairs))
        if phase.shared:
            batch, place = places_in_batches(pairs, phase.counts, phase.batches)
            streams = self.generator.integers(n_rows, size=(phase.batches, place.max() + 1))
            rows = np.where(batch >= 0, streams[batch, place], rows)
        return Outcome.from_rewards(phase, n_pairs, pairs, self.table[rows, pairs])


def rows() -> Iterator[Row]:
    for model in MODELS:
        yield from _model(Replicated(model))


def _model(work: Replicated) -> Iterator[Row]:
    model = work.model
    name = f"{model.name} {len(model.arms)} × {len(model.perturbations)}"
    primes = [
        PeerContender(
            f"PRIME, common random numbers {when}",
            "prime",
            {"tolerance": model.zone, "common_random_numbers": choice},
        )
        for when, choice in STREAMS.items()
    ]
    sequential = [
        PeerContender(
            f"KN-RSB, n₀ = {first}, common random numbers",
            KnRsb(zone=model.zone, first_pulls=first),
            {"common_random_numbers": True},
        )
        for first in FIRST
    ]
    static = PeerContender("two-stage, one-sample", TwoStageRsb(zone=model.zone, rule="one-sample"))
    contenders = [*primes, *sequential, static]
    cells = held([(work, contender, RUNS) for contender in contenders])
    for contender, cell in zip(contenders, cells, strict=True):
        yield Row(f"{name}, zone {model.zone:g} of {work.gap:.1f}: {contender.label}", str(cell))
    yield _equal(work, name)
    never, always, auto, *peers, _ = cells
    better = min(never, always, key=lambda cell: cell.mean)
    yield _ratio(f"{name}: auto / better of always and never", auto, better, 1.1)
    best = min(peers, key=lambda cell: cell.mean)
    yield _ratio(f"{name}: PRIME, auto / best KN-RSB", auto, best, 0.7)


def _ratio(work: str, one: Cell, other: Cell, target: float) -> Row:
    ratio, error = one.over(other)
    return Row(work, f"{ratio:.2f} ± {error:.2f}", f"≤ {target:g}", ratio <= target)


def _equal(work: Replicated, name: str) -> Row:
    """Equal allocation that is told when to stop: the first budget at which its best guess is right
    as often as the others promise. It has no certificate.
    """
    budget = 20.0 * work.model.n_pairs
    while True:
        contender = PeerContender("equal", Equal(), {"budget": round(budget)})
        (cell,) = held([(work, contender, 4 * RUNS)])
        if cell.right >= 1 - work.delta:
            return Row(f"{name}: equal allocation, told when to stop", str(cell))
        budget *= GROWTH
