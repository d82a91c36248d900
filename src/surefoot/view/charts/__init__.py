"""Every chart as one function that gives an Altair chart: figures, notebooks, report and dashboard
share them.
"""

from surefoot.view.charts.arms import arms_drawing, arms_frame
from surefoot.view.charts.drawing import charted, save
from surefoot.view.charts.evidence import (
    evidence_drawing,
    evidence_frame,
    limit_drawing,
    limits_frame,
)
from surefoot.view.charts.pulls import (
    allocation_drawing,
    allocation_frame,
    bounds_drawing,
    bounds_frame,
    pace_drawing,
    residuals_drawing,
    residuals_frame,
)
from surefoot.view.charts.samples import growth_chart, samples_chart

allocation_chart = charted(allocation_drawing)
arms_chart = charted(arms_drawing)
bounds_chart = charted(bounds_drawing)
evidence_chart = charted(evidence_drawing)
limit_chart = charted(limit_drawing)
pace_chart = charted(pace_drawing)
residuals_chart = charted(residuals_drawing)

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
