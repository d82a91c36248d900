"""The two experiments of the paper's Figure 1: irrelevant dimensions and unit sphere."""

from __future__ import annotations

import functools
import math
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from scipy import stats

from surefoot.algorithms import Algorithm, algorithm_from
from surefoot.design import exact_separation
from surefoot.design.hardness import binary_divergence
from surefoot.experiments import instances
from surefoot.experiments.instances import Instance
from surefoot.experiments.publication import Claim, Publication, claim_facts, publish
from surefoot.experiments.session import Job, Session, console_for_output, markdown_table, short
from surefoot.noise import Gaussian, Noise, SubGaussian
from surefoot.simulate import LinearSimulator, identify

if TYPE_CHECKING:
    import pandas as pd

DELTA = 0.05
NOISE: dict[str, Noise] = {
    "Gaussian": Gaussian(1.0),
    "sub-Gaussian": SubGaussian(1.0),
    "unknown scale": Gaussian(equal=True),
}


@dataclass(frozen=True)
class FigureRun:
    """One run of a contender: who, with which noise, and what came of it."""

    label: str
    algorithm: str
    policy: str
    knows: str
    seed: int
    samples: int
    certified: bool
    correct: bool
    seconds: float


@dataclass(frozen=True)
class FigureContender:
    """An algorithm under a policy.

    Attributes:
        label: for tables and figures; with the policy it tells all contenders apart.
        knows: what it is told about the noise, which always is standard normal.
    """

    label: str
    algorithm: str
    policy: Literal["paper", "valid"]
    knows: str = "Gaussian"

    def made(self, instance: Instance) -> Algorithm:
        return algorithm_from(
            self.algorithm, **({"theta": instance[1]} if self.algorithm == "oracle" else {})
        )

    def run(self, instance: Instance, seed: int) -> FigureRun:
        """Run once, with the noise of this seed."""
        problem, theta = instance
        simulator = LinearSimulator(
            problem, theta, seed=np.random.SeedSequence(seed, spawn_key=(1,))
        )
        begun = time.perf_counter()
        result = identify(
            problem,
            simulator,
            self.made(instance),
            delta=DELTA,
            noise=NOISE[self.knows],
            rules=self.policy,
            misfit=0.0,
            on_misfit="ignore",
        )
        return FigureRun(
            label=self.label,
            algorithm=self.algorithm,
            policy=self.policy,
            knows=self.knows,
            seed=seed,
            samples=result.samples,
            certified=result.certified,
            correct=result.arm == problem.best_arm(theta),
            seconds=time.perf_counter() - begun,
        )


ORACLE = FigureContender("Oracle", "oracle", "paper")
STATIC = FigureContender("Robust Static", "robust-static", "paper")
RAGE = FigureContender("Robust RAGE", "robust-rage", "paper")
CONTENDERS = (
    ORACLE,
    STATIC,
    RAGE,
    FigureContender("Oracle", "oracle", "valid"),
    FigureContender("Robust Static", "robust-static", "valid"),
    FigureContender("Robust RAGE", "robust-rage", "valid"),
    FigureContender("PRIME", "prime", "valid"),
    FigureContender("PRIME, sub-Gaussian", "prime", "valid", "sub-Gaussian"),
    FigureContender("PRIME, unknown scale", "prime", "valid", "unknown scale"),
)


TOLERANCE = 0.1  # of the design; the bound is proved whatever it is, and at most this much too low


def lower_bound(instance: Instance, delta: float) -> float:
    """2 kl(δ, 1 − δ) H*, at the proven lower end of H*."""
    problem, theta = instance
    design = exact_separation(
        problem.pairs,
        problem.offsets,
        problem.reduced(theta),
        problem.best_arm(theta),
        tolerance=TOLERANCE,
    )
    return 2.0 * binary_divergence(delta) * design.lower_bound


CLOSE = 2.0  # the paper says "close" without a number
BEYOND_DOUBT = 2.0  # standard errors
LEVEL = 0.05  # of the tests for a trend and for too many errors


