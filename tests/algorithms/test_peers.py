"""Peers: what each refuses, and their published rules, round by round."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy import optimize, stats

import surefoot as sf
from surefoot.algorithms import PEERS, Settings, StopReason
from surefoot.algorithms.peers import (
    AkRsb,
    KnRsb,
    MKlLucb,
    MLucb,
    MRacing,
    TwoStageRsb,
    rinott_constant,
)
from surefoot.algorithms.peers.bernoulli import hoeffding_bounds, kl, kl_bounds, proved_levels
from surefoot.algorithms.peers.fixed_budget import spread_evenly, topped_up
from surefoot.algorithms.peers.two_stage_rsb import RULES, Rule
from surefoot.errors import InputError
from surefoot.noise import Bounded, Gaussian
from surefoot.problem.problem import RobustProblem
from surefoot.simulate import LinearSimulator, identify
from surefoot.statistics import Outcome
from tests.algorithms.families import made_for, settings_for
from tests.algorithms.games import errors, slippage, solved, table


@pytest.mark.parametrize("name", PEERS)
def test_the_model_is_refused(name: str) -> None:
    instance = slippage(3, 2)
    with pytest.raises(InputError, match="knows no model: give misfit=math"):
        made_for(name, instance).start(instance[0], settings_for(name, misfit=0.0))


@pytest.mark.parametrize("name", [name for name in PEERS if name not in ("kn-rsb", "ak-rsb")])
def test_common_random_numbers_are_refused_by_all_but_two(name: str) -> None:
    instance = slippage(3, 2)
    noise = Bounded(0, 1) if name.startswith("m-") else Gaussian()
    settings = settings_for(name, noise=noise, common_random_numbers=True)
    with pytest.raises(InputError, match="needs independent pulls"):
        made_for(name, instance).start(instance[0], settings)


@pytest.mark.parametrize("name", PEERS)
def test_a_guide_is_refused(name: str) -> None:
    instance = slippage(3, 2)
    noise = Bounded(0, 1) if name.startswith("m-") else Gaussian()
    with pytest.raises(InputError, match=r'has no guide.*leave guide out, or use "prime"'):
        made_for(name, instance).start(instance[0], settings_for(name, noise=noise, guide="trend"))


def test_other_noise_is_refused_with_what_to_give() -> None:
    with pytest.raises(InputError, match=r"m-lucb is not made for gaussian noise: .*Bounded\("):
        solved("m-lucb", slippage(3, 2))


@pytest.mark.parametrize("zone", [None, 0, -1.0, "wide", float("nan"), True])
def test_a_zone_has_no_default_and_is_positive(zone: object) -> None:
    with pytest.raises(InputError, match=r"needs zone to be a positive number.*, zone = 1.0 }"):
        solved(KnRsb(zone=zone), slippage(3, 2))  # type: ignore[arg-type]


@pytest.mark.parametrize("pulls", [1, 2.5, True])
def test_a_first_stage_has_two_pulls_at_least(pulls: object) -> None:
    with pytest.raises(InputError, match="needs first_pulls to be a whole number from 2 on"):
        solved(KnRsb(zone=1.0, first_pulls=pulls), slippage(3, 2))  # type: ignore[arg-type]


def test_an_indifference_zone_is_no_certificate() -> None:
    problem, means = slippage(3, 2)
    simulator = LinearSimulator(problem, means, seed=0)
    result = identify(
        problem, simulator, KnRsb(zone=1.0), delta=0.05, noise=Gaussian(), misfit=math.inf
    )
    assert result.arm == 0
    assert not result.certified
    assert "not certified" in result.sentence
    assert "only if the best arm is ahead" in repr(result)


def test_every_elimination_is_that_of_the_definition() -> None:
    """Single rewards, and loops over arms and pairs as the definition has them."""
    problem, means = table([[0.5, 0.8], [0.0, 0.3], [0.4, -0.2]])
    zone, first, delta = 0.4, 10, 0.05
    run = KnRsb(zone=zone, first_pulls=first).start(problem, settings_for("kn-rsb"))
    generator = np.random.default_rng(5)
    rewards = np.zeros((0, 6))
    eta = ((2 * delta / (2 * 2)) ** (-2 / (first - 1)) - 1) / 2
    alive, first_out = [0, 1, 2], {}
    while phase := run.next_phase():
        new = means + generator.standard_normal((int(phase.counts.max()), 6))
        rewards = np.vstack([rewards, new])
        pulled = np.flatnonzero(phase.counts)
        told = Outcome.from_rewards(phase, 6, np.tile(pulled, len(new)), new[:, pulled].reshape(-1))
        run.update(told)

        def ahead(a: int, b: int, rewards: np.ndarray = rewards) -> bool:
            difference = rewards[:, a] - rewards[:, b]
            variance = difference[:first].var(ddof=1)
            reach = 2 * eta * (first - 1) * variance / zone**2
            if abs(difference.sum()) > max(0, zone / 2 * (reach - len(rewards))):
                first_out.setdefault(frozenset((a, b)), a if difference.sum() > 0 else b)
            return first_out.get(frozenset((a, b))) == a

        pairs = [2 * arm + i for arm in alive for i in range(2)]
        for a in pairs:
            for b in pairs:
                ahead(a, b)

        beaten = [
            arm
            for arm in alive
            if any(
                all(any(ahead(2 * other + j, 2 * arm + i) for i in range(2)) for j in range(2))
                for other in alive
                if other != arm
            )
        ]
        alive = [arm for arm in alive if arm not in beaten]
        assert np.flatnonzero(run.survivors).tolist() == alive
    assert alive == [0]


def test_a_comparison_that_was_settled_stays_so() -> None:
    """The best arm waits for its noisy pair, and its quiet one falls behind meanwhile."""
    problem, _ = table([[1.0, 1.0], [0.0, 9.0]])
    run = KnRsb(zone=1.0, first_pulls=4).start(problem, settings_for("kn-rsb"))
    noise = np.array([1.0, -1.0, 1.0, -1.0])

    def pulled(rewards: np.ndarray) -> None:
        phase = run.next_phase()
        assert phase is not None
        pairs = np.tile(np.arange(4), len(rewards))
        run.update(Outcome.from_rewards(phase, 4, pairs, rewards.reshape(-1)))

    first = np.array([5.0, 0.0, 0.0, 9.0]) + noise[:, None] * [0.01, 40.0, 0.01, 0.01]
    pulled(first)
    assert run.ahead[0, 2]
    assert not run.ahead[1, 2]
    pulled(np.array([[-500.0, 400.0, 0.0, 9.0]]))
    assert run.tally.sums[0] < run.tally.sums[2]
    assert run.ahead[0, 2]
    assert not run.ahead[2, 0]
    assert run.survivors[0]


def test_shared_streams_save_pulls() -> None:
    instance = slippage(5, 2)
    apart, together = (
        np.mean(
            [
                solved(
                    KnRsb(zone=1.0),
                    instance,
                    scale=2.0,
                    seed=seed,
                    correlation=0.8,
                    common_random_numbers=shared,
                ).samples
                for seed in range(10)
            ]
        )
        for shared in (False, True)
    )
    assert together < 0.6 * apart


def test_only_arms_that_are_left_are_pulled() -> None:
    problem, means = table([[3.0], [0.0], [2.9]])
    run = KnRsb(zone=0.3).start(problem, settings_for("kn-rsb"))
    simulator = LinearSimulator(problem, means, seed=0)
    while phase := run.next_phase():
        assert ((phase.counts > 0) == run.survivors).all()
        run.update(simulator.pull(phase))
    assert run.tally.counts[1] < run.tally.counts[0]


@pytest.mark.statistical
@pytest.mark.parametrize("shared", [False, True])
def test_errors_of_kn_where_all_gaps_are_the_zone(shared: bool) -> None:
    instance, scales = slippage(4, 2), np.linspace(1, 3, 8)
    test = errors(
        lambda seed: solved(
            KnRsb(zone=1.0, step=3),
            instance,
            scale=scales,
            seed=seed,
            correlation=0.5,
            common_random_numbers=shared,
        ),
        0,
        300,
    )
    assert not test.rejected


# AK-RSB: feasibility checks and comparisons at the same time.

ZONE, RUNS, DELTA = 0.8, 60, 0.2
OBJECTIVE = np.array([[2 * ZONE, 3.0], [ZONE, 2.0], [0.0, 1.0]])
COST = np.array([[-3.0, ZONE], [-ZONE, -3.0], [-ZONE, -ZONE]])  # at most 0: the first misses it


def problem() -> sf.RobustProblem:
    arms, parts = np.arange(3.0)[:, None], [np.array([[0.0], [0.1]])] * 3
    return sf.RobustProblem.paper(arms, parts, features="tabular")


def selected(seed: int, cost: Any = COST, **asked: Any) -> sf.Result:
    one, two = np.random.SeedSequence(seed).spawn(2)
    outputs = {"cost": sf.TableSimulator(np.ravel(cost), 1.0, two)}
    simulator = sf.SeveralOutputs(sf.TableSimulator(OBJECTIVE.ravel(), 1.0, one), outputs)
    given: dict[str, Any] = {"delta": DELTA, "noise": sf.Gaussian(), "misfit": math.inf}
    given |= {"limits": {"cost": {"at_most": 0.0}}} | asked
    return sf.identify(problem(), simulator, AkRsb(zone=ZONE, limit_zone=ZONE, step=2), **given)


@pytest.mark.statistical
def test_the_best_feasible_arm_is_selected_as_often_as_promised() -> None:
    """All means are exactly a zone apart and away from the limit: its hardest promise."""
    results = [selected(seed) for seed in range(RUNS)]
    assert {result.reason for result in results} == {sf.StopReason.INDIFFERENCE_ZONE}
    wrong = sum(result.arm != 1 for result in results)
    assert wrong <= stats.binom.isf(1e-4, RUNS, DELTA)
    assert not any(result.certified for result in results)


def test_no_arm_is_selected_where_all_miss_a_limit() -> None:
    result = selected(1, np.full(6, 4.0), delta=0.01)
    assert result.reason is sf.StopReason.NONE_FEASIBLE
    assert not result.certified


def test_limits_are_held_in_their_own_measure() -> None:
    limits = {"cost": {"at_most": 0.0, "measure": "mean"}}
    assert selected(2, limits=limits, delta=0.01).arm == 0


def test_without_limits_it_is_the_procedure_that_it_extends() -> None:
    asked: dict[str, Any] = {"delta": 0.05, "noise": sf.Gaussian(), "misfit": math.inf}
    samples = []
    for chosen in (AkRsb(zone=ZONE), KnRsb(zone=ZONE)):
        simulator = sf.TableSimulator(OBJECTIVE.ravel(), 1.0, np.random.SeedSequence(3))
        samples.append(sf.identify(problem(), simulator, chosen, **asked).samples)
    assert samples[0] == samples[1]


def test_what_it_was_not_made_for_is_refused() -> None:
    limits = {"cost": {"at_most": 0.5, "noise": sf.Bounded(0, 1)}}
    with pytest.raises(sf.InputError, match="not made for bounded noise of 'cost'"):
        selected(1, limits=limits)
    settings = Settings(
        delta=0.1, noise=sf.Gaussian(), misfit=math.inf, limits={"cost": {"at_most": 0.0}}
    )
    with pytest.raises(sf.InputError, match="limit_zone to be a positive number"):
        AkRsb(zone=ZONE).start(problem(), settings)


@pytest.mark.parametrize(
    ("rule", "comparisons"), [("additive", 4 + 3 - 2), ("multiplicative", 4 * 3 - 1)]
)
def test_the_counts_are_those_of_the_formula(rule: str, comparisons: int) -> None:
    result = solved(TwoStageRsb(zone=0.7, rule=rule), slippage(4, 3), scale=2.0)
    first = solved(TwoStageRsb(zone=100.0), slippage(4, 3), scale=2.0)
    assert (first.counts == 20).all()
    variances = first.pair_errors**2 * 20  # the same seed, the same first stage
    h = rinott_constant(2, 20, 1 - 0.05 / comparisons)
    assert first.noise_scales is not None
    assert result.reason is StopReason.WITHIN_ZONE
    assert len(result.history) == 2
    assert result.samples == pytest.approx(4 * h**2 / 0.7**2 * variances.sum(), rel=0.01)


def test_one_sample_rule() -> None:
    result = solved(TwoStageRsb(zone=0.5, rule="one-sample"), slippage(4, 3), scale=2.0, seed=3)
    t = stats.t.ppf(1 - 0.05 / 6, 19)
    expected = 12 * (2 * t * 2.0 / 0.5) ** 2
    assert result.samples == pytest.approx(expected, rel=0.3)
    assert math.isfinite(result.values[0])


def test_direct_rule() -> None:
    """The whole zone lies between a rival's worst pair and any pair of the best arm."""
    result = solved(TwoStageRsb(zone=0.7, rule="direct"), slippage(4, 3), scale=2.0)
    first = solved(TwoStageRsb(zone=100.0), slippage(4, 3), scale=2.0)
    h = rinott_constant(2, 20, 1 - 0.05 / (3 * 3))
    variances = first.pair_errors**2 * 20
    assert result.samples == pytest.approx(h**2 / 0.7**2 * variances.sum(), rel=0.01)


