"""Forecasts of the pulls that are left."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import surefoot as sf
from surefoot.cli import main
from surefoot.study import StudyReader, forecast
from surefoot.study.forecast import DRIVERS_SHARE, Forecaster, expected_left, is_near_tie
from surefoot.system.progress import NoProgress
from tests.study.toys import THETA, linear, toy_problem, toy_study


def followed(noise: sf.Noise, tolerance: float, seed: int = 2) -> list[tuple[float, int]]:
    """Once arms are compared, after each phase: what is forecast, and what was left."""
    problem = toy_problem()
    means = problem.pairs @ THETA
    chances = 0.5 + 0.2 * (means - means.mean()) / np.abs(means - means.mean()).max()
    tabular = sf.RobustProblem.from_pairs(np.eye(8), problem.arm_of_pair)
    simulator = sf.LinearSimulator(tabular, chances, 0.3, seed=seed)
    if noise.limits:
        simulator = sf.LinearSimulator(tabular, chances, seed=seed, family="bernoulli")
    settings = sf.Settings(delta=0.05, noise=noise, misfit=math.inf, tolerance=tolerance)
    run, said = sf.Prime().start(tabular, settings), []
    while phase := run.next_phase():
        run.update(simulator.pull(phase))
        if run.boundary is not None:
            said.append((expected_left(run), run.samples))
    return [(forecast, run.samples - at) for forecast, at in said if forecast is not None]


@pytest.mark.parametrize("noise", [sf.Gaussian(), sf.Gaussian(0.3), sf.Bounded(0, 1)], ids=repr)
def test_without_a_model_the_forecast_is_of_the_right_size(noise: sf.Noise) -> None:
    runs = [followed(noise, 0.02, seed) for seed in range(25)]
    for share in (0.0, 0.5):
        found = [run[int(share * len(run))] for run in runs]
        ratios = [(forecast + 1) / (left + 1) for forecast, left in found]
        assert 1 / 3 < np.median(ratios) < 3


def first_forecast(noise: sf.Noise, tolerance: float) -> float:
    return followed(noise, tolerance)[0][0]


def test_a_tolerance_makes_it_smaller() -> None:
    strict, eased, easy = (first_forecast(sf.Gaussian(), size) for size in (0.0, 0.02, 0.3))
    assert easy < eased < strict


def forecasts(tolerance: float) -> list[tuple[float | None, int]]:
    """Of a run that trusts its model: after each phase, what is forecast and what was left."""
    problem = toy_problem()
    simulator = sf.LinearSimulator(problem, THETA, 5.0, seed=2)
    settings = sf.Settings(delta=0.05, noise=sf.Gaussian(5.0), misfit=0, tolerance=tolerance)
    run, said = sf.Prime().start(problem, settings), []
    while phase := run.next_phase():
        run.update(simulator.pull(phase))
        said.append((expected_left(run), run.samples))
    return [(forecast, run.samples - at) for forecast, at in said]


def test_a_trusted_model_knows_the_tolerance_too() -> None:
    strict, eased = forecasts(0.0), forecasts(2.0)
    assert strict[0][0] is None  # too early to say
    assert eased[1][0] is not None
    assert strict[1][0] is not None
    assert eased[1][0] < 0.9 * strict[1][0]


@pytest.mark.parametrize("tolerance", [0.0, 2.0])
def test_at_the_end_nothing_is_left(tolerance: float) -> None:
    assert forecasts(tolerance)[-1] == (0.0, 0)


def halfway(misfit: float, seed: int) -> tuple[float, int]:
    """In the middle of a run on a parabola: what is forecast, and what was left."""
    arms = np.linspace(0.2, 1.4, 7)[:, None]
    problem = sf.RobustProblem.paper(arms, [[[-0.1], [0.1]]] * 7, features="quadratic")
    x = problem.parameters[:, 0]
    theta, *_ = np.linalg.lstsq(problem.pairs, 2.0 * x - 1.5 * x**2, rcond=None)
    simulator = sf.LinearSimulator(problem, theta, 0.3, seed=seed)
    settings = sf.Settings(delta=0.05, noise=sf.Gaussian(0.3), misfit=misfit)
    run, said = sf.Prime().start(problem, settings), []
    while phase := run.next_phase():
        run.update(simulator.pull(phase))
        said.append((expected_left(run), run.samples))
    forecast, at = said[len(said) // 2]
    assert forecast is not None
    return forecast, run.samples - at


def test_a_misfit_makes_it_larger_and_of_the_right_size() -> None:
    exact, covered = ([halfway(misfit, seed) for seed in range(1, 12)] for misfit in (0.0, 0.02))
    assert np.median([f for f, _ in covered]) > 2 * np.median([f for f, _ in exact])
    assert 1 / 3 < np.median([(f + 1) / (left + 1) for f, left in covered]) < 3


def test_near_ties_are_pointed_out_to_those_who_have_no_tolerance() -> None:
    strict = sf.Settings(delta=0.05, misfit=math.inf, noise=sf.Gaussian())
    assert is_near_tie(100, 1_501.0, strict)
    assert not is_near_tie(100, 1_500.0, strict)
    assert not is_near_tie(10_000, 1_501.0, strict)
    assert not is_near_tie(100, None, strict)
    assert not is_near_tie(99, 9_000.0, strict)
    assert not is_near_tie(100, 9_000.0, replace(strict, tolerance=0.1))
    assert not is_near_tie(100, 9_000.0, replace(strict, budget=9_100, aim="guess"))


def test_a_quiet_run_forecasts_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def never(run: sf.Algorithm) -> float | None:
        raise AssertionError("nobody looks")

    monkeypatch.setattr(forecast, "expected_left", never)
    (tmp_path / "study.toml").write_text(
        'delta = 0.05\nbudget = 40\nseed = 1\nnoise = { kind = "gaussian" }\n'
        f'arms.grid = {{ dose = [1.0, 2.0] }}\nsimulator.python = "{__name__}:noise_alone"\n'
    )
    with pytest.raises(SystemExit, match="0"):
        main(["run", str(tmp_path / "study.toml"), "--quiet", "--processes", "1"])
    assert "BUDGET" in capsys.readouterr().out
    with toy_study(tmp_path / "quiet.db") as study:
        study.run(linear, "serial", progress=NoProgress())
    with toy_study(tmp_path / "told.db") as study, pytest.raises(AssertionError):
        study.run(linear, "serial")


def noise_alone(pull: sf.Pull) -> float:
    return float(pull.rng().normal())


class Breaks:
    """A simulator that is interrupted after 100 pulls."""

    def __init__(self) -> None:
        self._calls = 0

    def __call__(self, pull: sf.Pull) -> float:
        self._calls += 1
        if self._calls > 100:
            raise KeyboardInterrupt
        return noise_alone(pull)


@pytest.mark.parametrize("progress", [NoProgress(), None])
def test_the_status_of_a_quiet_run_says_so(
    tmp_path: Path, progress: NoProgress | None, capsys: pytest.CaptureFixture[str]
) -> None:
    path, asked = tmp_path / "study.db", {"noise": sf.Gaussian(), "misfit": math.inf}
    with (
        sf.Study.create(path, toy_problem(), delta=0.05, seed=1, **asked) as study,
        pytest.raises(KeyboardInterrupt),
    ):
        study.run(Breaks(), "serial", progress=progress)
    with pytest.raises(SystemExit, match="0"):
        main(["status", str(path)])
    (left,) = [row for row in capsys.readouterr().out.splitlines() if row.split()[0] == "left"]
    assert ("not forecast by a quiet run" in left) is (progress is not None)
    assert ("about" in left) is (progress is None)
    with StudyReader(path) as reader:
        assert reader.status().quiet is (progress is not None)


def test_forecasts_take_a_hundredth_of_the_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """A clock by hand: a phase takes 10, a forecast 1."""
    problem, now, made = toy_problem(), [0.0], [0]

    def slow(run: sf.Algorithm) -> float | None:
        now[0] += 1.0
        made[0] += 1
        return expected_left(run)

    monkeypatch.setattr(forecast, "expected_left", slow)
    forecasts = Forecaster(lambda: now[0])
    simulator = sf.LinearSimulator(problem, THETA, 5.0, seed=2)
    settings = sf.Settings(delta=0.05, noise=sf.Gaussian(5.0), misfit=0)
    run, said = sf.Prime().start(problem, settings), []
    for _ in range(50):
        if (phase := run.next_phase()) is None:
            run = sf.Prime().start(problem, settings)
            phase = run.next_phase()
        assert phase is not None
        run.update(simulator.pull(phase))
        now[0] += 10.0
        said.append(forecasts.after_phase(run))
    assert 2 <= made[0] <= 1 + DRIVERS_SHARE * now[0]
    assert forecasts.latest == said[-1]
