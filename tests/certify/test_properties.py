"""Properties that the proof of a certificate rests on, each on random cases."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np
import pytest
from scipy import stats

from surefoot.arrays import Array
from surefoot.certify import (
    BatchScores,
    Certifier,
    Claims,
    Commitment,
    GaussianBoundary,
    LimitedCertifier,
    Question,
    Rows,
    ScaleScores,
    Uses,
)
from surefoot.certify.boundary import crossing
from surefoot.certify.contrast import Pulled, contrasts
from surefoot.errors import InputError
from surefoot.noise.boundaries import _crossing_probability
from surefoot.statistics import Outcome, Phase
from tests.certify import limited_saboteur, random_runs

SEED = 23
EVERY = np.array(np.inf)
ALARM = 1e-4  # probability of a false alarm, of each test by chance


def generator(*key: int) -> np.random.Generator:
    """Return a stream of random numbers of its own."""
    return np.random.default_rng(np.random.SeedSequence(SEED, spawn_key=key))


def _question(rng: np.random.Generator, misfit: float) -> Question:
    """Draw two arms of four pairs, each with three mixtures of them as points."""
    points, columns = rng.dirichlet(np.ones(4), 6), np.arange(4) + 4 * np.repeat([0, 1], 3)[:, None]
    rows = Rows(np.arange(0, 25, 4), columns.ravel(), points.ravel())
    return Question(np.array([0, 3, 6]), rows, rng.normal(size=(8, 3)), misfit)


def _claims(rng: np.random.Generator, deviation: float, clock: int = 0) -> Claims:
    """Draw shares for the claims that points of arm 0 beat arm 1."""
    shares = Rows(np.arange(0, 10, 3), np.tile([3, 4, 5], 3), rng.dirichlet(np.ones(3), 3).ravel())
    return Claims(
        0, np.arange(3), np.array([1]), np.array([clock]), shares, np.array(deviation), None
    )


@pytest.mark.parametrize("misfit", [0.0, 0.1, 2.0, np.inf])
def test_contrasts_of_true_means_never_overstate_a_lead(misfit: float) -> None:
    """No means that are trusted make a contrast exceed its claim; the worst of them just reach it.

    Contrasts are linear: the rewards 1 of each pair and 0 of the others tell their weights a, and
    misfits of the signs of a − c are the worst.
    """
    for run in range(60):
        rng = generator(0, run)
        question, tau = _question(rng, misfit), float(rng.choice([0.0, 0.01, 1.0, np.inf]))
        pairs = np.sort(rng.choice(8, 8 if np.isinf(misfit) else rng.integers(4, 9), False))
        pulled = Pulled(pairs, rng.uniform(0.1, 2.0, len(pairs)), rng.normal(size=3))
        _assert_sound(question, _claims(rng, tau if misfit else 0.0), pulled, rng)


def _assert_sound(
    question: Question, claims: Claims, pulled: Pulled, rng: np.random.Generator
) -> None:
    def said(means: Array) -> Array:
        noise = np.ones((1, len(pulled.pairs)))
        found = contrasts(question, claims, pulled, means[:, pulled.pairs], noise)
        assert (found.variances > 0).all()
        return found.values[:, :, 0]

    own, rival = question.sides(claims)
    c = own.dot(np.eye(8)) - rival.dot(np.eye(8))
    a = (said(np.eye(8)) - said(np.zeros((1, 8)))).T
    means = 10 * rng.normal(size=(40, 3)) @ question.features.T
    bound = question.misfit if np.isfinite(question.misfit) else 0.0
    some, worst = means + bound * rng.uniform(-1, 1, (40, 8)), means[:3] + bound * np.sign(a - c)
    assert (said(some) <= some @ c.T + 1e-9).all()
    assert np.diag(said(worst)) == pytest.approx(np.diag(worst @ c.T), abs=1e-9)


@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("misfit", [0.0, np.inf])
def test_scores_of_batches_are_standard_normal_under_unequal_scales(
    misfit: float, shared: bool
) -> None:
    rng, found = generator(1, int(shared), int(misfit > 0)), []
    scales, loads = np.geomspace(0.05, 20.0, 8), shared * np.linspace(-3.0, 5.0, 8)
    counts = np.full(8, 9) if shared else np.arange(4, 12)
    phase, boundary = Phase(0, counts, 4, shared), _boundary(1)
    for _ in range(1000):
        question, claims = _question(rng, misfit), _claims(rng, 0.0)
        certifier = Certifier(question, BatchScores(np.ones(8)), boundary, delta=0.05)
        pairs = np.tile(np.arange(8), 11)
        turn = np.repeat(np.arange(11), 8)
        used = turn < counts[pairs]
        common = rng.normal(size=11)[turn] * loads[pairs]
        rewards = rng.normal(size=88) * scales[pairs] + common
        outcome = Outcome.from_rewards(phase, 8, pairs[used], rewards[used])
        commitment = certifier.commit(phase, [claims], np.exp(rng.normal(size=8)))
        shown: list[Array] = []
        certifier.update(commitment, outcome, lambda _, scores, *rest, to=shown: to.append(scores))
        found.append(float(shown[0][0, 0, 0]))
    assert stats.kstest(found, "norm").pvalue > ALARM / 2
    squares = stats.chi2.cdf(np.sum(np.square(found)), len(found))
    assert min(squares, 1 - squares) > ALARM / 4


def _boundary(n_points: int) -> GaussianBoundary:
    return random_runs.gaussian(n_points, 1.3, 0.05)


@pytest.mark.parametrize("noise", random_runs.NOISES)
def test_lower_limits_never_lead_to_more(noise: str) -> None:
    """Eliminations, arms that are near, and walks of arms that are left, fall as limits fall."""
    for run in range(25):
        seed = generator(2, run, random_runs.NOISES.index(noise))
        maker = random_runs.Maker(seed, noise, np.inf)
        tight, loose, free = (random_runs.certifier(maker) for _ in range(3))
        drops = generator(3, run)
        for given, outcome, _ in random_runs.steps(maker):
            low = [_limits(each, drops, len(tight._shifts)) for each in given["claims"]]
            high = [each + drops.uniform(0, 2, each.shape) for each in low]
            for certifier, limits in ((tight, low), (loose, high), (free, None)):
                rule = None if limits is None else _in_turn(limits)
                certifier.update(certifier.commit(**given), outcome, rule)
            for lower, upper in ((tight, loose), (loose, free)):
                _assert_no_more(lower, upper)


@pytest.mark.parametrize("tolerance", [0.0, 0.5])
def test_an_arm_that_is_out_comes_back_where_its_sums_are_lowered(tolerance: float) -> None:
    """Asked again, with its clock standing still, it is out or not by what is known now."""
    question = Question.worst_case(np.array([0, 2, 3]), np.eye(3), np.inf)
    certifier = Certifier(
        question, ScaleScores(np.ones(3)), _boundary(3), delta=0.05, tolerance=tolerance
    )
    shares, sure, found = Rows(np.array([0, 1]), np.array([2]), np.ones(1)), [], []
    for index, (pulls, limit) in enumerate([(9, 99.0), (0, 99.0), (0, 1.0), (0, 99.0), (9, 1.0)]):
        phase, pairs = Phase(index, np.full(3, pulls)), np.repeat(np.arange(3), pulls)
        claims = Claims(0, np.arange(2), np.array([1]), np.array([index // 4]), shares, EVERY)
        outcome = Outcome.from_rewards(phase, 3, pairs, 5.0 * (pairs < 2))
        capped = np.full((1 + (tolerance > 0), 2, 1), limit)
        certifier.update(certifier.commit(phase, [claims]), outcome, lambda *_, to=capped: to)
        found.append(certifier.answer())
        sure.append(certifier.confidence(0)() >= 0.95)
    # a clock that went on takes nothing back, whatever limits say
    assert found == [0, 0, None, 0, 0]
    assert sure == [True, True, False, True, True]


def _limits(claims: Claims, rng: np.random.Generator, n_kinds: int) -> Array:
    limits = rng.normal(1.0, 3.0, (n_kinds, *claims.shape))
    return np.where(rng.random(limits.shape) < 0.5, limits, np.inf)


def _in_turn(limits: list[Array]) -> Any:
    left = iter(limits)
    return lambda *_: next(left)


def _assert_no_more(lower: Certifier, upper: Certifier) -> None:
    left = upper.survivors  # points of an arm that is out need no longer be settled
    assert lower.survivors[left].all()
    assert (lower.walks.walk() <= upper.walks.walk() + 1e-9)[left].all()
    for leader in np.flatnonzero(left).tolist():
        assert lower.rivals(leader)[upper.rivals(leader)].all()


def _grid(rng: np.random.Generator) -> tuple[Array, Array]:
    """Draw times, and levels in standard deviations that rise or fall, some of them steeply."""
    times = np.cumprod(rng.uniform(1.1, 2.0, int(rng.integers(1, 12))))
    spread = rng.choice([0.1, 2.0])
    return times.astype(np.float64), rng.uniform(1.2, 2.0) + spread * rng.random(len(times))


def test_the_worst_walk_crosses_at_least_as_often_as_the_plain_one() -> None:
    for run in range(40):
        times, levels = _grid(generator(4, run))
        plain = _crossing_probability(tuple(np.diff(times, prepend=0.0).tolist()), levels)
        assert crossing(tuple(times.tolist()), tuple(levels.tolist())) >= plain - 1e-7


def test_walks_that_stand_still_cross_no_more_often_than_computed() -> None:
    """An idle policy waits where the next level is below it, or too far by its own threshold."""
    walks = 20_000
    for run in range(12):
        rng = generator(5, run)
        times, levels = _grid(rng)
        worst = crossing(tuple(times.tolist()), tuple(levels.tolist()))
        place, crossed = np.zeros(walks), np.zeros(walks, dtype=bool)
        keenness, before = rng.uniform(1.0, 9.0), 0.0
        for time, level in zip(times, levels, strict=True):
            step = math.sqrt(time - before)
            ahead = (level * math.sqrt(time) - place) / step
            idle = (ahead <= 0) | (ahead > keenness + rng.random(walks))
            share = np.where(idle, 0.0, rng.choice([0.5, 1.0], walks, p=[0.1, 0.9]))
            place = place + np.sqrt(share) * step * rng.normal(size=walks)
            crossed, before = crossed | (place >= level * math.sqrt(time)), float(time)
        assert stats.binom.sf(int(crossed.sum()) - 1, walks, worst) > ALARM / 12


@pytest.mark.parametrize("level", [0.6, 1.0, 1.5])
def test_walks_above_a_level_that_falls_may_wait_for_it(level: float) -> None:
    """Two looks, at times 1 and 2, the first far off: whoever is above the second's level waits."""
    places = np.linspace(-9.0, level, 20_001)
    later = np.trapezoid(stats.norm.pdf(places) * stats.norm.cdf(places - level), places)
    found = crossing((1.0, 2.0), (3.0, level / math.sqrt(2)))
    # nodes resolve the jump at the level to a few hundredths
    assert found == pytest.approx(stats.norm.sf(level) + later, rel=0.03)