def test_a_budget_below_the_first_stage_leaves_nothing_known() -> None:
    result = solved(TwoStageRsb(zone=1.0), slippage(3, 2), budget=50)
    assert result.sentence.startswith("Nothing is known without a pull, not certified; all 3 arms")


def test_quiet_pairs_need_no_second_stage() -> None:
    result = solved(TwoStageRsb(zone=1.0), slippage(3, 2), scale=0.01)
    assert (result.counts == 20).all()
    assert result.arm == 0
    assert result.candidates.tolist() == [0]


def test_an_unknown_rule_is_refused() -> None:
    with pytest.raises(InputError, match='choose "additive"'):
        solved(TwoStageRsb(zone=1.0, rule="middle"), slippage(3, 2))  # type: ignore[arg-type]


@pytest.mark.statistical
@pytest.mark.parametrize("rule", RULES)
def test_errors_where_all_gaps_are_the_zone(rule: Rule) -> None:
    instance, scales = slippage(4, 3), np.linspace(1, 3, 12)
    test = errors(
        lambda seed: solved(TwoStageRsb(zone=1.0, rule=rule), instance, scale=scales, seed=seed),
        0,
        400,
    )
    assert not test.rejected


@pytest.mark.statistical
@pytest.mark.parametrize("rule", ["one-sample", "direct"])
def test_arms_worse_than_the_zone_are_seldom_selected_whatever_the_gaps(rule: Rule) -> None:
    """Good selection: the runner-up is half a zone behind, all others just more than the zone."""
    means = np.array([0.0, 0.0, -0.5, 0.0, -1.01, 0.0, -1.01, 0.0, -1.01, 0.0])
    problem = RobustProblem.from_pairs(np.eye(10), np.repeat(np.arange(5), 2))
    runs = [
        solved(TwoStageRsb(zone=1.0, rule=rule), (problem, means), scale=2.0, seed=seed)
        for seed in range(300)
    ]
    bad = sum(result.arm > 1 for result in runs)
    assert stats.binomtest(bad, 300, 0.05, alternative="greater").pvalue > 0.001


