"""PRIME, the default planner: it chooses pulls and claims, which the kernel proves."""

from surefoot.plan.prime import Prime
from surefoot.plan.tuning import Tuning

__all__ = ["Prime", "Tuning"]
