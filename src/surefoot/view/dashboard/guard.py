"""The border of the dashboard: who may ask, how many connections there are, and for how long."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import hmac
import ipaddress
import logging
import resource
import secrets
import socket
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeVar
from urllib.parse import parse_qs, quote, urlsplit

import h11
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import cookie_parser
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from surefoot.errors import InputError

SIGN_IN = "/sign-in"
OPEN_PATHS = (SIGN_IN, "/assets/style.css")
HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
        "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
}


class Guard:
    """Lets a request through or answers it itself."""

    def __init__(self, app: ASGIApp, token: str | None = None, names: Iterable[str] = ()) -> None:
        self._app, self._token = app, token
        self._names = {"localhost", *(name.lower() for name in names)}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        answer = self._answer(scope)
        await (answer or self._app)(scope, receive, _with_headers(send))

    def _answer(self, scope: Scope) -> Response | None:
        """Return the response to a request that the application must not see; None for others."""
        headers, path = Headers(scope=scope), scope["path"]
        if not self._known_host(headers.get("host", "")):
            return PlainTextResponse(
                "This name is not known here. Open the address that the dashboard showed when it "
                "began, or start it with this name among its known ones.\n",
                status_code=400,
            )
        if self._token is None:
            return None
        if self._link_carries_token(scope):
            return signed_in(scope, self._token, "/" if path == SIGN_IN else path)
        if path in OPEN_PATHS or self._signed_in(headers, scope):
            return None
        if "text/html" in headers.get("accept", ""):
            return RedirectResponse(SIGN_IN, status_code=303)
        return PlainTextResponse(
            "Sign in, or send the token as `Authorization: Bearer TOKEN`.\n", status_code=401
        )

    def _known_host(self, host: str) -> bool:
        """Return True for a name that was given and for a plain address: a foreign page can point
        its own name at this machine, but not an address.
        """
        try:
            name = urlsplit(f"//{host}").hostname or ""
        except ValueError:
            return False
        try:
            ipaddress.ip_address(name)
        except ValueError:
            return name in self._names
        return True

    def _link_carries_token(self, scope: Scope) -> bool:
        given = parse_qs(scope["query_string"].decode("latin-1")).get("token", [""])[0]
        return scope["method"] == "GET" and same(given, self._token or "")

    def _signed_in(self, headers: Headers, scope: Scope) -> bool:
        assert self._token is not None
        scheme, _, given = headers.get("authorization", "").partition(" ")
        if scheme.lower() == "bearer" and same(given.strip(), self._token):
            return True
        cookies = cookie_parser(headers.get("cookie", ""))
        return same(cookies.get(_cookie_name(scope), ""), _session_of(self._token))


def _cookie_name(scope: Scope) -> str:
    """Return a name that holds the port: browsers share cookies among a machine's servers."""
    return f"surefoot-{scope['server'][1]}"


def signed_in(scope: Scope, token: str, path: str) -> Response:
    """Lead on to a page, with the cookie that proves knowledge of the token from now on.

    The cookie goes along when a link elsewhere leads here, which reveals nothing and changes
    nothing; requests made by other sites never have it.
    """
    # a path that begins with two slashes would be the address of another site
    response = RedirectResponse("/" + quote(path.lstrip("/")), status_code=303)
    response.set_cookie(
        _cookie_name(scope),
        _session_of(token),
        httponly=True,
        samesite="lax",
        secure=scope["scheme"] == "https",
    )
    return response


def _session_of(token: str) -> str:
    """Return the content of the cookie: it proves knowledge of the token without being it."""
    return hmac.new(token.encode(), b"surefoot dashboard", hashlib.sha256).hexdigest()


def same(given: str, expected: str) -> bool:
    """Compare in a time that tells nothing about where the two differ."""
    return hmac.compare_digest(given.encode(), expected.encode())


