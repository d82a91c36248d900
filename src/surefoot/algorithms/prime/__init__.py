"""PRIME, the default algorithm: one idea in each file; `algorithm.py` is where to begin."""

from surefoot.algorithms.prime.algorithm import Prime

__all__ = ["Prime"]
