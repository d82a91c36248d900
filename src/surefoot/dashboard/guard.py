"""What stands before every request: known host names, a token if there is one, and headers that
forbid all else.
"""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
from collections.abc import Iterable
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import cookie_parser
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

COOKIE = "surefoot"
SIGN_IN = "/sign-in"
OPEN_PATHS = (SIGN_IN, "/assets/style.css")
HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' "
        "data:; connect-src 'self'; "
        "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
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
        refusal = self._refusal(Headers(scope=scope), scope["path"])
        await (refusal or self._app)(scope, receive, _with_headers(send))

    def _refusal(self, headers: Headers, path: str) -> Response | None:
        if not self._known_host(headers.get("host", "")):
            return PlainTextResponse(
                "This name is not known here. Open the address that `surefoot "
                "dashboard` printed, or start it with "
                "--allow-host NAME.\n",
                status_code=400,
            )
        if self._token is None or path in OPEN_PATHS or self._signed_in(headers):
            return None
        if "text/html" in headers.get("accept", ""):
            return RedirectResponse(SIGN_IN, status_code=303)
        return PlainTextResponse(
            "Sign in, or send the token as `Authorization: Bearer TOKEN`.\n", status_code=401
        )

    def _known_host(self, host: str) -> bool:
        """Names that were given, and plain addresses: a foreign page can give us its own name, but
        not its address.
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

    def _signed_in(self, headers: Headers) -> bool:
        assert self._token is not None
        scheme, _, given = headers.get("authorization", "").partition(" ")
        if scheme.lower() == "bearer" and same(given.strip(), self._token):
            return True
        return same(
            cookie_parser(headers.get("cookie", "")).get(COOKIE, ""), session_of(self._token)
        )


def session_of(token: str) -> str:
    """What the cookie holds: it proves knowledge of the token without being it."""
    return hmac.new(token.encode(), b"surefoot dashboard", hashlib.sha256).hexdigest()


def same(given: str, expected: str) -> bool:
    """Comparison whose time tells nothing about where the two differ."""
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
