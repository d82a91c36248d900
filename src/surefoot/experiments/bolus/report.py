"""A page about one patient: the recommended setting beside the standard calculator's, and a day's
glucose.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from surefoot.experiments.bolus.evaluation import CASES, METRIC_TITLES, METRICS
from surefoot.experiments.bolus.methods import CALCULATOR, METHODS, PRIME_TABULAR, Question
from surefoot.experiments.bolus.problem import DISCLAIMER
from surefoot.experiments.bolus.records import (
    ArmFacts,
    Choice,
    Curves,
    PatientFacts,
    PatientRecord,
)

if TYPE_CHECKING:
    import jinja2

MINUTES_A_SAMPLE = 3


@dataclass(frozen=True)
class Recommendation:
    """What the record of a patient recommends.

    Attributes:
        chosen: the first choice of PRIME (tabular).
        setting, baseline: the arm that it chose, and the standard calculator's.
        outcomes: mean 5-day metrics, by (method, case).
    """

    name: str
    chosen: Choice
    setting: ArmFacts
    baseline: ArmFacts
    outcomes: dict[tuple[str, str], dict[str, float]]

    @classmethod
    def of(cls, record: PatientRecord) -> Recommendation:
        label = PRIME_TABULAR.label
        chosen = next(row for row in record.choices if row.method == label)
        frame = pd.DataFrame([asdict(row) for row in record.outcomes])
        means = frame.groupby(["method", "case"], sort=False)[list(METRICS)].mean()
        outcomes = {
            key: dict(zip(METRICS, row, strict=True))
            for key, row in zip(means.index, means.to_numpy(), strict=True)
        }
        arms = record.arms
        baseline = arms[len(arms) // 2]
        return cls(record.patient.patient, chosen, arms[chosen.arm], baseline, outcomes)

    def sentence(self, question: Question) -> str:
        """The answer for a person."""
        setting, chosen = self.setting, self.chosen
        factors = (
            f"CarbF {setting.carb_factor:.2f} g/U and CorrF "
            f"{setting.correction_factor:.2f} mg/dL per U"
        )
        pulls = f"{chosen.samples:,} pulls of two simulated days each"
        if chosen.certified:
            near = (
                f", to within {question.tolerance:g},"
                if chosen.reason == "WITHIN_TOLERANCE"
                else ""
            )
            sure = f"with {100 * (1 - question.delta):g} % confidence after {pulls}"
            return (
                f"{setting.name} U/day: {factors} have the best worst case{near} of "
                f"the settings tried, {sure}."
            )
        left = f"{chosen.candidates} settings are still possible after {pulls}"
        remedy = "a higher budget or a tolerance can decide"
        return (
            f"{setting.name} U/day: {factors} are the best guess, not certified: {left}; {remedy}."
        )


def table_rows(found: Recommendation) -> list[tuple[str, ...]]:
    """The recommended setting and the calculator's, as set and under the worst error: for the page
    and the terminal.
    """
    rows = []
    for label, method, arm in (
        ("standard calculator", CALCULATOR, found.baseline),
        ("recommended", PRIME_TABULAR.label, found.setting),
    ):
        as_set = (f"{arm.carb_factor:.2f}", f"{arm.correction_factor:.2f}", "")
        worst = (
            f"{arm.worst_carb_factor:.2f}",
            f"{arm.worst_correction_factor:.2f}",
            f"{arm.value:.2f}",
        )
        for case, cells, words in ((CASES[0], as_set, "as set"), (CASES[1], worst, "worst error")):
            metrics = (f"{found.outcomes[method, case][metric]:.2f}" for metric in METRICS)
            rows.append((f"{label}, {words}", *cells, *metrics))
    return rows


HEADS = ("setting", "CarbF", "CorrF", "worst reward", *METRIC_TITLES.values())


def curve_frames(curves_of: Curves) -> dict[str, pd.DataFrame]:
    """Columns minute, bg and curve, for a low- and a high-carb day."""
    frames = {}
    for day, curves in curves_of.items():
        parts = [
            pd.DataFrame(
                {"minute": [MINUTES_A_SAMPLE * k for k in range(len(bg))], "bg": bg, "curve": name}
            )
            for name, bg in curves.items()
        ]
        frames[day] = pd.concat(parts, ignore_index=True)
    return frames


def write_report(record: PatientRecord, stage: Path, question: Question, command: str) -> str:
    """Write the page, its charts (PNG, SVG, HTML) and the curves (CSV); gives the page's file
    name.
    """
    from surefoot.charts import glucose_curves, save

    found = Recommendation.of(record)
    stem = found.name.replace("#", "-")
    pictures = []
    for day, frame in curve_frames(record.curves).items():
        chart = glucose_curves(frame, f"{found.name}: a {day}-carb day (virtual patient)")
        save(chart, stage / f"{stem}-{day}-carb-day")
        pictures.append((stage / f"{stem}-{day}-carb-day.svg").read_text(encoding="utf-8"))
        frame.to_csv(stage / f"{stem}-{day}-carb-day.csv", index=False, lineterminator="\n")
    page = stage / f"{stem}.html"
    page.write_text(_page(record, found, pictures, question, command), encoding="utf-8")
    return page.name


def _page(
    record: PatientRecord,
    found: Recommendation,
    pictures: list[str],
    question: Question,
    command: str,
) -> str:
    from markupsafe import Markup

    return _template().render(
        name=found.name,
        disclaimer=DISCLAIMER,
        sentence=found.sentence(question),
        tables=[_outcome_table(found, record), _method_table(record), _arm_table(found, record)],
        pictures=[Markup(picture) for picture in pictures],
        caveats=caveats(record.patient),
        command=command,
    )


def caveats(patient: PatientFacts) -> list[str]:
    """What the certificate rests on, in this patient's numbers."""
    tie = (
        f"tied between arms {', '.join(map(str, patient.tied))}"
        if len(patient.tied) > 1
        else "clear"
    )
    return [
        "The certificate assumes Gaussian noise no larger than the scales of a pilot "
        f"({patient.scale_low:.2f} to {patient.scale_high:.2f}, "
        f"{patient.pilot_samples:,} pulls). "
        "The noise is in truth skewed: most days are alike, and a rare one is much "
        "worse. Exhaustive simulation found "
        f"that the scales cover the standard deviation of "
        f"{100 * patient.scales_covering:.0f} % of the pairs.",
        f"Exhaustive simulation ({patient.truth_samples:,} pulls) says that the "
        f"best arm is arm {patient.best} "
        f"({tie}). Fitted to the true means, the linear model of the paper prefers "
        f"arm {patient.linear_best}, "
        f"which is worse by {patient.linear_regret:.2f}.",
    ]


