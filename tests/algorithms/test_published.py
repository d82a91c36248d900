"""Published algorithms, line by line, and how many pulls they need."""

from __future__ import annotations

import itertools
import math
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from scipy import stats

import surefoot as sf
from surefoot.algorithms import Algorithm, Result, StopReason, algorithm_from, robust_rage
from surefoot.algorithms.confidence import self_normalised_radius
from surefoot.algorithms.fitting import information
from surefoot.algorithms.oracle import Oracle
from surefoot.algorithms.robust_frank_wolfe_sampling import RobustFrankWolfeSampling
from surefoot.algorithms.robust_lazy_track_and_stop import RobustLazyTrackAndStop
from surefoot.algorithms.robust_lingame import RobustLinGame
from surefoot.algorithms.robust_lingape import RobustLinGapE
from surefoot.algorithms.robust_rage import RobustRage
from surefoot.algorithms.robust_static import RobustStatic
from surefoot.algorithms.robust_track_and_stop import RobustTrackAndStop
from surefoot.algorithms.stableopt import StableOpt
from surefoot.design import exact_separation, g_optimal, robust_xy, round_design, rounding_minimum
from surefoot.design.hardness import complexity
from surefoot.design.separation import Alternatives, squared_distances
from surefoot.design.whitening import unit_free_root
from surefoot.errors import InputError
from surefoot.experiments.instances import (
    Instance,
    classic,
    irrelevant_dimensions,
    near_tie,
    random_robust,
    unit_sphere,
)
from surefoot.noise import Gaussian, SubGaussian
from surefoot.problem.problem import RobustProblem
from surefoot.simulate import LinearSimulator, identify
from surefoot.testing import error_test
from tests.algorithms.families import finish, settings_for
from tests.algorithms.quantifiers import beats, winners


def misleading() -> Instance:
    """Every inner minimum of `eq:eq14` is ±e₃, though the arms differ in e₁ and e₂ as well."""
    best = [[1.0, 0.0, 0.0], [0.0, 1.0, 1.0], [0.0, 0.0, 10.0]]
    other = [[1.0, 0.0, 1.0], [0.0, 1.0, 0.0], [0.0, 0.0, 9.0]]
    return RobustProblem.from_pairs(best + other, [0, 0, 0, 1, 1, 1]), np.array([1.0, 0.5, 1.0])


@pytest.mark.parametrize("rules", ["paper", "valid"])
def test_it_is_algorithm_1_line_by_line(rules: str) -> None:
    """Every phase against the algorithm written out with its quantifiers."""
    problem, theta = instance = unit_sphere(6, 3, np.random.default_rng(1))
    run = RobustRage().start(problem, settings_for("robust-rage", rules=rules))
    simulator = LinearSimulator(*instance, seed=4)
    survivors, t, n_pairs = list(range(6)), 1, problem.n_pairs
    widest = int(np.diff(problem.offsets).max())
    while len(survivors) > 1:
        design = robust_xy(problem.pairs, problem.offsets, np.array(survivors))
        weights, rho = design.weights, design.value
        if rules == "paper":
            c = math.sqrt(2 * math.log(n_pairs**2 / (0.05 / t**2)))
        else:
            c = float(stats.norm.isf(6 * 0.05 / (math.pi**2 * t**2) / (5 * widest)))
            weights, rho = 0.9 * weights + 0.1 * g_optimal(problem.pairs).weights, rho / 0.9
        N = max(math.ceil(2 ** (2 * t) * rho * 1.1 * c**2), rounding_minimum(weights, 0.1))
        phase = run.next_phase()
        assert phase is not None
        assert phase.counts.tolist() == round_design(weights, N).tolist()
        outcome = simulator.pull(phase)
        run.update(outcome)
        A = information(problem.pairs, phase.counts)
        estimate = np.linalg.solve(A, problem.pairs.T @ outcome.sums)
        survivors = [
            x
            for x in survivors
            if not any(
                beats(problem, estimate, A, c, winner, x, strict=True)
                for winner in survivors
                if winner != x
            )
        ]
        assert np.flatnonzero(run.survivors).tolist() == survivors
        t += 1
    assert run.next_phase() is None
    assert run.result.arm == survivors[0] == problem.best_arm(theta)
    assert t > 2


