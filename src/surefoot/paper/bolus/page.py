"""The page and the terminal's lines about one patient's setting, for both questions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from surefoot.experiments.publication import Screen, console_for_output
from surefoot.paper.bolus.problem import DISCLAIMER
from surefoot.view.report.page import environment, standalone

if TYPE_CHECKING:
    from surefoot.view.charts.drawing import Drawing

STYLE = Path(__file__).parent / "templates" / "patient.css"


@dataclass(frozen=True)
class Listing:
    """A table of a page.

    Attributes:
        chosen: places of the rows that stand out.
    """

    caption: str
    heads: Sequence[str]
    rows: Sequence[tuple[str, ...]]
    chosen: Sequence[int]


@dataclass(frozen=True)
class Page:
    """The answer for one patient.

    Attributes:
        name: the patient's.
        title: the page's, after the name.
        stem: the file's name without its ending.
        certified: True if the answer has a certificate.
        sentence: the answer in words.
        beside: sentences that belong to it.
        profiles: rows of an ambulatory glucose profile, by the setting's name.
        charts: Vega-Lite specifications, by name.
        described: each chart in words, by name.
        listings: the answer's table first; the last one stands below the charts.
        fine_print: the assumptions, and the truth.
    """

    name: str
    title: str
    stem: str
    certified: bool
    sentence: str
    beside: Sequence[str]
    profiles: dict[str, pd.DataFrame]
    charts: dict[str, Any]
    described: dict[str, str]
    listings: Sequence[Listing]
    fine_print: Sequence[str]

    def show(self) -> None:
        """Print the answer on the terminal."""
        console = console_for_output()
        console.print(f"[bold]{self.name}[/]: {self.sentence}", highlight=False)
        console.print(*self.beside, sep="\n", highlight=False)
        table = self.listings[0]
        console.print(Screen("", tuple(table.heads), [table.rows]).drawn())
        for line in (*self.fine_print, f"[bold]{DISCLAIMER}[/]"):
            console.print(line, highlight=False)

    def write(self, stage: Path, command: str) -> str:
        """Write the page, and its profiles as a chart (PNG, SVG, HTML) and as a table; return the
        page's file name.
        """
        from surefoot.paper.bolus.charts import side_by_side
        from surefoot.view.charts import save

        drawn = drawn_profiles({_capital(name): frame for name, frame in self.profiles.items()})
        profiles = list(drawn.values())
        save(side_by_side(profiles, f"{self.name}, virtual"), stage / f"{self.stem}-profiles")
        whole = pd.concat([frame.assign(setting=name) for name, frame in self.profiles.items()])
        whole.to_csv(stage / f"{self.stem}-profiles.csv", index=False, lineterminator="\n")
        specs = {f"profile{number}": drawing.spec() for number, drawing in enumerate(profiles)}
        shown = {
            key: f"Ambulatory glucose profile: {name}"
            for key, name in zip(specs, self.profiles, strict=True)
        }
        text = rendered(
            "patient.html", specs | self.charts, page=self, profiles=shown,
            disclaimer=DISCLAIMER, command=command,
        )  # fmt: skip
        (stage / f"{self.stem}.html").write_text(text, encoding="utf-8")
        return f"{self.stem}.html"


def drawn_profiles(frames: dict[str, pd.DataFrame]) -> dict[str, Drawing]:
    """Return drawings of profiles on one scale, by name."""
    from surefoot.paper.bolus.charts import axis_top, profile_drawing

    top = axis_top(list(frames.values()))
    return {name: profile_drawing(frame, name, top) for name, frame in frames.items()}


def rendered(template: str, specs: dict[str, Any], **values: Any) -> str:
    """Return a page that stands alone, with these charts in it."""
    page = environment("surefoot.paper.bolus").get_template(template)
    return standalone(page, specs, values, STYLE.read_text(encoding="utf-8"))


def decimals(value: float) -> str:
    """Return a number for people, with two decimals."""
    return f"{value:.2f}".replace("-", "−")


def _capital(name: str) -> str:
    return name[:1].upper() + name[1:]
