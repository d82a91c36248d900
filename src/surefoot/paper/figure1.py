"""The paper's Figure 1, irrelevant dimensions and unit sphere, and each of its claims."""

from __future__ import annotations

import functools
import math
import time
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from scipy import stats

from surefoot.algorithms import Algorithm, Settings
from surefoot.algorithms.oracle import Oracle
from surefoot.algorithms.robust_rage import RobustRage
from surefoot.algorithms.robust_static import RobustStatic
from surefoot.design import exact_separation
from surefoot.design.hardness import binary_divergence
from surefoot.experiments import instances
from surefoot.experiments.comparison import Counted, finished
from surefoot.experiments.instances import Instance
from surefoot.experiments.publication import (
    BEYOND_DOUBT,
    FEWEST,
    Claim,
    PrintedTable,
    Publication,
    Screen,
    Verdict,
    judged,
    plus_minus,
    publish,
    short,
)
from surefoot.experiments.session import Job, Session
from surefoot.noise import Gaussian, Noise, SubGaussian
from surefoot.proportions import Proportion
from surefoot.simulate import LinearSimulator

if TYPE_CHECKING:
    import pandas as pd

SPHERE_DIMENSION = 10
ALSO = 20  # runs in which the valid rules take part too, and whose instance gets its lower bound
LEVEL = 0.05  # of the tests for a trend and for too many errors
CLOSE = 2.0  # the paper says "close" without a number
LEVEL_SLOPE = 0.2  # samples that grow by less than size^0.2 count as level

DESIGN_TOLERANCE = 0.1  # the bound is proved for any value, and at most this much too low
BOUND = "lower bound"
COLUMNS = ["experiment", "size", "pairs", "lower_bound", "run"]
COLUMNS += ["label", "algorithm", "policy", "knows", "seed"]
RESULTS = ["samples", "certified", "correct", "focused"]
NOISE: dict[str, Noise] = {
    "Gaussian": Gaussian(1.0),
    "sub-Gaussian": SubGaussian(1.0),
    "unknown scale": Gaussian(equal=True),
}


@dataclass(frozen=True)
class Variation:
    """Constants of the experiments, as in the paper unless others are asked for.

    Attributes:
        delta: the probability with which an answer may be wrong.
        epsilon: ε of Robust RAGE.
        gamma: γ of Robust Static.
        oracle_gamma: γ of the oracle.
        sizes: d or n; empty for the experiment's own.
        prime: runs of PRIME, about which the paper claims nothing.
    """

    delta: float = 0.05
    epsilon: float = 0.1
    gamma: float = 1.3
    oracle_gamma: float = 1.1
    sizes: tuple[int, ...] = ()
    prime: int = 20


PAPER = Variation()


@dataclass(frozen=True)
class Panel:
    """One panel of the figure.

    Attributes:
        number: makes its random streams its own.
        symbol: of the size, d or n.
        axis: the meaning of the size, in words.
    """

    name: str
    number: int
    title: str
    symbol: str
    axis: str
    sizes: tuple[int, ...]

    def seed(self, session_seed: int, size: int, run: int) -> int:
        """Return the seed from which one run is replayed; it depends on nothing else."""
        sequence = np.random.SeedSequence(session_seed, spawn_key=(self.number, size, run))
        return int(sequence.generate_state(1, np.uint64)[0] >> np.uint64(1))

    def instance(self, size: int, seed: int) -> Instance:
        if self.number == 2:
            generator = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(0,)))
            return instances.unit_sphere(size, SPHERE_DIMENSION, generator)
        return _same_for_all_runs(size)


SIZES = (5, 10, 15, 20, 25, 30)
IRRELEVANT = Panel("irrelevant-dimensions", 1, "Irrelevant dimensions", "d", "dimensions d", SIZES)
SPHERE = Panel("unit-sphere", 2, "Unit sphere", "n", "arms n", (10, 20, 50, 100, 200))
PANELS = {panel.name: panel for panel in (IRRELEVANT, SPHERE)}


