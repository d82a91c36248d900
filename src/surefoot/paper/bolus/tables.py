"""The paper's Tables 1 and 2 for 30 virtual patients, beside the paper's figures and the truth."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import pandas as pd

from surefoot.experiments.publication import Claim, Publication, claim_facts, publish
from surefoot.experiments.session import Job, Session, console_for_output, markdown_table
from surefoot.paper.bolus.methods import (
    CALCULATOR,
    LABELS,
    METHODS,
    ROBUST_RAGE,
    STABLEOPT,
    WORST_OF_ALL,
    Method,
)
from surefoot.paper.bolus.patient import (
    CASES,
    METRICS,
    ArmFacts,
    Choice,
    FiveDays,
    PatientRecord,
    Plan,
    study_patient,
)
from surefoot.paper.bolus.problem import DISCLAIMER
from surefoot.paper.glucose import all_patients
from surefoot.paper.glucose.metrics import HIGH, LOW

# Mean and standard deviation of risk index, % below 70, % above 180 and % within, as the paper's
# tables print them.
PAPER = {
    (CASES[0], CALCULATOR): ((4.07, 3.49), (3.48, 7.33), (11.23, 13.95), (85.29, 14.30)),
    (CASES[0], STABLEOPT.label): ((4.01, 3.43), (1.69, 4.27), (12.10, 12.41), (86.20, 12.97)),
    (CASES[0], ROBUST_RAGE.label): ((3.77, 3.27), (1.66, 4.02), (11.18, 12.08), (87.17, 12.78)),
    (CASES[1], CALCULATOR): ((7.25, 4.24), (17.86, 21.35), (12.62, 7.74), (69.52, 20.58)),
    (CASES[1], STABLEOPT.label): ((3.77, 3.13), (2.64, 7.32), (10.82, 11.96), (86.52, 13.90)),
    (CASES[1], ROBUST_RAGE.label): ((3.60, 2.98), (2.57, 7.07), (10.62, 12.22), (86.81, 14.10)),
}

# What people read above the metrics in a table that has little room.
COLUMNS = {
    "risk": "risk index",
    "below": f"% < {LOW:g}",
    "above": f"% > {HIGH:g}",
    "within": f"% {LOW:g}–{HIGH:g}",
}

# Columns of the methods' table that are shares of the choices, and what people read.
SHARES = {
    "certified": "certified",
    "model_rejected": "model rejected",
    "model_untestable": "untestable",
    "found": "found the best",
    "certified_wrong": "certified, wrong",
}


@dataclass(frozen=True, eq=False)
class Tables:
    """Rows of all patients.

    Attributes:
        outcomes: one row for each 5-day simulation.
        choices: one row for each time a method chose.
        patients: one row per patient: noise and truth.
        arms: one row for each patient's arm: its setting, its worst error and its true worst-case
            reward.
    """

    outcomes: pd.DataFrame
    choices: pd.DataFrame
    patients: pd.DataFrame
    arms: pd.DataFrame

    @classmethod
    def of(cls, records: list[PatientRecord]) -> Tables:
        patients = pd.DataFrame([_patient_row(record) for record in records])
        patients["tied"] = [" ".join(map(str, arms)) for arms in patients["tied"]]
        return cls(
            outcomes=_frame(row for record in records for row in record.outcomes),
            choices=_frame(row for record in records for row in record.choices),
            patients=patients,
            arms=_frame(row for record in records for row in record.arms),
        )


def _patient_row(record: PatientRecord) -> dict[str, Any]:
    pilot = {} if record.pilot is None else asdict(record.pilot)
    return asdict(record.patient) | {f"pilot_{name}": value for name, value in pilot.items()}


def _frame(rows: Iterable[ArmFacts | Choice | FiveDays]) -> pd.DataFrame:
    return pd.DataFrame([asdict(row) for row in rows])


def outcome_summary(outcomes: pd.DataFrame) -> pd.DataFrame:
    """Mean and standard deviation over patients and runs, by case and method, with the paper's
    beside them.

    The last row of the worst case is no method: it is the most harmful pair of all, the worst that
    the ranges allow.
    """
    rows = []
    for case in CASES:
        for label in (*LABELS, WORST_OF_ALL):
            chosen = outcomes[(outcomes["case"] == case) & (outcomes["method"] == label)]
            if chosen.empty:
                continue
            row: dict[str, Any] = {"case": case, "method": label, "simulations": len(chosen)}
            for position, metric in enumerate(METRICS):
                row[metric], row[f"{metric}_sd"] = chosen[metric].mean(), chosen[metric].std()
                paper = PAPER.get((case, label))
                row[f"paper_{metric}"], row[f"paper_{metric}_sd"] = (
                    paper[position] if paper else (None, None)
                )
            rows.append(row)
    return pd.DataFrame(rows)


def method_summary(choices: pd.DataFrame) -> pd.DataFrame:
    """Return the figures of each method against the truth.

    `found` counts an arm that is tied with the best as found; `certified_wrong` are choices that
    were certified and are not among the tied. `samples` are all pulls that a method took, those of
    the pilot for its noise scales included; `pilot` says how many of them are the pilot's.
    """
    rows = []
    for method in METHODS:
        chosen = choices[choices["method"] == method.label]
        if chosen.empty:
            continue
        rows.append(
            {
                "method": method.label,
                "rules": method.policy,
                "choices": len(chosen),
                "samples": chosen["samples"].mean(),
                "samples_median": chosen["samples"].median(),
                "pilot": chosen["pilot"].mean(),
                "certified": chosen["certified"].mean(),
                "model_rejected": _if_trusted(method, chosen["model_rejected"]),
                "model_untestable": _if_trusted(method, chosen["lack_of_fit"].isna()),
                "found": chosen["found"].mean(),
                "certified_wrong": (chosen["certified"] & ~chosen["found"]).mean(),
                "regret": chosen["regret"].mean(),
                "regret_most": chosen["regret"].max(),
            }
        )
    return pd.DataFrame(rows)


def share(value: float) -> str:
    """A share as readers see it; a dash where there is none."""
    return "–" if math.isnan(value) else f"{100 * value:.0f} %"


def _if_trusted(method: Method, shares: pd.Series[bool]) -> float:
    """Say what tests of the model found, where a model is trusted; nothing where none is."""
    return float(shares.mean()) if method.needs_scales else math.nan


def patient_summary(tables: Tables) -> pd.DataFrame:
    """One row per patient: noise, truth, and for every method how often it found it and what it
    cost.
    """
    table = tables.patients.copy()
    for method in METHODS:
        chosen = tables.choices[tables.choices["method"] == method.label].groupby(
            "patient", sort=False
        )
        for column in ("found", "regret", "samples", "pilot", "certified", "model_rejected"):
            table[f"{method.label}: {column}"] = table["patient"].map(chosen[column].mean())
        table[f"{method.label}: arms"] = table["patient"].map(chosen["arm"].agg(_distinct))
    return table


def paper_claims(summary: pd.DataFrame) -> Iterator[Claim]:
    """Return the paper's conclusions from its two tables, in our figures."""
    below, within = (
        {(row["case"], row["method"]): float(row[metric]) for row in summary.to_dict("records")}
        for metric in ("below", "within")
    )
    rage, stable, calculator = ROBUST_RAGE.label, STABLEOPT.label, CALCULATOR
    for case in CASES:
        for figures, word, sign in (
            (below, f"less time below {LOW:g}", -1),
            (within, "more time in range", 1),
        ):
            ours, theirs = figures[case, rage], figures[case, calculator]
            text = f"{case}: the Robust-RAGE-tuned calculator has {word} than the standard one"
            yield Claim(text, sign * (ours - theirs) > 0, f"{ours:.2f} % against {theirs:.2f} %")
    ends = [within[CASES[1], label] for label in (calculator, stable, rage)]
    yield Claim(
        "worst case: StableOPT with as many samples stands between the calculator and Robust RAGE",
        ends[0] < ends[1] < ends[2],
        f"{ends[0]:.2f}, {ends[1]:.2f} and {ends[2]:.2f} % in range",
    )
    drops = [within[CASES[0], label] - within[CASES[1], label] for label in (calculator, rage)]
    yield Claim(
        "the worst error costs the calculator much (taken as: 5 points in range or "
        "more), Robust RAGE's setting little",
        drops[0] >= 5 > drops[1],
        f"{drops[0]:.2f} against {drops[1]:.2f} points of time in range",
    )


