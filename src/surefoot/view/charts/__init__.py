"""Every chart as one function that gives an Altair chart: figures, notebooks, report and dashboard
use the same.
"""

from surefoot.view.charts.arms import arms_chart, arms_frame
from surefoot.view.charts.drawing import save
from surefoot.view.charts.evidence import evidence_chart, evidence_frame, limit_chart, limits_frame
from surefoot.view.charts.pulls import (
    allocation_chart,
    allocation_frame,
    bounds_chart,
    bounds_frame,
    pace_chart,
    residuals_chart,
    residuals_frame,
)
from surefoot.view.charts.samples import growth_chart, samples_chart

__all__ = [
    "allocation_chart",
    "allocation_frame",
    "arms_chart",
    "arms_frame",
    "bounds_chart",
    "bounds_frame",
    "evidence_chart",
    "evidence_frame",
    "growth_chart",
    "limit_chart",
    "limits_frame",
    "pace_chart",
    "residuals_chart",
    "residuals_frame",
    "samples_chart",
    "save",
]
