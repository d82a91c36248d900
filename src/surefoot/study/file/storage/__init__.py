"""The study file: the only room that speaks SQL. Everybody else calls its methods by name."""

from surefoot.study.file.storage.reading import ReadStorage
from surefoot.study.file.storage.records import Ending, PullCounts, Running, StoredPhase
from surefoot.study.file.storage.writing import WriteStorage

__all__ = ["Ending", "PullCounts", "ReadStorage", "Running", "StoredPhase", "WriteStorage"]
