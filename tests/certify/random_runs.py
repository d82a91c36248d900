"""Random runs as plain data, and the kernel's view of them.

A run is made without looking at its rewards: whatever was fixed beforehand must be scored alike by
both checkers, sensible or not.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from surefoot.certify import (
    BatchScores,
    Boundary,
    Certifier,
    Claims,
    EqualScores,
    GaussianBoundary,
    MixtureBoundary,
    Question,
    Rows,
    ScaleScores,
    Scores,
    Stakes,
    SubGaussianScores,
    WealthBoundary,
    WealthScores,
)
from surefoot.certify.boundary import crossing
from surefoot.statistics import Outcome, Phase

NOISES = ("scale", "mixture", "equal", "batches", "wealth")
SCORES: dict[str, type[Scores]] = {
    "scale": ScaleScores,
    "mixture": SubGaussianScores,
    "equal": EqualScores,
    "batches": BatchScores,
    "wealth": WealthScores,
}


@dataclass
class Setting:
    """The question, the trust, the noise, the boundary as numbers, and the tolerance.

    Attributes:
        levels: for each point where a clock may have begun, and each point where it may be.
        most: of each point, in the mixtures that arms are the least of; none: arms are the least
            of their points.
    """

    offsets: list[int]
    points: list[dict[int, float]]
    features: list[list[float]]
    misfit: float
    noise: str
    scales: list[float]
    times: list[float]
    levels: list[list[float]]
    tolerance: float
    most: list[float]


@dataclass
class Claim:
    """Claims of one challenger; lists run over its points, then over the arms under test.

    Attributes:
        stakes: mean, doubt and variance.
        caps: for each kind of sum, point and arm; NaN for none.
    """

    challenger: int
    points: list[int]
    arms: list[int]
    clocks: list[int]
    shares: list[list[dict[int, float]]]
    deviation: list[list[float]]
    stakes: list[list[tuple[float, float, float]]]
    aim: float
    caps: list[list[list[float]]] | None


@dataclass
class Step:
    """A phase as it was fixed beforehand, and its pulls (pair, reward) in their order."""

    counts: list[int]
    batches: int
    shared: bool
    variances: list[float] | None
    claims: list[Claim]
    pulls: list[tuple[int, float]]


@lru_cache(maxsize=64)
def gaussian(n_points: int, ratio: float, delta: float, groups: int = 1) -> GaussianBoundary:
    """Return a level boundary on ratio**k that spends δ from some points on, by bisection."""
    times, heights = np.float64(ratio) ** np.arange(n_points), np.zeros(n_points)
    for start in range(0, n_points, -(-n_points // groups)):
        low, high = 0.0, 60.0
        for _ in range(40):
            a = (low + high) / 2
            spent = crossing(tuple(times[start:].tolist()), (math.sqrt(a),) * (n_points - start))
            low, high = (a, high) if spent > delta else (low, a)
        heights[start:] = high
    return GaussianBoundary(times, np.zeros(n_points), heights[0] if groups == 1 else heights)


@lru_cache(maxsize=64)
def boundary(noise: str, n_points: int, ratio: float, delta: float, groups: int) -> Boundary:
    """Return a boundary for a kind of noise."""
    if noise == "wealth":
        return WealthBoundary(delta)
    if noise == "mixture":
        times = np.float64(ratio) ** np.arange(n_points)
        rates = math.sqrt(2 * math.log(1 / delta)) / np.sqrt(times[::2])
        return MixtureBoundary(times, rates, np.full(len(rates), 1 / len(rates)), delta)
    return gaussian(n_points, ratio, delta, groups)


def levels(boundary: Boundary) -> list[list[float]]:
    """Return the levels of clocks by where they began, without the kernel's own arithmetic."""
    if not isinstance(boundary, GaussianBoundary):
        return [boundary.level.tolist()] * len(boundary.times)
    heights = np.broadcast_to(boundary.a, boundary.times.shape).tolist()
    points = list(zip(boundary.times.tolist(), boundary.shape.tolist(), strict=True))
    return [[math.sqrt(t * (a + shape)) for t, shape in points] for a in heights]


