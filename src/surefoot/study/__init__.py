"""Studies: real simulators, nothing lost, one machine or many."""

from surefoot.study.errors import StudyFileError, StudyInterrupted, StudyLocked, StudyPaused
from surefoot.study.pull import Pull
from surefoot.study.reader import StudyReader
from surefoot.study.study import Study
from surefoot.study.verified import Verified, verify

__all__ = [
    "Pull",
    "Study",
    "StudyFileError",
    "StudyInterrupted",
    "StudyLocked",
    "StudyPaused",
    "StudyReader",
    "Verified",
    "verify",
]