@pytest.mark.parametrize(
    ("systems", "pulls", "published"),
    [(2, 20, 2.452), (10, 20, 3.875), (10, 10, 4.289), (100, 20, 5.184)],
)
def test_published_values(systems: int, pulls: int, published: float) -> None:
    assert rinott_constant(systems, pulls, 0.95) == pytest.approx(published, abs=1e-3)


def test_many_pulls_give_the_normal_quantile() -> None:
    """With known variances h / √2 is the quantile of one normal comparison."""
    normal = 2**0.5 * stats.norm.ppf(0.99)
    assert rinott_constant(2, 2001, 0.99) == pytest.approx(normal, rel=2e-3)


def test_small_probabilities_of_error() -> None:
    """Twenty pulls and an error of 1e-6: by an independent two-dimensional quadrature."""
    assert rinott_constant(2, 20, 1 - 1e-6) == pytest.approx(8.3466677, rel=1e-6)


@pytest.mark.parametrize("given", [(1, 20, 0.95), (2, 1, 0.95), (2, 20, 0.3), (2, 20, 1.0)])
def test_what_has_no_constant_is_refused(given: tuple[int, int, float]) -> None:
    with pytest.raises(InputError, match="does not exist"):
        rinott_constant(*given)


SPENDING = ("r-ocba", "ar-ocba", "equal")