@pytest.mark.parametrize("noise", random_runs.NOISES)
def test_claims_that_say_nothing_change_no_walk(noise: str) -> None:
    """Clocks go on, and that is all; the walks of other arms go on as they would."""
    nothing = Rows(np.zeros(2, dtype=np.int64), np.zeros(0, dtype=np.int64), np.zeros(0))
    for run in range(30):
        maker = random_runs.Maker(generator(6, run, random_runs.NOISES.index(noise)), noise, np.inf)
        certifier = random_runs.certifier(maker)
        for given, outcome, _ in random_runs.steps(maker):
            full: list[Claims] = given["claims"]
            empty = [each._replace(shares=_rows_of(nothing, len(each.arms))) for each in full]
            before, near = certifier.walks.walk(), _near(certifier)
            certifier.update(certifier.commit(**given | {"claims": empty}), outcome)
            assert certifier.walks.walk().tolist() == before.tolist()
            assert _near(certifier) == near
        assert certifier.survivors.all()


def _rows_of(row: Rows, n: int) -> Rows:
    return row._replace(starts=np.zeros(n + 1, dtype=np.int64))


def _near(certifier: Certifier) -> set[tuple[int, int]]:
    near = certifier.walks.near.items()
    return {(ell, arm) for ell, arms in near for arm in np.flatnonzero(arms).tolist()}