def _distinct(arms: pd.Series[int]) -> str:
    return " ".join(map(str, sorted(set(arms))))


def markdown(
    outcomes: pd.DataFrame, methods: pd.DataFrame, truth: str, claims: Iterable[Claim]
) -> str:
    """Table 1, Table 2, the methods against the truth, and the paper's conclusions."""
    parts = []
    for number, (case, rows) in enumerate(outcomes.groupby("case", sort=False), 1):
        parts.append(
            f"**Table {number}, {case}** (mean ± standard deviation over patients and runs)"
        )
        parts.append(_outcomes(rows))
    parts += [
        "**Against the truth**",
        _methods(methods),
        truth,
        "**The paper's conclusions, in our figures**",
    ]
    parts.append("\n".join(f"- {c.verdict}: {c.text} ({c.numbers})" for c in claims))
    return "\n\n".join(parts) + "\n"


def _outcomes(rows: pd.DataFrame) -> str:
    lines: list[tuple[str, ...]] = [("method", "", *COLUMNS.values())]
    for row in rows.to_dict("records"):
        for source, prefix in (("ours", ""), ("paper", "paper_")):
            if row[f"{prefix}risk"] == row[f"{prefix}risk"]:
                cells = (
                    f"{row[f'{prefix}{m}']:.2f} ± {row[f'{prefix}{m}_sd']:.2f}" for m in METRICS
                )
                lines.append((str(row["method"]), source, *cells))
    return markdown_table(lines)


