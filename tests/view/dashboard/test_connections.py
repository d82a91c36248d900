"""Requests that arrive slowly, against the server's own protocol, with short limits."""

from __future__ import annotations

import asyncio
import logging
import threading

import pytest
import uvicorn

from surefoot.view.dashboard import guard
from surefoot.view.dashboard.guard import Lane, LimitedConnection, TooSlow, _AtMost

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
        return await asyncio.wait_for(reader.read(), 10)

    assert talk(conversation) == b""


def test_a_request_in_time_is_answered_and_another_may_follow(monkeypatch):
    monkeypatch.setattr(guard, "ARRIVAL", 5.0)

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

    async def conversation(connect):
        waiting = [await connect() for _ in range(8)]
        reader, writer = await connect()
        writer.write(HEAD + BODY)
        assert b"200 OK" in await reader.readuntil(b"\r\n\r\n")
        assert await asyncio.wait_for(waiting[0][0].read(), 10) == b""
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


def test_a_read_that_hangs_takes_one_thread_and_its_lane_is_free_again_afterwards():
    gate = threading.Event()

    async def reads():
        lane, other = Lane(0.1), Lane()
        before = set(threading.enumerate())
        stuck = [asyncio.create_task(lane.run(gate.wait)) for _ in range(45)]
        results = await asyncio.gather(*stuck, return_exceptions=True)
        assert all(isinstance(result, TooSlow) for result in results)
        assert len(set(threading.enumerate()) - before) == 1
        assert await other.run(lambda: "quick") == "quick"
        with pytest.raises(TooSlow):
            await lane.run(lambda: "at once")
        gate.set()
        while True:
            try:
                assert await lane.run(lambda: "free") == "free"
                break
            except TooSlow:
                await asyncio.sleep(0.01)

    asyncio.run(reads())