def test_points_that_are_alike_under_the_model_say_nothing() -> None:
    """Pairs without features have one mean, 0: no reward can tell them apart."""
    for run in range(10):
        rng = generator(7, run)
        features = rng.normal(size=(6, 3))
        features[:2] = 0.0
        question = Question.worst_case(np.array([0, 1, 2, 6]), features, 0.0)
        certifier = Certifier(question, ScaleScores(np.ones(6)), _boundary(1), delta=0.05)
        phase = Phase(0, np.full(6, 4))
        shares = Rows(np.array([0, 1]), np.array([0]), np.ones(1))
        one, zero = np.array([1]), np.array([0])
        commitment = certifier.commit(phase, [Claims(1, one, zero, zero, shares, np.array(0.0))])
        sums = 4 * features @ (30 * rng.normal(size=3)) + 2 * rng.normal(size=6)
        certifier.update(commitment, Outcome(0, phase.counts, sums, np.zeros(6)))
        assert certifier.walks.walk().tolist() == [0.0, 0.0, 0.0]


def test_confidence_is_that_of_the_least_sure_arm_by_its_own_start() -> None:
    """Arm 2 has the stronger evidence; what it amounts to depends on where its clock began."""
    boundary = random_runs.gaussian(12, 1.3, 0.05, groups=3)
    question = Question.worst_case(np.arange(4), np.eye(3), np.inf)
    phase, first = Phase(0, np.full(3, 2)), np.array([0, 1, 2])
    shares = Rows(first, np.array([1, 2]), np.ones(2))
    for clocks, least_sure in (((9, 9), 1), ((9, 0), 2), ((0, 9), 1)):
        claims = Claims(0, first[:1], first[1:], np.array(clocks), shares, np.zeros(()), None)
        certifier = Certifier(question, ScaleScores(np.ones(3)), boundary, delta=0.05)
        sums = 2 * np.array([0.0, -1.8, -1.95])
        outcome = Outcome(0, phase.counts, sums, np.zeros(3), np.zeros((0, 3)))
        certifier.update(certifier.commit(phase, [claims]), outcome)
        assert certifier.walks.starts.tolist() == [-1, *clocks]
        strengths = {1: 1.8**2, 2: 1.95**2}  # scores are differences with variance 1
        groups = dict(zip((1, 2), boundary.groups(np.array(clocks)).tolist(), strict=True))
        p_values = {arm: boundary.p_value(strengths[arm], groups[arm]) for arm in (1, 2)}
        assert max(p_values, key=lambda arm: p_values[arm]) == least_sure
        assert certifier.confidence(0)() == pytest.approx(1 - p_values[least_sure])


