"""Draw the pictures of the README and the docs: `python docs/images.py`, and `… gallery`."""

from __future__ import annotations

import re
import runpy
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import vl_convert

import surefoot as sf
from surefoot.view.charts import arms_chart, evidence_chart

IMAGES = Path(__file__).parent / "images"
README = Path(__file__).parent.parent / "README.md"
EXAMPLES = Path(__file__).parent.parent / "examples"
GALLERY = (
    *("inventory.toml", "pendulum.toml", "queue.toml", "circuit.toml"),
    *("clinic/study.toml", "cartpole/study.toml", "models/study.toml"),
    *("simopt_inventory/study.toml", "water/study.toml"),
    *("machine_shop.py", "epidemic.py"),
)


def evidence() -> None:
    """Why the study of the README stopped."""
    [code] = re.findall(r"```python\n(import heapq.*?)```", README.read_text(), re.DOTALL)
    names: dict[str, sf.Answer] = {}
    exec(code, names)
    result = names["answer"].result
    title = f"Why it stopped: {result.arm_name}, {result.samples} pulls"
    chart = evidence_chart(result, title=title)
    (IMAGES / "evidence.png").write_bytes(vl_convert.vegalite_to_png(chart.to_dict(), scale=1.5))


def found(example: Path) -> sf.Result:
    """What a script that calls `find`, or the study of a configuration, comes to."""
    if example.suffix == ".py":
        answer: sf.Answer = runpy.run_path(str(example))["answer"]
        return answer.result
    command = [sys.executable, "-m", "surefoot", "run", "--quiet", example.name]
    subprocess.run(command, cwd=example.parent, check=True)
    with sf.StudyReader(example.with_suffix(".db")) as reader:
        return reader.result


def gallery() -> None:
    """The worst case of each arm in every example that runs by itself: `python docs/images.py
    gallery`.
    """
    with tempfile.TemporaryDirectory() as folder:
        examples = shutil.copytree(EXAMPLES, Path(folder) / "examples")
        for path in map(Path, sys.argv[2:] or GALLERY):
            name = path.stem if path.parent == Path() else path.parent.name
            result = found(examples / path)
            chart = arms_chart(result, title=result.sentence)
            svg = vl_convert.vegalite_to_svg(chart.properties(width=420).to_dict())
            (IMAGES / f"gallery-{name}.svg").write_text(svg)


if __name__ == "__main__":
    {"evidence": evidence, "gallery": gallery}[sys.argv[1] if sys.argv[1:] else "evidence"]()
