"""Run the core of the suite with the lowest versions that pyproject.toml permits.

    python tests/oldest.py [--python python3.11] [--folder .venv-oldest]

Needs nothing but Python: an environment is made, with every floor of the dependencies and extras.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
TOOLS = ["clarabel", "cvxpy", "daqp", "httpx", "hypothesis", "psutil", "pytest", "pytest-timeout"]
TOOLS += ["pytest-xdist"]
# what touches other packages: all rooms but those that reproduce the paper or need a browser
CORE = ["problem", "certify", "design", "guides", "noise", "plan", "algorithms", "study", "system"]
CORE += ["view", "test_cli.py", "test_extras.py", "test_run.py", "test_noise.py", "test_doubt.py"]


def floors() -> list[str]:
    """Return every requirement of `surefoot[all]` as "name==lowest version"."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = [own for name, own in project["optional-dependencies"].items() if name != "dev"]
    written = {text for own in [project["dependencies"], *extras] for text in own}
    pairs = [re.fullmatch(r"([\w-]+)>=([\w.]+)", text) for text in sorted(written)]
    return [f"{pair[1]}=={pair[2]}" for pair in pairs if pair]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--folder", type=Path, default=ROOT / ".venv-oldest")
    chosen, options = parser.parse_known_args()
    python = str(chosen.folder / "bin" / "python")
    if not Path(python).exists():
        subprocess.run([chosen.python, "-m", "venv", chosen.folder], check=True)
    print("with", *floors(), flush=True)
    with tempfile.TemporaryDirectory() as folder:
        constraints = Path(folder) / "oldest.txt"
        constraints.write_text("\n".join(floors()))
        install = [python, "-m", "pip", "install", "-q", "--no-compile", "-c", str(constraints)]
        subprocess.run([*install, "-e", f"{ROOT}[all]", *TOOLS], check=True)
    tests = [str(path) for path in (ROOT / "tests" / name for name in CORE) if path.exists()]
    command = [python, "-m", "pytest", "-q", "-m", "not statistical and not reference", *tests]
    variables = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    return subprocess.call([*command, *options], cwd=ROOT, env=os.environ | variables)


if __name__ == "__main__":
    sys.exit(main())
