"""The server: bound before it says where it is, with limits on what it takes in."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from surefoot.view.dashboard.app import make_app, warm_up
from surefoot.view.dashboard.door import Door

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

    from surefoot.view.dashboard.connections import BACKLOG, LimitedConnection, few_messages

    door = door or Door()
    with door.opened() as listening, few_messages():
        warm_up(studies)
        announce(door.address(listening))
        config = uvicorn.Config(
            make_app(studies, door.token, door.known_names),
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