def irrelevant_dimensions_claims(runs: pd.DataFrame) -> Iterator[Claim]:
    yield from shared_claims(runs)
    rage, static = _of(runs, RAGE), _of(runs, STATIC)
    beyond = rage.assign(samples=rage["samples"] / np.log(rage["pairs"] ** 2 / DELTA))
    for text, table, wanted in (
        ("Robust RAGE needs no more samples as irrelevant dimensions are added", rage, False),
        ("… beyond what the log(|Z|²/δ) in its threshold adds", beyond, False),
        ("Robust Static needs more samples as irrelevant dimensions are added", static, True),
    ):
        grows, numbers = _trend(table)
        yield Claim(text, grows == wanted, numbers, _runs(runs))


def shared_claims(runs: pd.DataFrame) -> Iterator[Claim]:
    static, rage = _ratios(runs, STATIC, ORACLE), _ratios(runs, RAGE, ORACLE)
    beside_static = _ratios(runs, RAGE, STATIC)
    yield _all_find_it(runs)
    yield Claim(
        "the oracle needs the fewest samples of the paper's three",
        bool(((static["ratio"] > 1) & (rage["ratio"] > 1)).all()),
        f"Static / Oracle {_each(static)}; RAGE / Oracle {_each(rage)}",
        _runs(runs),
    )
    yield Claim(
        "Robust RAGE beats Robust Static in every scenario",
        bool((beside_static["ratio"] < 1).all()),
        f"RAGE / Static {_each(beside_static)}",
        _runs(runs),
        _clear(beside_static, 1.0),
    )
    yield Claim(
        f"Robust RAGE comes close to the oracle (taken as: within a factor {CLOSE:g})",
        bool((rage["ratio"] <= CLOSE).all()),
        f"RAGE / Oracle {_each(rage)}",
        _runs(runs),
        _clear(rage, CLOSE),
    )


def _all_find_it(runs: pd.DataFrame) -> Claim:
    paper = runs[runs["policy"] == "paper"]
    wrong = {
        str(label): int((~group["correct"]).sum())
        for label, group in paper.groupby("label", sort=False)
    }
    count = len(paper) // len(wrong)
    refuted = any(
        stats.binom.sf(errors - 1, count, DELTA) < LEVEL / len(wrong) for errors in wrong.values()
    )
    numbers = ", ".join(f"{label} {errors}" for label, errors in wrong.items())
    text = f"all identify the best arm (errors ≤ δ = {DELTA:g})"
    return Claim(text, not refuted, f"wrong in {count} runs each: {numbers}", _runs(runs))


def _trend(runs: pd.DataFrame) -> tuple[bool, str]:
    """Return whether log samples rise with log size: the slope over all runs, tested one-sided."""
    means = runs.groupby("size")["samples"].mean()
    first, last = means.index[0], means.index[-1]
    fit = stats.linregress(np.log(runs["size"]), np.log(runs["samples"]))
    slope, error = float(fit.slope), float(fit.stderr)
    p = float(stats.t.sf(slope / error, len(runs) - 2)) if error > 0 else float(slope <= 0)
    numbers = (
        f"samples ∝ size^{slope:.2f} ± {error:.2f} (p = {p:.2g}); mean × "
        f"{means[last] / means[first]:.2f}"
    )
    return p < LEVEL, f"{numbers} from {first} to {last}"


def _of(runs: pd.DataFrame, contender: FigureContender) -> pd.DataFrame:
    return runs[(runs["label"] == contender.label) & (runs["policy"] == contender.policy)]


def _runs(runs: pd.DataFrame) -> int:
    """Of each contender at each size."""
    return int(_of(runs, ORACLE).groupby("size").size().min())


def _ratios(runs: pd.DataFrame, one: FigureContender, other: FigureContender) -> pd.DataFrame:
    """One row per size: the ratio of mean samples, and its standard error to first order. Runs are
    taken in pairs, for both contenders meet the same instances.
    """
    import pandas as pd

    samples = [
        _of(runs, who).pivot(index="run", columns="size", values="samples") for who in (one, other)
    ]
    shares = [table / table.mean() for table in samples]
    ratio = samples[0].mean() / samples[1].mean()
    return pd.DataFrame({"ratio": ratio, "error": ratio * (shares[0] - shares[1]).sem()})


def _clear(ratios: pd.DataFrame, most: float) -> bool:
    """Return whether one ratio is above the most allowed beyond doubt, or all are below it so."""
    margin = (ratios["ratio"] - most) / ratios["error"]
    return bool((margin > BEYOND_DOUBT).any() or (margin < -BEYOND_DOUBT).all())


