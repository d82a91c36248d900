"""Errors and warnings, with what was given, what is needed and how to mend it."""

from __future__ import annotations

import traceback
from pathlib import Path


class InputError(ValueError):
    """The caller's input cannot be used; the message says how to mend it. Nothing was changed."""


class SurefootWarning(UserWarning):
    """Something was adjusted or looks unintended; the answer still stands."""


class StudyFileError(InputError):
    """The file cannot be used as a study, or not for this purpose. It was left as it was."""


class Unavailable(InputError):
    """Something outside is missing or taken at this moment: the same call may work later."""


class StudyLocked(StudyFileError, Unavailable):
    """Another process is writing to this study."""


class StudyPaused(RuntimeError):
    """A pull failed more often than allowed; all else is stored, and running again goes on.

    Attributes:
        what: the failed pull, and how it failed.
        pull: its number.
        error: the simulator's message.
    """

    def __init__(self, what: str, pull: int, error: str, remedy: str) -> None:
        super().__init__(what + remedy)
        self.what, self.pull, self.error = what, pull, error


class StudyInterrupted(KeyboardInterrupt):
    """The run was stopped by the user; the study is in order and can be resumed."""


def said_in_a_line(error: BaseException) -> str:
    """Return an error of foreign code in a line: its message, and where it was raised."""
    said = " ".join("".join(traceback.format_exception_only(error)[-1:]).split())[:200]
    if isinstance(error, SyntaxError) and error.filename:
        return f"{said} ({Path(error.filename).name}, line {error.lineno})"
    frames = traceback.extract_tb(error.__traceback__)
    return (
        f"{said} ({Path(frames[-1].filename).name}, line {frames[-1].lineno})" if frames else said
    )


# which extra brings a package that only some commands need
EXTRAS = {
    **dict.fromkeys(
        ("altair", "jinja2", "markupsafe", "pandas", "starlette", "uvicorn", "vl_convert"), "view"
    ),
    "pyarrow": "parquet",
    "distributed": "dask",
    "sklearn": "guides",
    "optuna": "optuna",
}


def missing_extra(error: ModuleNotFoundError) -> str | None:
    """Say which extra installs the package that is missing; None if no extra does."""
    package = (error.name or "").partition(".")[0]
    if package not in EXTRAS:
        return None
    return (
        f"this needs {package}, which is not installed: run pip install "
        f"'surefoot[{EXTRAS[package]}]', or 'surefoot[all]' for everything"
    )