@dataclass(frozen=True)
class _Entrant:
    """An algorithm under a policy.

    Attributes:
        label: for tables and figures; with the policy it tells all entrants apart.
        home: the module and the name of its class.
        knows: its information about the noise, which always is standard normal.
        keep: whether data of earlier phases count, where the paper leaves that open.
    """

    label: str
    algorithm: str
    home: str
    policy: Literal["paper", "valid"]
    knows: str = "Gaussian"
    keep: bool = True

    @property
    def roots(self) -> tuple[str, ...]:
        """The definitions that decide its rows."""
        return (self.home, *ROOTS)

    def made(self, instance: Instance, variation: Variation) -> Algorithm:
        if self.algorithm == "oracle":
            return Oracle(instance[1], growth=variation.oracle_gamma, keep=self.keep)
        if self.algorithm == "robust-static":
            return RobustStatic(growth=variation.gamma, keep=self.keep)
        if self.algorithm == "robust-rage":
            return RobustRage(epsilon=variation.epsilon)
        from surefoot.algorithms import algorithm_from

        return algorithm_from(self.algorithm)

    def run(self, instance: Instance, seed: int, variation: Variation) -> dict[str, Any]:
        """Run once, with the noise of this seed."""
        begun = time.perf_counter()
        algorithm = self.made(instance, variation)
        found = _counted(algorithm, instance, seed, variation.delta, self.knows, self.policy)
        about = {key: getattr(self, key) for key in ("label", "algorithm", "policy", "knows")}
        return about | found | {"seed": seed, "seconds": time.perf_counter() - begun}


def _counted(
    algorithm: Algorithm,
    instance: Instance,
    seed: int,
    delta: float,
    knows: str,
    policy: Literal["paper", "valid"],
) -> dict[str, Any]:
    """Run an algorithm once; `focused` are its pulls until two arms were left."""
    problem, theta = instance
    settings = Settings(
        delta=delta, noise=NOISE[knows], rules=policy, misfit=0.0, on_misfit="ignore"
    )
    run = played(algorithm.start(problem, settings), instance, seed)
    focused = next((record.total for record in run.history if record.survivors.sum() <= 2), 0)
    return asdict(Counted.of(run.result, problem.best_arm(theta))) | {"focused": int(focused)}


def played(run: Algorithm, instance: Instance, seed: int) -> Algorithm:
    """Play a run to its end, with the noise of this seed."""
    source = np.random.SeedSequence(seed, spawn_key=(1,))
    return finished(run, LinearSimulator(*instance, seed=source))


ROOTS = ("surefoot.paper.figure1:Panel", "surefoot.paper.figure1:_counted")
HOMES = {
    "oracle": "surefoot.algorithms.oracle:Oracle",
    "robust-static": "surefoot.algorithms.robust_static:RobustStatic",
    "robust-rage": "surefoot.algorithms.robust_rage:RobustRage",
    "prime": "surefoot.plan.prime:Prime",
}


def _entrant(label: str, algorithm: str, *more: Any, **others: Any) -> _Entrant:
    return _Entrant(label, algorithm, HOMES[algorithm], *more, **others)


ORACLE = _entrant("Oracle", "oracle", "paper")
STATIC = _entrant("Robust Static", "robust-static", "paper")
RAGE = _entrant("Robust RAGE", "robust-rage", "paper")
ANEW = ", phases anew"
ORACLE_ANEW = replace(ORACLE, label=ORACLE.label + ANEW, keep=False)
STATIC_ANEW = replace(STATIC, label=STATIC.label + ANEW, keep=False)
BY_THE_PAPER = (ORACLE, STATIC, RAGE, ORACLE_ANEW, STATIC_ANEW)
VALID = tuple(replace(entrant, policy="valid") for entrant in (ORACLE, STATIC, RAGE))
PRIMES = (
    _entrant("PRIME", "prime", "valid"),
    _entrant("PRIME, sub-Gaussian", "prime", "valid", "sub-Gaussian"),
    _entrant("PRIME, unknown scale", "prime", "valid", "unknown scale"),
)
ENTRANTS = (*BY_THE_PAPER, *VALID, *PRIMES)
READINGS = {
    "γ^t as the pulls in all, data kept": (ORACLE, STATIC),
    "γ^t as the pulls of phase t, which is judged by them alone": (ORACLE_ANEW, STATIC_ANEW),
}


def irrelevant_dimensions(session: Session, variation: Variation = PAPER) -> None:
    """Run Experiment 1: only two of the d dimensions matter."""
    _reproduce(session, IRRELEVANT, variation)