@pytest.mark.parametrize("name", SPENDING)
def test_the_whole_budget_is_spent_without_a_certificate(name: str) -> None:
    result = solved(name, slippage(4, 3), budget=777)
    assert result.samples == 777
    assert result.counts.min() >= 20
    assert result.reason is StopReason.NO_CERTIFICATE
    assert result.arm == np.argmax(result.values)


@pytest.mark.parametrize("name", SPENDING)
def test_a_budget_is_needed(name: str) -> None:
    with pytest.raises(InputError, match="never stops by itself: give a budget"):
        solved(name, slippage(4, 3))


def test_equal_pulls() -> None:
    assert spread_evenly(3, 8).tolist() == [2, 3, 3]
    assert np.ptp(solved("equal", slippage(4, 3), budget=1000).counts) <= 1


def test_the_most_wanting_pairs_come_first() -> None:
    added = topped_up(np.array([1.0, 1.0, 2.0]), np.array([50, 10, 0]), 20)
    assert added.sum() == 20
    assert added[0] == 0
    assert added[2] > added[1] > 0


@pytest.mark.parametrize("name", ["r-ocba", "ar-ocba"])
def test_pulls_go_to_the_best_arm_and_the_worst_pair_of_its_rivals(name: str) -> None:
    problem_and_means = slippage(4, 3)
    counts = solved(name, problem_and_means, scale=2.0, budget=6000).counts.reshape(4, 3)
    critical = np.zeros((4, 3), dtype=bool)
    critical[0], critical[1:, 0] = True, True
    assert counts[critical].sum() > 0.85 * counts.sum()
    assert counts[critical].min() > 2 * counts[~critical].max()


