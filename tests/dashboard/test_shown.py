"""A study that cannot be read in time holds up nobody but itself."""

import asyncio
import threading

import httpx
import pytest

from surefoot.dashboard import make_app, shown
from surefoot.dashboard.lanes import Lane
from tests.dashboard.studies import create


@pytest.fixture
def two_studies(tmp_path):
    for name in ("good", "bad"):
        create(tmp_path / f"{name}.db").close()
    return [tmp_path / "good.db", tmp_path / "bad.db"]


def test_forty_five_requests_for_a_study_that_hangs(two_studies, monkeypatch):
    gate = threading.Event()
    read = shown.Watch.snapshot
    monkeypatch.setattr(
        shown.Watch, "snapshot", lambda w: (w.path.stem == "bad" and gate.wait(60)) or read(w)
    )
    monkeypatch.setattr(shown, "Lane", lambda *limit: Lane(0.5))
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
        asyncio.run(asyncio.wait_for(visit(), 20))
    finally:
        gate.set()