def test_the_papers_design_can_leave_it_blind() -> None:
    """The paper's policy notices that it can never stop; the valid one measures all directions and
    does.
    """
    test = error_test(lambda _: "robust-rage", misleading(), runs=20)
    assert test.certified == 20
    assert test.errors == 0
    problem, theta = instance = misleading()
    assert problem.best_arm(theta) == 0
    run = RobustRage().start(problem, settings_for("robust-rage", rules="paper"))
    simulator = LinearSimulator(*instance, seed=0)
    while phase := run.next_phase():
        assert np.linalg.matrix_rank(information(problem.pairs, phase.counts)) < 3
        run.update(simulator.pull(phase))
    assert run.result.reason is StopReason.SINGULAR_DESIGN
    assert not run.result.certified
    assert run.samples < 10_000


def test_a_singular_design_that_measures_what_it_needs_is_no_trouble() -> None:
    """Irrelevant dimensions are not pulled once their arms are gone."""
    problem, theta = instance = classic(5, 0.1)
    run = RobustRage().start(problem, settings_for("robust-rage", rules="paper"))
    simulator = LinearSimulator(*instance, seed=0)
    ranks = []
    while phase := run.next_phase():
        ranks.append(np.linalg.matrix_rank(information(problem.pairs, phase.counts)))
        run.update(simulator.pull(phase))
    assert ranks[0] == 5
    assert ranks[-1] == 2
    assert run.result.certified
    assert run.result.arm == problem.best_arm(theta)


@pytest.mark.parametrize(("d", "public"), [(2, 5100), (6, 7800)])
def test_singletons_need_what_public_rage_needs(d: int, public: int) -> None:
    """Phases quadruple and the last one makes most of the pulls: a mean within a half to double is
    the same.
    """
    test = error_test(lambda _: "robust-rage", classic(d), runs=200, rules="paper")
    assert 0.5 * public < test.samples < 2 * public


def test_a_design_is_solved_once_for_each_surviving_set(monkeypatch: pytest.MonkeyPatch) -> None:
    solved: list[bytes] = []

    def counting(
        pairs: np.ndarray, offsets: np.ndarray, arms: np.ndarray, rows: np.ndarray
    ) -> object:
        solved.append(arms.tobytes())
        return robust_xy(pairs, offsets, arms, rows)

    monkeypatch.setattr(robust_rage, "robust_xy", counting)
    problem, theta = classic(3, 0.05)
    run = RobustRage().start(problem, settings_for("robust-rage"))
    simulator = LinearSimulator(problem, theta, seed=0)
    phases = 0
    while phase := run.next_phase():
        run.update(simulator.pull(phase))
        phases += 1
    assert len(solved) == len(set(solved)) < phases


def test_noise_of_scale_two_doubles_every_width() -> None:
    problem, theta = random_robust(4, 3, 3)
    phases = []
    for scale in (1.0, 2.0):
        run = RobustRage().start(problem, settings_for("robust-rage", noise=Gaussian(scale)))
        phase = run.next_phase()
        assert phase is not None
        run.update(LinearSimulator(problem, theta, 0.0 + scale, seed=0).pull(phase))
        phases.append((phase.counts.tolist(), run.result.pair_upper - run.result.pair_lower))
    assert phases[0][0] == phases[1][0]
    assert phases[1][1] == pytest.approx(2 * phases[0][1])


def solved(instance: Instance, seed: int = 0, **settings: object) -> Result:
    arguments = {"delta": 0.05, "noise": Gaussian(1.0)} | settings
    return identify(
        instance[0], LinearSimulator(*instance, seed=seed), "robust-static", **arguments
    )  # type: ignore[arg-type]


def test_looks_begin_at_twice_the_support_and_grow_by_the_papers_factor() -> None:
    instance = classic(3, 0.2)
    result = solved(instance)
    totals = [record.total for record in result.history]
    assert totals[0] == 2 * g_optimal(instance[0].pairs).support.size
    assert all(after == math.ceil(1.3 * before) for before, after in pairwise(totals))


