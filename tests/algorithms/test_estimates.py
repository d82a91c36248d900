"""Estimates, least squares, and how pulls are shared out."""

from __future__ import annotations

import gc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from surefoot.algorithms.estimates import Estimates, Frame, decided
from surefoot.algorithms.fitting import information, least_squares
from surefoot.algorithms.static_allocation import grown
from surefoot.design import designs
from surefoot.design.designs import Design, round_design
from surefoot.experiments.instances import Instance, classic, random_robust
from surefoot.problem.problem import RobustProblem
from surefoot.simulate import LinearSimulator
from surefoot.statistics import Phase
from tests.algorithms.quantifiers import clearance


def measured(
    instance: Instance, counts: np.ndarray, scale: float = 1.0
) -> tuple[Estimates, np.ndarray, np.ndarray]:
    """Estimates after these pulls, and the information and estimate by the textbook formulas."""
    problem, theta = instance
    scales = np.full(problem.n_pairs, scale)
    outcome = LinearSimulator(problem, theta, scale, seed=1).pull(Phase(0, counts))
    frame = Frame.of(problem, scales)
    A = information(problem.pairs / scale, counts)
    b = problem.pairs.T @ outcome.sums / scale**2
    return frame.estimate(counts, outcome.sums), A, np.linalg.solve(A, b)


@pytest.mark.parametrize("scale", [1.0, 0.3])
def test_clearance_is_the_quantified_rule(scale: float) -> None:
    instance = random_robust(4, 3, 3)
    problem = instance[0]
    counts = np.random.default_rng(0).integers(0, 5, problem.n_pairs)
    estimates, A, theta = measured(instance, counts, scale)
    found = estimates.clearance(np.arange(4))
    for winner in range(4):
        for loser in set(range(4)) - {winner}:
            assert found[winner, loser] == pytest.approx(
                clearance(problem, theta, A, winner, loser), rel=1e-9
            )


def test_some_winners_among_some_arms() -> None:
    instance = random_robust(5, 4, 3)
    estimates, *_ = measured(instance, np.full(instance[0].n_pairs, 2))
    everything = estimates.clearance(np.arange(5))
    assert estimates.clearance(np.array([3, 1])) == pytest.approx(everything[[3, 1]])
    some = estimates.among(np.array([1, 4]))
    assert some.clearance(np.arange(2)) == pytest.approx(everything[np.ix_([1, 4], [1, 4])])


def test_blocks_do_not_change_the_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    instance = random_robust(5, 4, 3)
    estimates, *_ = measured(instance, np.full(instance[0].n_pairs, 2))
    whole = estimates.clearance(np.arange(5))
    monkeypatch.setattr("surefoot.algorithms.estimates.BLOCK", 1)
    assert estimates.clearance(np.arange(5)).tobytes() == whole.tobytes()


def test_after_more_pulls_the_standard_errors_are_those_of_the_larger_information() -> None:
    instance = random_robust(4, 3, 3)
    problem = instance[0]
    estimates, A, _ = measured(instance, np.full(problem.n_pairs, 2))
    z = problem.pairs[5]
    larger = estimates.after(estimates.located[5], 7)
    inverse = np.linalg.inv(A + 7 * np.outer(z, z))
    assert larger.widths == pytest.approx([np.sqrt(p @ inverse @ p) for p in problem.pairs])
    assert larger.means.tobytes() == estimates.means.tobytes()


def test_a_pull_that_measures_nothing_changes_nothing() -> None:
    estimates, *_ = measured(random_robust(4, 3, 3), np.full(12, 2))
    assert estimates.after(np.zeros(3), 7) is estimates


def test_unmeasured_differences_never_decide() -> None:
    problem = RobustProblem.paper(np.eye(3), [np.zeros((1, 3))] * 3)
    instance = problem, np.array([3.0, 2.0, 1.0])
    frame = Frame.of(problem, np.ones(3))
    counts = np.array([4, 4, 0])
    outcome = LinearSimulator(*instance, seed=0).pull(Phase(0, counts))
    estimates = frame.estimate(counts, outcome.sums)
    found = estimates.clearance(np.arange(3))
    assert np.isneginf(found[[0, 1, 2, 2], [2, 2, 0, 1]]).all()
    assert np.isfinite(found[[0, 1], [1, 0]]).all()
    assert estimates.widths.tolist()[2] == np.inf
    assert np.isfinite(estimates.widths[:2]).all()


def test_equal_pairs_neither_win_nor_lose() -> None:
    problem = RobustProblem.paper(
        [[1.0, 0.0], [1.0, 0.0]], [[[0.0, 0.0]], [[0.0, 0.0], [0.0, 1.0]]]
    )
    frame = Frame.of(problem, np.ones(3))
    estimates = frame.estimate(np.full(3, 5), np.array([5.0, 5.0, 20.0]))
    assert estimates.clearance(np.array([0]))[0, 1] == 0.0
    assert estimates.upper_gaps(np.array([0]), 2.0)[0, 1] == np.inf


PROBLEM, THETA = random_robust(4, 3, 3)
COUNTS = np.full(PROBLEM.n_pairs, 4)


def test_least_squares_of_nothing_is_zero_and_silent(capfd: pytest.CaptureFixture[str]) -> None:
    rows = PROBLEM.pairs
    assert least_squares(rows, 0 * COUNTS, np.zeros(len(rows)), np.ones(len(rows))).tolist() == [
        0.0,
        0.0,
        0.0,
    ]
    assert capfd.readouterr().out == ""  # LAPACK itself complains about an empty system


