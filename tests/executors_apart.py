"""Run a study on executors of other packages: MPI's by `mpi4py.futures`, and Ray's tasks.

    python tests/executors_apart.py [--folder .venv-executors]

Needs nothing but Python: an environment is made, with an MPI (mpich) and Ray from the registry.
Ray has no executor of its own; the guide on clusters shows the five lines that make one.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
from concurrent.futures import Executor
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
PACKAGES = ["mpi4py", "mpich", "ray"]
PATIENCE = "300"  # seconds for Ray to start, on a machine that is busy


def checked(executor: Executor, **limits: Any) -> str:
    """Run a study here and there, and say whether it ends with the same bits."""
    from tests.study import toys

    with tempfile.TemporaryDirectory() as name:
        here, there = Path(name) / "here.db", Path(name) / "there.db"
        with toys.toy_study(here) as study:
            expected = study.run(toys.linear, "serial")
        with toys.toy_study(there) as study:
            found = study.run(toys.wobbly, executor, **limits)
        same = toys.rewards_of(here) == toys.rewards_of(there)
    return "the same bits" if same and toys.same_result(found, expected) else "another end"


def mpi() -> str:
    from mpi4py.futures import MPIPoolExecutor

    with MPIPoolExecutor(2) as executor:
        return checked(executor)


def ray() -> str:
    import ray

    page = (ROOT / "docs" / "guides" / "cluster.md").read_text(encoding="utf-8")
    shown = re.search(r"    import ray\n(.*?)\n\S", page, re.DOTALL)
    assert shown is not None
    names: dict[str, Any] = {}
    lines = [line[4:] for line in shown[0].splitlines()[:-1]]
    exec("\n".join(line for line in lines if not line.startswith("result =")), names)
    ray.init(num_cpus=2, include_dashboard=False, logging_level="ERROR")
    try:
        return checked(names["RayExecutor"](), max_in_flight=4)
    finally:
        ray.shutdown()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, default=ROOT / ".venv-executors")
    parser.add_argument("--only", choices=["mpi", "ray"])
    chosen = parser.parse_args()
    if chosen.only:
        print(f"{chosen.only}: {mpi() if chosen.only == 'mpi' else ray()}", flush=True)
        return 0
    programs = chosen.folder / "bin"
    python = str(programs / "python")
    if not Path(python).exists():
        subprocess.run([sys.executable, "-m", "venv", chosen.folder], check=True)
        install = [python, "-m", "pip", "install", "-q", "-c", str(ROOT / "constraints.txt")]
        subprocess.run([*install, "-e", f"{ROOT}[all]", *PACKAGES], check=True)
    variables = {
        "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "src")]),
        "RAY_raylet_start_wait_time_s": PATIENCE,
    }
    driver = [str(Path(__file__)), "--only"]
    commands = [
        [str(programs / "mpiexec"), "-n", "3", python, "-m", "mpi4py.futures", *driver, "mpi"],
        [python, *driver, "ray"],
    ]
    held = True
    for command in commands:
        done = subprocess.run(
            command, env=os.environ | variables, stdout=subprocess.PIPE, text=True
        )
        print(done.stdout, end="", flush=True)
        held &= "the same bits" in done.stdout
    return 0 if held else 1


if __name__ == "__main__":
    sys.exit(main())
