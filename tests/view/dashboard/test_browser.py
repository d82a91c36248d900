"""The dashboard as people meet it: the real server, a real study beside it, a real browser."""

import threading
from contextlib import contextmanager

import pytest

from surefoot import Gaussian, RobustProblem, Study, StudyReader
from surefoot.view.charts import arms_frame, evidence_frame
from surefoot.view.report.facts import arm_rows
from tests.browser import LOOKS, PHONE, Watched, launched
from tests.view.charts.results import EVIL
from tests.view.dashboard.server import server
from tests.view.dashboard.studies import create, finished_study, linear, paused_study

pytestmark = pytest.mark.browser

TOKEN = "a token that nobody guesses"
HALFWAY = 70  # pulls


@contextmanager
def running(study, simulator, gates):
    """The study runs in a thread as long as the test watches; whatever the test does, the gates
    open in the end.
    """
    thread = threading.Thread(target=study.run, args=(simulator, "serial"))
    thread.start()
    try:
        yield
    finally:
        for gate in gates:
            gate.set()
        thread.join()


def text(page, field):
    return page.inner_text(f"[data-field={field}] >> nth=0")


@pytest.fixture(scope="module")
def everything(tmp_path_factory):
    """A dashboard of studies in every state, and a browser."""
    folder = tmp_path_factory.mktemp("studies")
    files = [
        finished_study(folder / "finished.db", name=EVIL),
        paused_study(folder / "paused.db"),
        folder / "fresh.db",
        finished_study(folder / "vanished.db"),
    ]
    create(files[2]).close()
    with server(folder, *files, "--no-token") as shown, launched() as browser:
        files[3].unlink()
        yield shown.address, browser


def test_a_study_is_watched_from_its_first_pull_to_its_answer(tmp_path, everything):
    _, browser = everything
    path, gates = tmp_path / "wings.db", [threading.Event(), threading.Event()]

    def gated(pull):
        gates[pull.id >= HALFWAY].wait()
        return linear(pull)

    with (
        create(path, name=EVIL) as study,
        server(tmp_path, path) as shown,
        Watched(browser, shown.address) as watched,
        running(study, gated, gates),
    ):
        page = watched.page
        page.goto(shown.link)
        assert page.url == f"{shown.address}/study/1"
        watched.wait_for_news()
        assert text(page, "told") == "0"
        assert "no answer before" in text(page, "sentence")
        assert page.inner_text("h1").startswith(EVIL)
        gates[0].set()
        watched.wait_for_charts("evidence", "arms", "allocation", "residuals")
        assert 0 < int(text(page, "told")) <= HALFWAY
        assert "best guess" in text(page, "sentence")
        assert page.locator(".badge.running").count() == 1
        gates[1].set()
        page.wait_for_selector(".badge.finished")
        watched.wait_for_charts("bounds")
        compare(watched, path)
        assert watched.trouble == []


def compare(watched, path):
    """What the page shows is what the study says."""
    page = watched.page
    with StudyReader(path) as reader:
        result = reader.result
    assert text(page, "told") == f"{result.samples:,}"
    assert text(page, "sentence") == result.sentence
    assert text(page, "leader") == result.arm_name
    assert text(page, "survivors") == f"1 of {result.problem.n_arms}"
    shown = page.eval_on_selector_all(
        "#arms tr", "rows => rows.map(r => [...r.cells].map(c => c.textContent))"
    )
    expected = [
        [row[k] for k in ("arm", "value", "low", "high", "worst", "pulls", "kind")]
        for row in rows_of(result)
    ]
    assert shown == expected
    drawn = page.evaluate(
        "surefoot.view('evidence').data('evidence').map(r => [r.arm, r.pulls, r.evidence])"
    )
    assert drawn == evidence_frame(result)[["arm", "pulls", "evidence"]].to_numpy().tolist()


def rows_of(result):
    return arm_rows(arms_frame(result))


@pytest.mark.parametrize(("scheme", "size", "viewport"), LOOKS)
def test_every_state_on_every_screen(everything, scheme, size, viewport):
    address, browser = everything
    with Watched(browser, address, viewport, scheme) as watched:
        watched.page.goto(address)
        watched.wait_for_news()
        states = watched.page.eval_on_selector_all(".badge", "all => all.map(b => b.textContent)")
        assert states == ["finished, certified", "paused", "waiting", "missing"]
        assert not watched.overflows()
        watched.screenshot(f"studies-{scheme}-{size}")
        for number, charts in enumerate([["evidence", "bounds"], ["arms"], [], []], 1):
            watched.page.goto(f"{address}/study/{number}")
            watched.wait_for_news()
            watched.wait_for_charts(*charts)
            assert not watched.overflows()
            watched.screenshot(f"{states[number - 1]}-{scheme}-{size}")
        assert watched.trouble == []


def test_a_long_name_does_not_make_its_tile_grow(tmp_path, everything):
    _, browser = everything
    named = "a clinic with four nurses and six doctors, " * 6
    problem = RobustProblem.paper([[1.0], [0.2]], [[[0.0], [0.1]]] * 2, arm_names=[named, "b"])
    path = tmp_path / "long.db"
    with Study.create(path, problem, delta=0.1, noise=Gaussian(0.1), misfit=0, seed=1) as study:
        study.run(lambda pull: float(pull.features.sum() + pull.rng().normal(scale=0.1)), "serial")
    with server(tmp_path, path, "--no-token") as shown, Watched(browser, shown.address) as watched:
        watched.page.goto(f"{shown.address}/study/1")
        heights = watched.page.evaluate(
            "[...document.querySelectorAll('.tile')].map((tile) => tile.offsetHeight)"
        )
        leader = watched.page.locator("[data-field=leader]").first
        assert leader.get_attribute("title") == named
        assert max(heights) < 130


def test_the_keyboard_is_enough(everything):
    address, browser = everything
    with Watched(browser, address, PHONE) as watched:
        page = watched.page
        page.goto(address)
        focus = [tabbed(page) for _ in range(2)]
        assert focus == ["to the content", EVIL]
        assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") != "none"
        page.keyboard.press("Enter")
        page.wait_for_selector("#arms tr")
        assert {"All studies", "Download pulls as CSV", "Table of arms"} <= {
            tabbed(page) for _ in range(6)
        }
        assert watched.trouble == []


def tabbed(page):
    """What the next press of Tab leads to."""
    page.keyboard.press("Tab")
    return page.evaluate("document.activeElement.ariaLabel || document.activeElement.textContent")


def test_signing_in_with_a_token(tmp_path, everything):
    _, browser = everything
    study = finished_study(tmp_path / "study.db")
    with (
        server(tmp_path, study, token=TOKEN) as shown,
        Watched(browser, shown.address) as watched,
    ):
        page = watched.page
        page.goto(shown.address)
        assert page.url == f"{shown.address}/sign-in"
        page.locator("#token").press_sequentially(TOKEN)
        page.keyboard.press("Enter")
        page.wait_for_selector(".badge.finished")
        assert page.evaluate("document.cookie") == ""
        assert watched.trouble == []