def _methods(methods: pd.DataFrame) -> str:
    lines: list[tuple[str, ...]] = [
        (
            "method",
            "rules",
            "mean pulls, all",
            "of these, pilot",
            "median, all",
            *SHARES.values(),
            "mean regret",
            "most",
        )
    ]
    for row in methods.to_dict("records"):
        pulls = (f"{row[name]:,.0f}" for name in ("samples", "pilot", "samples_median"))
        shares = (share(row[column]) for column in SHARES)
        regrets = (f"{row['regret']:.2f}", f"{row['regret_most']:.2f}")
        lines.append((str(row["method"]), str(row["rules"]), *pulls, *shares, *regrets))
    return markdown_table(lines)


NAME = "bolus"
GROUPS = ("adult", "adolescent", "child")


def bolus(session: Session) -> None:
    """Tune the bolus calculator of every patient by every method, and hold the choices against the
    truth.
    """
    records = patient_records(session, Plan(seed=session.seed, runs=session.runs))
    write_and_show(session, records)


def patient_records(session: Session, plan: Plan) -> list[PatientRecord]:
    """One record per patient, in the order of the paper's table of patients."""
    results = session.map(NAME, study_job, patient_jobs(plan), identity={"plan": asdict(plan)})
    return [PatientRecord.from_json(result) for result in results]


def patient_jobs(plan: Plan, groups: Sequence[str] = GROUPS) -> list[Job]:
    """One job per patient of these groups: adults, adolescents, children."""
    return [
        Job(patient.name, (patient.name, plan))
        for group in groups
        for patient in all_patients()
        if patient.group == group
    ]


def study_job(name: str, plan: Plan) -> PatientRecord:
    """One patient, in a worker."""
    return study_patient(name, plan)


def write_and_show(session: Session, records: list[PatientRecord]) -> None:
    """Tables as CSV and Parquet, figures, their origin; then the tables on the screen."""
    from surefoot.paper.bolus.charts import outcomes_chart, regret_chart

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
    """Return the figures of the methods against the truth, for a terminal."""
    from rich.table import Table

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