def _with_headers(send: Send) -> Send:
    async def guarded(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in HEADERS.items():
                headers[name] = value
            headers.setdefault("Cache-Control", "no-store")
        await send(message)

    return guarded


SHORTEST_TOKEN = 16


def fresh_token() -> str:
    """Return an unguessable token."""
    return secrets.token_urlsafe(24)


@dataclass(frozen=True)
class Door:
    """The address at which a dashboard listens, and the visitors that it lets in.

    Attributes:
        host: the name or address to listen on.
        port: 0 for any that is free.
        token: readers have to know it; a fresh one by default. None lets in every program
            and user of this machine, and is refused where other machines can reach it.
        names: host names under which readers reach this machine.
    """

    host: str = "127.0.0.1"
    port: int = 8765
    token: str | None = field(default_factory=fresh_token, repr=False)
    names: Sequence[str] = ()

    def __post_init__(self) -> None:
        if self.token is not None and len(self.token) < SHORTEST_TOKEN:
            raise InputError(
                f"the token has {len(self.token)} characters, which can be guessed: give "
                f"{SHORTEST_TOKEN} or more, or none for a fresh one"
            )
        if self.token is None and not _this_machine(self.host):
            raise InputError(
                f"host {self.host!r} can be reached from other machines: it needs a token, "
                "so that only those who know it can read the studies"
            )

    @property
    def known_names(self) -> list[str]:
        """The host names of requests that are let in; with a token, also this machine's own."""
        return [*self.names, *((self.host, socket.gethostname()) if self.token else ())]

    def opened(self) -> socket.socket:
        """Return the socket, listening already, so that readers can connect at once."""
        try:
            family, kind, protocol, _, address = socket.getaddrinfo(
                self.host, self.port, type=socket.SOCK_STREAM
            )[0]
            listening = socket.socket(family, kind, protocol)
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listening.bind(address)
            listening.listen()
        except OSError as error:
            raise InputError(
                f"cannot listen on {self.host}, port {self.port} ({error.strerror}): choose "
                "another port, or 0 for any that is free"
            ) from None
        return listening

    def address(self, listening: socket.socket) -> str:
        """Return the link to open in a browser: it carries the token."""
        host, port = listening.getsockname()[:2]
        shown = f"[{host}]" if ":" in host else host
        return f"http://{shown}:{port}/" + (f"?token={self.token}" if self.token else "")


def _this_machine(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


ARRIVAL = 10.0  # seconds that a request may take from its first byte to its last
MOST = 200  # connections at a time
BACKLOG = 100  # connections that wait to be accepted
MESSAGES, PERIOD = 10, 60.0  # this many messages in this many seconds
LOGGERS = ("uvicorn.error", "asyncio")


def _most_connections() -> int:
    """Return the number of connections that leaves files to open: each takes one descriptor."""
    granted, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return MOST if granted == resource.RLIM_INFINITY else max(8, min(MOST, granted // 4))


class LimitedConnection(H11Protocol):
    """A connection that ends if its request does not arrive in time.

    When there are too many, the one that has waited longest for its request gives way: half-sent
    requests keep no reader out.
    """

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._deadline: asyncio.TimerHandle | None = None
        self._most = _most_connections()

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._wait_for_request()
        if len(self.connections) > self._most:
            waiting = [c for c in self.connections if isinstance(c, LimitedConnection)]
            min(waiting, key=LimitedConnection._patience).end()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self.conn.their_state in (h11.IDLE, h11.SEND_BODY):
            self._wait_for_request()
        else:
            self._stop_waiting()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_waiting()
        super().connection_lost(exc)

    def end(self) -> None:
        self._stop_waiting()
        self.transport.abort()

    def _wait_for_request(self) -> None:
        if self._deadline is None:
            self._deadline = self.loop.call_later(ARRIVAL, self.end)

    def _stop_waiting(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _patience(self) -> float:
        """Return when the wait for its request ends; infinity while it is being answered."""
        return float("inf") if self._deadline is None else self._deadline.when()


class _AtMost(logging.Filter):
    """Lets a few messages through in each period, then says once that more were left out."""

    def __init__(self) -> None:
        super().__init__()
        self._began, self._count = -PERIOD, 0

    def filter(self, record: logging.LogRecord) -> bool:
        now = time.monotonic()
        if now - self._began >= PERIOD:
            self._began, self._count = now, 0
        self._count += 1
        if self._count == MESSAGES:
            record.msg, record.args, record.exc_info = "more messages, left out", (), None
        return self._count <= MESSAGES


@contextmanager
def few_messages() -> Iterator[None]:
    """Limit what the server writes to its terminal or log file."""
    limit = _AtMost()
    for name in LOGGERS:
        logging.getLogger(name).addFilter(limit)
    try:
        yield
    finally:
        for name in LOGGERS:
            logging.getLogger(name).removeFilter(limit)


LIMIT = 20.0  # seconds for which a page waits for its contents

T = TypeVar("T")


class TooSlow(Exception):
    """Reading takes longer than anybody should wait."""


class Lane:
    """One thing after another, each in a thread; so there are never more threads than lanes.

    A read that was given up still runs, for a thread cannot be ended. Requests meanwhile are turned
    away at once: a file made to hang holds up itself alone. Nor does it hold up the end of the
    process, which does not wait for these threads.
    """

    def __init__(self, limit: float = LIMIT) -> None:
        self._limit = limit
        self._free = asyncio.Lock()
        self._since = 0.0

    async def run(self, read: Callable[[], T]) -> T:
        """Return the result of `read`, in its turn; raise TooSlow if it does not come in time."""
        if self._free.locked() and time.monotonic() - self._since > self._limit:
            raise TooSlow
        try:
            async with asyncio.timeout(self._limit):
                await self._free.acquire()
                self._since = time.monotonic()
                return await asyncio.shield(self._started(read))
        except TimeoutError:
            raise TooSlow from None

    def _started(self, read: Callable[[], T]) -> asyncio.Future[T]:
        """Return the read in a thread, which frees the lane when it is really over."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[T] = loop.create_future()

        def over(result: T | None, error: BaseException | None) -> None:
            self._free.release()
            if error is None:
                future.set_result(result)  # type: ignore[arg-type]
            else:
                future.set_exception(error)
                future.exception()  # retrieved, even if no request waits for it any more

        def work() -> None:
            result, error = None, None
            try:
                result = read()
            except BaseException as raised:
                error = raised
            with contextlib.suppress(RuntimeError):  # the server has ended meanwhile
                loop.call_soon_threadsafe(over, result, error)

        threading.Thread(target=work, daemon=True).start()
        return future
