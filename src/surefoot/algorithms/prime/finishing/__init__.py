"""The design most likely to finish, which steers PRIME. It has no proven bound and needs none."""

from surefoot.algorithms.prime.finishing.design import (
    appraised,
    exchanged,
    finishing_design,
    whitened,
)
from surefoot.algorithms.prime.finishing.kernels import Rivals

__all__ = ["Rivals", "appraised", "exchanged", "finishing_design", "whitened"]