def test_pulls_follow_the_g_design() -> None:
    instance = random_robust()
    result = solved(instance)
    weights = g_optimal(instance[0].pairs).weights
    assert (result.counts[weights == 0] == 0).all()
    assert np.abs(result.counts - result.samples * weights).max() <= np.count_nonzero(weights)


@pytest.mark.parametrize("rules", ["paper", "valid"])
def test_it_stops_at_the_first_look_at_which_the_rule_holds(rules: str) -> None:
    """`eq:11` with its quantifiers, at every look."""
    problem, theta = instance = random_robust(4, 3, 3, gap=0.4)
    run = RobustStatic().start(problem, settings_for("robust-static", rules=rules))
    simulator = LinearSimulator(*instance, seed=2)
    looks = 0
    while phase := run.next_phase():
        run.update(simulator.pull(phase))
        looks += 1
        if rules == "paper":
            c = math.sqrt(2 * math.log(problem.n_pairs**2 / 0.05))
        else:
            c = float(stats.norm.isf(6 * 0.05 / (math.pi**2 * looks**2) / (3 * 3)))
        assert run.boundary == pytest.approx(c)
        A, b = information(problem.pairs, run.tally.counts), problem.pairs.T @ run.tally.sums
        estimate = np.linalg.solve(A, b)
        sure = winners(problem, estimate, A, c)
        assert bool(sure) == (run.survivors.sum() == 1)
    assert looks > 3
    assert run.result.reason is StopReason.IDENTIFIED
    assert run.result.arm == sure[0] == problem.best_arm(theta)


def test_sub_gaussian_noise_has_the_wider_threshold() -> None:
    instance = classic(3, 0.3)
    gaussian, sub_gaussian = (
        solved(instance, noise=noise) for noise in (Gaussian(1.0), SubGaussian(1.0))
    )
    assert sub_gaussian.history[0].boundary == pytest.approx(
        math.sqrt(2 * math.log(3 / (6 * 0.05 / math.pi**2)))
    )
    assert sub_gaussian.history[0].boundary > gaussian.history[0].boundary  # type: ignore[operator]


def test_the_last_look_takes_what_the_budget_leaves() -> None:
    result = solved(classic(4, 0.05), budget=100)
    assert result.samples == 100
    assert result.reason is StopReason.BUDGET


def test_phases_anew_are_judged_by_their_own_pulls() -> None:
    """The other reading of the paper's phases: each is γ times as long, and forgets the others."""
    problem, theta = instance = random_robust(4, 3, 3, gap=0.4)
    run = RobustStatic(keep=False).start(problem, settings_for("robust-static"))
    simulator, sizes = LinearSimulator(problem, theta, seed=2), []
    while phase := run.next_phase():
        outcome = simulator.pull(phase)
        run.update(outcome)
        sizes.append(phase.samples)
        alone = run.frame.estimate(outcome.counts, outcome.sums)
        clearance = alone.clearance(np.array([run.leader]))[0]
        assert run.evidence == pytest.approx(clearance)
    support = g_optimal(problem.pairs).support.size
    assert sizes == [math.ceil(2 * support * 1.3**k) for k in range(len(sizes))]
    assert len(sizes) > 3
    assert run.result.arm == problem.best_arm(instance[1])


def test_a_frank_wolfe_design_is_nearly_as_good() -> None:
    problem, _ = random_robust()
    usual, plain = (
        RobustStatic(solver=solver).start(problem, settings_for("robust-static"))
        for solver in ("certified", "frank-wolfe")
    )

    def largest(weights: np.ndarray) -> float:
        inverse = np.linalg.inv(information(problem.pairs, weights))
        return float(np.einsum("ij,jk,ik->i", problem.pairs, inverse, problem.pairs).max())

    assert largest(usual.weights) <= largest(plain.weights) <= 1.1 * largest(usual.weights)


def test_lingape_stops_at_the_first_look_at_which_the_rule_holds() -> None:
    """`eq:11` with its quantifiers and the self-normalised threshold, at every look."""
    problem, _ = instance = random_robust(4, 3, 3)
    run = RobustLinGapE().start(problem, settings_for("robust-lingape"))
    simulator = LinearSimulator(*instance, seed=2)
    first = None
    while phase := run.next_phase():
        run.update(simulator.pull(phase))
        A = information(problem.pairs, run.tally.counts)
        first = A if first is None else first
        c = self_normalised_radius(unit_free_root(first), A, 0.05)
        assert run.boundary == pytest.approx(c)
        estimate = np.linalg.solve(A, problem.pairs.T @ run.tally.sums)
        assert bool(winners(problem, estimate, A, c)) == (run.survivors.sum() == 1)
    assert len(run.history) > 5


