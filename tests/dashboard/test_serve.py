import shutil

import httpx
import pytest

from surefoot import StudyReader
from surefoot.cli import main
from tests.dashboard.server import server
from tests.dashboard.studies import create, linear

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
        assert httpx.get(f"{shown.address}/").status_code == 401
        with httpx.Client(follow_redirects=True) as reader:
            answer = reader.get(shown.link)
            assert (answer.status_code, str(answer.url)) == (200, f"{shown.address}/")
            assert reader.get(f"{shown.address}/study/1").status_code == 200
    with server(tmp_path, study, "--no-token") as shown:
        assert "token" not in shown.link
        assert httpx.get(shown.link).status_code == 200


def test_a_thousand_half_sent_requests_keep_nobody_out_and_fill_no_log(tmp_path, study):
    with server(tmp_path, study, "--no-token") as shown:
        pending = shown.half_sent(1000)
        try:
            for _ in range(3):
                assert httpx.get(f"{shown.address}/", timeout=20).status_code == 200
        finally:
            for connection in pending:
                connection.close()
        assert shown.process.poll() is None
        assert shown.messages.stat().st_size < 10_000
        for connection in shown.half_sent(100):
            connection.sendall(b"nonsense: \x00\r\n\r\n")
            while connection.recv(1000):
                pass
            connection.close()
        assert httpx.get(f"{shown.address}/").status_code == 200
        assert 0 < shown.messages.read_text().count("Invalid HTTP request") < 10


def test_while_it_is_open_a_study_that_ends_leaves_all_of_it_in_its_one_file(tmp_path):
    path, copy = tmp_path / "study.db", tmp_path / "copy.db"
    with create(path) as study, server(tmp_path, path, "--no-token") as shown:
        page = f"{shown.address}/study/1"
        assert httpx.get(page, timeout=60).status_code == 200
        study.tell_many([(pull.id, linear(pull)) for pull in study.ask()])
        assert httpx.get(page, timeout=60).status_code == 200
        study.run(linear, "serial")
        told = study.told
        study.close()
        shutil.copyfile(path, copy)
        assert shown.process.poll() is None
    with StudyReader(copy) as reader:
        assert reader.status().told == told
        assert reader.result.certified