class Maker:
    """A run in the making.

    Args:
        rng: decides all.
        noise: one of `NOISES`.
        misfit: ε.
    """

    def __init__(self, rng: np.random.Generator, noise: str, misfit: float) -> None:
        self.rng, self.noise = rng, noise
        self.delta = float(rng.choice([0.2, 0.05, 0.01]))
        n_points, ratio = int(rng.choice([12, 16, 20])), float(rng.choice([1.3, 1.6]))
        self.boundary = boundary(noise, n_points, ratio, self.delta, int(rng.choice([1, 3])))
        offsets, points, n_pairs = self._points()
        features = self._features(n_pairs, misfit)
        scales = rng.uniform(0.3, 1.5, n_pairs)
        if noise == "wealth":  # coins
            scales[:] = 0.5
        self.means = features @ rng.normal(size=features.shape[1]) / features.shape[1]
        if misfit:
            self.means = self.means + min(misfit, 0.5) * rng.uniform(-1, 1, n_pairs)
        if np.isinf(misfit):
            self.means += rng.normal(size=len(offsets))[self.arm_of]
        if noise == "wealth":
            self.means = 1 / (1 + np.exp(-4 * self.means))
        self.setting = Setting(
            offsets,
            points,
            features.tolist(),
            misfit,
            "scale" if noise == "mixture" else noise,
            scales.tolist(),
            self.boundary.times.tolist(),
            levels(self.boundary),
            float(rng.choice([0.0, 0.3])),
            self._most(offsets, points, misfit),
        )
        self.promised = [-1] * (len(offsets) - 1)
        self.capped, self.late = rng.random() < 0.25, rng.random() < 0.5
        self.shared = noise in ("batches", "wealth") and rng.random() < 0.4
        self.steps = [step for _ in range(rng.integers(3, 7)) if (step := self._step())]

    def _points(self) -> tuple[list[int], list[dict[int, float]], int]:
        """Draw arms with pairs of their own, and points: pairs, or overlapping mixtures of them."""
        rng, offsets, points, n_pairs = self.rng, [0], [], 0
        self.arm_of: list[int] = []
        mixed = rng.random() < 0.4
        for _ in range(rng.integers(2, rng.choice([4, 7]))):
            k = int(rng.integers(1, 5))
            pairs = range(n_pairs, n_pairs + k)
            self.arm_of += [len(offsets) - 1] * k
            if mixed:
                for _ in range(rng.integers(1, 4)):
                    chosen = rng.choice(pairs, size=rng.integers(1, k + 1), replace=False)
                    weights = rng.dirichlet(np.ones(len(chosen)))
                    points.append(dict(zip(chosen.tolist(), weights.tolist(), strict=True)))
            else:
                points += [{i: 1.0} for i in pairs]
            offsets, n_pairs = [*offsets, len(points)], n_pairs + k
        return offsets, points, n_pairs

    def _most(
        self, offsets: list[int], points: list[dict[int, float]], misfit: float
    ) -> list[float]:
        """Draw the most of each pair in mixtures, where scores add up; mostly nothing."""
        adds_up = self.noise in ("scale", "mixture") and np.isinf(misfit)
        alone = points == [{i: 1.0} for i in range(len(self.arm_of))]
        if not adds_up or not alone or self.rng.random() < 0.3:
            return []
        sizes = np.diff(offsets)
        room = self.rng.uniform(1.0, 2.5, len(sizes)) / sizes  # by arm, at least 1 in all
        return np.minimum(np.repeat(room, sizes), 1.0).tolist()

    def _features(self, n_pairs: int, misfit: float) -> np.ndarray:
        """Draw small whole numbers, of a rank below the number of pairs where they are trusted."""
        rank = max(1, min(int(self.rng.integers(1, 4)), n_pairs - 1))
        features = self.rng.integers(-2, 3, (n_pairs, rank)).astype(float)
        features[~features.any(axis=1), 0] = 1.0  # no pair without features
        if rank > 1 and self.rng.random() < 0.3:  # a column that adds nothing
            features = np.column_stack([features, features.sum(axis=1)])
        return np.eye(n_pairs) if np.isinf(misfit) else features

    def _step(self) -> Step | None:
        """Draw a phase: a few challengers, each testing some of the others."""
        rng, setting = self.rng, self.setting
        n_pairs, batched = len(setting.features), self.noise in ("batches", "wealth")
        batches = int(rng.integers(2, 6)) if batched else int(rng.choice([0, 3]))
        batches *= 4 if self.noise == "wealth" else 1
        counts = rng.integers(max(batches, 1), 3 * batches + 14, n_pairs)
        counts[rng.random(n_pairs) < 0.08] = 0
        counts[rng.random(n_pairs) < 0.04] = 1
        if not (counts >= max(batches, 1)).any():
            return None
        arms = rng.permutation(len(setting.offsets) - 1)
        claims: list[Claim] = []
        for ell in arms[: rng.integers(1, 3)]:
            tested = {x for claim in claims for x in claim.arms}
            free = [x for x in arms.tolist() if x not in (*tested, ell) and self._next(x)]
            chosen = [x for x in free if rng.random() < 0.8]
            if chosen:
                claims.append(self._claim(int(ell), chosen))
        variances = rng.uniform(0.1, 3.0, n_pairs).tolist() if self.noise == "batches" else None
        shared = self.shared and batched
        pulls = self._pulls(counts, shared)
        return Step(counts.tolist(), batches, shared, variances, claims, pulls)

    def _next(self, arm: int) -> list[int]:
        """List the grid points that an arm's clock can go to: a few, but it may begin anywhere."""
        ahead = list(range(self.promised[arm] + 1, len(self.setting.times)))
        anywhere = self.promised[arm] < 0 and self.late
        return [0] if self.noise == "wealth" else ahead[: None if anywhere else 6]

    def _clock(self, arm: int) -> int:
        """Draw where a clock goes on to; rarely it stands still, and the arm is asked again."""
        still = self.promised[arm] >= 0 and self.rng.random() < 0.15
        return self.promised[arm] if still else int(self.rng.choice(self._next(arm)))

    def _claim(self, ell: int, arms: list[int]) -> Claim:
        rng, offsets = self.rng, self.setting.offsets
        every = range(offsets[ell], offsets[ell + 1])
        own = [z for z in every if rng.random() < 0.95] or list(every)
        if self.setting.most:
            own = list(every)
        clocks = [self._clock(x) for x in arms]
        for x, clock in zip(arms, clocks, strict=True):
            self.promised[x] = clock
        one, mean = [self._shares(x) for x in arms], rng.random() < 0.3 or self.setting.most
        shape = (len(own), len(arms))
        shares = [one if mean else [self._shares(x) for x in arms] for _ in own]
        deviation = rng.choice([0.0, 0.05, 1.0, math.inf], shape)
        if rng.random() < 0.4:
            deviation[:] = rng.choice([0.0, 0.1, math.inf])
        if not self.setting.misfit:  # an exact model has one best contrast
            deviation[:] = 0.0
        guesses = np.stack(
            [
                rng.normal(0.3, 0.3, shape),
                rng.uniform(0.01, 0.3, shape),
                rng.uniform(0.03, 0.3, shape),
            ]
        )
        stakes = [
            [tuple(guesses[:, k, j].tolist()) for j in range(len(arms))] for k in range(len(own))
        ]
        caps = None
        if self.capped:
            kinds = 2 if self.setting.tolerance else 1
            limits = rng.normal(1.5, 3.0, (kinds, *shape))
            caps = np.where(rng.random(limits.shape) < 0.2, limits, np.nan).tolist()
        aim = float(rng.choice([0.0, 0.05]))
        return Claim(ell, own, arms, clocks, shares, deviation.tolist(), stakes, aim, caps)

    def _shares(self, arm: int) -> dict[int, float]:
        """Draw a mixture of an arm's points; rarely nothing."""
        points = range(self.setting.offsets[arm], self.setting.offsets[arm + 1])
        kind = self.rng.random()
        if kind < 0.06:
            return {}
        if self.setting.most:  # the first ones have as much as they may
            found, left = dict[int, float](), 1.0
            for point in self.rng.permutation(points).tolist():
                if left > 1e-12:
                    found[point] = min(self.setting.most[point], left)
                    left -= found[point]
            return found
        chosen = self.rng.choice(points, 1 if kind < 0.5 else len(points), replace=False)
        shares = self.rng.dirichlet(np.ones(len(chosen)))
        return dict(zip(chosen.tolist(), shares.tolist(), strict=True))

    def _pulls(self, counts: np.ndarray, shared: bool) -> list[tuple[int, float]]:
        """Draw rewards in random order; shared streams give k-th pulls a part in common."""
        rng, common = self.rng, self.rng.normal(size=int(counts.max()))
        pairs = rng.permutation(np.repeat(np.arange(len(counts)), counts))
        if self.noise == "wealth":
            rewards = (rng.random(len(pairs)) < self.means[pairs]).astype(float)
        else:
            turn = [int((pairs[:k] == i).sum()) for k, i in enumerate(pairs)]
            noise = rng.normal(size=len(pairs)) + (2 * common[turn] if shared else 0.0)
            rewards = self.means[pairs] + np.array(self.setting.scales)[pairs] * noise
            if shared and rng.random() < 0.2:  # nothing else: differences do not vary
                rewards = self.means[pairs] + common[turn].round(int(rng.integers(3)))
        return list(zip(pairs.tolist(), rewards.tolist(), strict=True))


