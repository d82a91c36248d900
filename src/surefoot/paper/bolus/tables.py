"""The paper's Tables 1 and 2 for 30 virtual patients, beside the paper's figures and the truth."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import pandas as pd

from surefoot.experiments.publication import (
    Claim,
    PrintedTable,
    Publication,
    judged,
    plus_minus,
    publish,
)
from surefoot.experiments.session import Job, Session
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
from surefoot.paper.glucose import all_patients, patient_table
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
IN_PAPER = (
    "risk",
    "below",
    "above",
    "within",
)  # a large `within` is good
UNIT = {"risk": "", "below": " points", "above": " points", "within": " points"}

# Words above the metrics in a table that has little room.
COLUMNS = {
    "risk": "risk index",
    "risk_of_parts": "risk index of parts",
    "below": f"% < {LOW:g}",
    "above": f"% > {HIGH:g}",
    "within": f"% {LOW:g}–{HIGH:g}",
}

# Columns of the methods' table that are shares of the choices, and their headings.
SHARES = {
    "certified": "certified",
    "model_rejected": "model rejected",
    "model_untestable": "untestable",
    "found": "found the best",
    "certified_wrong": "certified, wrong",
}
NAME = "bolus"
GROUPS = ("adult", "adolescent", "child")
DROP = 5.0  # points of time in range: the paper's "significant" without a number
NEGLIGIBLE = 2.0
SATISFACTORY = 70.0  # % in range: the consensus target for adults

Spread = tuple[float, float]  # a mean over patients, and its standard error
HERE = "surefoot.paper.bolus"
ROOTS = (
    f"{HERE}.problem:make_dosing",
    f"{HERE}.problem:BolusSimulator",
    f"{HERE}.patient:find_truth",
    f"{HERE}.patient:_evaluate",
    f"{HERE}.patient:Plan",
)
CHOSEN = (f"{HERE}.methods:choose", f"{HERE}.methods:run_pilot")
HOMES = {
    "robust-rage": "surefoot.algorithms.robust_rage:RobustRage",
    "stableopt": "surefoot.algorithms.stableopt:StableOpt",
    "prime": "surefoot.plan.prime:Prime",
}
BY_THE_PAPER = (HOMES["robust-rage"], HOMES["stableopt"], *CHOSEN, *ROOTS)


def _roots_of(label: str) -> tuple[str, ...]:
    """Return the definitions that decide a method's rows."""
    homes = [HOMES[method.algorithm] for method in METHODS if method.label == label]
    homes += [HOMES["robust-rage"]] if label == STABLEOPT.label else []  # as many pulls
    return (*homes, *CHOSEN, *ROOTS) if homes else ROOTS


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

    def of_group(self, group: str) -> Tables:
        """Return the patients of one age group."""
        frames = (self.outcomes, self.choices, self.patients, self.arms)
        own = (frame[frame["patient"].str.startswith(f"{group}#")] for frame in frames)
        return Tables(*own)


def _patient_row(record: PatientRecord) -> dict[str, Any]:
    pilot = {} if record.pilot is None else asdict(record.pilot)
    return asdict(record.patient) | {f"pilot_{name}": value for name, value in pilot.items()}


def _frame(rows: Iterable[ArmFacts | Choice | FiveDays]) -> pd.DataFrame:
    return pd.DataFrame([asdict(row) for row in rows])