def test_it_learns_to_leave_irrelevant_dimensions_alone() -> None:
    problem, _ = instance = irrelevant_dimensions(6)
    run = RobustLinGapE().start(problem, settings_for("robust-lingape"))
    finish(run, LinearSimulator(*instance, seed=0))
    relevant = (problem.pairs[:, :2] != 0).any(axis=1)
    assert run.tally.counts[~relevant].sum() < 0.02 * run.samples
    assert run.result.certified


def test_batches_grow_with_the_data() -> None:
    instance = classic(3, 0.1)
    run = RobustLinGapE(growth=1.5).start(instance[0], settings_for("robust-lingape"))
    finish(run, LinearSimulator(*instance, seed=0))
    totals = [record.total for record in run.history]
    assert all(after - before == np.ceil(0.5 * before) for before, after in pairwise(totals))


def test_the_number_of_pulls_does_not_depend_on_the_rewards() -> None:
    instance = unit_sphere(8, 4)
    samples = set()
    for seed in range(4):
        run = Oracle(instance[1]).start(instance[0], settings_for("oracle"))
        simulator = LinearSimulator(*instance, seed=seed)
        while phase := run.next_phase():
            run.update(simulator.pull(phase))
        samples.add(run.samples)
        assert run.result.reason is StopReason.IDENTIFIED
    assert len(samples) == 1


@pytest.mark.parametrize("rules", ["paper", "valid"])
def test_it_stops_at_the_first_look_at_which_the_true_gaps_are_clear(rules: str) -> None:
    """`eq:57` with its quantifiers; valid counts |Y(x*)|(|X| − 1) one-sided events, once."""
    problem, theta = instance = random_robust(4, 3, 3)
    best = problem.best_arm(theta)
    run = Oracle(theta).start(problem, settings_for("oracle", rules=rules))
    simulator = LinearSimulator(*instance, seed=0)
    quantile = 2.5391  # P(N > q) = 0.05 / 9
    c = math.sqrt(2 * math.log(problem.n_pairs**2 / 0.05)) if rules == "paper" else quantile
    totals = []
    while phase := run.next_phase():
        run.update(simulator.pull(phase))
        totals.append(run.samples)
        A = information(problem.pairs, run.tally.counts)
        assert (best in winners(problem, theta, A, c)) == (run.survivors.sum() == 1)
    assert all(after == math.ceil(1.1 * before) for before, after in pairwise(totals))


@pytest.mark.parametrize("instance", [irrelevant_dimensions(5), unit_sphere(10, 5), classic(4)])
def test_the_paper_policy_needs_the_papers_number(
    instance: tuple[RobustProblem, np.ndarray],
) -> None:
    """Appendix B: 2 log(|Z|²/δ) H_R, up to rounding and a look's growth of 1.1."""
    problem, theta = instance
    expected = complexity(problem, theta).oracle_samples(0.05)
    test = error_test(lambda given: Oracle(given[1]), instance, runs=1, rules="paper")
    assert 0.99 * expected <= test.samples <= 1.15 * expected + 2 * problem.n_pairs


def test_a_theta_for_the_reduced_basis_is_refused() -> None:
    """On other processors the basis is another one, and the same numbers mean other rewards."""
    problem = RobustProblem.paper([[1.0, 0.0, 1.0], [0.0, 1.0, 1.0]], [[[0.0, 0.0, 0.0]]] * 2)
    assert problem.pairs.shape[1] == 2
    Oracle([1.0, 0.5, 0.0]).start(problem, settings_for("oracle"))
    with pytest.raises(InputError, match="give one entry for each of the 3 features"):
        Oracle(problem.reduced([1.0, 0.5, 0.0])).start(problem, settings_for("oracle"))


