"""What can go wrong with a study file or a study; each message says how to go on."""

from __future__ import annotations

from surefoot.errors import InputError


class StudyFileError(InputError):
    """The file cannot be used as a study, or not for this purpose. It was left as it was."""


class StudyLocked(StudyFileError):
    """Another process is writing to this study."""


class StudyPaused(RuntimeError):
    """A pull failed more often than allowed; all else is stored, and running again goes on.

    Attributes:
        pull: the number of the pull that failed.
        error: what the simulator said.
    """

    def __init__(self, message: str, pull: int, error: str) -> None:
        super().__init__(message)
        self.pull, self.error = pull, error


class StudyInterrupted(KeyboardInterrupt):
    """The run was stopped by the user; the study is in order and can be resumed."""
