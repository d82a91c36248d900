"""Why Robust RAGE is not close to the oracle: its parts taken away one at a time, on the same runs.

Nothing is proved for the variants; they are for this diagnosis only.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from surefoot.algorithms import Settings
from surefoot.algorithms.confidence import paper_threshold
from surefoot.algorithms.estimates import Frame
from surefoot.algorithms.robust_rage import RobustRage
from surefoot.algorithms.robust_static import RobustStatic
from surefoot.algorithms.static_allocation import grown
from surefoot.algorithms.verdict import StopReason
from surefoot.arrays import Array
from surefoot.design.designs import g_weights, round_design, rounding_minimum
from surefoot.design.hardness import complexity
from surefoot.experiments.instances import Instance
from surefoot.experiments.publication import (
    PrintedTable,
    Publication,
    publish,
    short,
)
from surefoot.experiments.session import Job, Session
from surefoot.noise import Gaussian
from surefoot.paper.figure1 import IRRELEVANT, PAPER, SPHERE, played
from surefoot.statistics import Counts, Outcome

if TYPE_CHECKING:
    import pandas as pd


@dataclass(eq=False)
class _Recording(RobustRage):
    """Robust RAGE that records for each phase the pulls by line 6 and by r(ε)."""

    def begin(self) -> None:
        super().begin()
        self.wanted: list[tuple[float, int]] = []

    def line_6(self) -> tuple[Array, float]:
        lambda_, rho = self._design()
        return lambda_, 2 ** (2 * self.t) * rho * (1 + self.epsilon) * self._threshold() ** 2

    def next_counts(self) -> Counts | StopReason:
        planned = super().next_counts()
        if not isinstance(planned, StopReason):
            lambda_, n = self.line_6()
            self.wanted.append((n, rounding_minimum(lambda_, self.epsilon)))
        return planned


@dataclass(eq=False)
class _WithoutRounding(_Recording):
    """Without r(ε), the only place where the size of a design's support matters."""

    def next_counts(self) -> Counts | StopReason:
        if self.survivors.sum() == 1:
            return StopReason.IDENTIFIED
        lambda_, n = self.line_6()
        return round_design(lambda_, math.ceil(n))


@dataclass(eq=False)
class _Looking(_Recording):
    """Looks as often as Robust Static does: each phase grows by 1.3 and ends early if one arm is
    left.
    """

    growth: float = 1.3

    def begin(self) -> None:
        super().begin()
        self.phase_counts: Counts = np.zeros(self.problem.n_pairs, dtype=np.int64)
        self.phase_sums: Array = np.zeros(self.problem.n_pairs)

    def next_counts(self) -> Counts | StopReason:
        if self.survivors.sum() == 1:
            return StopReason.IDENTIFIED
        self.lambda_, self.size = self.line_6()
        pulled = int(self.phase_counts.sum())
        total = (
            math.ceil(self.growth * pulled) if pulled else 2 * int(np.count_nonzero(self.lambda_))
        )
        counts: Counts = (
            grown(self.lambda_, self.phase_counts, min(total, math.ceil(self.size)))
            - self.phase_counts
        )
        return counts

    def learn(self, outcome: Outcome) -> None:
        self.phase_counts = self.phase_counts + outcome.counts
        self.phase_sums = self.phase_sums + outcome.sums
        before, t = self.survivors, self.t
        super().learn(self.judged(outcome))
        if self.phase_counts.sum() >= math.ceil(self.size):
            self.phase_counts, self.phase_sums = 0 * self.phase_counts, 0.0 * self.phase_sums
        elif (
            self.survivors.sum() > 1
        ):  # the phase goes on, with the arms and the design it began with
            self.survivors, self.t = before, t

    def judged(self, outcome: Outcome) -> Outcome:
        """Return the rewards by which arms are eliminated: the pulls of this phase."""
        return Outcome(outcome.phase, self.phase_counts, self.phase_sums, outcome.scatter)


@dataclass(eq=False)
class _Keeping(_Looking):
    """Looks as often, and judges by the pulls of all phases instead of forgetting those of the
    phases before.
    """

    def judged(self, outcome: Outcome) -> Outcome:
        return Outcome(outcome.phase, self.tally.counts, self.tally.sums, outcome.scatter)


FINE = 10**7  # pulls by which a design's worth is measured, so that rounding does not show
BY_THE_PAPER = Settings(delta=PAPER.delta, noise=Gaussian(1.0), misfit=0.0, rules="paper")
STUDIED = [(IRRELEVANT, 5), (IRRELEVANT, 30), *((SPHERE, size) for size in SPHERE.sizes)]