def unit_sphere(session: Session, variation: Variation = PAPER) -> None:
    """Run Experiment 2: n arms on a sphere, a fresh one for each run."""
    _reproduce(session, SPHERE, variation)


def _run_table(session: Session, panel: Panel, variation: Variation = PAPER) -> pd.DataFrame:
    """Return every run of every entrant, as a row; reproducible to the bit from the seed, but for
    the seconds.
    """
    import pandas as pd

    asked = asdict(variation)
    sizes = variation.sizes or panel.sizes
    jobs = [
        Job(
            f"{size}/{run}/{'with PRIME' if run < variation.prime else 'without'}",
            (panel.name, size, run, panel.seed(session.seed, size, run), asked),
            10 + size,
        )
        for size in sizes
        for run in range(session.runs)
    ]
    about = {key: asked[key] for key in ("delta", "epsilon", "gamma", "oracle_gamma")}
    asked.pop("sizes")
    results = session.map(panel.name, run_once, jobs, about)
    table = pd.DataFrame([row for rows in results for row in rows])
    return table[[*COLUMNS, *RESULTS, "seconds"]]


def run_once(
    name: str, size: int, run: int, seed: int, asked: dict[str, Any]
) -> list[dict[str, Any]]:
    """Return all entrants on one instance, with equal noise."""
    panel, variation = PANELS[name], Variation(**asked)
    instance = panel.instance(size, seed)
    where = {"experiment": name, "size": size, "pairs": instance[0].n_pairs, "run": run}
    also = run < ALSO
    where["lower_bound"] = _bound_of(panel, size, instance, variation.delta) if also else None
    entrants = [*BY_THE_PAPER, *(VALID if also else ()), *(PRIMES if asked["prime"] > run else ())]
    return [where | entrant.run(instance, seed, variation) for entrant in entrants]


def lower_bound(instance: Instance, delta: float) -> float:
    """Return the number of samples below which no algorithm can be on average: 2 kl(δ, 1 − δ) H*,
    at the proven lower end of H*.
    """
    problem, theta = instance
    design = exact_separation(
        problem.pairs,
        problem.offsets,
        problem.reduced(theta),
        problem.best_arm(theta),
        tolerance=DESIGN_TOLERANCE,
    )
    return 2.0 * binary_divergence(delta) * design.lower_bound


def summary(runs: pd.DataFrame) -> pd.DataFrame:
    """Return mean, deviation and standard error of the samples, their ratio to the paper's oracle
    over the same runs, and errors, by size and entrant.
    """
    groups = runs.groupby(["size", "label", "policy"], sort=False)
    table = groups["samples"].agg(runs="size", mean="mean", deviation="std", error="sem")
    oracle = runs[(runs["label"] == ORACLE.label) & (runs["policy"] == ORACLE.policy)]
    known = oracle.set_index(["size", "run"])["samples"]
    beside = runs.assign(
        beside=known.reindex(list(zip(runs["size"], runs["run"], strict=True))).to_numpy()
    )
    means = beside.groupby(["size", "label", "policy"], sort=False)["beside"].mean()
    table["ratio"] = table["mean"] / means
    table["errors"] = groups["correct"].agg(lambda correct: int((~correct).sum()))
    table["uncertified"] = groups["certified"].agg(lambda certified: int((~certified).sum()))
    table["seconds"] = groups["seconds"].mean()
    return table.fillna({"error": 0.0}).reset_index()


def _bounds(runs: pd.DataFrame) -> pd.DataFrame:
    """Return the mean lower bound of each size's instances, in the columns that a chart wants."""
    means = runs.groupby("size", sort=False)["lower_bound"].mean().reset_index(name="mean")
    return means.assign(algorithm=BOUND, policy="bound", low=means["mean"], high=means["mean"])


def figure(panel: Panel, table: pd.DataFrame, bounds: pd.DataFrame | None = None) -> Any:
    """Return the panel of Figure 1: the paper's rules in one family of colours, proved ones in
    another, and the bound; without a bound the paper's three series alone.
    """
    import pandas as pd

    from surefoot.view.charts import samples_chart

    bars = table.assign(
        algorithm=table["label"],
        low=table["mean"] - table["error"],
        high=table["mean"] + table["error"],
    )
    if bounds is None:
        three = [entrant.label for entrant in (ORACLE, STATIC, RAGE)]
        bars = bars[bars["label"].isin(three) & (bars["policy"] == "paper")]
        return samples_chart(bars, "size", panel.axis, f"{panel.title}: mean samples")
    title = f"{panel.title}: samples until the answer is certain (mean ± standard error)"
    return samples_chart(pd.concat([bars, bounds]), "size", panel.axis, title)


