"""Robust dose identification, the paper's Tables 1 and 2: 30 virtual patients, and the truth beside
them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from surefoot.experiments.session.output import console_for_output
from surefoot.experiments.session.publication import Claim, Publication, claim_facts, publish
from surefoot.experiments.session.runner import Job, Session

if TYPE_CHECKING:
    import pandas as pd

    from surefoot.paper.bolus.patient import Plan
    from surefoot.paper.bolus.records import PatientRecord
    from surefoot.paper.bolus.tables import Tables

NAME = "bolus"
GROUPS = ("adult", "adolescent", "child")


def bolus(session: Session) -> None:
    """Tune the bolus calculator of every patient by every method, and hold the choices against the
    truth.
    """
    from surefoot.paper.bolus.patient import Plan

    records = patient_records(session, Plan(seed=session.seed, runs=session.runs))
    write_and_show(session, records)


def patient_records(session: Session, plan: Plan) -> list[PatientRecord]:
    """One record per patient, in the order of the paper's table of patients."""
    from surefoot.paper.bolus.records import PatientRecord

    results = session.map(NAME, study_job, patient_jobs(plan), identity={"plan": asdict(plan)})
    return [PatientRecord.from_json(result) for result in results]


def patient_jobs(plan: Plan, groups: Sequence[str] = GROUPS) -> list[Job]:
    """One job per patient of these groups: adults, adolescents, children."""
    from surefoot.paper.glucose import all_patients

    return [
        Job(patient.name, (patient.name, plan))
        for group in groups
        for patient in all_patients()
        if patient.group == group
    ]


def study_job(name: str, plan: Plan) -> PatientRecord:
    """One patient, in a worker."""
    from surefoot.paper.bolus.patient import study_patient

    return study_patient(name, plan)


def write_and_show(session: Session, records: list[PatientRecord]) -> None:
    """Tables as CSV and Parquet, figures, their origin; then the tables on the screen."""
    from surefoot.paper.bolus.charts import outcomes_chart, regret_chart
    from surefoot.paper.bolus.markdown import markdown
    from surefoot.paper.bolus.problem import DISCLAIMER
    from surefoot.paper.bolus.tables import (
        Tables,
        method_summary,
        outcome_summary,
        paper_claims,
        patient_summary,
    )

    tables = Tables.of(records)
    outcomes, methods = outcome_summary(tables.outcomes), method_summary(tables.choices)
    claims = list(paper_claims(outcomes))
    publication = Publication(
        NAME,
        tables={
            "": outcomes,
            "-methods": methods,
            "-patients": patient_summary(tables),
            "-choices": tables.choices,
            "-simulations": tables.outcomes,
            "-arms": tables.arms,
        },
        charts={"": outcomes_chart(outcomes), "-regret": regret_chart(tables.choices)},
        texts={"-summary.md": markdown(outcomes, methods, _truth_sentence(tables), claims)},
        facts={**claim_facts(claims), "note": DISCLAIMER},
    )
    publish(session, publication)
    _show(session, tables, outcomes, methods, claims)


def _show(
    session: Session,
    tables: Tables,
    outcomes: pd.DataFrame,
    methods: pd.DataFrame,
    claims: list[Claim],
) -> None:
    from surefoot.paper.bolus.problem import DISCLAIMER

    console = console_for_output()
    for number, (case, group) in enumerate(outcomes.groupby("case", sort=False), 1):
        title = (
            f"Table {number}, {case}: {len(tables.patients)} patients × {session.runs} "
            f"five-day simulations"
        )
        console.print(_outcome_table(f"{title} (the paper's beneath)", group))
    console.print(method_table(methods))
    console.print(_truth_sentence(tables), highlight=False)
    console.print("The paper's conclusions, in our figures:")
    for claim in claims:
        console.print(claim.markup, highlight=False)
    console.print(f"written to {session.out}/{NAME}*. {DISCLAIMER}", highlight=False)


def _outcome_table(title: str, rows: pd.DataFrame) -> Any:
    from rich.table import Table

    from surefoot.paper.bolus.tables import COLUMNS

    table = Table("method", *COLUMNS.values(), title=title, title_justify="left")
    for row in rows.to_dict("records"):
        table.add_row(
            str(row["method"]), *(f"{row[m]:.2f} ± {row[f'{m}_sd']:.2f}" for m in COLUMNS)
        )
        if row["paper_risk"] == row["paper_risk"]:
            figures = (
                f"[dim]{row[f'paper_{m}']:.2f} ± {row[f'paper_{m}_sd']:.2f}[/]" for m in COLUMNS
            )
            table.add_row("[dim]  paper[/]", *figures)
    return table


def method_table(methods: pd.DataFrame) -> Any:
    """How the methods fared against the truth, for a terminal."""
    from rich.table import Table

    from surefoot.paper.bolus.tables import SHARES, share

    names = ("method", "rules", "pulls, all", "pilot", *SHARES.values(), "regret")
    table = Table(
        *names,
        title="Against the truth (regret in worst-case reward: mean, most)",
        title_justify="left",
    )
    for row in methods.to_dict("records"):
        shares = (share(row[column]) for column in SHARES)
        regret = f"{row['regret']:.2f}, {row['regret_most']:.2f}"
        pulls = (f"{row[name]:,.0f}" for name in ("samples", "pilot"))
        table.add_row(str(row["method"]), str(row["rules"]), *pulls, *shares, regret)
    return table


def _truth_sentence(tables: Tables) -> str:
    patients = tables.patients
    ties = patients[patients["tied"].str.contains(" ")]
    named = ", ".join(f"{row.patient} (arms {row.tied})" for row in ties.itertuples())
    misled = int((patients["linear_regret"] > 0).sum())
    covering = 100 * patients["pilot_covering"]
    tie = "" if ties.empty else f", tied for {named}"
    clear = (
        f"the best arm is clear for {len(patients) - len(ties)} of {len(patients)} patients{tie}"
    )
    return (
        f"Truth: {patients['truth_samples'].sum():,} pulls; {clear}. "
        f"A linear model fitted to the true means prefers another arm for {misled} patients. "
        f"The pilot's scales cover {covering.mean():.0f} % of the pairs' standard deviations "
        f"(fewest for a patient: {covering.min():.0f} %)."
    )
