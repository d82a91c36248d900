"""`make tables`: print every published table anew whose code has changed, then fill in the pages.

It can be stopped at any moment, and `make tables MINUTES=80` stops by itself after that time: an
experiment or a benchmark that was stopped goes on where it was, one that is done is not run again.
Pages are filled in after each, so they show what is done and withdraw the rest.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

from benchmarks import NAMES, page
from surefoot.experiments import EXPERIMENTS

COMMANDS = {"printed": ["surefoot", "reproduce"], "measured": ["benchmarks"]}
FIRST = (  # what most pages rest on; the others follow, and the longest ends
    "samples",
    "designs",
    "glucose",
    "study",
    "unit-sphere",
    "irrelevant-dimensions",
    "bolus",
    "why-rage",
    "errata",
    "baselines",
)
LAST = ("peers", "noise", "constants")
Place = tuple[str, str]


def main(minutes: float) -> None:
    until = time.time() + 60 * minutes
    for kind, name in in_order(page.places()):
        if page.fresh(kind, name, *page.stored()):
            print(f"{name}: printed by today's code", flush=True)
            continue
        if time.time() > until:
            print(f"{name}: left, the time is up", flush=True)
            continue
        begun = time.time()
        ended = run([sys.executable, "-m", *COMMANDS[kind], name], until)
        spent = (time.time() - begun) / 60
        said = "printed" if ended == 0 else f"not complete (exit code {ended})"
        print(f"{name}: {said} after {spent:.1f} minutes", flush=True)
        page.main()
    page.main()


def in_order(places: set[Place]) -> list[Place]:
    """Return the places of pages in the order in which they are printed."""
    names = [*EXPERIMENTS, *NAMES]
    middle = [name for name in names if name not in (*FIRST, *LAST)]
    order = {name: rank for rank, name in enumerate((*FIRST, *middle, *LAST))}
    return sorted(
        (place for place in places if place[1] in order),
        key=lambda place: (order[place[1]], place[0]),
    )


def run(command: list[str], until: float) -> int:
    """Run a command, and interrupt it when the time is up: it keeps what is finished."""
    print(" ".join(command[2:]), flush=True)
    environment = os.environ | {"SUREFOOT_BENCH_UNTIL": str(until), "SUREFOOT_BENCH_TIMES": "0"}
    with subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL) as process:
        try:
            return process.wait(max(until - time.time(), 0) + GRACE * (command[2] == "benchmarks"))
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGINT)
        try:
            return process.wait(LAST_WORDS)
        except subprocess.TimeoutExpired:
            process.kill()
            return process.wait()


GRACE = 300.0  # seconds in which a benchmark ends the parts that it has begun
LAST_WORDS = 30.0  # seconds that an interrupted command may take


if __name__ == "__main__":
    main(float(sys.argv[1]) if sys.argv[1:] else float("inf"))
