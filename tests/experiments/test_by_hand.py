"""Robust RAGE, Robust Static and the oracle against an implementation that shares no code."""

from __future__ import annotations

import math

import numpy as np
import pytest

from surefoot.algorithms import Settings, algorithm_from
from surefoot.experiments import instances
from surefoot.noise import Gaussian
from surefoot.simulate import LinearSimulator
from tests.experiments import by_hand

SETTINGS = Settings(delta=0.05, noise=Gaussian(1.0), misfit=0.0, rules="paper", on_misfit="ignore")
NAMES = {"rage": "robust-rage", "static": "robust-static", "oracle": "oracle"}
IRRELEVANT, SPHERES = (5, 10, 30), (10, 20, 50, 100)
Means = tuple[float, float, int]  # mean pulls, standard error, wrong


def ours(name: str, size: int, sphere: bool, runs: int) -> Means:
    pulls, wrong, fixed = [], 0, None if sphere else instances.irrelevant_dimensions(size)
    for run in range(runs):
        source = np.random.default_rng([1, size, run])
        problem, theta = fixed or instances.unit_sphere(size, 10, source)
        told = {"theta": theta} if name == "oracle" else {}
        algorithm = algorithm_from(NAMES[name], **told).start(problem, SETTINGS)
        simulator = LinearSimulator(problem, theta, seed=np.random.SeedSequence([2, size, run]))
        while phase := algorithm.next_phase():
            algorithm.update(simulator.pull(phase))
        pulls.append(algorithm.samples)
        wrong += algorithm.result.arm != problem.best_arm(theta)
    return float(np.mean(pulls)), float(np.std(pulls, ddof=1)) / math.sqrt(runs), wrong


def theirs(name: str, size: int, sphere: bool, runs: int) -> Means:
    pulls, wrong, designs = [], 0, {}
    task = None if sphere else by_hand.irrelevant_dimensions(size)
    for run in range(runs):
        if sphere:
            task, designs = by_hand.unit_sphere(size, np.random.default_rng([3, size, run])), {}
        n, arm = by_hand.solve(name, task, np.random.default_rng([4, size, run]), designs)
        pulls.append(n)
        wrong += arm != task.best
    return float(np.mean(pulls)), float(np.std(pulls, ddof=1)) / math.sqrt(runs), wrong


def distance(one: Means, other: Means) -> float:
    """In standard errors; the oracle of one instance has none, but looks that are 10 % apart."""
    looks = 0.1 / math.sqrt(6) * one[0] if one[1] == 0 else 0.0
    error = math.hypot(one[1], other[1], looks)
    return abs(one[0] - other[0]) / error


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(("size", "sphere", "runs"), [(5, False, 40), (10, True, 8)])
def test_both_need_as_many_pulls(name: str, size: int, sphere: bool, runs: int) -> None:
    one, other = ours(name, size, sphere, runs), theirs(name, size, sphere, runs)
    assert one[2] == other[2] == 0
    assert distance(one, other) < 3


def test_the_instances_are_the_same() -> None:
    problem, theta = instances.irrelevant_dimensions(6)
    task = by_hand.irrelevant_dimensions(6)
    assert problem.pairs_of(6).stop == len(task.z)
    assert problem.robust_values(theta) == pytest.approx(task.values)
    assert np.sort(problem.features @ theta) == pytest.approx(np.sort(task.z @ task.theta))
    assert task.values[:1] == pytest.approx([1.9])
    sphere = by_hand.unit_sphere(8, np.random.default_rng(0))
    assert sphere.values[sphere.best] == pytest.approx(1.05)


def test_less_data_or_a_wider_width_would_be_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    right = ours("static", 5, False, 40)
    monkeypatch.setattr(by_hand, "DELTA", 1e-9)  # widths larger by half
    assert distance(right, theirs("static", 5, False, 40)) > 3


def print_all(runs: int) -> None:
    """Print the seven settings."""
    for sphere, sizes in ((False, IRRELEVANT), (True, SPHERES)):
        for size in sizes:
            for name in NAMES:
                one, other = ours(name, size, sphere, runs), theirs(name, size, sphere, runs)
                print(
                    f"{'n' if sphere else 'd'} = {size}, {NAMES[name]}: "
                    f"{one[0]:,.0f} ± {one[1]:,.0f} against {other[0]:,.0f} ± {other[1]:,.0f} "
                    f"({distance(one, other):.1f} standard errors; wrong {one[2]} and {other[2]})",
                    flush=True,
                )
