"""Designs: how to share pulls among pairs, each with a proven bound on how good it is."""

from surefoot.design.designs import (
    Design,
    g_design,
    g_optimal,
    robust_xy,
    robust_xy_design,
    round_design,
    rounding_minimum,
    xy_optimal,
)
from surefoot.design.separation import exact_separation, paper_separation, squared_distances

__all__ = [
    "Design",
    "exact_separation",
    "g_design",
    "g_optimal",
    "paper_separation",
    "robust_xy",
    "robust_xy_design",
    "round_design",
    "rounding_minimum",
    "squared_distances",
    "xy_optimal",
]