# What is refused changes nothing: neither a commitment nor an outcome is taken by halves.

Given = dict[str, Any]  # arguments of `Certifier.commit`
Fault = TypeVar("Fault")

OF_CLAIMS: dict[str, Callable[[Claims], Claims]] = {
    "a challenger that is no arm": lambda one: one._replace(challenger=99),
    "points that are none": lambda one: one._replace(points=one.points + 99),
    "a clock that goes back": lambda one: one._replace(clocks=one.clocks * 0 - 1),
    "a clock beyond the grid": lambda one: one._replace(clocks=one.clocks + 99),
    "no arms": lambda one: one._replace(arms=one.arms[:0], clocks=one.clocks[:0]),
    "no rows of shares": lambda one: one._replace(shares=one.shares.take(np.arange(0))),
    "a deviation below 0": lambda one: one._replace(deviation=np.array(-1.0)),
}
OF_PHASES: dict[str, Callable[[Phase], Phase]] = {
    "another number": lambda phase: replace(phase, index=phase.index + 1),
    "counts below 0": lambda phase: replace(phase, counts=phase.counts - 10_000),
    "too few counts": lambda phase: replace(phase, counts=phase.counts[1:]),
}


def state(kernel: Certifier) -> list[object]:
    """Return all that a kernel has taken, as plain values."""
    walks = kernel.walks
    parts = kernel.parts if isinstance(kernel, LimitedCertifier) else []
    found: list[object] = [
        kernel.leader,
        kernel.promised.tolist(),
        [commitment.phase.index for commitment in kernel.open],
        len(kernel._taken),
        kernel._counts.tolist(),
        kernel._sums.tolist(),
        [each.tolist() for each in (walks.places, walks.starts, walks.survivors, walks.counted)],
        {ell: near.tolist() for ell, near in walks.near.items()},
        {ell: [part.tolist() for part in each[:3]] for ell, each in walks._challenges.items()},
        {ell: each.tolist() for ell, each in walks._strength.items()},
    ]
    if isinstance(kernel, LimitedCertifier):
        found += [kernel.shown.tolist(), kernel.unfit.tolist()]
    return found + [state(part) for part in parts]


def drawn(faults: dict[str, Fault], rng: np.random.Generator) -> Fault:
    """Draw one of some faults."""
    return list(faults.values())[rng.integers(len(faults))]


