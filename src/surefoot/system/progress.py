"""How far a study or an experiment is: a bar in a terminal, lines in a log, or nothing."""

from __future__ import annotations

import html
import sys
import time
import unicodedata
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TextIO, TypeVar

if TYPE_CHECKING:
    import pandas as pd
    from rich.console import Console

FORMULA = (
    "=",
    "+",
    "-",
    "@",
    "\t",
    "\r",
)  # a spreadsheet computes text that begins with one of these
KEPT = "\n\t"
CATEGORIES = ("Cc", "Cf", "Cs", "Zl", "Zp")  # control, direction, half characters, separators

T = TypeVar("T")


def printable(text: object) -> str:
    """Return text for a terminal, with characters that would steer it written out, as \\x1b is."""
    return "".join(map(_visible, str(text)))


def cell(value: T) -> T | str:
    """Return a field for a CSV: text that a spreadsheet would take for a formula gets an
    apostrophe.
    """
    if not isinstance(value, str):
        return value
    return f"'{value}" if value.startswith(FORMULA) else value


def spreadsheet_safe(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the table with every text and every header as `cell` gives it."""
    safe = frame.rename(columns=cell)
    for number, kind in enumerate(safe.dtypes):
        if kind.kind in "OTSU":
            safe.isetitem(number, safe.iloc[:, number].map(cell).to_list())
    return safe


def _visible(character: str) -> str:
    if character in KEPT or unicodedata.category(character) not in CATEGORIES:
        return character
    return character.encode("unicode_escape", "surrogatepass").decode()


@dataclass(frozen=True)
class Snapshot:
    """A study at one moment.

    Attributes:
        told: rewards stored, of all phases.
        phase: the index of the phase being pulled.
        phase_pulls, phase_told: its pulls, and how many have their reward.
        in_flight: pulls handed out.
        survivors: arms that are still possible.
        leader: the best guess; None before the first phase is complete.
        expected_left: pulls still needed if the estimates are right; None: it is too early to say.
        pulls_per_second: in this run, over all workers; None at its beginning.
        trouble: the last loss or failure; None without any.
        near_tie: whether a tolerance would save most of the remaining pulls.
    """

    told: int
    phase: int
    phase_pulls: int
    phase_told: int
    in_flight: int
    survivors: int
    leader: str | None
    expected_left: float | None
    pulls_per_second: float | None
    trouble: str | None = None
    near_tie: bool = False

    @property
    def seconds_left(self) -> float | None:
        if self.expected_left is None or not self.pulls_per_second:
            return None
        return self.expected_left / self.pulls_per_second

    def __str__(self) -> str:
        return f"{self.title}, {self.count}, {self.known}"

    @property
    def title(self) -> str:
        return f"{self.told} pulls"

    @property
    def share(self) -> float:
        """The share of the whole study that is done, by the forecast; 0 without a forecast."""
        return 0.0 if self.expected_left is None else share_done(self.told, self.expected_left)

    @property
    def count(self) -> str:
        return f"phase {self.phase}: {self.phase_told}/{self.phase_pulls}"

    @property
    def words(self) -> str:
        return self.known

    @property
    def known(self) -> str:
        """The answer so far, the remaining pulls, and trouble, in words."""
        parts = [f"{self.survivors} arms possible"]
        if self.leader is not None:
            parts.append(f"leading: {printable(self.leader)}")
        parts.append(_left(self.expected_left))
        if self.seconds_left is not None:
            parts.append(f"{duration(self.seconds_left)} left")
        if self.near_tie:
            parts.append("the best are nearly level (see `surefoot status`)")
        if self.trouble:
            parts.append(printable(self.trouble))
        return ", ".join(parts)


def _left(pulls: float | None) -> str:
    """Say how many pulls are left, to two digits: a forecast knows no more, and not the end."""
    if pulls is None:
        return "too early to say how many pulls are left"
    if pulls < 2:
        return "hardly any pulls left"
    return f"about {float(f'{pulls:.2g}'):,.0f} pulls left"


@dataclass(frozen=True)
class JobsSnapshot:
    """The jobs of an experiment at one moment.

    Attributes:
        title: of the work.
        work, done: of all jobs and of the finished ones, in the unit of their weights.
        seconds_left: None while unknown.
    """

    title: str
    work: float
    done: float
    seconds_left: float | None

    def __str__(self) -> str:
        return f"{self.title}: {', '.join(part for part in (self.count, self.words) if part)}"

    @property
    def share(self) -> float:
        return self.done / self.work

    @property
    def count(self) -> str:
        return f"{100 * self.share:.0f} %"

    @property
    def words(self) -> str:
        left = self.seconds_left
        return "" if left is None or self.done >= self.work else f"{duration(left)} left"


class _Shown(Protocol):
    """A snapshot as the displays here show it; as a string it is a line of a log."""

    @property
    def title(self) -> str: ...

    @property
    def share(self) -> float: ...

    @property
    def count(self) -> str: ...

    @property
    def words(self) -> str: ...


class Progress(Protocol):
    """Anything that wants to know how far a study is, a few times a second, in its thread."""

    def update(self, snapshot: Snapshot) -> None: ...

    def close(self) -> None: ...


class JobProgress(Protocol):
    """Anything that wants to know how far an experiment is: `update` after each job, `close` after
    the last; then the next experiment may begin.
    """

    def update(self, snapshot: JobsSnapshot) -> None: ...

    def close(self) -> None: ...


class Forward:
    """A share of work done that never falls: forecasts change, and a bar should not go back."""

    def __init__(self) -> None:
        self._furthest = 0.0

    def at(self, share: float) -> float:
        """Return the furthest that it has been."""
        self._furthest = max(self._furthest, share)
        return self._furthest


def share_done(done: float, left: float) -> float:
    """Return the share of the work that is done, at most 0.99 before the end is known."""
    return min(done / max(done + left, 1.0), 0.99)


class NoProgress:
    """A display that shows nothing."""

    def update(self, snapshot: _Shown) -> None:
        pass

    def close(self) -> None:
        pass


class _LineProgress:
    """A line now and then, for logs.

    Args:
        every: seconds between lines.
    """

    def __init__(self, stream: TextIO | None = None, every: float = 30.0) -> None:
        self._stream, self._every = stream or sys.stderr, every
        self._next, self._last, self._written = time.monotonic() + min(every, 2.0), "", ""

    def update(self, snapshot: _Shown) -> None:
        self._last = str(snapshot)
        if time.monotonic() >= self._next:
            self._write()

    def close(self) -> None:
        if self._last != self._written:
            self._write()

    def _write(self) -> None:
        print(self._last, file=self._stream, flush=True)
        self._written, self._next = self._last, time.monotonic() + self._every


class _BarProgress:
    """A bar in a terminal for the study or the jobs, with the answer so far; it never goes back."""

    def __init__(self, console: Console | None = None) -> None:
        from rich.progress import BarColumn, TextColumn
        from rich.progress import Progress as RichProgress
        from rich.table import Column

        whole = Column(no_wrap=True)
        # what does not fit is cut off here, not elsewhere
        rest = Column(ratio=1, no_wrap=True, overflow="ellipsis")
        columns = (
            TextColumn("{task.description}", table_column=whole, markup=False),
            BarColumn(bar_width=12),
            TextColumn("{task.fields[count]}", table_column=whole, markup=False),
            TextColumn("{task.fields[words]}", table_column=rest, markup=False),
        )
        self._bar = RichProgress(*columns, console=console, transient=True, expand=True)
        self._task: Any = None
        self._forward = Forward()

    def update(self, snapshot: _Shown) -> None:
        if self._task is None:
            self._bar.start()
            self._task = self._bar.add_task("", total=1.0, count="", words="")
        self._bar.update(
            self._task,
            description=snapshot.title,
            completed=self._forward.at(snapshot.share),
            count=snapshot.count,
            words=snapshot.words,
        )

    def close(self) -> None:
        self._bar.stop()
        if self._task is not None:
            self._bar.remove_task(self._task)
            self._task, self._forward = None, Forward()


def progress_for(stream: TextIO) -> _BarProgress | _LineProgress:
    """Return a bar in a terminal, else lines."""
    if stream.isatty():
        from rich.console import Console

        return _BarProgress(Console(file=stream))
    return _LineProgress(stream)


class _NotebookProgress:
    """A bar in a notebook's cell, which is drawn anew in its place, and goes at the end."""

    def __init__(self) -> None:
        self._shown: Any = None
        self._forward = Forward()

    def update(self, snapshot: _Shown) -> None:
        share = self._forward.at(snapshot.share)
        text = html.escape(f"{snapshot.title}, {snapshot.count}, {snapshot.words}")
        bar = f'<progress value="{share:.3f}"></progress> {text}'
        self._show({"text/html": bar, "text/plain": str(snapshot)})

    def close(self) -> None:
        if self._shown is not None:
            self._show({"text/html": "", "text/plain": ""})
            self._shown, self._forward = None, Forward()

    def _show(self, data: dict[str, str]) -> None:
        from IPython.display import display  # type: ignore[import-not-found,unused-ignore]

        if self._shown is None:
            self._shown = display(data, raw=True, display_id=True)
        else:
            self._shown.update(data, raw=True)


def progress_if_seen(
    stream: TextIO, always: bool = False
) -> _BarProgress | _LineProgress | _NotebookProgress | None:
    """Return a bar in a terminal and a line in a notebook; elsewhere None, or lines of a log."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    if hasattr(shell, "kernel"):
        return _NotebookProgress()
    return progress_for(stream) if always or stream.isatty() else None


def duration(seconds: float) -> str:
    """Return a time in words that fit: 42 s, 12 min, 3.5 h, 2.1 days."""
    for size, unit in ((86400.0, "days"), (3600.0, "h")):
        if seconds >= size:
            return f"{seconds / size:.1f} {unit}"
    return f"{seconds / 60:.0f} min" if seconds >= 60 else f"{seconds:.0f} s"
