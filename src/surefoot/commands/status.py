"""`surefoot status`: how a study is, also while it runs."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from surefoot.commands.terminal import StudyArgument, print_table, study_file

if TYPE_CHECKING:
    from surefoot.study.file.reader import Status, StudyReader
    from surefoot.study.file.storage import Running

MOST_RUNNING = 8
FEW = 5.0  # pulls: forecasts are rounded to tens


def command(
    study: StudyArgument = None,
    as_json: Annotated[bool, typer.Option("--json", help="For programs.")] = False,
) -> None:
    """Show a study's progress, answer and failures."""
    from surefoot.study import StudyReader

    with StudyReader(study_file(study)) as reader:
        status = reader.status()
        if as_json:
            print(json.dumps(asdict(status), indent=1))
        else:
            _print(reader, status)


def _print(reader: StudyReader, status: Status) -> None:
    from rich.table import Table

    from surefoot.system.progress import duration

    table, running = Table(show_header=False, box=None), status.running
    table.add_row("study", f"{reader.name} ({reader.path}, {reader.description.direction})")
    table.add_row("state", _state(reader, status))
    if status.writer:
        table.add_row("run by", status.writer)
    table.add_row("pulls", f"{status.told} told, {status.asked} asked by hand")
    table.add_row(
        "failed",
        f"{status.failed} now, {status.retried} before and tried again, {status.lost} lost with "
        "their worker",
    )
    if status.spent is not None:
        seconds = status.cost == "time"
        told = f"{duration(status.spent)} of pulls" if seconds else f"{status.spent:,.6g} reported"
        table.add_row("cost", f"{told} so far")
    if status.called_off:
        table.add_row("called off", called_off(status.called_off, status.unused))
    for now in running[:MOST_RUNNING]:
        table.add_row("running", _running(now))
    if len(running) > MOST_RUNNING:
        table.add_row("", f"and {len(running) - MOST_RUNNING} more that began later")
    corrected = len(reader.correction_records())
    if corrected:
        table.add_row("corrected", f"{corrected} rewards, listed by `surefoot export`")
    table.add_row("phase", f"{status.phase}: {status.phase_told} of {status.phase_pulls}")
    table.add_row("arms possible", f"{status.survivors} of {reader.problem.n_arms}")
    table.add_row("leading", status.leader or "not known before the first phase is complete")
    if status.state != "finished":
        table.add_row("left", _left(status))
    table.add_row("answer", status.sentence or "none yet")
    for said in filter(None, (*status.beside, *status.changes, status.near_tie)):
        table.add_row("", said)
    if status.reason and not status.certified:
        table.add_row("why", status.reason)
    if reader.simulators.pending:
        file = (reader.configuration or {}).get("file")
        how = f'`surefoot run {file} --accept-change "why"`' if file else "study.accept_change(why)"
        table.add_row("accept", f"{how}, if rewards mean the same as before")
    if status.message and status.state == "paused":
        table.add_row("message", status.message)
    print_table(table)


def called_off(pulls: int, simulated: int) -> str:
    """Describe the pulls in flight when the study ended."""
    return (
        f"{pulls} pulls in flight at the end, {simulated} of them simulated: the answer rests on "
        "none of them"
    )


def _state(reader: StudyReader, status: Status) -> str:
    """Return the state in words, and how to go on."""
    if status.state == "finished" or status.writer:
        return status.state
    if status.asked:
        return f"waiting for {status.asked} rewards that were asked for by hand"
    if status.doing == "waiting":
        return f"not begun, with {reader.how_to_go_on}"
    return f"{status.doing}, go on with {reader.how_to_go_on}"


def _left(status: Status) -> str:
    from surefoot.system.progress import duration

    left, pace = status.expected_left, status.pulls_per_minute
    if left is None:
        return "not forecast by a quiet run" if status.quiet else "too early to say"
    if left < FEW:
        return "hardly any pulls, if the phase that is being pulled decides; else more"
    return f"about {round(left, -1):,.0f} pulls" + (
        f", {duration(60 * left / pace)}" if pace else ""
    )


def _running(now: Running) -> str:
    import time

    from surefoot.system.progress import duration

    since = duration(max(time.time() - now.since, 0.0))
    return f"pull {now.pull} for {since}" + (f" on {now.worker}" if now.worker else "")