def spoilt(given: Given, rng: np.random.Generator) -> Given:
    """Spoil one thing of what would be committed: the phase, a claim, or a claim on a limit."""
    uses = [Uses(given["claims"]), *given["others"]]
    places = [(k, j) for k, use in enumerate(uses) for j in range(len(use.claims))]
    if not places or rng.random() < 0.2:
        return given | {"phase": drawn(OF_PHASES, rng)(given["phase"])}
    k, j = places[rng.integers(len(places))]
    claims = list(uses[k].claims)
    claims[j] = drawn(OF_CLAIMS, rng)(claims[j])
    uses[k] = uses[k]._replace(claims=claims)
    return given | {"claims": uses[0].claims, "others": uses[1:]}


def refuse(kernel: Certifier, given: Given, rng: np.random.Generator) -> None:
    """Hand in what is no commitment a few times: it is refused, and nothing has changed."""
    before = state(kernel)
    for _ in range(rng.integers(1, 4)):
        with pytest.raises(InputError):
            kernel.commit(**spoilt(given, rng))
        assert state(kernel) == before


def plain_runs(rng: np.random.Generator) -> Iterator[tuple[Certifier, Certifier, Given, Outcome]]:
    """Yield phases of a random run, for a kernel and for its twin."""
    noise = str(rng.choice(random_runs.NOISES))
    trusts = (np.inf,) if noise == "wealth" else (0.0, 0.1, np.inf)
    maker = random_runs.Maker(rng, noise, float(rng.choice(trusts)))
    kernel, twin = random_runs.certifier(maker), random_runs.certifier(maker)
    for given, outcome, _ in random_runs.steps(maker):
        yield kernel, twin, given | {"others": []}, outcome


def limited_runs(rng: np.random.Generator) -> Iterator[tuple[Certifier, Certifier, Given, Outcome]]:
    """Yield phases of a saboteur against limits, for a kernel and for its twin."""
    rows = limited_saboteur.rows(0.2)
    world = rows[rng.integers(len(rows))]
    kernel, twin = limited_saboteur.certifier(world), limited_saboteur.certifier(world)
    for index in range(5):
        phase = Phase(index, rng.integers(1, 4, 6) * limited_saboteur.BATCHES, 4)
        claims = limited_saboteur._beat(kernel, world, rng)
        variances = np.ones(6) if kernel.scores.guesses else None
        uses = limited_saboteur._limits(kernel, world, rng)
        given = {"phase": phase, "claims": claims, "variances": variances, "others": uses}
        yield kernel, twin, given, limited_saboteur._pulled(phase, world, rng)


@pytest.mark.parametrize("runs", [plain_runs, limited_runs])
@pytest.mark.parametrize("seed", range(12))
def test_what_is_refused_changes_nothing(
    runs: Callable[[np.random.Generator], Iterator[tuple[Certifier, Certifier, Given, Outcome]]],
    seed: int,
) -> None:
    """A kernel that refused now and then ends like its twin that was never asked."""
    rng = np.random.default_rng(np.random.SeedSequence(seed))
    for kernel, twin, given, outcome in runs(rng):
        refuse(kernel, given, rng)
        commitment = kernel.commit(**given)
        twin.update(twin.commit(**given), outcome)
        refuse_outcome(kernel, commitment, outcome, rng)
        kernel.update(commitment, outcome)
        assert state(kernel) == state(twin)


def refuse_outcome(
    kernel: Certifier, commitment: Commitment, outcome: Outcome, rng: np.random.Generator
) -> None:
    """Hand in what is no outcome, or a rule that fails midway: nothing has been counted."""
    before, number = state(kernel), len(commitment.scored)
    fails = rng.integers(number) if number else 0

    def lower(*_: object) -> Array | None:
        nonlocal fails
        fails -= 1
        return np.zeros(7) if fails < 0 else None

    unlike = replace(outcome, sums=outcome.sums * np.nan)
    for wrong, rule in ((unlike, None), (replace(outcome, phase=99), None), (outcome, lower)):
        if rule is None or number:
            with pytest.raises(InputError):
                kernel.update(commitment, wrong, rule)
        assert state(kernel) == before
    if isinstance(kernel, LimitedCertifier):
        with pytest.raises(InputError, match="has a limit"):
            kernel.update(commitment, replace(outcome, others={}))
        assert state(kernel) == before
