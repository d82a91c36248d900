"""PRIME for rewards that are linear up to a known misfit: between the model and the pairs.

Every pair's mean is zᵀθ + η with |η| ≤ ε. Least squares measures differences well but is off by
what η adds up to; a direct difference of two pulled pairs is never off. Each comparison has its own
mixture of the two, chosen before the phase, and pays for the bias that is left.
"""

from surefoot.algorithms.prime.misfit.course import MisfitCourse

__all__ = ["MisfitCourse"]
