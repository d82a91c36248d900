"""PRIME, the default planner: what to pull and what to claim. The kernel proves; this chooses."""

from surefoot.plan.prime import Prime
from surefoot.plan.tuning import Tuning

__all__ = ["Prime", "Tuning"]