def certifier(maker: Maker) -> Certifier:
    """Return the kernel's certifier for a run."""
    setting = maker.setting
    question = Question(
        np.array(setting.offsets),
        _rows(setting.points),
        np.array(setting.features),
        setting.misfit,
        np.array(setting.most) if setting.most else None,
    )
    scores = SCORES[maker.noise](np.array(setting.scales))
    return Certifier(
        question, scores, maker.boundary, delta=maker.delta, tolerance=setting.tolerance
    )


def kernel_claims(claim: Claim, bets: bool) -> Claims:
    """Return claims as the kernel takes them."""
    means, doubts, variances = np.moveaxis(
        np.array(claim.stakes).reshape(len(claim.points), len(claim.arms), 3), 2, 0
    )
    alike = all(row is claim.shares[0] for row in claim.shares)
    rows = claim.shares[:1] if alike and claim.shares else claim.shares
    return Claims(
        claim.challenger,
        np.array(claim.points, dtype=np.int64),
        np.array(claim.arms),
        np.array(claim.clocks),
        _rows([shares for row in rows for shares in row]),
        np.array(claim.deviation).reshape(len(claim.points), len(claim.arms)),
        Stakes(means, doubts, variances, claim.aim) if bets else None,
    )


def kernel_phase(index: int, step: Step) -> tuple[Phase, Outcome]:
    """Return a phase and its outcome."""
    phase = Phase(index, np.array(step.counts), step.batches, step.shared)
    pairs, rewards = zip(*step.pulls, strict=True)
    return phase, Outcome.from_rewards(phase, len(step.counts), pairs, rewards)