@pytest.mark.parametrize("rules", ["paper", "valid"])
def test_each_pull_is_the_published_choice(rules: str) -> None:
    """x_t = argmax_x min_y ucb, y_t = argmin_y lcb, and the report argmax_x min_y lcb, written
    out.
    """
    problem, _ = instance = random_robust(5, 4, 3)
    run = StableOpt(batch_growth=0).start(
        problem, settings_for("stableopt", budget=150, rules=rules)
    )
    simulator = LinearSimulator(*instance, seed=0)
    first = run.next_phase()
    assert first is not None
    assert np.flatnonzero(first.counts).tolist() == g_optimal(problem.pairs).support.tolist()
    run.update(simulator.pull(first))
    first_information = information(problem.pairs, first.counts)
    while phase := run.next_phase():
        A = information(problem.pairs, run.tally.counts)
        theta, inverse = np.linalg.solve(A, problem.pairs.T @ run.tally.sums), np.linalg.inv(A)
        beta = (
            math.sqrt(2 * math.log(problem.n_pairs / 0.05))
            if rules == "paper"
            else self_normalised_radius(unit_free_root(first_information), A, 0.05)
        )
        widths = np.array([beta * math.sqrt(z @ inverse @ z) for z in problem.pairs])
        upper, lower = problem.pairs @ theta + widths, problem.pairs @ theta - widths
        assert run.leader == max(range(5), key=lambda x: lower[problem.pairs_of(x)].min())
        x = max(range(5), key=lambda x: upper[problem.pairs_of(x)].min())
        own = problem.pairs_of(x)
        assert np.flatnonzero(phase.counts).tolist() == [own.start + int(np.argmin(lower[own]))]
        assert phase.samples == 1
        run.update(simulator.pull(phase))
    assert run.samples == 150


def test_it_spends_its_budget_and_gives_no_certificate() -> None:
    instance = unit_sphere(8, 4)
    result = identify(
        instance[0],
        LinearSimulator(*instance, seed=0),
        "stableopt",
        delta=0.05,
        noise=Gaussian(1.0),
        budget=20_000,
    )
    assert result.samples == 20_000
    assert result.reason is StopReason.NO_CERTIFICATE
    assert not result.certified
    assert result.arm == instance[0].best_arm(instance[1])
    assert len(result.history) < 150


def found(instance: Instance, budget: int) -> Result:
    simulator = LinearSimulator(*instance, seed=0)
    return identify(
        instance[0], simulator, "uniform", delta=0.05, noise=Gaussian(1.0), budget=budget
    )


@pytest.mark.parametrize("budget", [7, 100, 1234])
def test_the_budget_is_spent_evenly(budget: int) -> None:
    result = found(irrelevant_dimensions(5), budget)
    assert result.reason is StopReason.BUDGET
    assert result.samples == budget
    assert np.ptp(result.counts) <= 1


def test_it_stops_when_it_is_sure() -> None:
    instance = random_robust()
    result = found(instance, 10**6)
    assert result.certified
    assert result.samples < 10**6
    assert result.arm == instance[0].best_arm(instance[1])


# Baselines of pure exploration: the pulls they want, against the weights of the exact H*.

PROBLEM, THETA = near_tie(3, gap=0.05, rng=np.random.default_rng(5))
NEAR_BEST = PROBLEM.best_arm(THETA)
MEANS = PROBLEM.pairs @ PROBLEM.reduced(THETA)
GIVEN = (PROBLEM.pairs, PROBLEM.offsets, MEANS, PROBLEM.pairs, NEAR_BEST)


def time_of(shares: np.ndarray) -> float:
    """1 / the smallest distance to an alternative at these shares; H* at the best ones."""
    return float(1 / Alternatives(*GIVEN).at(shares)[0].min())


def test_alternatives_are_those_of_the_likelihood_ratio() -> None:
    shares = np.random.default_rng(0).dirichlet(np.ones(PROBLEM.n_pairs))
    distances, squares = Alternatives(*GIVEN).at(shares)
    information = PROBLEM.pairs.T @ (shares[:, None] * PROBLEM.pairs)
    by_arm = squared_distances(PROBLEM.pairs, PROBLEM.offsets, MEANS, information, NEAR_BEST)
    assert distances.min() == pytest.approx(by_arm[np.arange(3) != NEAR_BEST].min())
    assert shares @ squares == pytest.approx(distances)
    assert Alternatives(*GIVEN).at(np.eye(PROBLEM.n_pairs)[0]) is None