def _outcome_summary(outcomes: pd.DataFrame) -> pd.DataFrame:
    """Return mean and standard deviation over patients and runs, by case and method, with the
    paper's beside them.

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
            paper = dict(zip(IN_PAPER, PAPER.get((case, label), ()), strict=False))
            for metric in METRICS:
                row[metric], row[f"{metric}_sd"] = chosen[metric].mean(), chosen[metric].std()
                beside = paper.get(metric, (None, None))
                row[f"paper_{metric}"], row[f"paper_{metric}_sd"] = beside
            rows.append(row)
    return pd.DataFrame(rows)


def _method_summary(choices: pd.DataFrame) -> pd.DataFrame:
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


def _share(value: float) -> str:
    """Return a share in per cent; a dash for NaN."""
    return "–" if math.isnan(value) else f"{100 * value:.0f} %"


def _if_trusted(method: Method, shares: pd.Series[bool]) -> float:
    """Return the share of True, or NaN for a method that trusts no model."""
    return float(shares.mean()) if method.needs_scales else math.nan


def _patient_summary(tables: Tables) -> pd.DataFrame:
    """Return one row per patient: noise, truth, and for every method its hits and its pulls."""
    table = tables.patients.copy()
    for method in METHODS:
        chosen = tables.choices[tables.choices["method"] == method.label].groupby(
            "patient", sort=False
        )
        if not len(chosen):
            continue
        for column in ("found", "regret", "samples", "pilot", "certified", "model_rejected"):
            table[f"{method.label}: {column}"] = table["patient"].map(chosen[column].mean())
        table[f"{method.label}: arms"] = table["patient"].map(chosen["arm"].agg(_distinct))
    return table


def paper_claims(tables: Tables) -> Iterator[Claim]:
    """Yield every sentence of the paper about Tables 1 and 2, with patients as the sample."""
    rage, stable, calculator = ROBUST_RAGE.label, STABLEOPT.label, CALCULATOR
    found, worst = CASES
    yield _better(tables, found, rage, calculator, "Results and caption, Table 1")
    yield _better(tables, found, rage, stable, "Results, Table 1")
    less = _differences(tables, found, calculator, rage)
    yield Claim(
        "there is a significant decrease in the percentage of time in hypoglycemia",
        "Results, Table 1",
        judged([less["below"]]),
        f"less by {_points(less['below'])}",
        "Robust RAGE against the calculator",
    )
    yield Claim(
        "… accompanied by an improvement in the time within a safe BG range",
        "Results, Table 1",
        judged([_minus(less["within"])]),
        f"more by {_points(_minus(less['within']))}",
        "Robust RAGE against the calculator",
    )
    drops = {label: _spread(_falls(tables, label)) for label in (calculator, rage)}
    yield Claim(
        "the calculator experiences a significant unsafe drop: it is highly non-robust",
        "Results, Table 2",
        judged([(drops[calculator][0] - DROP, drops[calculator][1])]),
        f"its worst error costs {_points(drops[calculator])} of time in range",
        f"{DROP:g} points or more",
    )
    yield Claim(
        "our RBAI-tuned calculator exhibits only a negligible decrease",
        "Results, Table 2",
        judged([(NEGLIGIBLE - drops[rage][0], drops[rage][1])]),
        f"its worst error costs {_points(drops[rage])} of time in range",
        f"less than {NEGLIGIBLE:g} points",
    )
    saved = _spread(_falls(tables, calculator) - _falls(tables, rage))
    yield Claim(
        "this experiment highlights the importance of selecting a robust arm",
        "Results, Table 2",
        judged([saved]),
        f"the worst error costs the calculator more time in range, by {_points(saved)}",
        "more than it costs Robust RAGE's setting",
    )
    kept = _spread(_by_patient(tables, worst, rage)["within"])
    yield Claim(
        "… while maintaining a satisfactory percentage of time in euglycemia",
        "Results, Table 2",
        judged([(kept[0] - SATISFACTORY, kept[1])]),
        f"{plus_minus(*kept)} % in range in the worst case",
        f"above {SATISFACTORY:g} %, the consensus target",
    )
    yield _better(tables, worst, rage, calculator, "caption, Table 2")
    yield _better(tables, worst, rage, stable, "caption, Table 2")
    ends = {
        "calculator": _gains(tables, worst, stable, calculator),
        "Robust RAGE": _gains(tables, worst, rage, stable),
    }
    yield Claim(
        "the worst-case performance of StableOPT falls between that of the calculator and Robust "
        "RAGE",
        "Results, Table 2",
        judged(spread for gains in ends.values() for spread in gains.values()),
        f"StableOPT over the calculator: {_each(ends['calculator'])}; "
        f"Robust RAGE over StableOPT: {_each(ends['Robust RAGE'])}",
        "by all four; positive is better",
    )
    yield from _best_arm_claims(tables)
    yield _age_ranges(tables)
    gains = _gains(tables, worst, rage, calculator)
    yield Claim(
        "we validated the utility of our approach in determining the suitable bolus insulin amount "
        "while considering inaccuracies",
        "Conclusions",
        judged([gains["within"], gains["risk"]]),
        f"worst case, Robust RAGE over the calculator: {_each(gains)}",
        "less risk and more time in range under the worst error",
    )


def _best_arm_claims(tables: Tables) -> Iterator[Claim]:
    """Yield the paper's main sentence about StableOPT, and whether the best arm is found at all."""
    choices = tables.choices.groupby(["method", "patient"], sort=False)
    shares, regrets = choices["found"].mean(), choices["regret"].mean()
    rage, stable = ROBUST_RAGE.label, STABLEOPT.label
    share = {label: _spread(100 * shares[label]) for label in (rage, stable)}
    ahead = _spread(100 * (shares[rage] - shares[stable]))
    saved = _spread(regrets[stable] - regrets[rage])
    both = ", ".join(f"{label} {plus_minus(*share[label], 1)} %" for label in (rage, stable))
    numbers = f"{both}: {_points(ahead)}; regret saved {plus_minus(*saved)}"
    yield Claim(
        "StableOPT is unable to identify the most robust arm with the same sample size",
        "Results, Table 2",
        judged([(100 - share[stable][0], share[stable][1])]),
        f"best arm found: {plus_minus(*share[stable], 1)} % of its choices",
        "not in all choices; ten choices a patient",
    )
    yield Claim(
        "Robust RAGE outperforms StableOPT by identifying the best robust arm",
        "Results, Table 2",
        judged([ahead, saved]),
        f"best arm found: {numbers}",
        "it finds the best arm more often, and its regret is smaller",
    )
    at_least = 100 * (1 - 0.05)
    yield Claim(
        "these algorithms demonstrate effectiveness in identifying the robust best arm",
        "Conclusions",
        judged([(share[rage][0] - at_least, share[rage][1])]),
        f"dosing, best arm found: {both}",
        f"in {at_least:g} % of the choices, as δ = 0.05 promises; the reward is not linear",
    )


