"""The command line: each command is a module of surefoot.commands with a function `command`."""

from __future__ import annotations

import contextlib
import importlib
import inspect
import io
import logging
import sys
import warnings
from collections.abc import Callable, Iterator
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

# In the order of `surefoot --help`. A module imports heavy modules inside its function, so that
# help stays quick.
COMMANDS = {
    "init": "surefoot.commands.init",
    "pilot": "surefoot.commands.pilot",
    "plan": "surefoot.commands.plan",
    "run": "surefoot.commands.run",
    "macroreplicate": "surefoot.commands.macroreplicate",
    "ask": "surefoot.commands.ask",
    "tell": "surefoot.commands.tell",
    "status": "surefoot.commands.status",
    "verify": "surefoot.commands.verify",
    "export": "surefoot.commands.export",
    "backup": "surefoot.commands.backup",
    "report": "surefoot.commands.report",
    "dashboard": "surefoot.commands.dashboard",
    "reproduce": "surefoot.commands.reproduce",
    "bolus": "surefoot.commands.bolus",
    "cite": "surefoot.commands.cite",
}


TRY_AGAIN = 75  # exit code of what may work later: EX_TEMPFAIL


class _LazyCommands(TyperGroup):
    """Builds a command when it is called; a list of all wants their first sentences only."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        limit = formatter.width - 6 - max(map(len, COMMANDS))
        rows = []
        for name, module in COMMANDS.items():
            said = inspect.getdoc(importlib.import_module(module).command)
            rows.append((name, TyperCommand(name, help=said).get_short_help_str(limit)))
        with formatter.section("Commands"):
            formatter.write_dl(rows)

    def list_commands(self, ctx: Any) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if cmd_name not in COMMANDS:
            return None
        app = typer.Typer(add_completion=False, rich_markup_mode=None)
        app.command(cmd_name)(importlib.import_module(COMMANDS[cmd_name]).command)
        return typer.main.get_command(app)


app = typer.Typer(
    cls=_LazyCommands,
    add_completion=False,
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)


def _print_version(wanted: bool) -> None:
    if wanted:
        from surefoot import __version__

        print(f"surefoot {__version__}")
        raise typer.Exit


@app.callback()
def surefoot(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    """Find the configuration with the best worst case, with proof, in few simulator
    calls.
    """


def main(arguments: list[str] | None = None) -> Any:
    """Run a command; a user's mistake ends with a message, not with a traceback."""
    try:
        _print_in_any_locale()
        with _messages_shown():
            return app(args=arguments, prog_name="surefoot")
    except OSError as error:  # a folder that cannot be written to, a full disk
        from surefoot.system.progress import printable

        print(f"surefoot: {printable(error)}", file=sys.stderr)
        sys.exit(2)
    except ModuleNotFoundError as error:
        from surefoot.errors import missing_extra

        if (sentence := missing_extra(error)) is None:
            raise
        print(f"surefoot: {sentence}", file=sys.stderr)
        sys.exit(2)
    except ValueError as error:
        from surefoot.errors import InputError, Unavailable
        from surefoot.system.progress import printable

        if not isinstance(error, InputError):
            raise
        print(f"surefoot: {printable(error)}", file=sys.stderr)
        sys.exit(TRY_AGAIN if isinstance(error, Unavailable) else 2)


def _print_in_any_locale() -> None:
    """Print a replacement for letters that the locale lacks."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


@contextlib.contextmanager
def _messages_shown() -> Iterator[None]:
    """Show the library's messages on stderr, such as why a first run takes long."""
    log, handler = logging.getLogger("surefoot"), logging.StreamHandler()
    handler.setFormatter(logging.Formatter("surefoot: %(message)s"))
    level = log.level
    log.addHandler(handler)
    log.setLevel(logging.INFO)
    try:
        with warnings.catch_warnings():
            warnings.showwarning = _shown(warnings.showwarning)
            yield
    finally:
        log.removeHandler(handler)
        log.setLevel(level)


def _shown(otherwise: Callable[..., None]) -> Callable[..., None]:
    """Show a warning of ours as a sentence, without the line of code that gave it."""

    def show(message: Warning | str, category: type[Warning], *place: Any) -> None:
        from surefoot.errors import SurefootWarning
        from surefoot.system.progress import printable

        if issubclass(category, SurefootWarning):
            print(f"surefoot: {printable(message)}", file=sys.stderr)
        else:
            otherwise(message, category, *place)

    return show
