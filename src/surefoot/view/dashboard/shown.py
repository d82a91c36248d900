"""A study as the dashboard shows it: what its pages ask for, each answer within a time limit."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

from surefoot.study import StudyReader
from surefoot.system.progress import Forward, printable, spreadsheet_safe
from surefoot.view.charts.pulls import bounds_drawing
from surefoot.view.dashboard import words
from surefoot.view.dashboard.connections import Lane, TooSlow
from surefoot.view.dashboard.watch import FileWatch, Moment
from surefoot.view.report.facts import said_of_arms
from surefoot.view.report.page import DESCRIPTIONS, safe_json

CSV_BLOCK = 20_000
HARDNESS_LIMIT = 120.0  # seconds: it is worked out once
SLOW = (
    "Reading this file takes too long: it is very large, on a disk that does not answer, or made "
    "to hang."
)


class Readings:
    """One study; every method gives up when reading takes too long.

    Attributes:
        number: by which addresses know it.
    """

    def __init__(self, number: int, path: Path) -> None:
        self.number = number
        self._watch = FileWatch(path)
        self._forward = Onward()
        self._reads, self._downloads = Lane(), Lane()
        self._sums = Lane(HARDNESS_LIMIT)

    @property
    def path(self) -> Path:
        return self._watch.path

    async def fields(self) -> dict[str, Any]:
        """Return the texts that change while it runs; a file that cannot be read in time says
        so.
        """
        try:
            return await self._reads.run(self._fields)
        except TooSlow:
            return words.fields(Moment(self.path.stem, "broken", trouble=SLOW))

    async def summary(self) -> dict[str, Any]:
        """Return its entry in the list of studies."""
        return await self.fields() | {"number": self.number} | self._where()

    async def details(self) -> dict[str, Any]:
        """Return the drawings and lists below the numbers."""
        return await self._reads.run(lambda: words.details(self._watch, self._watch.snapshot()))

    async def page(self) -> dict[str, Any]:
        """Everything that its page is made of."""
        return await self._reads.run(self._page)

    async def bounds(self) -> dict[str, Any]:
        """Return the chart of what a finished study could have cost."""
        return await self._sums.run(self._bounds)

    def warm_up(self) -> None:
        """Read the file, and make its page once."""
        self._page()

    async def csv(self) -> AsyncIterator[str]:
        """Yield all pulls in blocks, by a reader of its own: a large download holds up no page."""
        blocks = _csv_blocks(self.path)
        while (block := await self._downloads.run(lambda: next(blocks, None))) is not None:
            yield block

    def close(self) -> None:
        self._watch.close()

    def _fields(self) -> dict[str, Any]:
        snapshot = self._watch.snapshot()
        return self._forward.held(snapshot, words.fields(snapshot))

    def _page(self) -> dict[str, Any]:
        snapshot = self._watch.snapshot()
        details = words.details(self._watch, snapshot)
        return {
            "number": self.number,
            **self._where(),
            "fields": self._forward.held(snapshot, words.fields(snapshot)),
            "certificate": details.pop("certificate"),
            "settings": self._watch.settings(snapshot.result) if snapshot.result else [],
            "arms": details.pop("arms"),
            "said_of_arms": said_of_arms(snapshot.n_arms),
            "failures": details.pop("failures"),
            "figures": DESCRIPTIONS,
            "payload": safe_json(details),
        }

    def _where(self) -> dict[str, str]:
        """Return the file with its folder: studies of one name lie in different ones."""
        path = self.path.absolute()
        return {"file": printable(f"{path.parent.name}/{path.name}"), "place": printable(str(path))}

    def _bounds(self) -> dict[str, Any]:
        hardness, snapshot = self._watch.hardness(), self._watch.snapshot()
        if hardness is None or snapshot.result is None or not snapshot.result.settings.modelled:
            return {}
        return {"bounds": bounds_drawing(snapshot.result, hardness).spec()}


class Onward:
    """Holds a study's bar where it has been, until another study is in the file or more is asked
    of this one.
    """

    def __init__(self) -> None:
        self._forward, self._told, self._finished = Forward(), 0, False

    def held(self, snapshot: Moment, fields: dict[str, Any]) -> dict[str, Any]:
        told = snapshot.status.told if snapshot.status else 0
        finished = snapshot.state == "finished"
        if told < self._told or (self._finished and not finished):
            self._forward = Forward()
        self._told, self._finished = told, finished
        share = fields["done"]
        return fields if share is None else fields | {"done": self._forward.at(share)}


def _csv_blocks(path: Path) -> Iterator[str]:
    with StudyReader(path) as reader:
        since, header = 0, True
        while not (block := reader.pulls(since, CSV_BLOCK)).empty or header:
            yield spreadsheet_safe(block).to_csv(index=False, header=header)
            if block.empty:
                return
            since, header = int(block["id"].iloc[-1]) + 1, False
