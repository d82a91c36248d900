"""The tables of the dosing experiment: outcomes beside the paper's, and the methods beside the
truth.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from typing import Any

import pandas as pd

from surefoot.experiments.session.publication import Claim
from surefoot.paper.bolus.evaluation import CASES, METRICS
from surefoot.paper.bolus.methods import (
    CALCULATOR,
    LABELS,
    METHODS,
    ROBUST_RAGE,
    STABLEOPT,
    WORST_OF_ALL,
    Method,
)
from surefoot.paper.bolus.records import ArmFacts, Choice, FiveDays, PatientRecord
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
    """How each method fared against the truth.

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
    """What tests of the model said, where a model is trusted; nothing where none is."""
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
    """What the paper concludes from its two tables, in our figures."""
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