def _age_ranges(tables: Tables) -> Claim:
    groups = {}
    for group in GROUPS:
        part = tables.of_group(group)
        if not part.outcomes.empty:
            groups[group] = _gains(part, CASES[1], ROBUST_RAGE.label, CALCULATOR)["within"]
    numbers = ", ".join(f"{group} {_points(gain)}" for group, gain in groups.items())
    return Claim(
        "effective in identifying robust dosage values across various age ranges of patients",
        "abstract",
        judged(groups.values()),
        f"worst case, time in range over the calculator: {numbers}",
        "more time in range under the worst error, in each age group",
    )


def _better(tables: Tables, case: str, one: str, other: str, where: str) -> Claim:
    gains = _gains(tables, case, one, other)
    theirs = "the calculator" if other == CALCULATOR else other
    return Claim(
        f"{case}: the RBAI-tuned calculator is better than {theirs} in all metrics",
        where,
        judged(gains.values()),
        f"{one} over {theirs}: {_each(gains)}",
        "by all four; positive is better",
    )


def _by_patient(tables: Tables, case: str, label: str) -> pd.DataFrame:
    rows = tables.outcomes
    chosen = rows[(rows["case"] == case) & (rows["method"] == label)]
    return chosen.groupby("patient", sort=False)[list(METRICS)].mean()


