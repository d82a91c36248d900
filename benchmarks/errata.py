"""The errata in figures: what each of them changes, on the paper's instances or on a small one."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from benchmarks.table import Row
from surefoot.algorithms import Algorithm, Settings
from surefoot.algorithms.oracle import Oracle
from surefoot.algorithms.robust_rage import RobustRage
from surefoot.algorithms.robust_track_and_stop import RobustTrackAndStop
from surefoot.arrays import Array
from surefoot.design import paper_separation, robust_xy
from surefoot.design.frank_wolfe import robust_xy_by_frank_wolfe, separation_by_frank_wolfe
from surefoot.design.hardness import complexity
from surefoot.experiments.comparison import finished
from surefoot.experiments.instances import Instance, irrelevant_dimensions, unit_sphere
from surefoot.noise import Gaussian
from surefoot.plan import Prime
from surefoot.problem.problem import RobustProblem
from surefoot.proportions import Proportion
from surefoot.simulate import LinearSimulator

DELTA, RUNS = 0.05, 100
LONG, SMALL = 100.0, 0.05  # of E5: the long pair, and θ


def rows() -> Iterator[Row]:
    yield from _robust_gap()
    yield from _lower_bound()
    yield from _other_reading()
    yield from _frank_wolfe()
    yield from _blind_design()


def bounded_instance() -> Instance:
    """E5: a long pair of the best arm tells the arms apart at once, and the paper's bound does not
    see it.
    """
    pairs = [[0, 0], [LONG, LONG], [-1, 0], [0, -1]]
    return RobustProblem.from_pairs(pairs, [0, 0, 1, 1]), np.array([SMALL, SMALL])


def blind_instance() -> Instance:
    """E12: every inner minimum of `eq:eq14` is along the third axis."""
    pairs = [[1, 0, 0], [0, 1, 1], [0, 0, 10], [1, 0, 1], [0, 1, 0], [0, 0, 9]]
    return RobustProblem.from_pairs(pairs, [0, 0, 0, 1, 1, 1]), np.array([1.0, 0.5, 1.0])


def printed_gap(arms: Array, perturbations: list[Array], theta: Array) -> tuple[float, float]:
    """Δ_r of the first arm over the second, by its definition and by the formula below it."""
    first, second = (y @ theta for y in perturbations[:2])
    plain = float((arms[0] - arms[1]) @ theta)
    return plain - first.max() + second.max(), plain - first.max() + second.min()


def pulls_of(algorithm: Algorithm, instance: Instance) -> tuple[Array, int]:
    """Pulls of independent runs, and how many were wrong."""
    problem, theta = instance
    settings = Settings(delta=DELTA, noise=Gaussian(1.0), misfit=0.0, on_misfit="ignore")
    pulls, wrong = [], 0
    for run in range(RUNS):
        simulator = LinearSimulator(problem, theta, seed=np.random.SeedSequence([7, run]))
        started = algorithm.start(problem, settings)
        while phase := started.next_phase():
            started.update(simulator.pull(phase))
        pulls.append(started.samples)
        wrong += started.result.arm != problem.best_arm(theta)
    return np.array(pulls, dtype=np.float64), wrong


def _robust_gap() -> Iterator[Row]:
    generator = np.random.default_rng(0)
    arms = generator.standard_normal((2, 3))
    perturbations = [generator.standard_normal((4, 3)) for _ in range(2)]
    right, printed = printed_gap(arms, perturbations, generator.standard_normal(3))
    words = "E13: Δ_r of a random instance: by its definition; by the formula"
    yield Row(words, f"{right:.3f}; {printed:.3f}")


def _lower_bound() -> Iterator[Row]:
    instance = bounded_instance()
    bound = 2 * math.log(1 / (2 * DELTA)) * complexity(*instance).paper
    yield Row("E5: pulls that Theorem 1 asks of anybody", f"at least {bound:,.0f}")
    for name, algorithm in (("Track-and-Stop", RobustTrackAndStop()), ("PRIME", Prime())):
        pulls, wrong = pulls_of(algorithm, instance)
        yield Row(
            f"E5: pulls of {name}, {RUNS} runs at δ = {DELTA:g}",
            f"{pulls.mean():.1f}, at most {pulls.max():.0f}; wrong {Proportion(wrong, RUNS)}",
            f"fewer than {bound:,.0f}",
            bool(pulls.max() < bound),
        )


def _other_reading() -> Iterator[Row]:
    changes = []
    for d in (5, 10, 30):
        problem, theta = irrelevant_dimensions(d)
        usual = complexity(problem, theta, tolerance=1e-3).paper
        arms = np.split(problem.features, problem.offsets[1:-1])
        shift = 1 - math.cos(0.01)
        arms[-1] = arms[-1] + shift * np.eye(d)[0] - shift  # the scalar in every coordinate
        pairs = np.vstack(arms)
        owners = np.repeat(np.arange(len(arms)), [len(arm) for arm in arms])
        other = complexity(RobustProblem.from_pairs(pairs, owners), theta, tolerance=1e-3).paper
        changes.append(f"{100 * (other / usual - 1):+.1f} % (d = {d})")
    yield Row("E7: H_R if the scalar is added to every coordinate", ", ".join(changes))


def _frank_wolfe() -> Iterator[Row]:
    for name, instance in (
        ("d = 10", irrelevant_dimensions(10)),
        ("n = 20", unit_sphere(20)),
    ):
        problem, theta = instance
        everybody = np.arange(problem.n_arms)
        given = (problem.pairs, problem.offsets)
        xy = robust_xy(*given, everybody, problem.pairs)
        plain = robust_xy_by_frank_wolfe(*given, everybody, problem.pairs)
        own = (problem.reduced(theta), problem.best_arm(theta))
        oracle = paper_separation(*given, *own, tolerance=1e-3)
        other = separation_by_frank_wolfe(*given, *own, rows=problem.pairs)
        yield Row(
            f"E8: value by Frank–Wolfe / certified, {name}; RAGE's first design, the oracle's",
            f"{plain.value / xy.value:.3f}, {other.value / oracle.value:.3f}",
        )


def _blind_design() -> Iterator[Row]:
    problem, theta = instance = blind_instance()
    settings = Settings(
        delta=DELTA, noise=Gaussian(1.0), misfit=0.0, on_misfit="ignore", rules="paper"
    )
    for name, algorithm in (
        ("Robust RAGE", RobustRage()),
        ("Robust RAGE by Frank–Wolfe", RobustRage(solver="frank-wolfe")),
        ("the oracle", Oracle(theta)),
    ):
        simulator = LinearSimulator(*instance, seed=0)
        run = finished(algorithm.start(problem, settings), simulator)
        end = f"{run.result.reason.name}, {len(run.history)} phases, {run.samples:,} pulls"
        yield Row(f"E12: {name} where the design is blind", end)
