"""The study file: the only room that speaks SQL. Everybody else calls its methods by name."""

from surefoot.study.storage.reading import PullCounts, ReadStorage, Running, StoredPhase
from surefoot.study.storage.writing import WriteStorage

__all__ = ["PullCounts", "ReadStorage", "Running", "StoredPhase", "WriteStorage"]