def _each(ratios: pd.DataFrame) -> str:
    rows = zip(ratios.index, ratios["ratio"], ratios["error"], strict=True)
    return ", ".join(f"{ratio:.2f}{_give_or_take(error)} ({size})" for size, ratio, error in rows)


def _give_or_take(error: float) -> str:
    return f" ± {error:.2f}" if math.isfinite(error) else " from one run"


SPHERE_DIMENSION = 10
BOUND = "lower bound"
COLUMNS = ["experiment", "size", "pairs", "lower_bound", "run"]
COLUMNS += ["label", "algorithm", "policy", "knows", "seed"]
RESULTS = ["samples", "certified", "correct"]


@dataclass(frozen=True)
class Experiment:
    """One panel of the figure.

    Attributes:
        number: makes its random streams its own.
        symbol: of the size, d or n.
        axis: what the size is, in words.
    """

    name: str
    number: int
    title: str
    symbol: str
    axis: str
    sizes: tuple[int, ...]

    def seed(self, session_seed: int, size: int, run: int) -> int:
        """The seed from which one run is replayed; it depends on nothing else."""
        sequence = np.random.SeedSequence(session_seed, spawn_key=(self.number, size, run))
        return int(sequence.generate_state(1, np.uint64)[0] >> np.uint64(1))

    def instance(self, size: int, seed: int) -> Instance:
        if self is SPHERE:
            generator = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(0,)))
            return instances.unit_sphere(size, SPHERE_DIMENSION, generator)
        return _same_for_all_runs(size)


IRRELEVANT = Experiment(
    "irrelevant-dimensions",
    1,
    "Irrelevant dimensions",
    "d",
    "dimensions d",
    (5, 10, 15, 20, 25, 30),
)
SPHERE = Experiment("unit-sphere", 2, "Unit sphere", "n", "arms n", (10, 20, 50, 100, 200))


def irrelevant_dimensions(session: Session) -> None:
    """Experiment 1: only two of the d dimensions matter."""

    _reproduce(session, IRRELEVANT, irrelevant_dimensions_claims)


def unit_sphere(session: Session) -> None:
    """Experiment 2: n arms on a sphere, a fresh one for each run."""

    _reproduce(session, SPHERE, shared_claims)


def run_table(session: Session, experiment: Experiment) -> pd.DataFrame:
    """Every run of every contender, as a row; the same to the bit for the same seed, but for the
    seconds.
    """
    import pandas as pd

    jobs = [
        Job(
            f"{size}/{run}",
            (experiment.name, size, run, experiment.seed(session.seed, size, run)),
            10 + size,
        )
        for size in experiment.sizes
        for run in range(session.runs)
    ]
    results = session.map(experiment.name, run_once, jobs)
    table = pd.DataFrame([row for rows in results for row in rows])
    return table[[*COLUMNS, *RESULTS, "seconds"]]


def run_once(name: str, size: int, run: int, seed: int) -> list[dict[str, Any]]:
    """All contenders on one instance, with the same noise."""
    experiment = IRRELEVANT if name == IRRELEVANT.name else SPHERE
    instance = experiment.instance(size, seed)
    where = {"experiment": name, "size": size, "pairs": instance[0].n_pairs, "run": run}
    where["lower_bound"] = (
        _bound_of_all_runs(size) if experiment is IRRELEVANT else _bound(instance)
    )
    return [where | asdict(contender.run(instance, seed)) for contender in CONTENDERS]


def summary(runs: pd.DataFrame) -> pd.DataFrame:
    """Mean and deviation of the samples, their ratio to the paper's oracle, and errors, by size and
    contender.
    """
    groups = runs.groupby(["size", "label", "policy"], sort=False)
    table = groups["samples"].agg(runs="size", mean="mean", deviation="std")
    table["ratio"] = table["mean"] / table["mean"].xs(
        (ORACLE.label, ORACLE.policy), level=("label", "policy")
    )
    table["errors"] = groups["correct"].agg(lambda correct: int((~correct).sum()))
    table["uncertified"] = groups["certified"].agg(lambda certified: int((~certified).sum()))
    table["seconds"] = groups["seconds"].mean()
    return table.reset_index()