def printed(panel: Panel, table: pd.DataFrame, bounds: pd.DataFrame) -> PrintedTable:
    """Return the summary for documents: one row per entrant, one column per size, the bound
    below.
    """
    sizes = list(dict.fromkeys(table["size"]))
    rows, roots = [], []
    homes = {f"{entrant.label}, {entrant.policy}": entrant.roots for entrant in ENTRANTS}
    for (label, policy), group in table.groupby(["label", "policy"], sort=False):
        cells = (
            f"{short(row['mean'])} ± {short(row['error'])} ({row['ratio']:.2f})"
            for row in group.to_dict("records")
        )
        errors = f"{group['errors'].sum()} of {group['runs'].sum()}"
        rows.append((f"{label}, {policy}", *cells, errors))
        roots.append(homes[f"{label}, {policy}"])
    rows.append((BOUND, *(short(mean) for mean in bounds["mean"]), "–"))
    roots.append(("surefoot.paper.figure1:lower_bound", *ROOTS))
    heads = ("", *(f"{panel.symbol} = {size}" for size in sizes), "errors")
    return PrintedTable(heads, rows, roots)


def claims(panel: Panel, runs: pd.DataFrame, delta: float) -> Iterator[Claim]:
    """Yield every sentence of the Results, the Conclusions and the abstract about this panel; a few
    runs decide nothing.
    """
    few = runs["run"].nunique() < FEWEST
    for claim in _judged_claims(panel, runs, delta):
        yield replace(claim, verdict="undecided") if few else claim


def _judged_claims(panel: Panel, runs: pd.DataFrame, delta: float) -> Iterator[Claim]:
    figure_of = f"Results, Figure 1 ({'a' if panel.number == 1 else 'b'})"
    yield _all_find_it(runs, delta)
    for reading, (oracle, static) in READINGS.items():
        beside_oracle = _ratios(runs, RAGE, oracle)
        beside_static = _ratios(runs, RAGE, static)
        static_beside = _ratios(runs, static, oracle)
        both = (beside_oracle, static_beside)
        yield Claim(
            "their sample efficiency varies significantly",
            figure_of,
            _all_of((abs(static_beside["ratio"] - 1), static_beside["error"])),
            f"Static / Oracle {_each(static_beside)}",
            reading,
        )
        yield Claim(
            "the oracle strategy exhibits the highest sample efficiency",
            figure_of,
            _all_of(
                (static_beside["ratio"] - 1, static_beside["error"]),
                (beside_oracle["ratio"] - 1, beside_oracle["error"]),
            ),
            f"Static / Oracle {_each(static_beside)}; RAGE / Oracle {_each(beside_oracle)}",
            reading,
        )
        if panel.number == 2:
            yield Claim(
                "Robust RAGE comes close to oracle performance",
                figure_of,
                _all_of((CLOSE - beside_oracle["ratio"], beside_oracle["error"])),
                f"RAGE / Oracle {_each(beside_oracle)}",
                f"at most {CLOSE:g} times as many; {reading}",
            )
        yield Claim(
            "our algorithms perform similarly to the oracle strategy",
            "abstract",
            _all_of(
                *((CLOSE - ratios["ratio"], ratios["error"]) for ratios in both),
                *((ratios["ratio"] - 1 / CLOSE, ratios["error"]) for ratios in both),
            ),
            f"RAGE / Oracle {_each(beside_oracle)}; Static / Oracle {_each(static_beside)}",
            f"both within a factor {CLOSE:g} either way; {reading}",
        )
        yield Claim(
            "Robust RAGE outperforms Robust Static in all scenarios",
            figure_of,
            _all_of((1 - beside_static["ratio"], beside_static["error"])),
            f"RAGE / Static {_each(beside_static)}",
            reading,
        )
        if panel.number == 1:
            yield _grows(
                runs,
                static,
                "Robust Static requires more samples as irrelevant dimensions are added",
                True,
                reading,
            )
    yield _optimal(runs, RAGE, "the adaptive algorithm achieves an optimal rate")
    yield _optimal(runs, STATIC, "the static algorithm achieves an optimal rate")
    if panel.number == 1:
        yield _focuses(runs)
        text = "Robust RAGE does not require additional samples as irrelevant dimensions are added"
        level = f"growth below size^{LEVEL_SLOPE:g}, and none that two standard errors show"
        yield _grows(runs, RAGE, text, False, level)
        beyond = "the same, beyond the log(|Z|²/δ) of its threshold"
        logged = runs.assign(samples=runs["samples"] / np.log(runs["pairs"] ** 2 / delta))
        yield _grows(logged, RAGE, text, False, beyond)


