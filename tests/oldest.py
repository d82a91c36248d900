"""Run the core of the suite with the lowest versions that pyproject.toml permits.

    python tests/oldest.py [--python python3.11] [--folder .venv-oldest]

Needs nothing but Python: an environment is made, with every floor of the dependencies and extras;
where there is no wheel of one for this Python, with the next version of which there is.
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
CORE += ["view", "test_cli.py", "test_extras.py", "test_noise.py", "test_doubt.py"]


def floors(python: str) -> list[str]:
    """Return every requirement of `surefoot[all]` as "name==lowest version that there is"."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = [own for name, own in project["optional-dependencies"].items() if name != "dev"]
    written = {text for own in [project["dependencies"], *extras] for text in own}
    pairs = [re.fullmatch(r"([\w-]+)>=([\w.]+)", text) for text in sorted(written)]
    return [f"{pair[1]}=={_lowest(python, pair[1], pair[2])}" for pair in pairs if pair]


def _lowest(python: str, name: str, floor: str) -> str:
    """Return the lowest version from the floor on of which there is a wheel for a Python."""
    asked = [python, "-m", "pip", "install", "--dry-run", "--no-deps", "--only-binary=:all:"]
    refused = subprocess.run([*asked, f"{name}==0"], capture_output=True, text=True).stderr
    listed = re.search(r"from versions: (.*?)\)", refused)
    versions = re.findall(r"[\d.]+(?=,|$)", listed[1]) if listed else []
    return min((each for each in versions if _key(each) >= _key(floor)), key=_key, default=floor)


def _key(version: str) -> list[int]:
    return [int(part) for part in version.split(".")]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--folder", type=Path, default=ROOT / ".venv-oldest")
    chosen, options = parser.parse_known_args()
    python = str(chosen.folder / "bin" / "python")
    if not Path(python).exists():
        subprocess.run([chosen.python, "-m", "venv", chosen.folder], check=True)
    lowest = floors(python)
    print("with", *lowest, flush=True)
    with tempfile.TemporaryDirectory() as folder:
        constraints = Path(folder) / "oldest.txt"
        constraints.write_text("\n".join(lowest))
        install = [python, "-m", "pip", "install", "-q", "--no-compile", "-c", str(constraints)]
        subprocess.run([*install, "-e", f"{ROOT}[all]", *TOOLS], check=True)
    tests = [str(path) for path in (ROOT / "tests" / name for name in CORE) if path.exists()]
    command = [python, "-m", "pytest", "-q", "-m", "not statistical and not reference", *tests]
    variables = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    return subprocess.call([*command, *options], cwd=ROOT, env=os.environ | variables)


if __name__ == "__main__":
    sys.exit(main())