def _differences(tables: Tables, case: str, one: str, other: str) -> dict[str, Spread]:
    """Return one method minus another, over patients."""
    difference = _by_patient(tables, case, one) - _by_patient(tables, case, other)
    return {metric: _spread(difference[metric]) for metric in IN_PAPER}


def _gains(tables: Tables, case: str, one: str, other: str) -> dict[str, Spread]:
    """Return the lead of one method over another, over patients."""
    found = _differences(tables, case, one, other)
    return {m: spread if m == "within" else _minus(spread) for m, spread in found.items()}


def _falls(tables: Tables, label: str) -> pd.Series[float]:
    """Return the points of time in range that the worst error costs, by patient."""
    found, worst = (_by_patient(tables, case, label)["within"] for case in CASES)
    return found - worst


def _spread(values: pd.Series[float]) -> Spread:
    """Return the mean over patients with its standard error; NaN for the error of a single one."""
    numbers = values.to_numpy()
    error = numbers.std(ddof=1) / math.sqrt(len(numbers)) if len(numbers) > 1 else math.nan
    return float(numbers.mean()), float(error)


def _minus(spread: Spread) -> Spread:
    return -spread[0], spread[1]


def _points(spread: Spread) -> str:
    return f"{plus_minus(*spread)} points"


def _each(gains: dict[str, Spread]) -> str:
    return ", ".join(
        f"{COLUMNS[metric]} {plus_minus(*gain)}{UNIT[metric]}" for metric, gain in gains.items()
    )


def _distinct(arms: pd.Series[int]) -> str:
    return " ".join(map(str, sorted(set(arms))))


def _outcomes_table(outcomes: pd.DataFrame) -> PrintedTable:
    """Return means and standard deviations over patients and runs, the paper's below ours."""
    rows, roots = [], []
    for row in outcomes.to_dict("records"):
        for source, prefix in (("ours", ""), ("paper", "paper_")):
            if row[f"{prefix}risk"] == row[f"{prefix}risk"]:
                cells = (_cell(row, prefix, metric) for metric in COLUMNS)
                rows.append((str(row["method"]), source, *cells))
                roots.append(_roots_of(str(row["method"])) if source == "ours" else ())
    return PrintedTable(("method", "", *COLUMNS.values()), rows, roots)


def _cell(row: Mapping[Any, Any], prefix: str, metric: str) -> str:
    mean, deviation = row[f"{prefix}{metric}"], row[f"{prefix}{metric}_sd"]
    return "–" if mean is None or mean != mean else f"{mean:.2f} ± {deviation:.2f}"


def _groups_table(tables: Tables) -> PrintedTable:
    """Return outcomes by age group, under the worst error, and shares of choices that were best."""
    heads = ("patients", "method", *COLUMNS.values(), "found the best", "mean regret")
    rows, roots = [], []
    for group in GROUPS:
        part = tables.of_group(group)
        for label in LABELS:
            means = _by_patient(part, CASES[1], label)
            if means.empty:
                continue
            chosen = part.choices[part.choices["method"] == label]
            best = _share(chosen["found"].mean()) if len(chosen) else "–"
            regret = f"{chosen['regret'].mean():.2f}" if len(chosen) else "–"
            cells = (plus_minus(*_spread(means[metric])) for metric in COLUMNS)
            rows.append((group, label, *cells, best, regret))
            roots.append(_roots_of(label))
    return PrintedTable(heads, rows, roots)


def _methods_table(methods: pd.DataFrame) -> PrintedTable:
    """Return the figures of the methods against the truth."""
    heads = ("method", "rules", "mean pulls, all", "of these, pilot", "median, all")
    rows, roots = [], []
    for row in methods.to_dict("records"):
        pulls = (f"{row[name]:,.0f}" for name in ("samples", "pilot", "samples_median"))
        shares = (_share(row[column]) for column in SHARES)
        regrets = (f"{row['regret']:.2f}", f"{row['regret_most']:.2f}")
        rows.append((str(row["method"]), str(row["rules"]), *pulls, *shares, *regrets))
        roots.append(_roots_of(str(row["method"])))
    return PrintedTable((*heads, *SHARES.values(), "mean regret", "most"), rows, roots)


