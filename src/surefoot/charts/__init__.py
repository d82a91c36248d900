"""Every chart as one function that gives an Altair chart: figures, notebooks, report and dashboard
use the same.
"""

from surefoot.charts.allocation import allocation_chart, allocation_frame
from surefoot.charts.arms import arms_chart, arms_frame
from surefoot.charts.bounds import bounds_chart, bounds_frame
from surefoot.charts.evidence import evidence_chart, evidence_frame
from surefoot.charts.glucose import glucose_curves
from surefoot.charts.glucose_profile import glucose_profile
from surefoot.charts.growth import growth_chart
from surefoot.charts.pace import pace_chart
from surefoot.charts.residuals import residuals_chart, residuals_frame
from surefoot.charts.samples import samples_chart
from surefoot.charts.save import save

__all__ = [
    "allocation_chart",
    "allocation_frame",
    "arms_chart",
    "arms_frame",
    "bounds_chart",
    "bounds_frame",
    "evidence_chart",
    "evidence_frame",
    "glucose_curves",
    "glucose_profile",
    "growth_chart",
    "pace_chart",
    "residuals_chart",
    "residuals_frame",
    "samples_chart",
    "save",
]
