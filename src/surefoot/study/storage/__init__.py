"""The study file: the only room that speaks SQL. Everybody else calls its methods by name."""

from surefoot.study.storage.reading import ReadStorage
from surefoot.study.storage.records import Ending, PullCounts, Running, StoredPhase
from surefoot.study.storage.writing import WriteStorage

__all__ = ["Ending", "PullCounts", "ReadStorage", "Running", "StoredPhase", "WriteStorage"]
