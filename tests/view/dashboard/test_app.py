"""The dashboard, asked by a browser and by others."""

from __future__ import annotations

import csv
import io
import json
import re
import shutil

import httpx
import pytest

from surefoot import StudyReader
from surefoot.cli import main
from surefoot.view.dashboard import make_app
from tests.view.charts.results import EVIL
from tests.view.dashboard.server import server
from tests.view.dashboard.studies import create, finished_study, linear, paused_study, request
from tests.waiting import PATIENCE


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("studies")
    finished_study(folder / "done.db", name=EVIL)
    paused_study(folder / "paused.db")
    create(folder / "fresh.db").close()
    (folder / "text.db").write_text("this is no study")
    return folder


@pytest.fixture(scope="module")
def app(folder):
    return make_app([folder / f"{name}.db" for name in ("done", "paused", "fresh", "text", "gone")])


def test_the_list_shows_every_state_and_escapes_names(app):
    page = request(app, "/").text
    states = re.findall(r'data-badge data-field="badge">([\w, ]+)<', page)
    assert states == ["finished, certified", "paused", "waiting", "broken", "missing"]
    assert EVIL not in page
    assert "&lt;script&gt;" in page


def test_every_state_has_a_page_that_makes_sense(app):
    pages = [request(app, f"/study/{number}") for number in range(1, 6)]
    assert [page.status_code for page in pages] == [200] * 5
    done, paused, fresh, broken, missing = (page.text for page in pages)
    assert "has the best worst case" in done
    assert EVIL not in done
    assert "no &lt;b&gt;lift&lt;/b&gt; at this angle" in paused
    assert "It waits for a reward" in fresh
    assert "is not a study" in broken
    assert "There is no file gone.db" in missing
    for page in (broken, missing):
        assert '<div id="seen" hidden' in page


def test_details_hold_the_numbers_of_the_study(app, folder):
    details = request(app, "/study/1/details.json").json()
    with StudyReader(folder / "done.db") as reader:
        result = reader.result
    rows = {row["arm"]: row["value"] for row in details["charts"]["arms"]["datasets"]["arms"]}
    assert rows == dict(zip(result.problem.arm_names, result.values.tolist(), strict=True))
    assert len(details["arms"]) == result.problem.n_arms
    assert request(app, "/study/1/bounds.json").json()["charts"]["bounds"]["datasets"]["bounds"][0][
        "pulls"
    ] == (result.samples)
    assert request(app, "/study/2/bounds.json").json()["charts"] == {}


def test_failed_pulls_are_listed_with_their_errors(app):
    failures = request(app, "/study/2/details.json").json()["failures"]
    assert [(pull["id"], pull["state"]) for pull in failures] == [(20, "failed")]
    assert "no <b>lift</b>" in failures[0]["error"]


def test_the_csv_holds_every_pull_in_blocks(app, folder, monkeypatch):
    monkeypatch.setattr("surefoot.view.dashboard.shown.CSV_BLOCK", 7)
    answer = request(app, "/study/1/pulls.csv")
    assert answer.headers["content-disposition"] == 'attachment; filename="study-1-pulls.csv"'
    with StudyReader(folder / "done.db") as reader:
        expected = reader.pulls()
    found = list(csv.DictReader(io.StringIO(answer.text)))
    assert [int(row["id"]) for row in found] == expected["id"].tolist()
    assert [float(row["reward"]) for row in found] == expected["reward"].tolist()
    assert list(found[0]) == expected.columns.tolist()
    assert request(app, "/study/5/pulls.csv").status_code == 404


@pytest.mark.parametrize(
    "path",
    [
        "/study/0",
        "/study/6",
        "/study/../../etc/passwd",
        "/study/%2e%2e%2fdone.db",
        "/assets/..%2fapp.py",
        "/x",
    ],
)
def test_addresses_name_no_files(app, path):
    answer = request(app, path)
    assert answer.status_code == 404
    assert "root:" not in answer.text


def test_nothing_can_be_changed(app):
    for method in ("POST", "PUT", "DELETE"):
        assert request(app, "/study/1", method).status_code == 405


def test_the_payload_of_a_page_is_json_that_cannot_end_its_script(app):
    page = request(app, "/study/1").text
    text = re.search(r'id="charts">(.*?)</script>', page, re.S).group(1)
    assert "<" not in text
    assert set(json.loads(text)["charts"]) == {
        "evidence",
        "arms",
        "allocation",
        "residuals",
        "pace",
    }


TOKEN = "a-token-that-nobody-guesses"


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    path = tmp_path_factory.mktemp("study") / "study.db"
    create(path).close()
    return path


def test_the_command_names_a_file_that_is_not_there(tmp_path, capsys):
    with pytest.raises(SystemExit) as end:
        main(["dashboard", str(tmp_path / "nothing.db")])
    assert end.value.code == 2
    assert "there is no file" in capsys.readouterr().err


def test_there_is_a_token_unless_it_is_left_out_by_choice(tmp_path, study):
    with server(tmp_path, study) as shown:
        assert httpx.get(f"{shown.address}/", timeout=PATIENCE).status_code == 401
        with httpx.Client(follow_redirects=True, timeout=PATIENCE) as reader:
            answer = reader.get(shown.link)
            assert (answer.status_code, str(answer.url)) == (200, f"{shown.address}/study/1")
            assert reader.get(f"{shown.address}/study/1").status_code == 200
    with server(tmp_path, study, "--no-token") as shown:
        assert "token" not in shown.link
        alone = httpx.get(shown.link, timeout=PATIENCE, follow_redirects=True)
        assert alone.status_code == 200
        assert "All studies" not in alone.text


def test_half_sent_requests_keep_nobody_out_and_fill_no_log(tmp_path, study):
    few = "from surefoot.view.dashboard import guard; guard.MOST = 20\n"
    with server(tmp_path, study, "--no-token", before=few) as shown:
        pending = shown.half_sent(100)
        try:
            for _ in range(3):
                assert httpx.get(f"{shown.address}/", timeout=PATIENCE).status_code == 303
        finally:
            for connection in pending:
                connection.close()
        assert shown.process.poll() is None
        assert shown.messages.stat().st_size < 10_000
        for _ in range(100):
            (connection,) = shown.half_sent(1)
            connection.sendall(b"nonsense: \x00\r\n\r\n")
            while connection.recv(1000):
                pass
            connection.close()
        assert httpx.get(f"{shown.address}/", timeout=PATIENCE).status_code == 303
        assert 0 < shown.messages.read_text().count("Invalid HTTP request") < 10


def test_while_it_is_open_a_study_that_ends_leaves_all_of_it_in_its_one_file(tmp_path):
    path, copy = tmp_path / "study.db", tmp_path / "copy.db"
    with create(path) as study, server(tmp_path, path, "--no-token") as shown:
        page = f"{shown.address}/study/1"
        assert httpx.get(page, timeout=PATIENCE).status_code == 200
        study.tell_many([(pull.id, linear(pull)) for pull in study.ask()])
        assert httpx.get(page, timeout=PATIENCE).status_code == 200
        study.run(linear, "serial")
        told = study.told
        study.close()
        shutil.copyfile(path, copy)
        assert shown.process.poll() is None
    with StudyReader(copy) as reader:
        assert reader.status().told == told
        assert reader.result.certified
