"""An adversarial planner at exact ties and exactly on limits, and how often it makes errors.

Arm 0 is the best that qualifies, and lies exactly on its limit. Without slack the two others lie on
it as well, and all three are tied. With slack the others miss the limit by exactly the slack, and
arm 2 is better than both by far: to show that it qualifies is an error, and unless it is shown, its
challenges must count for nothing. Values, of the objective and of the limited output, are worst
cases, means or CVaRs; noises of the two outputs of a pull are correlated.

Errors: arm 0 is called unfit; arm 0 is beaten; an arm that misses its limit by the slack is shown
to qualify. In the worlds of `kept` the others are soon shown instead, and are tied: without slack
they keep the limit by far, and beat arm 0 or not; with slack they miss it by a tenth of that and
are better than arm 0, so that arm 1 must not be beaten by arm 2 once it is shown.

The saboteur challenges by arms that are not shown, stands still, and never stops.

`python -m tests.certify.limited_saboteur --runs 2000` prints one line for each noise, measure and
slack.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from scipy import stats

from surefoot.certify import (
    BatchScores,
    Boundary,
    Claims,
    EqualScores,
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
SHARES = {0.0: (0.6, 0.0, 0.16, 0.24), 0.25: (0.4, 0.2, 0.16, 0.24), 1.0: (0.4, 0.2, 0.16, 0.24)}
SLACKS = {False: (0.0, 0.25), True: (0.0, 1.0)}  # by whether others are soon shown
MARGIN = 1 - 1e-3  # of each level, that boundaries spend
LIMIT = 3.0
LEVEL = 0.3  # of a range from 0 to 1: the limit under bets
ALIKE = -0.8  # correlation of the noises of the two outputs
# weights of an arm's two pairs, the first of which is the worse in both outputs, in its points
POINTS_OF = {
    "worst": np.array([[1.0, 0.0], [0.0, 1.0]]),
    "mean": np.array([[0.5, 0.5]]),
    "cvar": np.array([[0.75, 0.25], [0.25, 0.75]]),
}


class World(NamedTuple):
    """What is true.

    Attributes:
        noise: "known", "equal", "batches" or "wealth", of the limited output.
        slack: of the limit.
        delta: δ.
        measure: of the objective.
        limit_measure: of the limited output.
    """

    noise: str
    slack: float
    delta: float
    measure: str = "worst"
    limit_measure: str = "worst"
    kept: bool = False

    @property
    def victim(self) -> int:
        """The arm that must not be beaten."""
        return 1 if self.kept and self.slack else 0

    @property
    def objective(self) -> np.ndarray:
        """(n_pairs,) arm 0 and 1 are tied; arm 2 is better by far, but where it may be tied."""
        best = 0.0 if not self.slack else 3.0
        second = best if self.victim else 0.0
        apart = 9.0 * (1 - POINTS_OF[self.measure][0, 0])  # of the worst pair, below the value
        return np.array([0.0, 9.0, second, second + 9.0, best, best + 9.0]) - apart

    @property
    def output(self) -> np.ndarray:
        """(n_pairs,) at most the limit is allowed: arm 0 is on it, arm 1 too or at the slack."""
        apart = 2 / 3 * self.limit
        high = self.limit + apart * (1 - POINTS_OF[self.limit_measure][0, 0])
        by = 0.1 if self.kept else 1.0
        missed = high + by * self.allowed
        if self.kept and not self.slack:
            missed = high - 2 / 3 * self.limit
        return np.array([high, high - apart, missed, missed - apart, missed, missed - apart])

    @property
    def limit(self) -> float:
        return LEVEL if self.noise == "wealth" else LIMIT

    @property
    def allowed(self) -> float:
        """The slack in the unit of the output."""
        return (0.2 if self.noise == "wealth" else 1.0) * self.slack


def question(measure: str) -> Question:
    """Ask for the best value of three arms of two pairs."""
    weights = POINTS_OF[measure]
    n = len(weights)
    rows = np.concatenate([np.kron(np.eye(3)[[arm]], weights) for arm in range(3)])
    starts = np.concatenate([[0], np.cumsum((rows > 0).sum(axis=1))])
    points = Rows(starts, np.nonzero(rows)[1], rows[rows > 0])
    return Question(n * np.arange(4), points, np.eye(6), np.inf)


def rows(delta: float | None = None) -> list[World]:
    """List the worlds of the test; with δ, those of the table."""
    measures = [("worst", "worst"), ("mean", "cvar"), ("cvar", "mean")]
    if delta is not None:
        return [
            World(noise, slack, delta, *both, kept)
            for noise in ("known", "equal", "batches", "wealth")
            for both in measures
            for kept, slacks in SLACKS.items()
            for slack in slacks
        ]
    return [
        World(noise, slack, delta, *both, kept)
        for noise, both in zip(("known", "batches", "wealth"), measures, strict=True)
        for kept, slacks in SLACKS.items()
        for slack in slacks
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
    kind = {"batches": BatchScores, "equal": EqualScores}.get(world.noise, ScaleScores)
    rules: tuple[Scores, Scores] = kind(np.ones(6)), kind(np.ones(6))
    if bets:
        half = np.full(6, 0.5)
        lost = world.limit, 1 - world.limit - world.allowed
        rules = WealthScores(half, lost[0]), WealthScores(half, lost[1])
    asked = question(world.limit_measure)
    limited = Limited("cost", world.limit, -1, world.allowed, asked, *rules)
    return LimitedCertifier(
        question(world.measure),
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
        made = kernel.commit(phase, _beat(kernel, world, rng), None, _limits(kernel, world, rng))
        kernel.update(made, _pulled(phase, world, rng))
        if _wrong(kernel, world):
            return True
    return False


def _wrong(kernel: LimitedCertifier, world: World) -> bool:
    """Return whether something was concluded that is not true."""
    if kernel.unfit[0]:
        return not world.victim
    if world.victim:
        return bool(kernel.shown[1]) and not kernel.survivors[1]
    if world.slack:  # arms 1 and 2 miss the limit by the slack: a hair more, and they are not fit
        return bool(kernel.shown[1:].any()) or not kernel.survivors[0]
    return not kernel.survivors[0]


def _beat(kernel: LimitedCertifier, world: World, rng: np.random.Generator) -> list[Claims]:
    """Challenge the victim by its worst point: by an arm that is shown, or by any."""
    if rng.random() < 0.1:
        return []
    x, offsets = world.victim, kernel.question.offsets
    others = np.array([2]) if x else np.array([1, 2])
    shown = others[kernel.shown[others]]
    ell = int(rng.choice(shown if len(shown) and rng.random() < 0.8 else others))
    clock = _next(kernel.promised[[x]], rng)
    if clock is None:
        return []
    one = Rows(np.array([0, 1]), offsets[[x]], np.ones(1))
    points = np.arange(offsets[ell], offsets[ell + 1])
    return [Claims(ell, points, np.array([x]), clock, one, np.array(np.inf))]


def _limits(kernel: LimitedCertifier, world: World, rng: np.random.Generator) -> list[Uses]:
    """Hold arm 0 against its limit, and the points that miss it by the slack or lie on it."""
    (unfit, fit), found = kernel.parts, list[Uses]()
    each = list(range(fit.question.n_arms - 1))
    for part, arms, points in ((unfit, [0], [0]), (fit, each, each)):
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
    noise = rng.normal(size=len(pairs))
    mine = world.objective[pairs] + noise
    own = np.sqrt(1 - ALIKE**2) * rng.normal(size=len(pairs))
    other = world.output[pairs] + ALIKE * noise + own
    if world.noise == "wealth":
        other = (rng.random(len(pairs)) < world.output[pairs]).astype(np.float64)
    return Outcome.from_rewards(phase, 6, pairs, mine, {"cost": other})


def errors(world: World, runs: int, seed: int = 1) -> int:
    """Return how many of some runs err."""
    sources = np.random.SeedSequence(seed).spawn(runs)
    return sum(errs(world, np.random.default_rng(source)) for source in sources)


def main(arguments: list[str] | None = None) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=2000)
    parser.add_argument("--delta", type=float, default=0.2)
    parser.add_argument("--noise", default="")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args(arguments)
    for line in _table(given.runs, given.delta, given.noise, given.seed):
        print(line, flush=True)


def _table(runs: int, delta: float, noise: str, seed: int) -> Iterator[str]:
    for world in rows(delta):
        if noise and world.noise != noise:
            continue
        begun, wrong = time.monotonic(), errors(world, runs, seed)
        p = stats.binomtest(wrong, runs, delta, "greater").pvalue
        kept = ", kept" if world.kept else ""
        yield (
            f"{world.noise:8} {world.measure:5} limit {world.limit_measure:5} slack "
            f"{world.slack:4g}{kept}: {wrong} of {runs} = {wrong / runs / delta:.2f} delta, "
            f"p = {p:.2g}, {time.monotonic() - begun:.0f} s"
        )


if __name__ == "__main__":
    main()
