"""What is finished, on disk: one line per job, so that an interrupt costs only the jobs that were
running.
"""

from __future__ import annotations

import fcntl
import hashlib
import importlib.metadata
import json
import platform
from dataclasses import asdict
from pathlib import Path
from typing import Any

import surefoot
from surefoot.errors import InputError

PACKAGE = Path(surefoot.__file__).parent
FOLDER = ".unfinished"
LIBRARIES = ("surefoot", "numpy", "scipy", "numba", "pandas")


class Journal:
    """The results of one experiment as they come in.

    Its name holds a digest of everything that decides the results: other options, another seed or
    changed code begin another journal, so what is read back is what would be computed now.

    Attributes:
        experiment: whose results they are.
        results: by job; what JSON makes of them, so that a result is the same whether it was just
            computed or read.

    Args:
        identity: everything that decides the results, besides the code and the versions of
            libraries.
    """

    def __init__(self, out: Path, experiment: str, identity: dict[str, Any]) -> None:
        self.experiment = experiment
        whole = json.dumps([identity, versions(), code_digest()], sort_keys=True)
        digest = hashlib.sha256(whole.encode()).hexdigest()[:12]
        self.path = out / FOLDER / f"{experiment}-{digest}.jsonl"
        self.path.parent.mkdir(exist_ok=True)
        self._file = self.path.open("a+b")
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self._file.close()
            raise InputError(
                f"{experiment} with these options is already running into {out}: wait for it, or "
                f"give another folder"
            ) from None
        self.results = self._read()

    def record(self, job: str, result: Any) -> None:
        """Keep a finished job; dataclasses become plain values."""
        line = json.dumps([job, result], default=asdict)
        self.results[job] = json.loads(line)[1]
        self._file.write(line.encode() + b"\n")
        self._file.flush()

    def close(self) -> None:
        self._file.close()

    def remove(self) -> None:
        """The experiment is complete and its tables are written: nothing is left to continue."""
        self.path.unlink(missing_ok=True)
        self.close()
        if not any(self.path.parent.iterdir()):
            self.path.parent.rmdir()

    def _read(self) -> dict[str, Any]:
        """Whole lines; the end of a line that was being written when its process was killed is cut
        off.
        """
        self._file.seek(0)
        content = self._file.read()
        whole = content.rfind(b"\n") + 1
        self._file.truncate(whole)
        return dict(json.loads(line) for line in content[:whole].splitlines())


def versions() -> dict[str, str]:
    """Of Python and of the libraries that can change a result."""
    return {"python": platform.python_version()} | {
        name: importlib.metadata.version(name) for name in LIBRARIES
    }


def code_digest() -> str:
    """A digest of the package's own code and data."""
    digest = hashlib.sha256()
    for path in sorted(path for path in PACKAGE.rglob("*") if path.suffix in (".py", ".json")):
        digest.update(str(path.relative_to(PACKAGE)).encode() + path.read_bytes())
    return digest.hexdigest()[:16]
