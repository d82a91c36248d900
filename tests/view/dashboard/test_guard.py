"""Who may see a study: names, tokens, cookies, headers; and requests that arrive slowly."""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import logging
import socket
import threading

import pytest
import uvicorn

from surefoot import InputError
from surefoot.view.dashboard import Door, guard, make_app
from surefoot.view.dashboard.guard import Lane, LimitedConnection, TooSlow, _AtMost
from tests.view.dashboard.studies import request
from tests.waiting import PATIENCE

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


HEAD = b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n"
BODY = b"\r\nabcde"


async def echo(scope, receive, send):
    body, more = b"", True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            return
        body, more = body + message["body"], message["more_body"]
    headers = [(b"content-length", b"%d" % len(body))]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def talk(conversation):
    """Let a conversation take place with a server that has it as its only reader."""

    async def meet():
        config = uvicorn.Config(
            echo, http=LimitedConnection, port=0, lifespan="off", log_config=None
        )
        server = uvicorn.Server(config)
        serving = asyncio.create_task(server.serve())
        while not server.started:
            await asyncio.sleep(0.01)
        place = server.servers[0].sockets[0].getsockname()
        try:
            return await conversation(lambda: asyncio.open_connection(*place))
        finally:
            server.should_exit = True
            await serving

    return asyncio.run(meet())


@pytest.mark.parametrize("sent", [b"", b"GET / HT", HEAD, HEAD + BODY[:4]])
def test_a_request_that_does_not_arrive_ends_its_connection(monkeypatch, sent):
    monkeypatch.setattr(guard, "ARRIVAL", 0.2)

    async def conversation(connect):
        reader, writer = await connect()
        writer.write(sent)
        return await asyncio.wait_for(reader.read(), PATIENCE)

    assert talk(conversation) == b""


def test_a_request_in_time_is_answered_and_another_may_follow(monkeypatch):
    monkeypatch.setattr(guard, "ARRIVAL", PATIENCE)

    async def conversation(connect):
        reader, writer = await connect()
        for _ in range(2):
            for part in (HEAD, BODY):
                writer.write(part)
                await writer.drain()
            head = await reader.readuntil(b"\r\n\r\n")
            assert b"200 OK" in head
            assert await reader.readexactly(5) == b"abcde"
        writer.close()

    talk(conversation)


def test_when_there_are_too_many_the_longest_waiting_gives_way(monkeypatch):
    monkeypatch.setattr(guard, "MOST", 8)
    monkeypatch.setattr(guard, "ARRIVAL", PATIENCE)

    async def conversation(connect):
        waiting = [await connect() for _ in range(8)]
        reader, writer = await connect()
        writer.write(HEAD + BODY)
        assert b"200 OK" in await reader.readuntil(b"\r\n\r\n")
        assert await asyncio.wait_for(waiting[0][0].read(), PATIENCE) == b""
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(waiting[-1][0].read(), 0.1)
        for _, other in waiting:
            other.close()
        writer.close()

    talk(conversation)


def test_messages_are_limited():
    limit, record = _AtMost(), logging.LogRecord("x", logging.ERROR, "", 0, "trouble", (), None)
    assert sum(limit.filter(record) for _ in range(1000)) == guard.MESSAGES
    assert "left out" in record.getMessage()


def test_a_lane_gives_what_was_read_and_what_went_wrong():
    async def reads():
        lane = Lane()
        assert await lane.run(lambda: 7) == 7
        with pytest.raises(ZeroDivisionError):
            await lane.run(lambda: 1 / 0)
        assert await asyncio.gather(*(lane.run(lambda n=n: n) for n in range(50))) == [*range(50)]

    asyncio.run(reads())


async def _tried(lane):
    with contextlib.suppress(TooSlow):
        return await lane.run(lambda: "free")


def test_a_read_that_hangs_takes_one_thread_and_its_lane_is_free_again_afterwards():
    gate = threading.Event()

    async def reads():
        lane, other = Lane(0.1), Lane(PATIENCE)
        before = set(threading.enumerate())
        stuck = [asyncio.create_task(lane.run(gate.wait)) for _ in range(45)]
        results = await asyncio.gather(*stuck, return_exceptions=True)
        assert all(isinstance(result, TooSlow) for result in results)
        assert len(set(threading.enumerate()) - before) == 1
        assert await other.run(lambda: "quick") == "quick"
        with pytest.raises(TooSlow):
            await lane.run(lambda: "at once")
        gate.set()
        async with asyncio.timeout(PATIENCE):
            while await _tried(lane) != "free":
                await asyncio.sleep(0.01)

    asyncio.run(reads())
