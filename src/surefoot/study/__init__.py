"""Studies: real simulators, nothing lost, one machine or many."""

from surefoot.errors import StudyFileError, StudyInterrupted, StudyLocked, StudyPaused
from surefoot.study.file.reader import StudyReader
from surefoot.study.file.verified import Verified, verify
from surefoot.study.programs.simulators import CommandSimulator, TimeLimited
from surefoot.study.pull import Pull
from surefoot.study.study import Study

__all__ = [
    "CommandSimulator",
    "Pull",
    "Study",
    "StudyFileError",
    "StudyInterrupted",
    "StudyLocked",
    "StudyPaused",
    "StudyReader",
    "TimeLimited",
    "Verified",
    "verify",
]
