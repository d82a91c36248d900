"""Code in the README and the docs: found, run, and held against the output that the page shows.

A page runs from top to bottom in an empty folder. What its fenced blocks do:

- ```python runs in the page's one namespace; a ```text block right after it is what it prints;
- ```console runs each line that begins with "$ "; the lines below that one are what it prints;
- a block whose first line is a comment with a file name, such as `# simulator.py`, is written to
  that file;
- an HTML comment `<!-- before … -->` holds Python that readers need not see;
- every other block (`sh`, `toml` without a name, …) is for reading only.

"…" in an output stands for anything. Numbers may come out a little differently on another kind of
processor, and with them how many rows of a kind a table has; so it is words, names and layout that
must agree. `python -m tests.documents` (perhaps with some pages) writes what was printed, to the
last digit, into the pages.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import subprocess
import sys
import tempfile
import types
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
PAGES = [
    ROOT / "README.md",
    *sorted(path for path in (ROOT / "docs").rglob("*.md") if "_build" not in path.parts),
]
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$|^<!-- before\n(.*?)^-->$", re.MULTILINE | re.DOTALL)
# not a part of a name such as gain=1.5
NUMBER = re.compile(r"(?<![=\w.])-?\d+(?:\.\d+)?(?:e[-+]?\d+)?(?![\w])")
FILE = re.compile(r"# ([\w-]+\.(?:py|toml|csv|awk))\n")


@dataclass(frozen=True)
class Output:
    """What a piece of code printed, and where the page shows it.

    Attributes:
        start, end: the place of the shown output in the page's text.
    """

    start: int
    end: int
    shown: str
    printed: str

    @property
    def right(self) -> bool:
        """Whether the page shows what was printed, but for numbers."""
        return _agree(_form(self.shown), _form(self.printed))

    @property
    def exact(self) -> bool:
        """Whether the page shows it to the last digit."""
        return _agree(self.shown.strip(), self.printed.strip())


def _agree(shown: str, printed: str) -> bool:
    pattern = ".*?".join(map(re.escape, shown.split("…")))
    return re.fullmatch(pattern, printed, re.DOTALL) is not None


def _form(text: str) -> str:
    """Text without its numbers, the width of its columns, and repeated rows of one kind."""
    lines = [
        re.sub(r"\s+", " ", NUMBER.sub("#", line)).strip() for line in text.strip().splitlines()
    ]
    return "\n".join(
        line for line, before in zip(lines, [None, *lines], strict=False) if line != before
    )


def run_page(text: str, namespace: dict[str, Any]) -> Iterator[Output]:
    """Run a page in the current folder; gives the outputs it shows, each with what was printed."""
    found = list(BLOCK.finditer(text))
    for number, block in enumerate(found):
        language, code, hidden = block.groups()
        if hidden is not None:
            exec(compile(hidden, "before", "exec"), namespace)
        elif FILE.match(code):
            Path(FILE.match(code)[1]).write_text(code)  # type: ignore[index]
        elif language == "python":
            printed = _printed(code, text[: block.start()].count("\n") + 1, namespace)
            following = found[number + 1] if number + 1 < len(found) else None
            if (
                following
                and following[1] == "text"
                and not text[block.end() : following.start()].strip()
            ):
                yield Output(following.start(2), following.end(2), following[2], printed)
        elif language == "console":
            yield from _session(code, block.start(2))


def _printed(code: str, line: int, namespace: dict[str, Any]) -> str:
    output = io.StringIO()
    with contextlib.redirect_stdout(output):
        exec(compile("\n" * line + code, "page", "exec"), namespace)
    return output.getvalue()


def _session(code: str, offset: int) -> Iterator[Output]:
    """Each command of a console block, in a shell with this Python's programs first and a terminal
    of 90 columns.
    """
    environment = {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "COLUMNS": "90",
    }
    for command in re.finditer(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", code, re.MULTILINE):
        ran = subprocess.run(
            ["bash", "-c", command[1]], capture_output=True, text=True, env=environment
        )
        assert ran.returncode == 0, f"{command[1]} failed:\n{ran.stdout}{ran.stderr}"
        printed = "".join(line.rstrip() + "\n" for line in ran.stdout.splitlines())
        yield Output(offset + command.start(2), offset + command.end(2), command[2], printed)


def page_module() -> types.ModuleType:
    """A module to run a page in. Worker processes find its functions if it stands for
    `__main__`.
    """
    return types.ModuleType("__main__")


def rewrite(path: Path) -> int:
    """Put what was printed into the page wherever it differs; gives how many places changed."""
    text, module = path.read_text(), page_module()
    sys.modules["__main__"] = module
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        wrong = [output for output in run_page(text, vars(module)) if not output.exact]
    for output in reversed(wrong):
        text = text[: output.start] + output.printed.rstrip() + "\n" + text[output.end :]
    path.write_text(text)
    return len(wrong)


if __name__ == "__main__":
    for given in sys.argv[1:] or PAGES:
        print(f"{given}: {rewrite(Path(given).absolute())} outputs rewritten")
