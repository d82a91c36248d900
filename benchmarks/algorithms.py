"""What a run of each algorithm costs us, and how many pulls the paper's algorithms need on the
standard instance.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator

import numpy as np

from benchmarks.table import Row
from surefoot.algorithms import ALGORITHMS, PEERS, Algorithm, Result, algorithm_from
from surefoot.experiments.instances import Instance, classic, random_robust
from surefoot.noise import Gaussian
from surefoot.simulate import LinearSimulator, identify

REPEATS = 9
BUDGET = 10_000  # for StableOPT, which does not stop by itself
PUBLIC_RAGE = {
    2: 5100,
    6: 7800,
}  # by dimension: mean samples of fiezt/Transductive-Linear-Bandit-Code, delta 0.05
RUNS = 400


def rows() -> Iterator[Row]:
    for name in (name for name in ALGORITHMS if name not in PEERS):
        yield _own_time(name)
    for d, public in PUBLIC_RAGE.items():
        yield _standard_instance(d, public)


def _own_time(name: str) -> Row:
    """Median over fresh problems of one shape, so that no design is remembered from the run
    before.
    """
    instances = [
        random_robust(15, 5, 10, rng=np.random.default_rng(seed)) for seed in range(REPEATS + 1)
    ]
    times, samples = [], []
    for seed, instance in enumerate(instances):
        begin = time.perf_counter()
        result = _run(
            _made(name, instance), instance, seed, budget=BUDGET if name == "stableopt" else None
        )
        times.append(time.perf_counter() - begin)
        samples.append(result.samples)
    median = statistics.median(times[1:])  # the first run loads compiled code
    work = f"{name}: one run, 75 pairs, d = 10, {statistics.mean(samples[1:]):.0f} pulls"
    return Row(work, f"{1e3 * median:.1f} ms", "≤ 50 ms", median <= 0.05)


def _standard_instance(d: int, public: int) -> Row:
    instance = classic(d)
    found = [_run("robust-rage", instance, seed, rules="paper").samples for seed in range(RUNS)]
    mean = statistics.mean(found)
    work = f"robust-rage, paper's rules: mean pulls on the standard instance, d = {d}"
    return Row(
        work,
        f"{mean:.0f}",
        f"public RAGE {public}, to a factor 2",
        public / 2 <= mean <= 2 * public,
    )


def _made(name: str, instance: Instance) -> Algorithm:
    return algorithm_from(name, **({"theta": instance[1]} if name == "oracle" else {}))


def _run(algorithm: str | Algorithm, instance: Instance, seed: int, **settings: object) -> Result:
    simulator = LinearSimulator(*instance, seed=seed)
    usual = {"delta": 0.05, "noise": Gaussian(1.0), "misfit": 0.0}
    return identify(instance[0], simulator, algorithm, **(usual | settings))
