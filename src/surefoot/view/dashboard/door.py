"""Where a dashboard listens, and who may come in."""

from __future__ import annotations

import ipaddress
import secrets
import socket
from collections.abc import Sequence
from dataclasses import dataclass, field

from surefoot.errors import InputError

SHORTEST_TOKEN = 16


def fresh_token() -> str:
    """A token that nobody guesses."""
    return secrets.token_urlsafe(24)


@dataclass(frozen=True)
class Door:
    """Where a dashboard listens, and who may come in.

    Attributes:
        host: the name or address to listen on.
        port: 0 for any that is free.
        token: readers have to know it; a fresh one if none is given. None lets in every program
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
        """Under which requests may come; a token makes this machine's own names safe."""
        return [*self.names, *((self.host, socket.gethostname()) if self.token else ())]

    def opened(self) -> socket.socket:
        """The socket, listening already: whoever is told the address can connect at once."""
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
        """What to open in a browser: the link carries the token."""
        host, port = listening.getsockname()[:2]
        shown = f"[{host}]" if ":" in host else host
        return f"http://{shown}:{port}/" + (f"?token={self.token}" if self.token else "")


def _this_machine(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
