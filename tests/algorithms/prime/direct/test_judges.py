"""What judges make of a phase, and what they ask for."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy import stats

from surefoot.algorithms.prime.direct.clocks import Forecast, Grid
from surefoot.algorithms.prime.direct.contest import Contest
from surefoot.algorithms.prime.direct.judges import (
    BettingJudge,
    NormalJudge,
    Outlook,
    PooledJudge,
    StudentJudge,
)
from surefoot.algorithms.prime.tuning import Tuning
from surefoot.statistics import Outcome, Phase
from tests.evidence.phases import LEVEL, drawn

TUNING = Tuning()
GRID = Grid(np.array([1.0, 2.0, 4.0]), np.full(3, 2.5))
SIZES = np.array([1, 1, 1])
CONTEST = Contest(0, np.array([0]), np.array([0]), np.array([1, 2]), np.array([1, 2]))
OUTLOOK = Outlook(
    np.full((1, 2), 0.3),
    np.full((1, 2), 0.1),
    np.full((1, 2), 0.1),
    Forecast(np.ones(2), np.ones(2)),
)
COUNTS = np.array([12, 18, 31])


def _scores(judge: NormalJudge, scales: np.ndarray, seed: int) -> np.ndarray:
    rng, phase = np.random.default_rng(seed), Phase(0, COUNTS, 6)
    return np.array(
        [judge.scores(CONTEST, phase, drawn(rng, phase, scales)).plain[0] for _ in range(1500)]
    )


def test_known_and_pooled_scores_are_standard_normal_at_ties() -> None:
    scales = np.array([1.0, 3.0, 0.5])
    known = _scores(NormalJudge(GRID, SIZES, scales, 0.0, TUNING), scales, seed=1)
    pooled = _scores(PooledJudge(GRID, SIZES, np.ones(3), 0.0, TUNING), np.full(3, 7.0), seed=2)
    for column in (*known.T, *pooled.T):
        assert stats.kstest(column, "norm").pvalue > LEVEL


def _students(phase: Phase, outcome: Outcome) -> np.ndarray:
    """The scores of a first phase, whose steps are 1."""
    judge = StudentJudge(GRID, SIZES, np.ones(3), 0.0, TUNING)
    judge.see(outcome)
    return judge.weigh(CONTEST, OUTLOOK, phase, outcome).plain[0]


def test_students_scores_are_standard_normal_or_below_under_unequal_noise() -> None:
    rng, phase, scales = np.random.default_rng(3), Phase(0, COUNTS, 6), np.array([1.0, 30.0, 0.1])
    scores = np.array([_students(phase, drawn(rng, phase, scales)) for _ in range(1500)])
    for column in scores.T:
        assert stats.kstest(column, "norm", alternative="less").pvalue > LEVEL
        small = int((column > 1.645).sum())
        assert stats.binom.sf(small - 1, len(column), 0.05) > LEVEL


def test_a_phase_without_scatter_is_no_evidence_for_the_challenger() -> None:
    phase = Phase(0, np.array([3, 3, 3]))
    rewards = np.repeat([1.0, 0.0, 2.0], 3)
    silent = Outcome.from_rewards(phase, 3, np.repeat(np.arange(3), 3), rewards)
    plain, eased = PooledJudge(GRID, SIZES, np.ones(3), 0.0, TUNING).scores(CONTEST, phase, silent)
    assert plain[0, 0] == 0
    assert plain[0, 1] < -30
    assert np.array_equal(plain, eased)


def test_weights_are_the_clocks_steps_and_clocks_advance() -> None:
    judge = NormalJudge(GRID, SIZES, np.ones(3), 0.0, TUNING)
    phase = Phase(0, COUNTS)
    outcome = drawn(np.random.default_rng(4), phase, np.ones(3))
    first = judge.weigh(CONTEST, OUTLOOK, phase, outcome).plain
    assert np.allclose(first, judge.scores(CONTEST, phase, outcome).plain)
    assert judge.roots.tolist() == [np.inf, 1.0, 1.0]
    assert judge.looks.tolist() == [0, 0, 0]
    second = judge.weigh(CONTEST, OUTLOOK, phase, outcome).plain
    assert np.allclose(second, first)  # from 1 to 2
    assert judge.looks.tolist() == [0, 1, 1]


def test_clocks_that_ran_down_ask_for_nothing() -> None:
    judge = NormalJudge(GRID, SIZES, np.ones(3), 0.0, TUNING)
    phase = Phase(0, COUNTS)
    outcome = drawn(np.random.default_rng(5), phase, np.ones(3))
    for _ in range(4):
        judge.weigh(CONTEST, OUTLOOK, phase, outcome)
    assert judge.exhausted.tolist() == [False, True, True]
    missing = judge.missing(CONTEST, np.zeros((1, 2)), OUTLOOK, np.array([1.0, 4.0]))
    assert missing.evidence.tolist() == [[[0, 0]]] * 2
    assert not judge.weigh(CONTEST, OUTLOOK, phase, outcome).plain.any()


def test_skewed_differences_ask_for_more_pulls() -> None:
    judge, rng = StudentJudge(GRID, SIZES, np.ones(3), 0.0, TUNING), np.random.default_rng(6)
    assert judge.least_pulls(CONTEST) == judge.least_batches
    phase = Phase(0, np.array([12, 12, 12]), 12)
    for _ in range(60):
        rewards = rng.standard_normal(36)
        rewards[:12] -= 4 * rng.lognormal(0.0, 1.0, 12)
        outcome = Outcome.from_rewards(phase, 3, np.repeat(range(3), 12), rewards)
        judge.weigh(CONTEST, OUTLOOK, phase, outcome)
    assert judge.least_pulls(CONTEST) > judge.least_batches
    last = replace(CONTEST, arms=CONTEST.arms[:0], rivals=CONTEST.rivals[:0])
    assert judge.least_pulls(last) == judge.least_batches


def test_rare_rises_ask_for_nothing() -> None:
    judge, rng = StudentJudge(GRID, SIZES, np.ones(3), 0.0, TUNING), np.random.default_rng(6)
    phase = Phase(0, np.array([12, 12, 12]), 12)
    for _ in range(60):
        rewards = rng.standard_normal(36)
        rewards[:12] += 4 * rng.lognormal(0.0, 1.0, 12)
        outcome = Outcome.from_rewards(phase, 3, np.repeat(range(3), 12), rewards)
        judge.weigh(CONTEST, OUTLOOK, phase, outcome)
    assert judge.least_pulls(CONTEST) == judge.least_batches


def _quiet_phase() -> tuple[Phase, Outcome]:
    """The own pair is ahead by 1, and nothing varies by more than a hundredth."""
    phase = Phase(0, np.array([8, 8, 8]), 8)
    noise = 0.01 * np.random.default_rng(8).standard_normal(24)
    rewards = np.repeat([1.0, 0.0, 0.0], 8) + noise
    return phase, Outcome.from_rewards(phase, 3, np.repeat(np.arange(3), 8), rewards)


def test_what_a_pilot_saw_counts_where_a_phase_is_too_quiet() -> None:
    phase, outcome = _quiet_phase()
    weighed = []
    for fall in (0.0, 6.0):
        judge = StudentJudge(GRID, SIZES, np.ones(3), 0.0, TUNING)
        judge.see(Outcome.from_rewards(0, 3, [0, 0, 1, 2], [1.0, 1.0 - fall, 0.01, 0.0]))
        judge.see(outcome)
        weighed.append(judge.weigh(CONTEST, OUTLOOK, phase, outcome).plain.min())
    assert weighed[0] > 5
    assert weighed[1] < 2


def test_a_pair_that_is_silent_in_its_first_phase_is_not_believed() -> None:
    phase, outcome = _quiet_phase()
    sums, scatter, batches = (outcome.sums.copy(), outcome.scatter.copy(), outcome.batch_sums)
    sums[0], scatter[0] = 8.0, 0.0
    batches = np.column_stack([np.ones(8), batches[:, 1:]])
    constant = replace(outcome, sums=sums, scatter=scatter, batch_sums=batches)
    weighed = []
    for tuning in (TUNING, replace(TUNING, silent_fall=0.0)):
        judge = StudentJudge(GRID, SIZES, np.ones(3), 0.0, tuning)
        judge.see(Outcome.from_rewards(0, 3, [2, 2], [-20.0, 20.0]))
        judge.see(constant)
        weighed.append(judge.weigh(CONTEST, OUTLOOK, phase, constant).plain[0, 0])
    assert weighed[0] < 1
    assert weighed[1] > 5


def test_wealth_is_in_logarithms_and_never_runs_down() -> None:
    judge = BettingJudge(1.0, 3, 0.05, 0.0, TUNING)
    assert np.allclose(judge.boundary, np.log(20))
    assert judge.roots.tolist() == [1, 1, 1]
    assert not judge.exhausted.any()
    phase = Phase(0, np.array([40, 40, 40]), 40)
    pairs = np.repeat(np.arange(3), 40)
    coins = np.random.default_rng(7).random(120) < np.array([0.9, 0.1, 0.9])[pairs]
    outlook = OUTLOOK._replace(variances=np.full((1, 2), 0.2 / 40))
    verdict = judge.weigh(
        CONTEST, outlook, phase, Outcome.from_rewards(phase, 3, pairs, coins.astype(float))
    )
    assert verdict.plain[0, 0] > judge.boundary[0] > verdict.plain[0, 1]
