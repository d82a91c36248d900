"""Who may see a study: names, tokens, cookies, headers."""

from __future__ import annotations

import hmac
import socket

import pytest

from surefoot import InputError
from surefoot.view.dashboard import Door, guard, make_app
from tests.view.dashboard.studies import request

TOKEN = "a token that nobody guesses"
HTML = {"accept": "text/html"}
COOKIE = "surefoot-8765"


@pytest.mark.parametrize(
    "host", ["127.0.0.1:8765", "localhost", "[::1]:8765", "192.168.1.7", "lab.example:80"]
)
def test_known_names_and_plain_addresses_are_let_in(host):
    assert (
        request(make_app([], names=["Lab.example"]), "/", headers={"host": host}).status_code == 200
    )


@pytest.mark.parametrize(
    "host", ["evil.example", "127.0.0.1.evil.example", "localhost.evil.example", "", "[::1"]
)
def test_a_foreign_name_for_this_machine_is_refused(host):
    answer = request(make_app([]), "/", headers={"host": host})
    assert answer.status_code == 400
    assert "known ones" in answer.text


@pytest.mark.parametrize("path", ["//evil.example", "///evil.example/x", "/%2Fevil.example", "/"])
def test_a_link_with_the_token_leads_to_this_site_alone(path):
    answer = request(make_app([], token=TOKEN), f"{path}?token={TOKEN}", headers=HTML)
    place = answer.headers["location"]
    assert answer.status_code == 303
    assert place.startswith("/")
    assert not place.startswith("//")


def test_every_answer_forbids_inline_script_and_framing():
    for path in ("/", "/nothing", "/assets/style.css"):
        headers = request(make_app([]), path).headers
        policy = headers["content-security-policy"]
        assert "default-src 'none'; script-src 'self'; style-src 'self'" in policy
        assert "unsafe" not in policy
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["x-frame-options"] == "DENY"
    assert (
        request(make_app([]), "/", headers={"host": "evil.example"}).headers["x-frame-options"]
        == "DENY"
    )


def test_without_the_token_there_is_only_the_way_to_sign_in():
    app = make_app([], TOKEN)
    asked = request(app, "/", headers=HTML)
    assert (asked.status_code, asked.headers["location"]) == (303, "/sign-in")
    assert request(app, "/events").status_code == 401
    assert request(app, "/study/1/pulls.csv").status_code == 401
    assert request(app, "/assets/vega.js").status_code == 401
    assert request(app, "/sign-in").status_code == 200
    assert request(app, "/assets/style.css").status_code == 200


def test_a_wrong_token_opens_nothing():
    app = make_app([], TOKEN)
    assert request(app, "/", headers={"authorization": f"Bearer {TOKEN}x"}).status_code == 401
    assert request(app, "/", headers={"cookie": f"{COOKIE}={TOKEN}"}).status_code == 401
    assert request(app, "/", headers={"authorization": "Bearer žádný".encode()}).status_code == 401


def test_the_token_sets_a_cookie_that_scripts_and_other_sites_never_see():
    app = make_app([], TOKEN)
    answer = request(app, "/sign-in", "POST", data={"token": TOKEN})
    cookie = answer.headers["set-cookie"].lower()
    assert answer.status_code == 303
    assert "httponly" in cookie
    assert "samesite=lax" in cookie
    assert TOKEN not in cookie
    assert (
        request(app, "/", headers={"cookie": f"{COOKIE}={guard._session_of(TOKEN)}"}).status_code
        == 200
    )
    assert request(app, "/", headers={"authorization": f"Bearer {TOKEN}"}).status_code == 200


def test_a_link_that_carries_the_token_signs_in_and_loses_it():
    app = make_app([], TOKEN)
    answer = request(app, "/study/1", params={"token": TOKEN}, headers=HTML)
    assert (answer.status_code, answer.headers["location"]) == (303, "/study/1")
    assert answer.headers["set-cookie"].startswith(f"{COOKIE}={guard._session_of(TOKEN)}")
    wrong = request(app, "/", params={"token": TOKEN + "x"}, headers=HTML)
    assert wrong.headers["location"] == "/sign-in"
    assert "set-cookie" not in wrong.headers


def test_dashboards_on_two_ports_do_not_sign_each_other_out():
    app = make_app([], TOKEN)
    cookies = [
        request(app, f"http://127.0.0.1:{port}/", params={"token": TOKEN}).headers["set-cookie"]
        for port in (8765, 8766)
    ]
    assert [cookie.partition("=")[0] for cookie in cookies] == ["surefoot-8765", "surefoot-8766"]


def test_a_wrong_or_endless_form_is_refused(monkeypatch):
    monkeypatch.setattr("surefoot.view.dashboard.app.WRONG_TOKEN_WAIT", 0)
    app = make_app([], TOKEN)
    for token in ("guess", "x" * 100_000, ""):
        answer = request(app, "/sign-in", "POST", data={"token": token})
        assert answer.status_code == 403
        assert "set-cookie" not in answer.headers


def test_tokens_are_compared_in_constant_time(monkeypatch):
    compared = []
    monkeypatch.setattr(hmac, "compare_digest", lambda a, b: compared.append((a, b)) or a == b)
    request(make_app([], TOKEN), "/", headers={"authorization": "Bearer guess"})
    assert (b"guess", TOKEN.encode()) in compared


@pytest.mark.parametrize("host", ["0.0.0.0", "192.0.2.7", "example.org", "::"])
def test_other_machines_need_a_token(host):
    with pytest.raises(InputError, match="it needs a token"):
        Door(host, token=None)


def test_a_short_token_is_refused():
    with pytest.raises(InputError, match="can be guessed"):
        Door(token="secret")


def test_every_door_has_a_token_of_its_own_unless_none_is_chosen():
    tokens = {Door().token, Door().token, Door("0.0.0.0").token}
    assert len(tokens) == 3
    assert all(len(token) >= 32 for token in tokens)
    assert Door(token=None).token is None


def test_a_port_in_use_is_named():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(InputError, match=f"port {port}.*choose another port"):
            Door(port=port).opened()


def test_the_link_carries_the_token():
    door = Door(port=0, token="sixteen letters!")
    with door.opened() as listening:
        port = listening.getsockname()[1]
        assert door.address(listening) == f"http://127.0.0.1:{port}/?token=sixteen letters!"