def bounds(runs: pd.DataFrame) -> pd.DataFrame:
    """The mean lower bound of each size's instances, in the columns that a chart wants."""
    means = runs.groupby("size", sort=False)["lower_bound"].mean().reset_index(name="mean")
    return means.assign(algorithm=BOUND, policy="bound", low=means["mean"], high=means["mean"])


def figure(experiment: Experiment, table: pd.DataFrame, bounds: pd.DataFrame) -> Any:
    """The panel of Figure 1: what follows the paper's rules in one family of colours, what is
    proved in another, and the limit.
    """
    import pandas as pd

    from surefoot.view.charts import samples_chart

    error = (table["deviation"] / np.sqrt(table["runs"])).fillna(0.0)
    bars = table.assign(
        algorithm=table["label"], low=table["mean"] - error, high=table["mean"] + error
    )
    title = f"{experiment.title}: samples until the answer is certain (mean ± standard error)"
    return samples_chart(pd.concat([bars, bounds]), "size", experiment.axis, title)


def markdown(experiment: Experiment, table: pd.DataFrame, bounds: pd.DataFrame) -> str:
    """The summary as a table for documents: one row per contender, one column per size, and the
    limit below.
    """
    sizes = (f"{experiment.symbol} = {size}" for size in experiment.sizes)
    lines: list[tuple[str, ...]] = [("", *sizes, "errors")]
    for (label, policy), rows in table.groupby(["label", "policy"], sort=False):
        cells = (
            f"{short(mean)} ({ratio:.2f})"
            for mean, ratio in zip(rows["mean"], rows["ratio"], strict=True)
        )
        errors = f"{rows['errors'].sum()} of {rows['runs'].sum()}"
        lines.append((f"{label}, {policy}", *cells, errors))
    lines.append((BOUND, *(short(mean) for mean in bounds["mean"]), "–"))
    return markdown_table(lines) + "\n"


@functools.cache
def _same_for_all_runs(d: int) -> Instance:
    """One problem per process, so that its designs are remembered from run to run."""
    return instances.irrelevant_dimensions(d)


def _bound(instance: Instance) -> float:

    return lower_bound(instance, DELTA)


@functools.cache
def _bound_of_all_runs(d: int) -> float:
    return _bound(_same_for_all_runs(d))


def _reproduce(
    session: Session, experiment: Experiment, claims_of: Callable[[pd.DataFrame], Iterable[Claim]]
) -> None:
    runs = run_table(session, experiment)
    table, limit, claims = summary(runs), bounds(runs), list(claims_of(runs))
    seconds = runs[["size", "run", "label", "policy", "seconds"]]
    publication = Publication(
        experiment.name,
        tables={"": runs.drop(columns="seconds")},
        charts={"": figure(experiment, table, limit)},
        texts={
            "-summary.md": markdown(experiment, table, limit),
            "-seconds.csv": seconds.to_csv(index=False, lineterminator="\n"),
        },
        facts={"delta": DELTA, **claim_facts(claims)},
    )
    publish(session, publication)
    _show(session, experiment, table, claims)


def _show(
    session: Session, experiment: Experiment, table: pd.DataFrame, claims: list[Claim]
) -> None:
    from rich.table import Table

    console = console_for_output()
    shown = Table(
        experiment.symbol, "algorithm", "rules", "mean samples", "± sd",
        "/ oracle", "errors", "ms a run",
        title=f"{experiment.name}: {session.runs} runs, δ = {DELTA:g}, seed {session.seed}",
        title_justify="left",
    )  # fmt: skip
    for size, group in table.groupby("size", sort=False):
        for row in group.to_dict("records"):
            deviation = "" if row["runs"] == 1 else f"{row['deviation']:,.0f}"
            numbers = (f"{row['mean']:,.0f}", deviation, f"{row['ratio']:.2f}", str(row["errors"]))
            shown.add_row(
                str(size), row["label"], row["policy"], *numbers, f"{1e3 * row['seconds']:.0f}"
            )
        shown.add_section()
    console.print(shown)
    console.print("The paper's claims (its own rules, our runs):")
    for claim in claims:
        console.print(claim.markup, highlight=False)
    console.print(f"written to {session.out}/{experiment.name}.*", highlight=False)
