"""Every chart as one function that gives an Altair chart: figures, notebooks, report and dashboard use the same."""

from surefoot.charts.glucose import glucose_curves
from surefoot.charts.samples import samples_chart
from surefoot.charts.save import save

__all__ = ["glucose_curves", "samples_chart", "save"]
