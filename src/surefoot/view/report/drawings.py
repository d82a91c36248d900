"""Which charts a page shows, ready for a browser."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from surefoot.algorithms import Result
from surefoot.view.charts.arms import arms_drawing
from surefoot.view.charts.drawing import DARK, LIGHT, config
from surefoot.view.charts.evidence import evidence_drawing
from surefoot.view.charts.pulls import allocation_drawing, bounds_drawing
from surefoot.view.charts.residuals import residuals_drawing

if TYPE_CHECKING:
    from surefoot.design.hardness import Complexity
    from surefoot.view.charts.drawing import Drawing

# The order on a page, and what a screen reader says of each; the tables hold the numbers.
DESCRIPTIONS = {
    "evidence": "Line chart: evidence against the closest rivals at each look, and the boundary "
    "it has to reach",
    "arms": "Chart: the estimated worst case of each arm with its interval; the table of "
    "arms holds the numbers",
    "allocation": "Heat map: the share of each phase's pulls that each pair had",
    "bounds": "Chart: the pulls of this run beside the lower bound and what is predicted for "
    "other algorithms",
    "residuals": "Scatter plot: how far each pair's average reward is from the model, in "
    "standard errors",
    "pace": "Bar chart: rewards in each of the last minutes",
}


def drawings(result: Result, hardness: Complexity | None = None) -> dict[str, Drawing]:
    """The charts of a result by name; none before there is anything to draw."""
    if not result.samples:
        return {}
    found = {
        "arms": arms_drawing(result),
        "allocation": allocation_drawing(result),
    }
    if result.model_is_trusted:
        found["residuals"] = residuals_drawing(result)
    evidence = evidence_drawing(result)
    if not evidence.tables["evidence"].empty:
        found["evidence"] = evidence
    if hardness is not None:
        found["bounds"] = bounds_drawing(result, hardness)
    return {name: found[name] for name in DESCRIPTIONS if name in found}


def configurations() -> dict[str, Any]:
    """The looks of all charts on light and on dark pages."""
    return {"light": config(LIGHT), "dark": config(DARK)}


def safe_json(value: Any) -> str:
    """JSON that cannot end the script element it stands in, whatever the names in it."""
    text = json.dumps(value, allow_nan=False, ensure_ascii=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