def _outcome_table(found: Recommendation, record: PatientRecord) -> dict[str, Any]:
    runs = 1 + max(row.run for row in record.outcomes)
    rows = [
        {"cells": cells, "chosen": cells[0].startswith("recommended")}
        for cells in table_rows(found)
    ]
    return {"caption": f"Means of {runs} five-day simulations", "heads": HEADS, "rows": rows}


def _method_table(record: PatientRecord) -> dict[str, Any]:
    firsts = {choice.method: choice for choice in reversed(record.choices)}
    rows = []
    for method in METHODS:
        first = firsts[method.label]
        verdict = "certified" if first.certified else first.reason.lower().replace("_", " ")
        cells = (
            method.label,
            method.policy,
            first.arm,
            f"{first.samples:,}",
            verdict,
            _fit(first),
            f"{first.regret:.2f}",
        )
        rows.append({"cells": cells, "chosen": method is PRIME_TABULAR})
    heads = ("method", "rules", "arm", "pulls", "", "linear model", "true regret")
    return {"caption": "What each method chose", "heads": heads, "rows": rows}


def _fit(choice: Choice) -> str:
    if choice.method == PRIME_TABULAR.label:
        return "not assumed"
    if choice.lack_of_fit is None:
        return "untestable"
    return (
        f"{'rejected' if choice.model_rejected else 'not rejected'} (p = {choice.lack_of_fit:.1g})"
    )


def _arm_table(found: Recommendation, record: PatientRecord) -> dict[str, Any]:
    rows = [
        {
            "cells": (
                row.arm,
                row.name,
                f"{row.carb_factor:.2f}",
                f"{row.correction_factor:.2f}",
                f"{row.value:.2f}",
            ),
            "chosen": row.arm == found.chosen.arm,
        }
        for row in record.arms
    ]
    heads = ("arm", "setting", "CarbF", "CorrF", "true worst reward")
    return {"caption": "All settings, by exhaustive simulation", "heads": heads, "rows": rows}


@cache
def _template() -> jinja2.Template:
    import jinja2

    from surefoot.report.page import environment

    loader = jinja2.PackageLoader("surefoot.experiments.bolus", "templates")
    return environment().overlay(loader=loader).get_template("patient.html")
