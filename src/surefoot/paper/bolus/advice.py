"""The recommendation for a person: one patient's page, or one page for many patients."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from surefoot.experiments.publication import Screen, console_for_output
from surefoot.paper.bolus.methods import CALCULATOR, PRIME_SHARED
from surefoot.paper.bolus.page import Listing, Page, decimals, drawn_profiles, rendered
from surefoot.paper.bolus.patient import (
    CASES,
    METRIC_TITLES,
    METRICS,
    Advice,
    ArmFacts,
    Choice,
    Findings,
    PatientRecord,
    Plan,
    Profile,
    daily_profile,
    find,
    record_of,
)
from surefoot.paper.bolus.problem import DISCLAIMER, find_reward
from surefoot.paper.bolus.tables import patient_jobs
from surefoot.view.report.page import DESCRIPTIONS

if TYPE_CHECKING:
    from surefoot.experiments.session import Session

SETTINGS = ("standard calculator", "recommended")
ENDS = {CASES[0]: "as set", CASES[1]: "worst error"}
METHOD = PRIME_SHARED  # whose choice is recommended


def advise(name: str, plan: Plan, tell: Callable[[str], None] = lambda step: None) -> Advice:
    """Choose, and hold the choice against the truth; reproducible to the bit from the plan."""
    found = find(name, plan, tell)
    return Advice(record_of(found, tell), _profiles(found), _charts(found))


def _profiles(found: Findings) -> dict[str, Profile]:
    recommended = found.results[0][METHOD.label].arm
    arms = (found.dosing.baseline_arm, recommended)
    return {
        f"{name}, {end}": daily_profile(
            found.dosing, found.setting(arm, case), found.plan.runs, found.plan.seed
        )
        for case, end in ENDS.items()
        for name, arm in zip(SETTINGS, arms, strict=True)
    }


def _charts(found: Findings) -> dict[str, object]:
    from surefoot.view.charts.arms import arms_drawing
    from surefoot.view.charts.evidence import evidence_drawing

    result = found.results[0][METHOD.label]
    title = "Worst case of each setting"
    charts = {"arms": arms_drawing(result, title=title)}
    evidence = evidence_drawing(result)
    if not evidence.tables["evidence"].empty:
        charts["evidence"] = evidence
    return {name: chart.spec() for name, chart in charts.items()}


@dataclass(frozen=True)
class Recommendation:
    """The setting that the record of a patient recommends.

    Attributes:
        chosen: the first choice of PRIME.
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
        chosen = next(row for row in record.choices if row.method == METHOD.label)
        frame = pd.DataFrame([asdict(row) for row in record.outcomes])
        means = frame.groupby(["method", "case"], sort=False)[list(METRICS)].mean()
        outcomes = {
            key: dict(zip(METRICS, row, strict=True))
            for key, row in zip(means.index, means.to_numpy(), strict=True)
        }
        arms = record.arms
        baseline = arms[len(arms) // 2]
        return cls(record.patient.patient, chosen, arms[chosen.arm], baseline, outcomes)

    def sentence(self, plan: Plan) -> str:
        """Return the answer for a person."""
        setting, chosen, question = self.setting, self.chosen, plan.question
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

    @property
    def confidence(self) -> str:
        """The confidence that the data gave the method, rounded down; it is never quite sure."""
        attained = self.chosen.attained or 0.0
        return f"{min(int(1000 * attained + 1e-9), 999) / 10:g} %"


HEADS = ("setting", "CarbF", "CorrF", "worst reward", *METRIC_TITLES.values())


def _table_rows(found: Recommendation) -> list[tuple[str, ...]]:
    """Return the recommended setting and the calculator's, as set and under the worst error: for
    the page and the terminal.
    """
    methods = ((CALCULATOR, found.baseline), (METHOD.label, found.setting))
    rows = []
    for label, (method, arm) in zip(SETTINGS, methods, strict=True):
        as_set = (f"{arm.carb_factor:.2f}", f"{arm.correction_factor:.2f}", "")
        worst = (
            f"{arm.worst_carb_factor:.2f}",
            f"{arm.worst_correction_factor:.2f}",
            decimals(arm.value),
        )
        for case, cells in zip(CASES, (as_set, worst), strict=True):
            metrics = (f"{found.outcomes[method, case][metric]:.2f}" for metric in METRICS)
            rows.append((f"{label}, {ENDS[case]}", *cells, *metrics))
    return rows


def fine_print(record: PatientRecord, plan: Plan) -> list[str]:
    """Return the certificate's assumptions, and the findings of exhaustive simulation."""
    patient, noise = record.patient, find_reward(plan.reward).noise
    found = Recommendation.of(record)
    tie = (
        f"tied between arms {', '.join(map(str, patient.tied))}"
        if len(patient.tied) > 1
        else "clear"
    )
    right = "the recommended one" if found.chosen.found else f"not arm {found.chosen.arm}"
    return [
        f"Assumed: {noise.assumption}. Settings are compared directly, on the same sensor noise: "
        "no model, no noise level, no pilot beside the pulls counted here.",
        f"Truth, by {patient.truth_samples:,} pulls that the choice did not see: the best setting "
        f"is arm {patient.best} ({tie}), {right}.",
    ]


def page_of(advice: Advice, plan: Plan) -> Page:
    """Return the page of a patient."""
    record, found = advice.record, Recommendation.of(advice.record)
    reward = find_reward(plan.reward).title
    return Page(
        name=found.name,
        title="a robust bolus setting",
        stem=found.name.replace("#", "-"),
        certified=found.chosen.certified,
        sentence=found.sentence(plan),
        beside=[f"Attained confidence: {found.confidence}. Reward: {reward}."],
        profiles={name: pd.DataFrame(profile) for name, profile in advice.profiles.items()},
        charts=advice.charts,
        described={name: DESCRIPTIONS[name] for name in advice.charts},
        listings=[_outcome_table(found, record), _arm_table(found, record)],
        fine_print=fine_print(record, plan),
    )


def _outcome_table(found: Recommendation, record: PatientRecord) -> Listing:
    runs, rows = 1 + max(row.run for row in record.outcomes), _table_rows(found)
    chosen = [place for place, row in enumerate(rows) if row[0].startswith(SETTINGS[1])]
    return Listing(f"Means of {runs} five-day simulations", HEADS, rows, chosen)


def _arm_table(found: Recommendation, record: PatientRecord) -> Listing:
    rows = [
        (
            row.name,
            str(row.arm),
            f"{row.carb_factor:.2f}",
            f"{row.correction_factor:.2f}",
            decimals(row.value),
        )
        for row in record.arms
    ]
    heads = ("setting", "arm", "CarbF", "CorrF", "true worst reward")
    return Listing("All settings, by exhaustive simulation", heads, rows, [found.chosen.arm])


NAME = "bolus-cohort"
COHORT_HEADS = (
    "patient",
    "setting",
    "CarbF",
    "CorrF",
    "pulls",
    "certified",
    "attained",
    "right",
    "% in range, worst error",
    "calculator's",
)


def cohort(session: Session, plan: Plan, groups: Sequence[str]) -> None:
    """Advise all patients of these groups; finished ones are kept for the next call."""
    found = session.map(NAME, advise, patient_jobs(plan, groups), {"plan": asdict(plan)})
    advices = [Advice.from_json(values) for values in found]
    with session.folder.staged() as stage:
        page = _write_cohort(advices, stage, plan, session.command)
    rows = _cohort_rows(advices)
    console = console_for_output()
    console.print(Screen("", COHORT_HEADS, [[_cells(row) for row in rows]]).drawn())
    console.print(_summary(rows), highlight=False)
    print(f"report: {session.out / page}")


def _cohort_rows(advices: Sequence[Advice]) -> list[dict[str, Any]]:
    """Return the table of the cohort, one row per patient."""
    rows = []
    for advice in advices:
        found = Recommendation.of(advice.record)
        rows.append(
            {
                "patient": found.name,
                "setting": found.setting.name,
                "carb_factor": found.setting.carb_factor,
                "correction_factor": found.setting.correction_factor,
                "pulls": found.chosen.samples,
                "certified": found.chosen.certified,
                "attained": found.confidence,
                "right": found.chosen.found,
                "in_range": found.outcomes[METHOD.label, CASES[1]]["within"],
                "calculator_in_range": found.outcomes[CALCULATOR, CASES[1]]["within"],
            }
        )
    return rows


def _summary(rows: Sequence[dict[str, Any]]) -> str:
    """Return the cohort in one sentence."""
    n = len(rows)
    certified, right = (sum(row[name] for row in rows) for name in ("certified", "right"))
    pulls = sum(row["pulls"] for row in rows) / n
    return (
        f"{n} virtual patients: {certified} certified, {right} as exhaustive simulation says, "
        f"{pulls:,.0f} pulls on average. {DISCLAIMER}"
    )


def _write_cohort(advices: Sequence[Advice], stage: Path, plan: Plan, command: str) -> str:
    """Write everybody's page, the table, and the page of all; return its file name."""
    pages = [page_of(advice, plan).write(stage, command) for advice in advices]
    rows = _cohort_rows(advices)
    pd.DataFrame(rows).to_csv(stage / f"{NAME}.csv", index=False, lineterminator="\n")
    worst = {
        row["patient"]: pd.DataFrame(list(advice.profiles.values())[-1])
        for row, advice in zip(rows, advices, strict=True)
    }
    drawn = drawn_profiles(worst)
    specs = {f"p{number}": drawing.spec() for number, drawing in enumerate(drawn.values())}
    page = stage / f"{NAME}.html"
    text = rendered(
        "cohort.html",
        specs,
        sentence=_summary(rows),
        heads=COHORT_HEADS,
        rows=[(_cells(row), link) for row, link in zip(rows, pages, strict=True)],
        figures={
            chart: f"Glucose profile of {row['patient']}, recommended, worst error"
            for chart, row in zip(specs, rows, strict=True)
        },
        command=command,
    )
    page.write_text(text, encoding="utf-8")
    return page.name


def _cells(row: dict[str, Any]) -> tuple[str, ...]:
    return (
        row["patient"],
        row["setting"],
        f"{row['carb_factor']:.2f}",
        f"{row['correction_factor']:.2f}",
        f"{row['pulls']:,}",
        "yes" if row["certified"] else "no",
        row["attained"],
        "yes" if row["right"] else "no",
        f"{row['in_range']:.1f}",
        f"{row['calculator_in_range']:.1f}",
    )
