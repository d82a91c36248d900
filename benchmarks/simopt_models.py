"""Two inventory models of SimOpt, a library of simulators that others wrote, as tables of
replicates.

`python -m benchmarks.simopt_models` makes `benchmarks/data/simopt_*.npz` anew: 5 000 replicates of
every pair, in about ten minutes. Row r of a table holds one replicate of each pair, all driven by
the random stream r, so a row is what common random numbers give.
"""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import cache
from itertools import product
from pathlib import Path

import numpy as np

from surefoot.arrays import Array

os.environ.setdefault("MRG32K3A_BACKEND", "rust")  # the same numbers, sooner

from mrg32k3a.mrg32k3a import MRG32k3a
from simopt.models.dualsourcing import DualSourcing
from simopt.models.sscont import SSCont

DATA = Path(__file__).parent / "data"
ROWS = 5_000
SEED = 2026
MODULUS = 4_294_944_443  # the smaller one of mrg32k3a: its state stays below
Factors = dict[str, float]


@dataclass(frozen=True)
class Model:
    """A simulator, its arms and what may go wrong.

    Attributes:
        simulator: a model class of SimOpt.
        arms: what we choose.
        perturbations: what we do not choose; the same for all arms.
        costs: the responses whose sum is the cost; the reward is its negative.
        zone: the least difference of costs that matters; smaller than the true gap.
    """

    name: str
    simulator: type[SSCont] | type[DualSourcing]
    arms: Sequence[Factors]
    perturbations: Sequence[Factors]
    costs: Sequence[str]
    zone: float

    def reward(self, pair: int, stream: np.random.SeedSequence) -> float:
        """One replicate of a pair, driven by our stream."""
        arm, perturbation = divmod(pair, len(self.perturbations))
        model = self.simulator({**self.arms[arm], **self.perturbations[perturbation]})
        state = tuple(int(word) % (MODULUS - 1) + 1 for word in stream.generate_state(6))
        model.before_replicate(
            [MRG32k3a(state, [substream, 0, 0]) for substream in range(model.n_rngs)]
        )
        responses, _ = model.replicate()
        return -float(sum(responses[cost] for cost in self.costs))

    @property
    def n_pairs(self) -> int:
        return len(self.arms) * len(self.perturbations)

    @property
    def file(self) -> Path:
        return DATA / f"simopt_{self.name.lower()}.npz"

    def replicates(self) -> Array:
        """(n_rows, n_pairs) the stored rewards."""
        return _stored(self.file)


SSCONT = Model(
    "SSCONT",
    SSCont,
    # reorder below s, up to S
    arms=[{"s": s, "S": s + more} for s, more in product((300.0, 450.0, 600.0), (400.0, 700.0))],
    perturbations=[
        {"demand_mean": demand, "lead_mean": lead}
        for demand, lead in product((80.0, 120.0), (4.0, 8.0))
    ],
    costs=("avg_backorder_costs", "avg_order_costs", "avg_holding_costs"),
    zone=5.0,
)
DUALSOURCING = Model(
    "DUALSOURCING",
    DualSourcing,
    # order up to these levels, express and by the regular way
    arms=[{"order_level_exp": level, "order_level_reg": level + 30} for level in range(45, 70, 5)],
    perturbations=[
        {"mu": mean, "st_dev": deviation} for mean, deviation in product((27.0, 33.0), (8.0, 12.0))
    ],
    costs=("average_ordering_cost", "average_penalty_cost", "average_holding_cost"),
    zone=5.0,
)
MODELS = (SSCONT, DUALSOURCING)


@cache
def _stored(file: Path) -> Array:
    return np.asarray(np.load(file)["rewards"], dtype=np.float64)


def stream(row: int) -> np.random.SeedSequence:
    """What drives a row of every table."""
    return np.random.SeedSequence(SEED, spawn_key=(row,))


def simulated(model: Model, rows: range) -> Array:
    """(n, n_pairs) these rows of the table, simulated now."""
    return np.array([[model.reward(z, stream(row)) for z in range(model.n_pairs)] for row in rows])


def make(model: Model, processes: int = 2) -> None:
    """Simulate a whole table and store it, in single precision."""
    chunks = [range(begin, min(begin + 100, ROWS)) for begin in range(0, ROWS, 100)]
    with ProcessPoolExecutor(processes, multiprocessing.get_context("spawn")) as pool:
        parts = list(pool.map(simulated, [model] * len(chunks), chunks))
    np.savez_compressed(model.file, rewards=np.concatenate(parts).astype(np.float32))


if __name__ == "__main__":
    DATA.mkdir(exist_ok=True)
    for each in MODELS:
        make(each)
        print(f"{each.file.name}: {ROWS} replicates of {each.n_pairs} pairs")