class Told(NamedTuple):
    """A step as the kernel takes it.

    Attributes:
        given: arguments of `Certifier.commit`.
        outcome: what came of the phase.
        lower: a rule that lowers the sums as the run says.
    """

    given: dict[str, Any]
    outcome: Outcome
    lower: Any


def steps(maker: Maker) -> Iterator[Told]:
    """Yield the steps of a run as the kernel takes them."""
    for index, step in enumerate(maker.steps):
        phase, outcome = kernel_phase(index, step)
        claims = [kernel_claims(each, maker.noise == "wealth") for each in step.claims]
        variances = None if step.variances is None else np.array(step.variances)
        yield Told(
            {"phase": phase, "claims": claims, "variances": variances}, outcome, limits(step)
        )


def limits(step: Step) -> Any:
    """Return a rule that lowers a step's sums as the run says."""
    caps = iter([None if claim.caps is None else np.array(claim.caps) for claim in step.claims])
    return lambda claims, scores, said, root: next(caps)


def _rows(rows: list[dict[int, float]]) -> Rows:
    starts = np.concatenate([[0], np.cumsum([len(row) for row in rows], dtype=np.int64)])
    columns = np.array([i for row in rows for i in row], dtype=np.int64)
    return Rows(
        starts.astype(np.int64), columns, np.array([v for row in rows for v in row.values()])
    )
