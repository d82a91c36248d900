"""Run every suite, print what held and what did not; exit code 1 if something did not."""

from __future__ import annotations

import argparse
import math
import resource
import sys
import tempfile
import time
import traceback
import warnings
from pathlib import Path

import numpy as np

from surefoot.errors import SurefootWarning
from tests.chaos.changes import changed_simulators
from tests.chaos.clusters import clusters
from tests.chaos.commands import commands_killed
from tests.chaos.edits import Edits, commitments, cuts, flips, origins, reorderings, rewards
from tests.chaos.files import crafted, damaged
from tests.chaos.inputs import configurations, tables
from tests.chaos.kills import Kills
from tests.chaos.late import late
from tests.chaos.load import Load
from tests.chaos.places import logs, other_users
from tests.chaos.processors import Processors
from tests.chaos.sheets import corrections, sorted_apart
from tests.chaos.signals import Signals, at_the_start, first_milliseconds
from tests.chaos.trial import Suite, Trial
from tests.study.killed import KINDS
from tests.terminal import hear_signals

SUITES = [
    *(Suite(f"kills, {kind}", 100 if kind == "plain" else 40, Kills(kind)) for kind in KINDS),
    Suite("damaged files", 150, damaged),
    Suite("crafted files", 150, crafted),
    Suite("edited rewards", 120, Edits(rewards)),
    Suite("edited commitments", 60, Edits(commitments)),
    Suite("reordered studies", 20, Edits(reorderings)),
    Suite("edited origins", 18, Edits(origins)),
    Suite("flipped bits", 60, flips),
    Suite("cuts at 512 bytes", 400, cuts),
    Suite("processors", 30, Processors()),
    Suite("cut and foreign logs", 60, logs),
    Suite("other users", 48, other_users),
    Suite("sheets sorted apart", 500, sorted_apart),
    Suite("corrections", 60, corrections),
    Suite("changed simulators", 40, changed_simulators),
    Suite("configurations", 5000, configurations),
    Suite("tables", 2000, tables),
    Suite("signals at the start", 30, Signals(latest=1.3)),
    Suite("interrupts at the start", 30, at_the_start),
    Suite("first milliseconds", 48, first_milliseconds),
    Suite("killed commands", 10, commands_killed),
    Suite("clusters", 6, clusters),
    Suite("stragglers, duplicates, late results", 60, late),
    Suite("dashboard under load", 3, Load(half_sent=1200, readers=90)),
]
SHOWN = 5  # trials of each suite that did not hold


def run_suite(suite: Suite, count: int, seed: int) -> list[Trial]:
    """This many trials in a folder that is removed afterwards; a suite that breaks off ends with
    one that did not hold.
    """
    numbers = np.random.SeedSequence(seed, spawn_key=tuple(suite.name.encode()))
    trials = list[Trial]()
    with tempfile.TemporaryDirectory() as folder:
        try:
            trials.extend(suite.run(count, Path(folder), np.random.default_rng(numbers)))
        except Exception:
            trials.append(Trial("the suite itself", traceback.format_exc(limit=-4)))
    return trials


def _cpu_seconds() -> float:
    """What this process and those that it has waited for have used."""
    parts = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(part.ru_utime + part.ru_stime for part in parts)


def main() -> int:
    hear_signals()
    warnings.simplefilter("ignore", SurefootWarning)
    parser = argparse.ArgumentParser(prog="python -m tests.chaos", description=__doc__)
    parser.add_argument("--share", type=float, default=1.0, help="of the trials to make")
    parser.add_argument("--only", choices=[suite.name for suite in SUITES], action="append")
    parser.add_argument("--seed", type=int, default=2026, help="the same seed, the same trials")
    chosen = parser.parse_args()
    columns = f"{'trials':>8}{'held':>8}{'did not':>9}{'seconds':>9}{'of CPU':>8}"
    print(f"{'what was tried':<30}{columns}", flush=True)
    broken: list[tuple[str, Trial]] = []
    began, tried, failed = time.monotonic(), 0, 0
    for suite in SUITES:
        if chosen.only and suite.name not in chosen.only:
            continue
        started, used = time.monotonic(), _cpu_seconds()
        trials = run_suite(suite, math.ceil(suite.count * chosen.share), chosen.seed)
        wrong = [trial for trial in trials if trial.broken]
        tried, failed = tried + len(trials), failed + len(wrong)
        broken += [(suite.name, trial) for trial in wrong[:SHOWN]]
        numbers = f"{len(trials):>8}{len(trials) - len(wrong):>8}{len(wrong):>9}"
        times = f"{time.monotonic() - started:>9.0f}{_cpu_seconds() - used:>8.0f}"
        print(f"{suite.name:<30}{numbers}{times}", flush=True)
    for name, trial in broken:
        print(f"\n{name}: {trial.what[:3000]}\n{trial.broken}")
        again = f"--only {name!r} --seed {chosen.seed} --share {chosen.share:g}"
        print(f"to repeat it: python -m tests.chaos {again}")
    minutes = (time.monotonic() - began) / 60
    print(
        f"\nseed {chosen.seed}: {tried - failed} of {tried} trials held, in {minutes:.1f} minutes"
    )
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
