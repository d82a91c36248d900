"""`surefoot dashboard` as a process of its own, and sockets that misbehave."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from tests.waiting import PATIENCE

PROGRAM = "from surefoot.cli import main; main()"


@dataclass(frozen=True)
class Server:
    """A dashboard that runs.

    Attributes:
        link: what it printed, with the token if it has one.
        messages: the file that holds what it wrote to stderr.
    """

    link: str
    messages: Path
    process: subprocess.Popen[str]

    @property
    def address(self) -> str:
        parts = urlsplit(self.link)
        return f"{parts.scheme}://{parts.netloc}"

    @property
    def place(self) -> tuple[str, int]:
        parts = urlsplit(self.link)
        assert parts.hostname
        assert parts.port
        return parts.hostname, parts.port

    def half_sent(self, count: int) -> list[socket.socket]:
        """Connections that begin a request and never end it."""
        opened = []
        for _ in range(count):
            connection = socket.create_connection(self.place, timeout=PATIENCE)
            connection.sendall(b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n")
            opened.append(connection)
        return opened


@contextmanager
def server(
    folder: Path, *arguments: object, token: str | None = None, before: str = ""
) -> Iterator[Server]:
    """Run `surefoot dashboard` on a free port.

    Args:
        token: SUREFOOT_TOKEN; None: it is not set.
        before: what its Python runs first.
    """
    environment = {key: value for key, value in os.environ.items() if key != "SUREFOOT_TOKEN"}
    environment |= {"SUREFOOT_TOKEN": token} if token else {}
    command = [sys.executable, "-c", before + PROGRAM, "dashboard", *map(str, arguments)]
    messages = folder / "messages.txt"
    with (
        messages.open("w") as errors,
        subprocess.Popen(
            [*command, "--port", "0"],
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            env=environment,
        ) as process,
    ):
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            assert line.startswith("http://127.0.0.1:"), messages.read_text()
            yield Server(line.split()[0], messages, process)
        finally:
            process.terminate()
            process.wait(timeout=PATIENCE)