def patients(session: Session) -> None:
    """Print the paper's table of patients from the shipped parameters, to the printed digits."""
    table = patient_table()
    heads = ("patient", "CarbF", "CorrF", "age", "TDI")
    rows = [
        (
            str(row["Patient"]),
            f"{row['CarbF']:.2f}",
            f"{row['CorrF']:.2f}",
            str(row["Age"]),
            f"{row['TDI']:.2f}",
        )
        for row in table.to_dict("records")
    ]
    roots = [("surefoot.paper.glucose.day:patient_table",)] * len(rows)
    shown = PrintedTable(heads, rows, roots)
    publication = Publication(
        "patients",
        {"": table},
        printed={"summary": shown},
        screens=[shown.screen("Patients' parameters")],
        note=DISCLAIMER,
    )
    publish(session, publication)


def bolus(session: Session, prime: bool = True) -> None:
    """Tune the bolus calculator of every patient by every method, and hold the choices against the
    truth; `prime=False` runs the paper's methods alone.
    """
    methods = METHODS if prime else (STABLEOPT, ROBUST_RAGE)
    labels = tuple(method.label for method in methods)
    plan = Plan(seed=session.seed, runs=session.runs, labels=labels)
    found = session.map(NAME, study_patient, patient_jobs(plan), {"plan": asdict(plan)})
    publish_tables(session, Tables.of([PatientRecord.from_json(values) for values in found]))


def patient_jobs(plan: Plan, groups: Sequence[str] = GROUPS) -> list[Job]:
    """Return one job per patient of these groups: adults, adolescents, children."""
    return [
        Job(patient.name, (patient.name, plan))
        for group in groups
        for patient in all_patients()
        if patient.group == group
    ]


def publish_tables(session: Session, tables: Tables) -> None:
    """Write and show the tables and figures of all patients."""
    from surefoot.paper.bolus.charts import outcomes_chart, regret_chart

    outcomes, methods = _outcome_summary(tables.outcomes), _method_summary(tables.choices)
    sentence = _truth_sentence(tables)
    truth = PrintedTable(("truth",), [(sentence,)], [(*CHOSEN, *ROOTS)])
    cases = {f"table{k}": outcomes[outcomes["case"] == case] for k, case in enumerate(CASES, 1)}
    printed = {name: _outcomes_table(rows) for name, rows in cases.items()}
    printed |= {"groups": _groups_table(tables), "methods": _methods_table(methods), "truth": truth}
    size = f"{len(tables.patients)} patients × {session.runs} five-day simulations"
    titles = {
        "table1": f"Table 1, {CASES[0]}: {size}, the paper's beneath",
        "table2": f"Table 2, {CASES[1]}: {size}, the paper's beneath",
        "groups": "Age groups, worst case (mean ± standard error over patients)",
        "methods": "Against the truth (regret in worst-case reward)",
    }
    publication = Publication(
        NAME,
        tables={
            "": outcomes,
            "-methods": methods,
            "-patients": _patient_summary(tables),
            "-choices": tables.choices,
            "-simulations": tables.outcomes,
            "-arms": tables.arms,
        },
        charts={"": outcomes_chart(outcomes), "-regret": regret_chart(tables.choices)},
        printed=printed,
        claims=list(paper_claims(tables)),
        roots=(*BY_THE_PAPER, "surefoot.paper.bolus.tables:paper_claims"),
        facts={"note": DISCLAIMER},
        screens=[printed[name].screen(title) for name, title in titles.items()],
        remarks=[sentence],
        judged_by="in our figures; two standard errors over patients",
        note=DISCLAIMER,
    )
    publish(session, publication)


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
