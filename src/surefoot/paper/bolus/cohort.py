"""Many patients at once: everybody's setting, one page for all and a page for each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from surefoot.experiments.session.output import console_for_output
from surefoot.paper.bolus.experiment import patient_jobs

if TYPE_CHECKING:
    from pathlib import Path

    from surefoot.experiments.session.runner import Session
    from surefoot.paper.bolus.patient import Plan
    from surefoot.paper.bolus.records import Advice

NAME = "bolus-cohort"
HEADS = (
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
    """Advise all patients of these groups; what is finished is kept, so that it can go on."""
    advices = advise_all(session, plan, groups)
    with session.folder.staged() as stage:
        page = write_cohort(advices, stage, plan, session.command)
    rows = cohort_rows(advices)
    console = console_for_output()
    console.print(_table(rows))
    console.print(summary(rows), highlight=False)
    print(f"report: {session.out / page}")


def advise_all(session: Session, plan: Plan, groups: Sequence[str]) -> list[Advice]:
    """One advice per patient, by as many processes as the session has."""
    from surefoot.paper.bolus.records import Advice

    found = session.map(
        NAME, advise_job, patient_jobs(plan, groups), identity={"plan": asdict(plan)}
    )
    return [Advice.from_json(values) for values in found]


def advise_job(name: str, plan: Plan) -> Advice:
    """One patient, in a worker."""
    from surefoot.paper.bolus.advice import advise

    return advise(name, plan)


def cohort_rows(advices: Sequence[Advice]) -> list[dict[str, Any]]:
    """What the table of the cohort says, one row per patient."""
    from surefoot.paper.bolus.advice import METHOD
    from surefoot.paper.bolus.evaluation import CASES
    from surefoot.paper.bolus.methods import CALCULATOR
    from surefoot.paper.bolus.report import Recommendation

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


def summary(rows: Sequence[dict[str, Any]]) -> str:
    """The cohort in one sentence."""
    from surefoot.paper.bolus.problem import DISCLAIMER

    n = len(rows)
    certified, right = (sum(row[name] for row in rows) for name in ("certified", "right"))
    pulls = sum(row["pulls"] for row in rows) / n
    return (
        f"{n} virtual patients: {certified} certified, {right} as exhaustive simulation says, "
        f"{pulls:,.0f} pulls on average. {DISCLAIMER}"
    )


def write_cohort(advices: Sequence[Advice], stage: Path, plan: Plan, command: str) -> str:
    """Write everybody's page, the table, and the page of all; gives its file name."""
    import pandas as pd

    from surefoot.paper.bolus.report import profile_drawings, rendered, write_report

    pages = [write_report(advice, stage, plan, command) for advice in advices]
    rows = cohort_rows(advices)
    pd.DataFrame(rows).to_csv(stage / f"{NAME}.csv", index=False, lineterminator="\n")
    worst = {
        row["patient"]: pd.DataFrame(list(advice.profiles.values())[-1])
        for row, advice in zip(rows, advices, strict=True)
    }
    drawn = profile_drawings(worst)
    specs = {f"p{number}": drawing.spec() for number, drawing in enumerate(drawn.values())}
    page = stage / f"{NAME}.html"
    text = rendered(
        "cohort.html",
        specs,
        sentence=summary(rows),
        heads=HEADS,
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


def _table(rows: Sequence[dict[str, Any]]) -> Any:
    from rich.table import Table

    table = Table(*HEADS)
    for row in rows:
        table.add_row(*_cells(row))
    return table
