"""Draw the pictures of the README and the docs: `python docs/images.py`, and `… gallery`."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import vl_convert

import surefoot as sf
from surefoot.charts import arms_chart, evidence_chart
from surefoot.commands import init
from surefoot.study.config import StudyConfig

IMAGES = Path(__file__).parent / "images"
EXAMPLES = Path(__file__).parent.parent / "examples"
GALLERY = (
    *("inventory.toml", "pendulum.toml", "queue.toml", "circuit.toml"),
    *("clinic/study.toml", "cartpole/study.toml", "models/study.toml"),
    *("simopt_inventory/study.toml", "water/study.toml"),
)


def controllers() -> sf.RobustProblem:
    """The problem that `surefoot init` writes: eight controllers on a machine that wears."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "study.toml"
        path.write_text(init.CONFIGURATION.format(file=path.name, module="simulator"))
        return StudyConfig(path).problem()


def evidence() -> None:
    """Why a study stopped. The noise is three times that of the example, so that there are several
    looks.
    """
    with tempfile.TemporaryDirectory() as folder:
        options = {"delta": 0.05, "noise": sf.Gaussian(), "trust": "pairs", "seed": 1}
        with sf.Study.create(Path(folder) / "study.db", controllers(), **options) as study:
            result = study.run(quality, "serial")
    title = f"Why it stopped: {result.arm_name}, {result.samples} pulls"
    chart = evidence_chart(result, rivals=5, title=title)
    IMAGES.mkdir(exist_ok=True)
    (IMAGES / "evidence.png").write_bytes(vl_convert.vegalite_to_png(chart.to_dict(), scale=1.5))


def quality(pull: sf.study.Pull) -> float:
    """What the example of `surefoot init` measures, with more noise."""
    gain, delay = pull.parameters["gain"], pull.parameters["delay"]
    exact = 3.0 * gain - gain**2 - 1.5 * gain * delay - 0.5 * delay
    return float(exact + pull.rng().normal(scale=0.9))


def gallery() -> None:
    """The worst case of each arm in every example that runs by itself: `python docs/images.py
    gallery`.
    """
    with tempfile.TemporaryDirectory() as folder:
        examples = shutil.copytree(EXAMPLES, Path(folder) / "examples")
        for path in map(Path, sys.argv[2:] or GALLERY):
            name = path.stem if path.parent == Path() else path.parent.name
            command = [sys.executable, "-m", "surefoot", "run", "--quiet", path.name]
            subprocess.run(command, cwd=examples / path.parent, check=True)
            with sf.StudyReader((examples / path).with_suffix(".db")) as reader:
                chart = arms_chart(reader.result, sign=reader.sign, title=reader.result.sentence)
            svg = vl_convert.vegalite_to_svg(chart.properties(width=420).to_dict())
            (IMAGES / f"gallery-{name}.svg").write_text(svg)


if __name__ == "__main__":
    {"evidence": evidence, "gallery": gallery}[sys.argv[1] if sys.argv[1:] else "evidence"]()