def test_a_noisier_pair_gets_more() -> None:
    scales = np.ones(12)
    scales[0] = 3.0
    for name in ("r-ocba", "ar-ocba"):
        counts = solved(name, slippage(4, 3), scale=scales, budget=4000).counts
        assert counts[0] > 2 * counts[1:3].max()


GAME = [[0.7, 0.9], [0.3, 0.6], [0.5, 0.2]]


def test_each_turn_is_the_published_choice() -> None:
    problem, means = instance = table(GAME)
    run = MLucb(threshold="heuristic").start(problem, settings_for("m-lucb", delta=0.1))
    simulator = LinearSimulator(*instance, seed=1, family="bernoulli")
    phase = run.next_phase()
    assert phase is not None
    assert (phase.counts == 1).all()
    run.update(simulator.pull(phase))
    while phase := run.next_phase():
        counts, t = run.tally.counts, run.samples
        average = (run.tally.sums / counts).reshape(3, 2)
        width = np.sqrt(math.log((math.log(t) + 1) / 0.1) / (2 * counts)).reshape(3, 2)
        leader = int(np.argmax(average.min(axis=1)))
        worst = (average - width).argmin(axis=1)
        upper = np.array([average[i, worst[i]] + width[i, worst[i]] for i in range(3)])
        upper[leader] = -np.inf
        other = int(np.argmax(upper))
        expected = sorted([2 * leader + worst[leader], 2 * other + worst[other]])
        assert np.flatnonzero(phase.counts).tolist() == expected
        run.update(simulator.pull(phase))
    assert run.result.reason is StopReason.HEURISTIC
    assert not run.result.certified
    assert len(means) == 6


@pytest.mark.parametrize("make", [MLucb, MKlLucb])
def test_rewards_of_another_range_are_the_same_game(make: type[MLucb]) -> None:
    coins = solved(make(growth=0.3), table(GAME), family="bernoulli", noise=Bounded(0, 1))
    problem, means = table(GAME)
    run = make(growth=0.3).start(problem, settings_for("m-lucb", noise=Bounded(-3, 1)))
    simulator = LinearSimulator(problem, means, seed=0, family="bernoulli")
    while phase := run.next_phase():
        told = simulator.pull(phase)
        run.update(
            type(told)(told.phase, told.counts, 4 * told.sums - 3 * told.counts, 16 * told.scatter)
        )
    assert run.result.certified
    assert coins.certified
    assert run.samples == coins.samples


def test_a_tolerance_saves_pulls_and_is_said() -> None:
    instance = table([[0.50, 0.6], [0.45, 0.7]])
    options = {"family": "bernoulli", "noise": Bounded(0, 1)}
    result = solved(MKlLucb(growth=0.3), instance, tolerance=0.2, **options)
    assert result.reason is StopReason.WITHIN_TOLERANCE
    assert result.certified


