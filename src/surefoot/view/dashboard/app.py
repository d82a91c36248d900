"""The pages and their data. Studies have numbers in addresses: no path from an address reaches
the file system.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import (
    HTMLResponse,
    JSONResponse,
    RedirectResponse,
    Response,
    StreamingResponse,
)
from starlette.routing import Route

from surefoot.view.charts.drawing import vega_script
from surefoot.view.dashboard.guard import SIGN_IN, Door, Guard, TooSlow, same, signed_in
from surefoot.view.dashboard.shown import SLOW, Readings
from surefoot.view.report.page import charts_script, environment, style_sheet

REFRESH = 1.0  # seconds between reads of a watched study
QUIET = 15.0  # seconds after which a connection shows that it is alive
WRONG_TOKEN_WAIT = 0.5
LONGEST_FORM = 4096


def make_app(
    studies: Sequence[Path], token: str | None = None, names: Sequence[str] = ()
) -> Starlette:
    """Return the dashboard as an ASGI application.

    Args:
        studies: the study files, which may come and go.
        token: asked for before anything is shown, if given.
        names: host names other than `localhost` and plain addresses under which it is reached.
    """
    shown = [Readings(number, Path(path)) for number, path in enumerate(studies, 1)]

    @contextlib.asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        yield
        for study in shown:
            study.close()

    pages = _Pages(shown, token)
    routes = [
        Route("/", pages.studies),
        Route("/events", pages.all_events),
        Route("/study/{number:int}", pages.study),
        Route("/study/{number:int}/events", pages.study_events),
        Route("/study/{number:int}/details.json", pages.study_details),
        Route("/study/{number:int}/bounds.json", pages.study_bounds),
        Route("/study/{number:int}/pulls.csv", pages.study_csv),
        Route(SIGN_IN, pages.sign_in, methods=["GET", "POST"]),
        Route("/assets/{name}", _asset),
    ]
    answers: dict[Any, Any] = {HTTPException: _error_page, TooSlow: _slow_page}
    app = Starlette(
        routes=routes,
        lifespan=lifespan,
        middleware=[Middleware(Guard, token=token, names=names)],
        exception_handlers=answers,
    )
    app.state.shown = shown
    return app


def warm_up(app: Starlette) -> None:
    """Fill the caches and read the first study, so that its first page comes as quickly as the
    others.
    """
    vega_script()
    for study in app.state.shown[:1]:
        study.warm_up()


class _Pages:
    """The request handlers of all pages."""

    def __init__(self, shown: list[Readings], token: str | None) -> None:
        self._shown, self._token = shown, token

    async def studies(self, request: Request) -> Response:
        if len(self._shown) == 1:
            return RedirectResponse("/study/1", status_code=303)
        return _render("studies.html", studies=await self._summaries())

    async def study(self, request: Request) -> Response:
        page = await self._asked(request).page()
        return _render("study.html", **page, alone=len(self._shown) == 1)

    async def study_details(self, request: Request) -> Response:
        return JSONResponse(await self._asked(request).details())

    async def study_bounds(self, request: Request) -> Response:
        return JSONResponse({"charts": await self._asked(request).bounds()})

    async def study_events(self, request: Request) -> Response:
        return _event_stream(request, self._asked(request).fields)

    async def all_events(self, request: Request) -> Response:
        return _event_stream(request, self._summaries)

    async def study_csv(self, request: Request) -> Response:
        study = self._asked(request)
        if not study.path.is_file():
            raise HTTPException(404, "The file of this study is not there.")
        disposition = f'attachment; filename="study-{study.number}-pulls.csv"'
        return StreamingResponse(
            study.csv(),
            media_type="text/csv; charset=utf-8",
            headers={"Content-Disposition": disposition},
        )

    async def sign_in(self, request: Request) -> Response:
        if self._token is None:
            return RedirectResponse("/", status_code=303)
        if request.method == "GET":
            return _render("sign_in.html", wrong=False)
        if not same(await _sent_token(request), self._token):
            await asyncio.sleep(WRONG_TOKEN_WAIT)
            return _render("sign_in.html", status_code=403, wrong=True)
        return signed_in(request.scope, self._token, "/")

    def _asked(self, request: Request) -> Readings:
        number: int = request.path_params["number"]
        if not 1 <= number <= len(self._shown):
            raise HTTPException(
                404, f"There is no study {number}: they are numbered 1 to {len(self._shown)}."
            )
        return self._shown[number - 1]

    async def _summaries(self) -> list[dict[str, Any]]:
        return await asyncio.gather(*(study.summary() for study in self._shown))


def _event_stream(request: Request, read: Callable[[], Awaitable[Any]]) -> Response:
    return StreamingResponse(_events(request, read), media_type="text/event-stream")


async def _events(request: Request, read: Callable[[], Awaitable[Any]]) -> AsyncIterator[str]:
    """Yield server-sent events: the present state at once, then every change."""
    sent, silence = "", 0.0
    while not await request.is_disconnected():
        text = json.dumps(await read())
        silence += REFRESH
        if text != sent:
            yield f"data: {text}\n\n"
            sent, silence = text, 0.0
        elif silence >= QUIET:
            yield ": still here\n\n"
            silence = 0.0
        await asyncio.sleep(REFRESH)


async def _sent_token(request: Request) -> str:
    """Return the token of a form, of which no more is read than a token can have."""
    body = b""
    async for chunk in request.stream():
        body += chunk
        if len(body) > LONGEST_FORM:
            return ""
    return parse_qs(body.decode(errors="replace")).get("token", [""])[0]


async def _asset(request: Request) -> Response:
    """Return a script or a style from a fixed list: no address reaches a folder."""
    known: dict[str, tuple[Callable[[], str], str]] = {
        "style.css": (style_sheet, "text/css"),
        "charts.js": (charts_script, "text/javascript"),
        "vega.js": (vega_script, "text/javascript"),
        "live.js": (_live_script, "text/javascript"),
    }
    if request.path_params["name"] not in known:
        raise HTTPException(404, "There is nothing of this name.")
    read, kind = known[request.path_params["name"]]
    return Response(
        await run_in_threadpool(read),
        media_type=kind,
        headers={"Cache-Control": "private, max-age=600"},
    )


@cache
def _live_script() -> str:
    return (Path(__file__).parent / "assets" / "live.js").read_text(encoding="utf-8")


async def _error_page(request: Request, error: HTTPException) -> Response:
    return _render("error.html", status_code=error.status_code, message=error.detail)


async def _slow_page(request: Request, error: TooSlow) -> Response:
    return _render("error.html", status_code=503, message=SLOW)


def _render(template: str, status_code: int = 200, **values: Any) -> Response:
    return HTMLResponse(
        environment("surefoot.view.dashboard").get_template(template).render(values), status_code
    )


GRACE = 1  # seconds that open pages get when the server ends
IDLE = 5  # seconds for which a connection is kept for the next request
LONGEST_HEAD = 16 * 1024  # bytes of a request before its body


def serve(
    studies: Sequence[Path], door: Door | None = None, announce: Callable[[str], None] = print
) -> None:
    """Show the studies until interrupted.

    Args:
        door: where to listen and who may come in; by default this machine, with a fresh token.
        announce: is told the address once it can be opened.
    """
    import uvicorn

    from surefoot.view.dashboard.guard import BACKLOG, LimitedConnection, few_messages

    door = door or Door()
    with door.opened() as listening, few_messages():
        app = make_app(studies, door.token, door.known_names)
        warm_up(app)
        announce(door.address(listening))
        config = uvicorn.Config(
            app,
            http=LimitedConnection,
            ws="none",
            log_level="warning",
            log_config=None,
            access_log=False,
            server_header=False,
            backlog=BACKLOG,
            timeout_keep_alive=IDLE,
            h11_max_incomplete_event_size=LONGEST_HEAD,
            timeout_graceful_shutdown=GRACE,
        )
        uvicorn.Server(config).run(sockets=[listening])