# What people read above each column of the table, where it comes from, and how its mean is written.
COLUMNS: dict[str, tuple[str, Callable[[float], str]]] = {
    "Static": ("static", short),
    "RAGE": ("printed", short),
    "no r(ε)": ("without_rounding", short),
    "looks": ("looking", short),
    "looks, keeps": ("keeping", short),
    "phases": ("phases", "{:.1f}".format),
    "first phase": ("first_phase", short),
    "arms left": ("left_after_first", "{:.1f}".format),
    "discarded": ("discarded", short),
    "‖λ₁‖₀": ("support", short),
    "r(ε) binds": ("rounding_binds", "{:.1f}".format),
    "λ^G needs": ("needs_g", short),
    "λ₁ needs": ("needs_first", short),
    "best λ needs": ("needs_best", short),
}


def why_rage(session: Session) -> None:
    """Print the variants beside each other, and the value of the designs on these instances."""
    import pandas as pd

    jobs = [
        Job(f"{e.name}/{size}/{run}", (e.name, size, e.seed(session.seed, size, run)), 10 + size)
        for e, size in STUDIED
        for run in range(session.runs)
    ]
    runs = pd.DataFrame(session.map("why-rage", diagnose, jobs))
    printed = _printed(runs)
    title = f"Why Robust RAGE is where it is: means of {session.runs} runs, the paper's rules"
    publication = Publication(
        "why-rage",
        tables={"": runs},
        printed={"summary": printed},
        facts={"delta": PAPER.delta},
        screens=[printed.screen(title, dense=True)],
    )
    publish(session, publication)


@dataclass(frozen=True)
class Diagnosis:
    """Samples of each variant on one instance, and the numbers that decide them.

    Attributes:
        support: how many pairs RAGE's first design pulls.
        needs_g, needs_first, needs_best: pulls after which the true gaps exceed the paper's widths,
            with λ^G, with RAGE's first design, and with the best one (H_R).
    """

    experiment: str
    size: int
    seed: int
    static: int
    printed: int
    without_rounding: int
    looking: int
    keeping: int
    phases: int
    left_after_first: int
    first_phase: int
    discarded: int
    rounding_binds: int
    support: int
    needs_g: float
    needs_first: float
    needs_best: float


def diagnose(name: str, size: int, seed: int) -> Diagnosis:
    """Run all variants on one instance of the experiment of that name."""
    instance = (IRRELEVANT if name == IRRELEVANT.name else SPHERE).instance(size, seed)
    algorithms = (_Recording(), _WithoutRounding(), _Looking(), _Keeping(), RobustStatic())
    runs: list[Any] = [
        played(algorithm.start(instance[0], BY_THE_PAPER), instance, seed)
        for algorithm in algorithms
    ]
    printed, without, looking, keeping, static = runs
    phases = [int(record.counts.sum()) for record in printed.history]
    return Diagnosis(
        experiment=name,
        size=size,
        seed=seed,
        static=static.samples,
        printed=printed.samples,
        without_rounding=without.samples,
        looking=looking.samples,
        keeping=keeping.samples,
        phases=len(phases),
        left_after_first=int(printed.history[0].survivors.sum()),
        first_phase=phases[0],
        discarded=sum(phases[:-1]),
        rounding_binds=sum(minimum > n for n, minimum in printed.wanted),
        **_what_designs_need(instance, printed),
    )


def _what_designs_need(instance: Instance, rage: _Recording) -> dict[str, Any]:
    """Return the pulls after which the true gaps exceed the paper's widths: with λ^G, with RAGE's
    first design, and with the best (H_R).
    """
    problem, theta = instance
    first = rage.start(problem, rage.settings)._design()[0]
    squared = paper_threshold(problem.n_pairs, PAPER.delta) ** 2
    return {
        "support": int(np.count_nonzero(first)),
        "needs_g": squared * _hardness(instance, g_weights(problem, rage.tally.scales)),
        "needs_first": squared * _hardness(instance, first),
        "needs_best": squared * complexity(problem, theta, tolerance=1e-3).paper,
    }


def _hardness(instance: Instance, weights: Array) -> float:
    """Return the paper's H_R at this design: max over z and x' of min over z' of
    ‖z − z'‖²_{A⁻¹} / Δ².
    """
    problem, theta = instance
    best, ones = problem.best_arm(theta), np.ones(problem.n_pairs)
    counts = round_design(weights, FINE)
    estimates = Frame.of(problem, ones).estimate(counts, np.zeros(problem.n_pairs))
    clearance = estimates.with_means(problem.pair_means(theta)).clearance(np.array([best]))[0]
    return FINE / float(np.delete(clearance, best).min()) ** 2


def _printed(runs: pd.DataFrame) -> PrintedTable:
    """Return means over the runs, one row for each instance."""
    rows = []
    for panel, size in STUDIED:
        chosen = runs[(runs["experiment"] == panel.name) & (runs["size"] == size)]
        cells = (shown(float(chosen[column].mean())) for column, shown in COLUMNS.values())
        rows.append((f"{panel.symbol} = {size}", *cells))
    roots = ("surefoot.paper.why_rage:diagnose",)
    return PrintedTable(("", *COLUMNS), rows, [roots] * len(rows))
