"""PRIME, the default algorithm: one idea in each file; `algorithm.py` is where to begin."""

from surefoot.algorithms.prime.algorithm import Prime
from surefoot.algorithms.prime.tuning import Tuning

__all__ = ["Prime", "Tuning"]
