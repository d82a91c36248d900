"""Designs: how to share pulls among pairs, each with a proven bound on how good it is."""

from surefoot.design.g_optimal import g_design, g_optimal
from surefoot.design.likelihood import squared_distances
from surefoot.design.robust_xy import robust_xy, robust_xy_design, xy_optimal
from surefoot.design.rounding import round_design, rounding_minimum
from surefoot.design.separation import exact_separation, paper_separation
from surefoot.design.types import Design

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