@pytest.mark.parametrize("pulled", [1, 2, 3, 7, 12])
@pytest.mark.parametrize("units", [1.0, 1e-7])
def test_least_squares_are_those_of_numpy(pulled: int, units: float) -> None:
    """Also with fewer pairs than dimensions, where the least norm decides, and with features of
    very unlike size.
    """
    generator = np.random.default_rng(pulled)
    rows = PROBLEM.pairs * np.array([1.0, units, 1.0])
    counts = np.where(np.arange(len(rows)) < pulled, 3, 0)
    sums, scales = (
        generator.standard_normal(len(rows)) * (counts > 0),
        generator.uniform(0.5, 2.0, len(rows)),
    )
    root = np.sqrt(counts[:pulled])
    design, target = rows[:pulled] * root[:, None], sums[:pulled] / (root * scales[:pulled])
    sizes = np.linalg.norm(design, axis=0)
    expected = np.linalg.lstsq(design / sizes, target, rcond=1e-10)[0] / sizes
    assert least_squares(rows, counts, sums, scales) == pytest.approx(expected, rel=1e-9)


def test_information_is_the_weighted_sum_of_squares() -> None:
    counts = np.arange(PROBLEM.n_pairs)
    expected = sum(n * np.outer(z, z) for n, z in zip(counts, PROBLEM.pairs, strict=True))
    assert information(PROBLEM.pairs, counts) == pytest.approx(expected)


def test_columns_of_very_different_size_are_all_estimated() -> None:
    rows = np.array([[1e9, 0.0], [1e9, 1e-9], [0.0, 1e-9]])
    theta = np.array([2e-9, 3e9])
    estimate = least_squares(rows, np.array([2, 2, 2]), 2 * rows @ theta, np.ones(3))
    assert estimate == pytest.approx(theta)


CLASSIC = classic(3)[0]
SCALES = np.array([1.0, 2.0, 0.5, 1.0])


def classic_estimates() -> Estimates:
    return Frame.of(CLASSIC, SCALES).estimate(np.full(4, 3), np.zeros(4))


@pytest.mark.parametrize(("pulls", "decisions"), [(10, 4), (3, 4), (1, 1), (1000, 7)])
def test_decisions_share_the_pulls_evenly(pulls: int, decisions: int) -> None:
    shares: list[int] = []

    def choose(_: Estimates, share: int) -> int:
        shares.append(share)
        return len(shares) % 4

    counts = decided(choose, classic_estimates(), SCALES, pulls, decisions)
    assert counts.sum() == sum(shares) == pulls
    assert len(shares) == min(pulls, decisions)
    assert max(shares) - min(shares) <= 1


def test_each_decision_sees_the_pulls_decided_before_it() -> None:
    seen: list[np.ndarray] = []

    def choose(now: Estimates, _: int) -> int:
        seen.append(now.widths)
        return 1

    decided(choose, classic_estimates(), SCALES, 10, 2)
    rows = CLASSIC.pairs / SCALES[:, None]
    for widths, extra in zip(seen, (0, 5), strict=True):
        inverse = np.linalg.inv(information(rows, np.array([3, 3 + extra, 3, 3])))
        assert widths == pytest.approx([np.sqrt(z @ inverse @ z) for z in CLASSIC.pairs])


@st.composite
def growths(draw: st.DrawFn) -> tuple[np.ndarray, list[int]]:
    weights = np.array(
        draw(st.lists(st.sampled_from([0.0, 0.01, 0.2, 0.5, 1.0, 1 / 3]), min_size=1, max_size=12))
    )
    weights[draw(st.integers(0, len(weights) - 1))] = 0.7
    steps = draw(st.lists(st.integers(1, 40), min_size=1, max_size=8))
    return weights / weights.sum(), np.cumsum(steps).tolist()


@settings(max_examples=300)
@given(growths())
def test_counts_never_fall_sum_to_the_total_and_follow_the_weights(
    case: tuple[np.ndarray, list[int]],
) -> None:
    weights, totals = case
    counts = np.zeros(len(weights), dtype=np.int64)
    for total in totals:
        larger = grown(weights, counts, total)
        assert larger.sum() == total
        assert (larger >= counts).all()
        assert (larger[weights == 0] == 0).all()
        counts = larger
    assert np.abs(counts - round_design(weights, totals[-1])).max() <= 1


def test_pulls_that_were_made_stay_made() -> None:
    even = np.full(3, 1 / 3)
    assert grown(even, np.array([3, 0, 0]), 4).tolist() == [3, 0, 1]
    assert grown(even, np.array([3, 0, 0]), 9).tolist() == [3, 3, 3]


def test_designs_are_forgotten_with_their_problem() -> None:
    problem = classic(3)[0]
    designs.g_weights(problem, np.ones(4))
    before = len(designs._REMEMBERED)
    del problem
    gc.collect()
    assert len(designs._REMEMBERED) < before


def test_memory_is_bounded() -> None:
    problem = classic(3)[0]
    for key in range(2 * designs.MOST_REMEMBERED):
        designs.remembered(problem, key, lambda: Design(np.ones(1), 1.0, 1.0))
    assert len(designs._REMEMBERED[problem]) <= designs.MOST_REMEMBERED


def test_other_noise_has_another_design() -> None:
    problem = classic(3)[0]
    even, uneven = (
        designs.g_weights(problem, np.full(4, 2.0)),
        designs.g_weights(problem, np.array([1.0, 1.0, 1.0, 0.1])),
    )
    assert designs.g_weights(problem, np.full(4, 2.0)) is even
    assert not np.allclose(even, uneven)