def test_an_unknown_threshold_is_refused() -> None:
    with pytest.raises(InputError, match='choose "proved" or "heuristic"'):
        solved(MLucb(threshold="bold"), table(GAME), noise=Bounded(0, 1))  # type: ignore[arg-type]


def test_bounds_of_coins_save_pulls_near_the_ends() -> None:
    game = table([[0.95, 0.97], [0.85, 0.9]])
    wide, own = (
        solved(make(growth=0.2), game, family="bernoulli", noise=Bounded(0, 1))
        for make in (MLucb, MKlLucb)
    )
    assert wide.certified
    assert own.certified
    assert own.samples < 0.7 * wide.samples


RACE = [[0.6, 0.9], [0.3, 0.6], [0.5, 0.1]]


def entropy(p: float, q: float) -> float:
    parts = [(p, q), (1 - p, 1 - q)]
    return sum(a * math.log(a / b) for a, b in parts if a > 0)


def test_each_round_is_that_of_the_definition() -> None:
    """Loops over arms and pairs: drop pairs that are not the worst, then arms that are not best."""
    problem, means = table(RACE)
    run = MRacing(threshold="heuristic").start(problem, settings_for("m-racing", delta=0.1))
    simulator = LinearSimulator(problem, means, seed=1, family="bernoulli")
    left = {0: [0, 1], 1: [2, 3], 2: [4, 5]}
    rounds = 0
    while phase := run.next_phase():
        assert np.flatnonzero(phase.counts).tolist() == [p for a in left for p in left[a]]
        run.update(simulator.pull(phase))
        rounds += 1
        average = run.tally.sums / rounds
        needed = math.log((math.log(run.samples) + 1) / 0.1) / rounds

        def apart(low: float, high: float, needed: float = needed) -> bool:
            middle = (low + high) / 2
            far = entropy(low, middle) + entropy(high, middle) if high > low else 0.0
            return far >= needed

        worst = {arm: min(average[pairs]) for arm, pairs in left.items()}
        best = max(worst.values())
        left = {
            arm: [pair for pair in pairs if not apart(worst[arm], average[pair])]
            for arm, pairs in left.items()
            if not apart(worst[arm], best)
        }
    assert list(left) == [0]
    assert run.result.reason is StopReason.HEURISTIC


@pytest.mark.parametrize("mean", [0.0, 1e-6, 0.02, 0.3, 0.5, 0.97, 1.0])
@pytest.mark.parametrize("level", [1e-6, 0.01, 0.3, 3.0, 20.0])
def test_bounds_solve_their_equation(mean: float, level: float) -> None:
    lower, upper = (float(b[0]) for b in kl_bounds(np.array([mean]), np.array([level])))
    assert 0 <= lower <= mean <= upper <= 1

    def missing(q: float) -> float:
        return float(kl(np.array([mean]), np.array([q]))[0]) - level

    if mean < 1 and missing(1 - 1e-15) > 0:
        assert upper == pytest.approx(optimize.brentq(missing, mean, 1 - 1e-15), abs=1e-7)
    if mean > 0 and missing(1e-15) > 0:
        assert lower == pytest.approx(optimize.brentq(missing, 1e-15, mean), abs=1e-7)


def test_bounds_of_coins_are_narrower() -> None:
    means, levels = np.linspace(0, 1, 11), np.full(11, 0.1)
    for own, wide in zip(kl_bounds(means, levels), hoeffding_bounds(means, levels), strict=True):
        assert (np.abs(own - means) <= np.abs(wide - means) + 1e-9).all()


def test_proved_levels_sum_to_delta() -> None:
    """Two sides of four pairs at all numbers of pulls; the tail of the sum is 10 N^(−0.1)."""
    n = np.arange(1, 200_001)
    levels = np.array([proved_levels(np.array([k, 1, 1, 1]), 0.1)[0] for k in (1, 10, 200_000)])
    constant = levels[0]
    assert levels[1:] - constant == pytest.approx(1.1 * np.log([10, 200_000]))
    spent = 8 * np.exp(-constant) * ((n**-1.1).sum() + 10 * n[-1] ** -0.1)
    assert spent == pytest.approx(0.1, rel=1e-3)
