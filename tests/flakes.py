"""Find tests that fail by chance: the suite in random orders, on a busy machine, as it would run on
other processors.

    python -m tests.flakes                     all tests, three times
    python -m tests.flakes tests/study -x      these, with options of pytest
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections import Counter

from tests.commands_in_processes import busy_machine

BUSY = 2  # other processes that never rest
RUNS = ((1, "Haswell"), (2, "SkylakeX"), (3, "Haswell"))  # seeds of the order, kinds of processors


def run(seed: int, processor: str, arguments: list[str]) -> tuple[int, list[str]]:
    """Run the suite once; return pytest's exit code and the tests that failed."""
    command = [sys.executable, "-m", "pytest", "-q", "--shuffle", str(seed), *arguments]
    environment = os.environ | {"OPENBLAS_CORETYPE": processor}
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=False)
    print(done.stdout[-4000:], flush=True)
    return done.returncode, re.findall(r"^(?:FAILED|ERROR) (\S+)", done.stdout, re.MULTILINE)


def main() -> int:
    arguments = sys.argv[1:] or ["-n", "2", "--dist", "worksteal"]
    failures: Counter[str] = Counter()
    codes = []
    with busy_machine(BUSY):
        for seed, processor in RUNS:
            print(f"order {seed}, as on {processor}", flush=True)
            code, failed = run(seed, processor, arguments)
            codes.append(code)
            failures.update(failed)
    for test, times in sorted(failures.items()):
        print(f"{times} of {len(RUNS)}  {test}")
    whole = sum(code == 0 for code in codes)
    print(f"{whole} of {len(RUNS)} runs without a failure")
    return 0 if whole == len(RUNS) else 1


if __name__ == "__main__":
    sys.exit(main())
