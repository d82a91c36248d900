"""Files of an experiment: tables, figures, words, and a sidecar that says where they come from."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from surefoot.experiments.session import Session, code_digest, versions

if TYPE_CHECKING:
    import pandas as pd

ENOUGH = 20  # runs: below it, nothing is said flatly about somebody's paper


@dataclass(frozen=True)
class Claim:
    """A sentence of the paper, whether it holds in our runs, and the numbers.

    Attributes:
        runs: how many runs of each kind the verdict rests on; None if it does not rest on runs
            that could be more.
        clear: whether the numbers are further from the edge than chance alone would bring them.
    """

    text: str
    holds: bool
    numbers: str
    runs: int | None = None
    clear: bool = True

    @property
    def verdict(self) -> str:
        """In words; of few runs they say so."""
        so_far = "it holds" if self.holds else "it does not hold"
        if self.runs is not None and self.runs < ENOUGH:
            return f"too few runs to say ({so_far} in these {self.runs})"
        if not self.clear:
            return f"too close to say ({so_far} in the means)"
        return "holds" if self.holds else "does not hold"

    @property
    def markup(self) -> str:
        """Two lines for a terminal, as rich understands them."""
        colour = {"holds": "green", "does not hold": "red"}.get(self.verdict, "yellow")
        return f"  [{colour}]{self.verdict}[/]: {self.text}\n      {self.numbers}"


@dataclass(frozen=True, eq=False)
class Publication:
    """The files of one experiment. A key is what follows the experiment's name in a file's name.

    Attributes:
        name: of the experiment.
        tables: written as CSV and Parquet.
        charts: Altair charts, written as PNG, SVG and HTML.
        texts: written as they are; their keys hold the ending.
        facts: what the sidecar says besides command, seed, runs, versions and code.
    """

    name: str
    tables: Mapping[str, pd.DataFrame]
    charts: Mapping[str, Any] = field(default_factory=dict)
    texts: Mapping[str, str] = field(default_factory=dict)
    facts: Mapping[str, Any] = field(default_factory=dict)


def publish(session: Session, publication: Publication) -> None:
    """Write all files of an experiment into the session's folder, or none."""
    from surefoot.view.charts import save

    with session.folder.staged() as stage:
        stem = stage / publication.name
        for key, chart in publication.charts.items():
            save(chart, _beside(stem, key))
        for key, frame in publication.tables.items():
            _write_table(frame, _beside(stem, key))
        for key, text in publication.texts.items():
            _beside(stem, key).write_text(text, encoding="utf-8")
        origin = json.dumps(_origin(session, publication.facts), indent=1, ensure_ascii=False)
        _beside(stem, ".json").write_text(origin + "\n", encoding="utf-8")


def claim_facts(claims: list[Claim]) -> dict[str, Any]:
    """The claims as the sidecar holds them."""
    return {"claims": [asdict(claim) | {"verdict": claim.verdict} for claim in claims]}


def _beside(stem: Path, key: str) -> Path:
    return stem.with_name(stem.name + key)


def _write_table(frame: pd.DataFrame, stem: Path) -> None:
    frame.to_csv(_beside(stem, ".csv"), index=False, lineterminator="\n")
    frame.to_parquet(_beside(stem, ".parquet"), index=False)


def _origin(session: Session, facts: Mapping[str, Any]) -> dict[str, Any]:
    """Say what to type to get the same again, and with which versions."""
    return {
        "command": session.command,
        "seed": session.seed,
        "runs": session.runs,
        **facts,
        "versions": versions(),
        "code": code_digest(),
    }
