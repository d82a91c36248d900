"""The pages and what they fetch. Studies have numbers in addresses: no path from an address reaches
the file system.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import jinja2
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

from surefoot.charts.bounds import bounds_drawing
from surefoot.dashboard import words
from surefoot.dashboard.guard import COOKIE, SIGN_IN, Guard, same, session_of
from surefoot.dashboard.watch import Watch
from surefoot.report import assets
from surefoot.report.drawings import DESCRIPTIONS, safe_json
from surefoot.report.page import environment
from surefoot.study import StudyReader

REFRESH = 1.0  # seconds between looks at a study somebody watches
QUIET = 15.0  # seconds after which a connection shows that it is alive
CSV_BLOCK = 20_000
WRONG_TOKEN_WAIT = 0.5
LONGEST_FORM = 4096


def make_app(
    studies: Sequence[Path], token: str | None = None, names: Sequence[str] = ()
) -> Starlette:
    """The dashboard as an ASGI application.

    Args:
        studies: the study files, which may come and go.
        token: asked for before anything is shown, if given.
        names: host names other than `localhost` and plain addresses under which it is reached.
    """
    watches = [Watch(Path(path)) for path in studies]

    @contextlib.asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        yield
        for watch in watches:
            watch.close()

    pages = Pages(watches, token)
    routes = [
        Route("/", pages.studies),
        Route("/events", pages.all_events),
        Route("/study/{number:int}", pages.study),
        Route("/study/{number:int}/events", pages.study_events),
        Route("/study/{number:int}/details.json", pages.study_details),
        Route("/study/{number:int}/bounds.json", pages.study_bounds),
        Route("/study/{number:int}/pulls.csv", pages.study_csv),
        Route(SIGN_IN, pages.sign_in, methods=["GET", "POST"]),
        Route("/assets/{name}", asset),
    ]
    return Starlette(
        routes=routes,
        lifespan=lifespan,
        middleware=[Middleware(Guard, token=token, names=names)],
        exception_handlers={HTTPException: _error_page},  # type: ignore[dict-item]
    )


def warm_up(studies: Sequence[Path]) -> None:
    """Make what is made once, so that the first page comes as quickly as the others."""
    assets.vega_script()
    for path in studies[:1]:
        watch = Watch(path)
        words.details(watch, watch.look())
        watch.close()


class Pages:
    """Everything about the studies that are shown; what touches a file runs in a thread."""

    def __init__(self, watches: list[Watch], token: str | None) -> None:
        self._watches, self._token = watches, token

    async def studies(self, request: Request) -> Response:
        return _render("studies.html", studies=await run_in_threadpool(self._summaries))

    async def study(self, request: Request) -> Response:
        watch, number = self._watch(request), request.path_params["number"]
        return _render("study.html", **await run_in_threadpool(_study_values, watch, number))

    async def study_details(self, request: Request) -> Response:
        watch = self._watch(request)
        return JSONResponse(await run_in_threadpool(lambda: words.details(watch, watch.look())))

    async def study_bounds(self, request: Request) -> Response:
        watch = self._watch(request)
        return JSONResponse({"charts": await run_in_threadpool(_bounds, watch)})

    async def study_events(self, request: Request) -> Response:
        watch = self._watch(request)
        return _event_stream(request, lambda: words.fields(watch.look()))

    async def all_events(self, request: Request) -> Response:
        return _event_stream(request, self._summaries)

    async def study_csv(self, request: Request) -> Response:
        watch = self._watch(request)
        if not watch.path.is_file():
            raise HTTPException(404, "The file of this study is not there.")
        disposition = f'attachment; filename="study-{request.path_params["number"]}-pulls.csv"'
        return StreamingResponse(
            _csv(watch.path),
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
        response = RedirectResponse("/", status_code=303)
        secure = request.url.scheme == "https"
        response.set_cookie(
            COOKIE, session_of(self._token), httponly=True, samesite="strict", secure=secure
        )
        return response

    def _watch(self, request: Request) -> Watch:
        number: int = request.path_params["number"]
        if not 1 <= number <= len(self._watches):
            raise HTTPException(
                404, f"There is no study {number}: they are numbered 1 to {len(self._watches)}."
            )
        return self._watches[number - 1]

    def _summaries(self) -> list[dict[str, Any]]:
        return [
            words.fields(watch.look()) | {"number": number, "file": watch.path.name}
            for number, watch in enumerate(self._watches, 1)
        ]


def _study_values(watch: Watch, number: int) -> dict[str, Any]:
    look = watch.look()
    details = words.details(watch, look)
    return {
        "number": number,
        "file": watch.path.name,
        "fields": words.fields(look),
        "certificate": details.pop("certificate"),
        "settings": watch.settings(look.result) if look.result else [],
        "arms": details.pop("arms"),
        "failures": details.pop("failures"),
        "figures": DESCRIPTIONS,
        "payload": safe_json(details),
    }


def _bounds(watch: Watch) -> dict[str, Any]:
    hardness, look = watch.hardness(), watch.look()
    return (
        {"bounds": bounds_drawing(look.result, hardness).spec()} if hardness and look.result else {}
    )


def _csv(path: Path) -> Iterator[str]:
    """All pulls in blocks, by a reader of its own: a large download holds up no page."""
    with StudyReader(path) as reader:
        since, header = 0, True
        while not (block := reader.pulls(since, CSV_BLOCK)).empty or header:
            yield block.to_csv(index=False, header=header)
            if block.empty:
                return
            since, header = int(block["id"].iloc[-1]) + 1, False


def _event_stream(request: Request, read: Callable[[], Any]) -> Response:
    return StreamingResponse(_events(request, read), media_type="text/event-stream")


async def _events(request: Request, read: Callable[[], Any]) -> AsyncIterator[str]:
    """Server-sent events: what is there at once, then only what is new."""
    sent, silence = "", 0.0
    while not await request.is_disconnected():
        text = json.dumps(await run_in_threadpool(read))
        silence += REFRESH
        if text != sent:
            yield f"data: {text}\n\n"
            sent, silence = text, 0.0
        elif silence >= QUIET:
            yield ": still here\n\n"
            silence = 0.0
        await asyncio.sleep(REFRESH)


async def _sent_token(request: Request) -> str:
    """The token of a form, of which no more is read than a token can have."""
    body = b""
    async for chunk in request.stream():
        body += chunk
        if len(body) > LONGEST_FORM:
            return ""
    return parse_qs(body.decode(errors="replace")).get("token", [""])[0]


async def asset(request: Request) -> Response:
    """Scripts and styles: a fixed list, not a folder."""
    known: dict[str, tuple[Callable[[], str], str]] = {
        "style.css": (assets.style, "text/css"),
        "charts.js": (assets.charts_script, "text/javascript"),
        "vega.js": (assets.vega_script, "text/javascript"),
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


def _render(template: str, status_code: int = 200, **values: Any) -> Response:
    return HTMLResponse(_environment().get_template(template).render(values), status_code)


@cache
def _environment() -> jinja2.Environment:
    """As for reports, whose tables are at hand, with the pages of the dashboard."""
    packages = ("surefoot.dashboard", "surefoot.report")
    loaders = [jinja2.PackageLoader(package, "templates") for package in packages]
    return environment().overlay(loader=jinja2.ChoiceLoader(loaders))