@pytest.mark.parametrize(
    ("algorithm", "near"),
    [
        (RobustTrackAndStop(growth=1.5), 1.3),
        (RobustLazyTrackAndStop(growth=1.5), 1.3),
        (RobustFrankWolfeSampling(growth=1.5), 1.3),
        (RobustLinGame(growth=1.5), 3.0),
    ],
    ids=lambda value: getattr(value, "name", None),
)
def test_pulls_come_near_the_best_shares(algorithm: RobustTrackAndStop, near: float) -> None:
    least = exact_separation(PROBLEM.pairs, PROBLEM.offsets, PROBLEM.reduced(THETA)).value
    run = algorithm.start(PROBLEM, settings_for(algorithm.name, delta=1e-6))
    finish(run, LinearSimulator(PROBLEM, THETA, 0.2, seed=1))
    assert run.result.arm == NEAR_BEST
    even = time_of(np.full(PROBLEM.n_pairs, 1 / PROBLEM.n_pairs))
    found = time_of(run.tally.counts / run.samples)
    assert least * 0.99 <= found <= near * least
    assert found < even


def test_lazy_weights_are_kept_until_the_pulls_have_doubled(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    renewed: list[int] = []
    usual = RobustTrackAndStop._weights

    def noted(self: RobustTrackAndStop) -> np.ndarray:
        renewed.append(self.samples)
        return usual(self)

    monkeypatch.setattr(RobustTrackAndStop, "_weights", noted)
    algorithm = RobustLazyTrackAndStop(growth=1.2)
    run = algorithm.start(PROBLEM, settings_for(algorithm.name))
    finish(run, LinearSimulator(PROBLEM, THETA, seed=1))
    assert len(renewed) > 2
    assert all(after >= 2 * before for before, after in itertools.pairwise(renewed))
    assert len(run.history) > 2 * len(renewed)


# Robust Track-and-Stop: its own properties; the rest is in the conformance suite.


def run_of(seed: int = 0) -> tuple[sf.Algorithm, sf.RobustProblem, np.ndarray]:
    problem, theta = random_robust(5, 4, 3, gap=0.4)
    run = sf.algorithms.RobustTrackAndStop().start(
        problem, sf.Settings(delta=0.05, noise=sf.Gaussian(1.0), misfit=0, on_misfit="ignore")
    )
    finish(run, LinearSimulator(problem, theta, seed=seed))
    return run, problem, theta


def test_it_stops_where_the_likelihood_ratio_reaches_half_the_squared_radius() -> None:
    run, problem, theta = run_of()
    assert run.result.certified
    ratio = sf.likelihood_ratio(problem, run.result.theta, run.tally.counts)
    assert ratio >= run.tally.ellipsoid_radius**2 / 2
    assert np.isclose(np.sqrt(2 * ratio), run.evidence.min())
    assert run.leader == problem.best_arm(theta)


def test_its_counts_follow_the_weights_of_the_exact_complexity() -> None:
    run, problem, theta = run_of()
    optimal = sf.complexity(problem, theta).allocation
    shares = run.tally.counts / run.samples
    explored = sf.g_design(problem).weights
    assert np.abs(shares - optimal).sum() < np.abs(explored - optimal).sum() / 2


@pytest.mark.parametrize(
    ("algorithm", "changes", "message"),
    [
        (algorithm_from("oracle"), {}, "must be told the true parameter"),
        (Oracle([0.0, 1.0, 1.0]), {}, "two arms are equally good"),
        (Oracle([1.0, 1.0]), {"noise": Gaussian(2.0)}, "one number per column"),
        (StableOpt(), {"budget": None}, "never stops by itself: give a budget"),
        (RobustStatic(solver="newton"), {}, "choose 'certified', 'frank-wolfe'"),
    ],
)
def test_what_an_algorithm_cannot_do_without_is_named(
    algorithm: Algorithm, changes: dict[str, Any], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        algorithm.start(classic(3)[0], settings_for(algorithm.name, **changes))
