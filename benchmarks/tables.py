"""`make tables`: print every published table anew whose code has changed, then fill in the pages.

It can be stopped at any moment: an experiment goes on where it was, a benchmark that is done is not
run again.
"""

from __future__ import annotations

import subprocess
import sys

from benchmarks import NAMES, page
from surefoot.experiments import EXPERIMENTS

COMMANDS = {"printed": ["surefoot", "reproduce"], "measured": ["benchmarks"]}


def main() -> None:
    every = [("printed", name) for name in EXPERIMENTS] + [("measured", name) for name in NAMES]
    for kind, name in [place for place in every if place in page.places()]:
        measured, printed = page.stored()
        if page.fresh(kind, name, measured, printed):
            print(f"{name}: printed by today's code", flush=True)
            continue
        command = [*COMMANDS[kind], name]
        print(" ".join(command), flush=True)
        subprocess.run([sys.executable, "-m", *command], check=True)
    page.main()


if __name__ == "__main__":
    main()
