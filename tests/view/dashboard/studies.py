"""Study files in every state, and requests to a dashboard without a network."""

from __future__ import annotations

import asyncio
import math
from pathlib import Path

import httpx

from surefoot import Gaussian, RobustProblem, Study
from surefoot.study import Pull, StudyPaused
from tests.view.charts.results import wings

_, THETA = wings()


def linear(pull: Pull) -> float:
    return float(pull.features @ THETA + pull.rng().normal())


def fails_at_20(pull: Pull) -> float:
    if pull.id == 20:
        raise ZeroDivisionError("no <b>lift</b> at this angle")
    return linear(pull)


def create(path: Path, **options: object) -> Study:
    settings = {"delta": 0.05, "noise": Gaussian(1.0), "misfit": 0.0, "seed": 8} | options
    return Study.create(path, wings()[0], **settings)  # type: ignore[arg-type]


def finished_study(path: Path, **options: object) -> Path:
    with create(path, **options) as study:
        study.run(linear, "serial")
    return path


def grid_study(path: Path, best: float) -> Path:
    """Gains of 1, 2 and 3 were tried, and the given one is best."""
    problem = RobustProblem.from_lists([{"gain": gain} for gain in (1.0, 2.0, 3.0)])
    with Study.create(
        path, problem, delta=0.05, noise=Gaussian(), misfit=math.inf, seed=1
    ) as study:
        study.run(
            lambda pull: pull.rng().normal() - 5 * abs(pull.parameters["gain"] - best), "serial"
        )
    return path


def paused_study(path: Path) -> Path:
    with create(path) as study:
        try:
            study.run(fails_at_20, "serial", retries=0)
        except StudyPaused:
            return path
    raise AssertionError("the study should have paused")


def request(app: object, path: str, method: str = "GET", **options: object) -> httpx.Response:
    """One request to the application itself."""

    async def send() -> httpx.Response:
        transport = httpx.ASGITransport(app=app)  # type: ignore[arg-type]
        async with httpx.AsyncClient(
            transport=transport, base_url="http://127.0.0.1:8765"
        ) as client:
            return await client.request(method, path, **options)  # type: ignore[arg-type]

    return asyncio.run(send())
