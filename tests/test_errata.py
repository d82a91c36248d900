"""Points where the paper is open or wrong (docs/errata.md), each shown where a test can show it."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from benchmarks.errata import DELTA, blind_instance, bounded_instance, printed_gap, pulls_of
from scipy import optimize, stats

from surefoot.algorithms import Settings, StopReason
from surefoot.algorithms.confidence import one_sided_events, paper_spending, valid_spending
from surefoot.algorithms.estimates import Frame
from surefoot.algorithms.fitting import information
from surefoot.algorithms.oracle import Oracle
from surefoot.algorithms.robust_rage import RobustRage
from surefoot.algorithms.robust_track_and_stop import RobustTrackAndStop
from surefoot.design import paper_separation
from surefoot.design.hardness import binary_divergence, complexity
from surefoot.experiments.instances import irrelevant_dimensions, random_robust, unit_sphere
from surefoot.noise import Gaussian
from surefoot.paper.glucose import magni_risk
from surefoot.plan import Prime
from surefoot.problem.problem import RobustProblem
from surefoot.simulate import LinearSimulator
from surefoot.statistics import Outcome, Phase

PAPER = Settings(delta=0.05, noise=Gaussian(1.0), misfit=0.0, rules="paper", on_misfit="ignore")


def test_e1_widths_for_the_design_instead_of_the_phase_would_be_far_too_wide() -> None:
    """‖v‖ with A_λ is √N times that with A_t, however many pulls a phase takes: an arm whose gap is
    below that fixed width would never be eliminated.
    """
    problem, _ = random_robust(4, 3, 3)
    weights = np.full(problem.n_pairs, 1 / problem.n_pairs)
    v = problem.pairs[0] - problem.pairs[-1]
    phase, design = (
        np.linalg.inv(information(problem.pairs, 1200 * weights)),
        np.linalg.inv(information(problem.pairs, weights)),
    )
    assert math.sqrt(v @ design @ v) == pytest.approx(math.sqrt(1200) * math.sqrt(v @ phase @ v))


def test_e2_the_papers_shares_sum_to_more_than_delta() -> None:
    looks = range(1, 100_001)
    assert sum(paper_spending(0.05, t) for t in looks) == pytest.approx(1.645 * 0.05, rel=1e-3)
    assert sum(valid_spending(0.05, t) for t in looks) <= 0.05


def test_e3_lemma_1_does_not_hold_at_all_n_at_once() -> None:
    """One pair, looked at from 1 to 10⁶ pulls: |mean| leaves the lemma's width far more often than
    δ.
    """
    delta, runs = 0.05, 2000
    times = np.unique(np.geomspace(1, 1e6, 400).astype(int))
    steps = np.sqrt(np.diff(times, prepend=0))
    walks = np.cumsum(steps * np.random.default_rng(0).standard_normal((runs, len(times))), axis=1)
    outside = np.abs(walks) / np.sqrt(times) > math.sqrt(2 * math.log(1 / delta))
    assert stats.binom.sf(outside.any(axis=1).sum() - 1, runs, delta) < 1e-6
    assert outside.mean(axis=0).max() < delta  # at any one n it does


def test_e3_two_sided_sub_gaussian_noise_needs_both_sides() -> None:
    """A single coin flip of ±1 is always outside √(2 log(1/δ)) at δ = 0.61."""
    assert math.sqrt(2 * math.log(1 / 0.61)) < 1
    assert math.sqrt(2 * math.log(2 / 0.61)) > 1


def test_e4_every_error_is_one_of_the_counted_events() -> None:
    """Whenever a worse arm beats x*, its true worst pair beats a pair of x*: the events that are
    counted.
    """
    problem, theta = random_robust(5, 4, 3)
    best, worst = problem.best_arm(theta), problem.worst_pairs(theta)
    counts, c = np.full(problem.n_pairs, 1), 0.5
    frame, ones = (
        Frame.of(problem, np.ones(problem.n_pairs)),
        information(problem.pairs, counts),
    )
    inverse, errors = np.linalg.inv(ones), 0
    for seed in range(400):
        outcome = LinearSimulator(problem, theta, 3.0, seed=seed).pull(Phase(0, counts))
        beaten_by = frame.estimate(counts, outcome.sums).clearance(np.arange(5))[:, best] > c
        estimate = inverse @ problem.pairs.T @ outcome.sums
        for arm in np.flatnonzero(beaten_by):
            if arm == best:
                continue
            errors += 1
            differences = problem.pairs[worst[arm]] - problem.pairs[problem.pairs_of(best)]
            widths = np.sqrt(np.einsum("ij,jk,ik->i", differences, inverse, differences))
            assert (differences @ theta < 0).all()
            assert (differences @ estimate > c * widths).any()
    assert errors > 100
    assert one_sided_events(problem.offsets) == 4 * 4 < problem.n_pairs**2
    assert Gaussian(1.0).union_threshold(16, 0.05) < math.sqrt(
        2 * math.log(problem.n_pairs**2 / 0.05)
    )


@pytest.mark.parametrize("M", [3.0, 30.0])
def test_e5_the_papers_lower_bound_can_exceed_what_is_needed_without_limit(M: float) -> None:
    t = 0.7
    problem = RobustProblem.from_pairs([[0, 0], [M, M], [-1, 0], [0, -1]], [0, 0, 1, 1])
    found = complexity(problem, [t, t])
    assert found.exact == pytest.approx(1 / (4 * M**2 * t**2), rel=1e-3)
    assert found.exact_bounds[1] < found.paper / 30
    generator = np.random.default_rng(0)
    ratios = []
    for weights in generator.dirichlet(np.ones(4), 300):
        inverse = np.linalg.inv(information(problem.pairs, weights))
        ratios.append(min(inverse[0, 0], inverse[1, 1]) / t**2)  # z = 0 against −e₁ and −e₂
    assert min(ratios) >= 1 / t**2  # so H_R ≥ 1/t²


def test_e5_one_environment_is_no_further_than_the_exact_distance() -> None:
    """With all constraints dist² is at least the paper's, so its inverse, the characteristic time,
    at most.
    """
    problem, theta = random_robust(3, 4, 3, rng=np.random.default_rng(8))
    A = information(problem.pairs, np.full(problem.n_pairs, 1 / problem.n_pairs))
    best = problem.best_arm(theta)
    z = problem.pairs[problem.pairs_of(best)][0]
    rival = (best + 1) % 3
    differences = z - problem.pairs[problem.pairs_of(rival)]
    gaps = differences @ theta
    constraints = {
        "type": "ineq",
        "fun": lambda e: differences @ e - gaps,
        "jac": lambda e: differences,
    }
    exact = optimize.minimize(
        lambda e: e @ A @ e, theta, jac=lambda e: 2 * A @ e, constraints=constraints
    )
    widths = np.einsum("ij,jk,ik->i", differences, np.linalg.inv(A), differences)
    paper = (np.maximum(gaps, 0) ** 2 / widths).max()
    assert exact.success
    assert exact.fun >= paper * (1 - 1e-6)


def test_e6_the_papers_constant_exceeds_the_right_one_for_large_delta() -> None:
    def excess(delta: float) -> float:
        return math.log(1 / (2 * delta)) - binary_divergence(delta)

    crossing = optimize.brentq(excess, 0.05, 0.3)
    assert crossing == pytest.approx(0.154, abs=1e-3)
    assert excess(0.05) < 0 < excess(0.2)


def test_e7_the_other_reading_of_experiment_1_has_the_same_value() -> None:
    problem, theta = irrelevant_dimensions(4)
    scalar = 1 - math.cos(0.01)
    everywhere = np.array([1.0, math.sin(0.01), 0.0, 0.0]) - (0.05 * np.eye(4)[0] + scalar)
    assert problem.robust_values(theta)[4] == pytest.approx(everywhere @ theta)
    assert (problem.parameters[problem.pairs_of(4)][:, 2:] == 0).all()


def test_e8_the_design_criterion_is_not_convex_so_it_comes_with_a_certificate() -> None:
    """x* = 0 against −e₁ or −e₂: each can be measured alone, and half of each is worse than
    both.
    """
    problem = RobustProblem.from_pairs([[0.0, 0.0], [-1.0, 0.0], [0.0, -1.0]], [0, 1, 1])

    def criterion(first: float) -> float:
        inverse = np.linalg.inv(information(problem.pairs, np.array([0.0, first, 1 - first])))
        return float(min(inverse[0, 0], inverse[1, 1]))

    assert criterion(0.5) > (criterion(0.9) + criterion(0.1)) / 2 + 0.5
    found = paper_separation(problem.pairs, problem.offsets, np.ones(2))
    assert 0 < found.lower_bound <= found.value


def test_e5_less_than_the_papers_lower_bound_is_enough() -> None:
    """Theorem 1 asks for 1 842 pulls of anybody; a hundredth is enough, and nothing goes wrong."""
    instance = bounded_instance()
    bound = 2 * math.log(1 / (2 * DELTA)) * complexity(*instance).paper
    assert bound == pytest.approx(2 * math.log(10) / 0.05**2, rel=1e-3)
    for algorithm in (RobustTrackAndStop(), Prime()):
        pulls, wrong = pulls_of(algorithm, instance)
        assert len(pulls) == 100
        assert pulls.max() < bound / 100
        assert wrong == 0


def test_e12_frank_wolfe_from_the_uniform_design_stops_at_a_price() -> None:
    problem, theta = blind_instance()
    settings = Settings(
        delta=0.05, noise=Gaussian(1.0), misfit=0.0, on_misfit="ignore", rules="paper"
    )
    blind, plain, oracle = (
        algorithm.start(problem, settings)
        for algorithm in (RobustRage(), RobustRage(solver="frank-wolfe"), Oracle(theta))
    )
    for run in (blind, plain, oracle):
        simulator = LinearSimulator(problem, theta, seed=0)
        while phase := run.next_phase():
            run.update(simulator.pull(phase))
    assert blind.result.reason is StopReason.SINGULAR_DESIGN
    assert plain.result.arm == oracle.result.arm == problem.best_arm(theta)
    assert plain.samples > 100 * oracle.samples


def test_e13_the_formula_of_the_robust_gap_has_a_minimum_where_the_maximum_is_needed() -> None:
    arms = np.array([[1.0, 0.0], [0.5, 0.0]])
    perturbations = [np.array([[0.1, 0.0], [0.4, 0.0]]), np.array([[0.0, 0.0], [0.3, 0.0]])]
    right, printed = printed_gap(arms, perturbations, np.array([1.0, 0.0]))
    assert right == pytest.approx((1 - 0.4) - (0.5 - 0.3))
    assert printed == pytest.approx(0.1)


class Remembering(RobustRage):
    """Robust RAGE that keeps what Π sees: the robust values by the estimate of the last phase."""

    def learn(self, outcome: Outcome) -> None:
        self.seen = self.frame.estimate(outcome.counts, outcome.sums).robust_values
        super().learn(outcome)


def test_e14_the_best_of_all_arms_by_the_last_estimate_need_not_be_the_arm_that_is_left() -> None:
    problem, theta = unit_sphere(20, rng=np.random.default_rng(1))
    run = Remembering().start(problem, PAPER)
    simulator = LinearSimulator(problem, theta, seed=1)
    while phase := run.next_phase():
        run.update(simulator.pull(phase))
    left = np.flatnonzero(run.survivors)
    assert left.tolist() == [run.result.arm] == [problem.best_arm(theta)]
    assert int(np.argmax(run.seen)) not in left


def test_e15_the_triangle_does_not_bound_step_a() -> None:
    """With A = I and one pair at 0, the far pair of a rival is far from 0 itself, and four times
    the distance to its near one does not bound that.
    """
    arms = {"best": [0.0], "other": [0.1, 10.0]}
    left = max(
        min((z - other) ** 2 for other in arms[two])
        for one, two in (("best", "other"), ("other", "best"))
        for z in arms[one]
    )
    right = 4 * min((0.0 - z) ** 2 for z in arms["other"])
    assert left > right


def test_e15_step_c_divides_by_more_than_it_multiplied_with() -> None:
    """Two rivals of one pair each: a near one with a small gap, a far one with a large gap."""
    squares, gaps = np.array([0.1**2, 100.0**2]), np.array([0.1, 5.0])
    times = math.ceil(math.log2(4 / gaps.min()))  # t̄
    assert 2 ** (times - 2) >= 1 / gaps.min()
    before = 2 ** (2 * (times - 2)) * squares.max()
    assert before > 1000 * (squares / gaps**2).max()


def test_e16_lemma_1_needs_the_scale_of_the_noise() -> None:
    """At one n fixed in advance: with R = 2 the width without R is left far too often."""
    delta, scale = 0.05, 2.0
    width = math.sqrt(2 * math.log(1 / delta))
    assert 2 * stats.norm.sf(width) < delta
    assert 2 * stats.norm.sf(width / scale) > 4 * delta


def test_e16_another_unit_of_the_rewards_changes_no_pull() -> None:
    problem, theta = random_robust(4, 3, 3)
    counts = []
    for scale in (1.0, 2.0):
        settings = replace(PAPER, noise=Gaussian(scale))
        run = RobustRage().start(problem, settings)
        simulator = LinearSimulator(problem, scale * theta, noise=scale, seed=3)
        while phase := run.next_phase():
            run.update(simulator.pull(phase))
        counts.append(run.result.counts.tolist())
    assert counts[0] == counts[1]


def test_e11_the_printed_risk_would_reward_hypoglycaemia() -> None:
    """Printed: 10 (c₀ log(BG)^c₁ − c₂)²; published: 10 (c₀ (log(BG)^c₁ − c₂))²."""
    glucose = np.linspace(2.0, 400.0, 4000)
    logs = np.log(glucose) ** 0.8353
    printed = 10 * (3.35506 * logs - 3.7932) ** 2
    assert glucose[np.argmin(printed)] < 4
    assert 130 < glucose[np.argmin(magni_risk(glucose))] < 145
    published = 10 * (3.35506 * (logs - 3.7932)) ** 2
    assert magni_risk(glucose) == pytest.approx(published)
