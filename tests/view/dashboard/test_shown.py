"""A study that cannot be read in time holds up nobody but itself."""

import asyncio
import threading
from types import SimpleNamespace

import httpx
import pytest

from surefoot.view.dashboard import make_app, shown
from surefoot.view.dashboard.guard import Lane
from tests.view.dashboard.studies import create
from tests.waiting import PATIENCE


@pytest.fixture
def two_studies(tmp_path):
    for name in ("good", "bad"):
        create(tmp_path / f"{name}.db").close()
    return [tmp_path / "good.db", tmp_path / "bad.db"]


def test_forty_five_requests_for_a_study_that_hangs(two_studies, monkeypatch):
    gate = threading.Event()
    limits = iter([PATIENCE] * 3 + [0.5] * 3)  # of the good study and of the bad one
    read = shown.FileWatch.snapshot
    monkeypatch.setattr(
        shown.FileWatch,
        "snapshot",
        lambda w: (w.path.stem == "bad" and gate.wait(PATIENCE)) or read(w),
    )
    monkeypatch.setattr(shown, "Lane", lambda *_: Lane(next(limits)))
    app = make_app(two_studies)

    async def visit():
        transport = httpx.ASGITransport(app=app)
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
            stuck = [client.get("/study/2") for _ in range(45)]
            answers = await asyncio.gather(*stuck)
            assert {answer.status_code for answer in answers} == {503}
            assert (await client.get("/study/1")).status_code == 200
            studies = (await client.get("/")).text
            assert "Reading this file takes too long" in studies

    try:
        asyncio.run(asyncio.wait_for(visit(), PATIENCE))
    finally:
        gate.set()


def test_the_bar_of_a_study_never_goes_back_but_for_another_study():
    onward = shown._Onward()

    def at(told, share, state="running"):
        status = SimpleNamespace(told=told)
        return onward.held(SimpleNamespace(status=status, state=state), {"done": share})["done"]

    assert [at(10, 0.2), at(20, 0.1), at(30, 0.5), at(40, None)] == [0.2, 0.2, 0.5, None]
    assert at(50, 0.4) == 0.5
    assert at(60, 1.0, "finished") == 1.0
    assert at(60, 0.7) == 0.7  # its budget was raised
    assert at(3, 0.05) == 0.05  # another study is in the file


def test_pages_name_the_folder_of_a_file(tmp_path):
    folders = [tmp_path / "monday", tmp_path / "tuesday"]
    for folder in folders:
        folder.mkdir()
        create(folder / "study.db").close()

    async def visit():
        app = make_app([folder / "study.db" for folder in folders])
        transport = httpx.ASGITransport(app=app)
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
            listed = (await client.get("/")).text
            assert "monday/study.db" in listed
            assert "tuesday/study.db" in listed
            assert "monday/study.db" in (await client.get("/study/1")).text

    asyncio.run(asyncio.wait_for(visit(), 60))
