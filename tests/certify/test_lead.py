"""Lower bounds of leads: too large in a share 2δ of runs at most, over a baseline in a share δ.

Runs are looked at after every other phase, and the bounds of the arm that looks best and of arm 0
are held against the truth: an error at any look counts. The leader is the luckiest arm so far, or
any arm by lot, so it switches, and phases of one leader follow those of another.

`python -m tests.certify.test_lead` makes 2 000 runs over five true leads.
"""

from __future__ import annotations

import sys

import numpy as np
import pytest
from scipy import stats

from surefoot.certify import BatchScores, Certifier, Claims, Question, Rows, ScaleScores
from surefoot.lead import largest, lead, lead_over
from surefoot.statistics import Outcome, Phase
from tests.certify import saboteur

DELTA, POINTS, GROWTH, RUNS = 0.2, 6, 1.5, 10
LEADS = (0.0, 0.25, 0.5, 1.0, 2.0)
OFFSETS = np.array([0, 2, 4, 6])
FALSE_ALARM = 1e-3


def kernel(noise: str) -> Certifier:
    question = Question.worst_case(OFFSETS, np.eye(6), np.inf)
    scores = {"known": ScaleScores, "batches": BatchScores}[noise](np.ones(6))
    limit = saboteur.boundary(noise, POINTS, GROWTH, DELTA)
    return Certifier(question, scores, limit, delta=DELTA)


def run(noise: str, true: float, rng: np.random.Generator) -> tuple[bool, bool]:
    """Return whether a bound over all, or over arm 2, was ever too large."""
    truth = np.array([true, true + 0.2, 0.0, 0.3, -0.2 * (true > 0), 0.5])
    values = np.minimum.reduceat(truth, OFFSETS[:-1])
    certifier, sums, counts = kernel(noise), np.zeros(6), np.zeros(6)
    wrong = np.zeros(2, dtype=bool)
    for index in range(POINTS):
        means = sums / np.maximum(counts, 1) + (counts == 0) * 1e-9 * rng.normal(size=6)
        luckiest = int(np.argmax(np.minimum.reduceat(means, OFFSETS[:-1])))
        leader = int(rng.integers(3)) if rng.random() < 0.3 else luckiest
        others = np.delete(np.arange(3), leader)
        worst = OFFSETS[others] + np.argmin(means.reshape(3, 2)[others], axis=1)
        claims = Claims(
            leader,
            np.arange(2) + OFFSETS[leader],
            others,
            np.full(2, index),
            Rows(np.arange(3), worst, np.ones(2)),
            np.array(np.inf),
        )
        batches = 0 if noise == "known" else 5
        phase = Phase(index, np.full(6, 10), batches)
        variances = np.ones(6) if noise == "batches" else None
        commitment = certifier.commit(phase, [claims], variances)
        rewards = truth + rng.normal(size=(10, 6))
        outcome = Outcome.from_rewards(phase, 6, np.tile(np.arange(6), 10), rewards.ravel())
        certifier.update(commitment, outcome)
        sums, counts = sums + outcome.sums, counts + outcome.counts
        for arm in {luckiest, 0} if index % 2 else ():
            ahead = values[arm] - np.delete(values, arm).max()
            wrong[0] |= lead(certifier, arm) > ahead + 1e-9
            if arm != 2:
                wrong[1] |= lead_over(certifier, arm, 2) > values[arm] - values[2] + 1e-9
    return bool(wrong[0]), bool(wrong[1])


def errors(noise: str, true: float, runs: int) -> tuple[int, int]:
    """Return how many of so many runs are wrong, over all and over the baseline."""
    seeds = np.random.SeedSequence([7, int(100 * true)]).spawn(runs)
    found = [run(noise, true, np.random.default_rng(seed)) for seed in seeds]
    return sum(each[0] for each in found), sum(each[1] for each in found)


@pytest.mark.statistical
@pytest.mark.parametrize("noise", ["known", "batches"])
def test_bounds_are_seldom_too_large(noise: str) -> None:
    found = [errors(noise, true, RUNS) for true in LEADS]
    each = FALSE_ALARM / (4 * len(LEADS))
    assert max(all_ for all_, _ in found) <= stats.binom.isf(each, RUNS, 2 * DELTA)
    assert max(one for _, one in found) <= stats.binom.isf(each, RUNS, DELTA)


def test_the_bound_says_when_others_are_out() -> None:
    """A bound of a certified arm is above 0, and of an arm that is out there is none above it."""
    rng, certifier = np.random.default_rng(1), kernel("known")
    for index in range(POINTS):
        shares = Rows(np.arange(3), np.array([2, 4]), np.ones(2))
        claims = Claims(
            0, np.arange(2), np.array([1, 2]), np.full(2, index), shares, np.array(np.inf)
        )
        phase = Phase(index, np.full(6, 30))
        commitment = certifier.commit(phase, [claims])
        rewards = np.repeat([2.0, 2.0, 0.0, 0.0, -1.0, -1.0], 30) + rng.normal(size=180)
        outcome = Outcome.from_rewards(phase, 6, np.repeat(np.arange(6), 30), rewards)
        certifier.update(commitment, outcome)
    assert certifier.answer() == 0
    assert 1.0 < lead(certifier, 0) < 2.0 + 0.2
    assert lead_over(certifier, 0, 2) > lead(certifier, 0)
    assert lead(certifier, 1) == lead_over(certifier, 1, 2) == -np.inf


def test_the_search_finds_the_largest_number() -> None:
    assert largest(lambda g: g <= 3.7, 0.1, np.inf) == pytest.approx(3.7, rel=1e-3)
    assert largest(lambda g: g <= -3.7, 0.1, np.inf) == pytest.approx(-3.7, rel=1e-3)
    assert largest(lambda g: True, 0.1, 2.0) == 2.0
    assert largest(lambda g: False, 1.0, np.inf) == -np.inf


if __name__ == "__main__":
    runs = int(sys.argv[1]) if sys.argv[1:] else 400
    for noise in ("known", "batches"):
        for true in LEADS:
            over_all, over_one = errors(noise, true, runs)
            limits = [stats.binom.isf(FALSE_ALARM, runs, share) for share in (2 * DELTA, DELTA)]
            print(noise, true, over_all, over_one, "of", runs, "allowed", *limits, flush=True)
