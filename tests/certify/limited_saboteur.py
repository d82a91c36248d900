"""An adversarial planner at exact ties and exactly on limits, and how often it makes errors.

Arm 0 is the best that qualifies, and lies exactly on its limit. Without slack the two others lie on
it as well, and all three are tied. With slack the others miss the limit by exactly the slack, and
arm 2 is better than both by far: to show that it qualifies is an error, and unless it is shown, its
challenges must count for nothing.

Errors: arm 0 is called unfit; arm 0 is beaten; an arm that misses its limit by the slack is shown
to qualify. The saboteur challenges by arms that are not shown, stands still, and never stops.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from surefoot.certify import (
    BatchScores,
    Boundary,
    Claims,
    Limited,
    LimitedBoundary,
    LimitedCertifier,
    Question,
    Rows,
    ScaleScores,
    Scores,
    Stakes,
    Uses,
    WealthBoundary,
    WealthScores,
)
from surefoot.noise.boundaries import gaussian_boundary
from surefoot.statistics import Outcome, Phase

OFFSETS = np.array([0, 2, 4, 6])
POINTS, GROWTH, PHASES = 12, 1.4, 14
BATCHES = 4
SHARES = {0.0: (0.6, 0.0, 0.16, 0.24), 0.25: (0.4, 0.2, 0.16, 0.24)}
MARGIN = 1 - 1e-3  # of each level, that boundaries spend
LIMIT = 3.0
LEVEL = 0.3  # of a range from 0 to 1: the limit under bets


class World(NamedTuple):
    """What is true.

    Attributes:
        noise: "known", "batches" or "wealth", of the limited output.
        slack: of the limit.
        delta: δ.
    """

    noise: str
    slack: float
    delta: float

    @property
    def objective(self) -> np.ndarray:
        """(n_pairs,) arm 0 and 1 are tied; arm 2 is better by far, but where it may be tied."""
        best = 0.0 if not self.slack else 3.0
        return np.array([0.0, 9.0, 0.0, 9.0, best, best + 9.0])

    @property
    def output(self) -> np.ndarray:
        """(n_pairs,) at most the limit is allowed: arm 0 is on it, arm 1 too or at the slack."""
        limit = LEVEL if self.noise == "wealth" else LIMIT
        missed = limit + (0.2 if self.noise == "wealth" else 1.0) * self.slack
        low = limit / 3
        return np.array([limit, low, missed, low, missed, low])

    @property
    def limit(self) -> float:
        return LEVEL if self.noise == "wealth" else LIMIT

    @property
    def allowed(self) -> float:
        """The slack in the unit of the output."""
        return (0.2 if self.noise == "wealth" else 1.0) * self.slack


def rows() -> list[World]:
    """List the worlds."""
    return [
        World(noise, slack, delta)
        for noise in ("known", "batches", "wealth")
        for slack in SHARES
        for delta in (0.2, 0.05)
    ]


def certifier(world: World) -> LimitedCertifier:
    """Return a kernel for a world, with level boundaries."""
    times = tuple((GROWTH ** np.arange(POINTS)).tolist())

    def level(delta: float, bets: bool) -> Boundary:
        if bets:
            return WealthBoundary(delta)
        return gaussian_boundary(times, delta * MARGIN, (0.0,) * POINTS)

    bets = world.noise == "wealth"
    objective, shown, unfit, fit = (share * world.delta for share in SHARES[world.slack])
    deltas = objective, shown / 3, unfit, fit / 3
    parts = [level(delta, bets and k > 1) if delta else None for k, delta in enumerate(deltas)]
    question = Question.worst_case(OFFSETS, np.eye(6), np.inf)
    rules: tuple[Scores, Scores] = (ScaleScores(np.ones(6)), ScaleScores(np.ones(6)))
    if world.noise == "batches":
        rules = BatchScores(np.ones(6)), BatchScores(np.ones(6))
    if bets:
        half = np.full(6, 0.5)
        lost = world.limit, 1 - world.limit - world.allowed
        rules = WealthScores(half, lost[0]), WealthScores(half, lost[1])
    limited = Limited("cost", world.limit, -1, world.allowed, question, *rules)
    return LimitedCertifier(
        question,
        ScaleScores(np.ones(6)),
        LimitedBoundary(parts, deltas),
        [limited],
        delta=world.delta,
    )


def errs(world: World, rng: np.random.Generator) -> bool:
    """Return whether a run that never stops errs."""
    kernel = certifier(world)
    for index in range(PHASES):
        counts = rng.integers(1, 4, 6) * BATCHES
        phase = Phase(index, counts, BATCHES)
        made = kernel.commit(phase, _beat(kernel, rng), None, _limits(kernel, world, rng))
        kernel.update(made, _pulled(phase, world, rng))
        if _wrong(kernel, world):
            return True
    return False


def _wrong(kernel: LimitedCertifier, world: World) -> bool:
    """Return whether something was concluded that is not true."""
    if kernel.unfit[0]:
        return True
    if (
        world.slack
    ):  # arms 1 and 2 miss the limit by the slack: a hair more, and they do not qualify
        return bool(kernel.shown[1:].any()) or not kernel.survivors[0]
    return not kernel.survivors[0]


def _beat(kernel: LimitedCertifier, rng: np.random.Generator) -> list[Claims]:
    """Challenge arm 0 by its worst pair: by an arm that is shown, or by any."""
    if rng.random() < 0.1:
        return []
    shown = np.flatnonzero(kernel.shown[1:]) + 1
    ell = int(rng.choice(shown)) if len(shown) and rng.random() < 0.8 else int(rng.integers(1, 3))
    clock = _next(kernel.promised[:1], rng)
    if clock is None:
        return []
    one = Rows(np.array([0, 1]), np.array([0]), np.ones(1))
    points = np.arange(OFFSETS[ell], OFFSETS[ell + 1])
    return [Claims(ell, points, np.array([0]), clock, one, np.array(np.inf))]


def _limits(kernel: LimitedCertifier, world: World, rng: np.random.Generator) -> list[Uses]:
    """Hold arm 0 against its limit, and the pairs that miss it by the slack or lie on it."""
    (unfit, fit), found = kernel.parts, list[Uses]()
    for part, arms, points in ((unfit, [0], [0]), (fit, [0, 1, 2, 3, 4, 5], [0, 1, 2, 3, 4, 5])):
        zero = part.question.n_arms - 1
        tested = np.array([arm for arm in arms if part.survivors[arm]], dtype=np.int64)
        if not len(tested) or rng.random() < 0.1:
            found.append(Uses())
            continue
        clocks = _next(part.promised[tested], rng) if not part.scores.bets else 0 * tested
        if clocks is None:
            found.append(Uses())
            continue
        shares = Rows(np.arange(len(tested) + 1), np.array(points)[tested], np.ones(len(tested)))
        own = np.array([len(part.question.points.sizes) - 1])
        stakes, shape = None, (1, len(tested))
        if part.scores.bets:
            guess = rng.uniform(0.0, 0.4, shape)
            stakes = Stakes(guess, 0 * guess + 0.2, 0 * guess + 0.05, 0.0)
        claims = Claims(zero, own, tested, clocks, shares, np.array(np.inf), stakes)
        guessed = rng.uniform(0.1, 9.0, 6) if part.scores.guesses else None
        found.append(Uses([claims], guessed))
    return found


def _next(promised: np.ndarray, rng: np.random.Generator) -> np.ndarray | None:
    """Let clocks go on by a point or two, all of them, while there are any."""
    clocks = promised + rng.integers(1, 3, len(promised))
    return clocks if (clocks < POINTS).all() else None


def _pulled(phase: Phase, world: World, rng: np.random.Generator) -> Outcome:
    pairs = np.repeat(np.arange(6), phase.counts)
    mine = world.objective[pairs] + rng.normal(size=len(pairs))
    other = world.output[pairs] + rng.normal(size=len(pairs))
    if world.noise == "wealth":
        other = (rng.random(len(pairs)) < world.output[pairs]).astype(np.float64)
    return Outcome.from_rewards(phase, 6, pairs, mine, {"cost": other})


def errors(world: World, runs: int, seed: int = 1) -> int:
    """Return how many of some runs err."""
    sources = np.random.SeedSequence(seed).spawn(runs)
    return sum(errs(world, np.random.default_rng(source)) for source in sources)
