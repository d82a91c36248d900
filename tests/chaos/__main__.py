"""Run every suite, print what held and what did not; exit code 1 if something did not."""

from __future__ import annotations

import argparse
import math
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from tests.chaos.clusters import clusters
from tests.chaos.files import crafted, damaged
from tests.chaos.inputs import configurations, tables
from tests.chaos.kills import Kills
from tests.chaos.load import Load
from tests.chaos.signals import Signals
from tests.chaos.trial import Suite, Trial
from tests.study.killed import KINDS

SUITES = [
    *(Suite(f"kills, {kind}", 100 if kind == "plain" else 50, Kills(kind)) for kind in KINDS),
    Suite("damaged files", 150, damaged),
    Suite("crafted files", 150, crafted),
    Suite("configurations", 2500, configurations),
    Suite("tables", 2500, tables),
    Suite("signals at the start", 30, Signals(latest=6.0)),
    Suite("clusters", 6, clusters),
    Suite("dashboard under load", 3, Load(half_sent=1200, readers=40)),
]
SHOWN = 5  # trials of each suite that did not hold


def run_suite(suite: Suite, count: int, seed: int) -> list[Trial]:
    """This many trials in a folder that is removed afterwards."""
    numbers = np.random.SeedSequence(seed, spawn_key=tuple(suite.name.encode()))
    with tempfile.TemporaryDirectory() as folder:
        return list(suite.run(count, Path(folder), np.random.default_rng(numbers)))


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.chaos", description=__doc__)
    parser.add_argument("--share", type=float, default=1.0, help="of the trials to make")
    parser.add_argument("--only", choices=[suite.name for suite in SUITES], action="append")
    parser.add_argument("--seed", type=int, default=2026)
    chosen = parser.parse_args()
    print(f"{'what was tried':<24}{'trials':>8}{'held':>8}{'did not':>9}{'seconds':>9}", flush=True)
    broken: list[tuple[str, Trial]] = []
    for suite in SUITES:
        if chosen.only and suite.name not in chosen.only:
            continue
        started = time.monotonic()
        trials = run_suite(suite, math.ceil(suite.count * chosen.share), chosen.seed)
        wrong = [trial for trial in trials if trial.broken]
        broken += [(suite.name, trial) for trial in wrong[:SHOWN]]
        numbers = f"{len(trials):>8}{len(trials) - len(wrong):>8}{len(wrong):>9}"
        print(f"{suite.name:<24}{numbers}{time.monotonic() - started:>9.0f}", flush=True)
    for name, trial in broken:
        print(f"\n{name}: {trial.what[:3000]}\n{trial.broken}")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
