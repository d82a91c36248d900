"""The dashboard: a study of 300 arms and 10 000 pulls, its page and its updates."""

from __future__ import annotations

import asyncio
import json
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from unittest import mock

import httpx
import numpy as np

from benchmarks.table import Row, seconds
from surefoot import Gaussian, RobustProblem, Study
from surefoot.study import Pull
from surefoot.view.dashboard import make_app
from surefoot.view.dashboard import shown as watching
from surefoot.view.dashboard.app import warm_up
from surefoot.view.dashboard.shown import FileWatch, details, fields

ARMS, PERTURBATIONS, DIMENSION, PULLS = 300, 6, 8, 10_000
DRAWN = "document.querySelectorAll('figure[data-drawn]').length"


def large_problem() -> tuple[RobustProblem, np.ndarray]:
    generator = np.random.default_rng(np.random.SeedSequence(3))
    arms = generator.normal(size=(ARMS, DIMENSION))
    arms /= np.linalg.norm(arms, axis=1)[:, None]
    perturbations = [0.15 * generator.normal(size=(PERTURBATIONS, DIMENSION)) for _ in arms]
    return RobustProblem.paper(arms, perturbations), 0.2 * generator.normal(size=DIMENSION)


def tell_phase(study: Study, theta: np.ndarray) -> None:
    def reward(pull: Pull) -> float:
        return float(pull.features @ theta + pull.rng().normal())

    study.tell_many([(pull.id, reward(pull)) for pull in study.ask()])


def update(watch: FileWatch) -> str:
    """All that the server does for one new phase: the numbers of the event, then what the page
    fetches.
    """
    snapshot = watch.snapshot()
    return json.dumps(fields(snapshot)) + json.dumps(details(watch, snapshot))


def update_row(study: Study, theta: np.ndarray) -> Row:
    """Processor time, while the phase before it was seen already."""
    watch, costs = FileWatch(study.path), []
    update(watch)
    for _ in range(3):
        tell_phase(study, theta)
        time.sleep(0.3)  # one is shared for a quarter of a second
        begin = time.process_time()
        update(watch)
        costs.append(time.process_time() - begin)
    watch.close()
    cost = max(costs)
    work = f"update after a phase, {ARMS} arms, {study.told} pulls: server's processor time"
    return Row(work, f"{1e3 * cost:.0f} ms", "< 100 ms", cost < 0.1)


def idle_row(path: Path) -> Row:
    watch = FileWatch(path)
    watch.snapshot()

    def look_again() -> None:
        json.dumps(fields(watch.snapshot()))

    with mock.patch.object(watching, "FRESH", -1.0):  # as if readers came a quarter second apart
        cost = seconds(look_again)
    return Row(
        "update between phases: server's time", f"{1e3 * cost:.1f} ms", "< 100 ms", cost < 0.1
    )


def page_row(path: Path) -> Row:
    """From a file nobody has looked at yet."""

    async def ask() -> int:
        transport = httpx.ASGITransport(app=make_app([path]))
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as reader:
            return (await reader.get("/study/1")).status_code

    def render() -> None:
        assert asyncio.run(ask()) == 200

    spent = seconds(render, repeats=3)
    return Row("study page: the server's part", f"{1e3 * spent:.0f} ms", "< 1 s", spent < 1)


def browser_row(path: Path) -> Row:
    """From asking for the page to the last chart, in Chromium, its cache empty."""
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        return Row("study page in Chromium", "no Chromium", "< 1 s", False)
    program = Path(sys.executable).with_name("surefoot")
    server = subprocess.Popen(
        [program, "dashboard", path, "--port", "0", "--no-token"], stdout=subprocess.PIPE, text=True
    )
    try:
        assert server.stdout is not None
        address = server.stdout.readline().split()[0]
        spent = min(_drawn_after(chromium, f"{address}study/1") for _ in range(3))
    finally:
        server.terminate()
        server.wait()
    return Row(
        "study page in Chromium, until its four charts are drawn",
        f"{spent:.2f} s",
        "< 1 s",
        spent < 1,
    )


def _drawn_after(chromium: str, address: str) -> float:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=chromium, args=["--headless", "--no-sandbox"]
        )
        page = browser.new_page()
        begin = time.perf_counter()
        page.goto(address)
        while page.evaluate(DRAWN) < 4:
            time.sleep(0.01)
        spent = time.perf_counter() - begin
        browser.close()
    return spent


def rows() -> Iterator[Row]:
    problem, theta = large_problem()
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "large.db"
        settings = {"delta": 0.05, "noise": Gaussian(1.0), "misfit": 0.0, "seed": 4}
        with Study.create(path, problem, **settings) as study:
            while study.told < PULLS // 2:
                tell_phase(study, theta)
            warm_up(make_app([path]))
            yield update_row(study, theta)
            while study.told < PULLS and not study.done:
                tell_phase(study, theta)
            yield idle_row(path)
            yield page_row(path)
            yield browser_row(path)