def _all_of(*margins: tuple[Any, Any]) -> Any:
    return judged([pair for m, e in margins for pair in zip(m, e, strict=True)])


def _all_find_it(runs: pd.DataFrame, delta: float) -> Claim:
    chosen = runs[runs["label"].isin([e.label for e in BY_THE_PAPER]) & (runs["policy"] == "paper")]
    wrong = {
        str(label): Proportion(int((~group["correct"]).sum()), len(group))
        for label, group in chosen.groupby("label", sort=False)
    }
    if any(share.excess(delta) < LEVEL / len(wrong) for share in wrong.values()):
        verdict: Verdict = "fails"
    else:
        sure = all(share.interval()[1] <= delta for share in wrong.values())
        verdict = "holds" if sure else "undecided"
    numbers = ", ".join(f"{label} {share.count} of {share.runs}" for label, share in wrong.items())
    return Claim(
        "all algorithms identify the robust best arm",
        "Results and Conclusions",
        verdict,
        f"wrong: {numbers}",
        f"errors at most δ = {delta:g}, by exact binomial tests",
    )


def _grows(runs: pd.DataFrame, who: _Entrant, text: str, wanted: bool, reading: str) -> Claim:
    """Judge whether log samples rise with log size, by the slope over all runs."""
    table = _of(runs, who)
    slope, error = _slope(table["size"], table["samples"])
    means = table.groupby("size")["samples"].mean()
    first, last = means.index[0], means.index[-1]
    verdict = judged([(slope, error)] if wanted else [(LEVEL_SLOPE - slope, error)])
    if not wanted and slope > BEYOND_DOUBT * error:
        verdict = "fails"
    numbers = f"samples ∝ size^{plus_minus(slope, error, 3)}; mean × "
    numbers += f"{means[last] / means[first]:.2f} from {first} to {last}"
    return Claim(text, "Results, Figure 1 (a)", verdict, numbers, reading)


def _slope(size: Any, samples: Any) -> tuple[float, float]:
    if len(set(size)) < 2:
        return 0.0, math.nan
    fit = stats.linregress(np.log(size), np.log(samples))
    return float(fit.slope), float(fit.stderr)


def _focuses(runs: pd.DataFrame) -> Claim:
    table = _of(runs, RAGE)
    shares = (table["focused"] / table["samples"]).groupby(table["size"])
    means, errors = shares.mean(), shares.sem()
    numbers = ", ".join(
        f"{100 * mean:.3f} ± {100 * error:.3f} % ({size})"
        for size, mean, error in zip(means.index, means, errors, strict=True)
    )
    return Claim(
        "Robust RAGE quickly focuses on the relevant dimension",
        "Results, Figure 1 (a)",
        judged(zip(0.1 - means, errors, strict=True)),
        f"share of its pulls until two arms are left: {numbers}",
        "after less than 10 % of its pulls",
    )


def _optimal(runs: pd.DataFrame, who: _Entrant, text: str) -> Claim:
    """Judge whether samples over the lower bound stay level as instances grow, but for logs."""
    table = _of(runs, who)
    bound = runs.groupby("size")["lower_bound"].mean()
    over = table["samples"] / table["size"].map(bound)
    logged = over / np.log(table["pairs"] ** 2 / PAPER.delta)
    slope, error = _slope(table["size"], logged)
    means, errors = (getattr(over.groupby(table["size"]), how)() for how in ("mean", "sem"))
    ratios = ", ".join(
        f"{mean:.1f} ± {error:.1f} ({size})"
        for size, mean, error in zip(means.index, means, errors, strict=True)
    )
    verdict = judged([(LEVEL_SLOPE - slope, error)])
    return Claim(
        text,
        "Conclusions and abstract",
        verdict,
        f"samples over the proven lower bound {ratios}; ∝ size^{plus_minus(slope, error, 3)}",
        "the ratio grows by less than size^0.2 beyond log(|Z|²/δ); a constant factor is free",
    )


