"""The server: bound before it says where it is, to this machine alone unless a token is given."""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Callable, Sequence
from pathlib import Path

from surefoot.dashboard.app import make_app, warm_up
from surefoot.errors import InputError

SHORTEST_TOKEN = 16
GRACE = 1  # seconds that open pages get when the server ends


def serve(
    studies: Sequence[Path],
    host: str = "127.0.0.1",
    port: int = 8765,
    token: str | None = None,
    names: Sequence[str] = (),
    announce: Callable[[str], None] = print,
) -> None:
    """Show the studies until interrupted.

    Args:
        host: where to listen; anything but this machine itself needs a token.
        port: 0 for any that is free.
        token: readers have to give it once.
        names: host names under which readers reach this machine.
        announce: is told the address once it can be opened.
    """
    import uvicorn

    _refuse_open_door(host, token)
    with _bound(host, port) as listening:
        warm_up(studies)
        address = listening.getsockname()
        shown = f"[{address[0]}]" if ":" in address[0] else address[0]
        announce(f"http://{shown}:{address[1]}/")
        app = make_app(studies, token, [*names, host, socket.gethostname()] if token else names)
        config = uvicorn.Config(
            app,
            log_level="warning",
            access_log=False,
            server_header=False,
            timeout_graceful_shutdown=GRACE,
        )
        uvicorn.Server(config).run(sockets=[listening])


def _refuse_open_door(host: str, token: str | None) -> None:
    if token is not None and len(token) < SHORTEST_TOKEN:
        raise InputError(
            f"the token has {len(token)} characters, which can be guessed: give "
            f"{SHORTEST_TOKEN} or more, such as "
            "`python -c 'import secrets; print(secrets.token_urlsafe())'` prints"
        )
    if token is None and not _this_machine(host):
        raise InputError(
            f"host {host!r} can be reached from other machines: give --token as well, "
            f"so that only those who know it "
            "can read the studies"
        )


def _this_machine(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _bound(host: str, port: int) -> socket.socket:
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM
        )[0]
        listening = socket.socket(family, kind, protocol)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(address)
        listening.listen()  # so that whoever is told the address can connect at once
    except OSError as error:
        raise InputError(
            f"cannot listen on {host}, port {port} ({error.strerror}): choose another "
            f"--port, or 0 for any that is free"
        ) from None
    return listening
