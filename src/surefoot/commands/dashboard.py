"""`surefoot dashboard`: studies in a browser, live."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from surefoot.commands.terminal import study_file


def command(
    studies: Annotated[
        list[Path] | None,
        typer.Argument(
            help="Study files or configurations; by default the one in this folder.",
            show_default=False,
        ),
    ] = None,
    host: Annotated[
        str, typer.Option(help="Where to listen; by default this machine alone can reach it.")
    ] = ("127.0.0.1"),
    port: Annotated[int, typer.Option(min=0, max=65535, help="0: any that is free.")] = 8765,
    token: Annotated[
        str | None,
        typer.Option(
            envvar="SUREFOOT_TOKEN",
            help="Readers have to know it; by default a fresh one, in the link that is printed.",
            show_default=False,
        ),
    ] = None,
    no_token: Annotated[
        bool,
        typer.Option("--no-token", help="Let in every user and program of this machine."),
    ] = False,
    allow_host: Annotated[
        list[str] | None,
        typer.Option(help="A name under which readers reach this machine.", show_default=False),
    ] = None,
    browser: Annotated[bool, typer.Option("--open", help="Open it in a browser.")] = False,
) -> None:
    """Show studies in a browser while they run. It only reads: no study can be changed or
    slowed.
    """
    from surefoot.system.interrupts import farewell
    from surefoot.view.dashboard import Door, serve
    from surefoot.view.dashboard.guard import fresh_token

    def announce(address: str) -> None:
        print(
            f"{address} shows {len(files)} "
            f"{'study' if len(files) == 1 else 'studies'}; Ctrl-C ends it",
            flush=True,
        )
        if browser:
            import webbrowser

            webbrowser.open(address)

    files = [_existing(path) for path in studies] if studies else [_existing(None)]
    known = None if no_token else token or fresh_token()
    with farewell(lambda: "the dashboard has ended; studies are not affected"):
        serve(files, Door(host, port, known, allow_host or []), announce)


def _existing(given: Path | None) -> Path:
    """Return the study file; that of a configuration may come later."""
    from surefoot.errors import InputError

    path = study_file(given)
    if not path.exists() and given is not None and given.suffix != ".toml":
        raise InputError(
            f"there is no file {path}: give a study file, or the configuration that will make one"
        )
    return path