def _of(runs: pd.DataFrame, who: _Entrant) -> pd.DataFrame:
    return runs[(runs["label"] == who.label) & (runs["policy"] == who.policy)]


def _ratios(runs: pd.DataFrame, one: _Entrant, other: _Entrant) -> pd.DataFrame:
    """Return one row per size: the ratio of mean samples, and its standard error to first order.
    Runs are taken in pairs, for both entrants meet the same instances.
    """
    import pandas as pd

    samples = [
        _of(runs, who).pivot(index="run", columns="size", values="samples") for who in (one, other)
    ]
    shares = [table / table.mean() for table in samples]
    ratio = samples[0].mean() / samples[1].mean()
    return pd.DataFrame({"ratio": ratio, "error": ratio * (shares[0] - shares[1]).sem()})


def _each(ratios: pd.DataFrame) -> str:
    rows = zip(ratios.index, ratios["ratio"], ratios["error"], strict=True)
    return ", ".join(f"{plus_minus(ratio, error)} ({size})" for size, ratio, error in rows)


@functools.cache
def _same_for_all_runs(d: int) -> Instance:
    """Return one instance per process, so that its designs are remembered from run to run."""
    return instances.irrelevant_dimensions(d)


def _bound_of(panel: Panel, size: int, instance: Instance, delta: float) -> float:
    if panel is IRRELEVANT:
        return _bound_of_all_runs(size, delta)
    return lower_bound(instance, delta)


@functools.cache
def _bound_of_all_runs(d: int, delta: float) -> float:
    return lower_bound(_same_for_all_runs(d), delta)


def _reproduce(session: Session, panel: Panel, variation: Variation) -> None:
    publish_runs(session, panel, variation, _run_table(session, panel, variation))


def publish_runs(session: Session, panel: Panel, variation: Variation, runs: pd.DataFrame) -> None:
    """Write and show the figures of a panel's runs."""
    table, limit = summary(runs), _bounds(runs)
    rule = "two standard errors decide" if session.runs >= FEWEST else "too few runs to decide"
    seconds = runs[["size", "run", "label", "policy", "seconds"]]
    by_the_paper = tuple(dict.fromkeys(root for e in BY_THE_PAPER for root in e.roots))
    publication = Publication(
        panel.name,
        tables={"": runs.drop(columns="seconds")},
        charts={"": figure(panel, table, limit), "-paper": figure(panel, table)},
        printed={"summary": printed(panel, table, limit)},
        claims=list(claims(panel, runs, variation.delta)),
        roots=(
            *by_the_paper,
            "surefoot.paper.figure1:claims",
            "surefoot.paper.figure1:lower_bound",
        ),
        facts=asdict(variation),
        texts={"-seconds.csv": seconds.to_csv(index=False, lineterminator="\n")},
        screens=[
            Screen(
                f"{panel.name}: δ = {variation.delta:g}, seed {session.seed}",
                (panel.symbol, *SHOWN, "ms a run"),
                [
                    [_shown(row) for row in group.to_dict("records")]
                    for _, group in table.groupby("size", sort=False)
                ],
            )
        ],
        judged_by=f"its own rules, our runs; {rule}",
    )
    publish(session, publication)


SHOWN = ("algorithm", "rules", "runs", "mean samples", "± standard error", "/ oracle", "errors")


def _shown(row: Mapping[Any, Any]) -> tuple[str, ...]:
    """Return a row of the summary as the terminal shows it."""
    error = "" if row["runs"] == 1 else f"{row['error']:,.0f}"
    numbers = (f"{row['mean']:,.0f}", error, f"{row['ratio']:.2f}", str(row["errors"]))
    seconds = f"{1e3 * row['seconds']:.0f}"
    return (str(row["size"]), row["label"], row["policy"], str(row["runs"]), *numbers, seconds)
