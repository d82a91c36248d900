"""The ledger of a study: the pulls asked for, their rewards, and the next phases."""

from __future__ import annotations

import json
import threading
import warnings
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from surefoot.algorithms import Algorithm, Result
from surefoot.algorithms.settings import FREE_SETTINGS
from surefoot.errors import InputError, SurefootWarning
from surefoot.study.file.description import Description, versions_here
from surefoot.study.file.replay import OpenPhase, Run, refuse_another_plan
from surefoot.study.file.storage import Running, StoredPhase, WriteStorage
from surefoot.study.file.storage.records import Note, Standing, State
from surefoot.study.forecast import Forecaster, is_near_tie, left_now
from surefoot.study.input import Reading
from surefoot.study.provenance import Source
from surefoot.study.pull import Pull, PullFactory, Report
from surefoot.system.progress import Snapshot


class Ledger:
    """A study's state in memory and on disk, which agree after every call.

    Nothing is handed out or told but through here; one lock makes it safe to use from several
    threads.

    Attributes:
        description: the study's question.
        state: "running", "paused" or "finished".
        message: why it is paused or finished.
        command: for the user to go on.
        forecasts: of the pulls left.
    """

    def __init__(self, storage: WriteStorage, algorithm: Algorithm | None) -> None:
        self.storage, self._own_algorithm = storage, algorithm
        self.forecasts = Forecaster()
        self.mutex = threading.RLock()
        entries = storage.entries()
        standing = Standing.from_entries(entries)
        self.command, self.state, self.message = (
            standing.how_to_go_on,
            standing.state,
            standing.message,
        )
        self._simulators = storage.simulators()
        self._load(Description.from_entries(entries).going_on_with(algorithm))
        self._say_what_changed(entries)

    def _say_what_changed(self, entries: Mapping[str, Any]) -> None:
        """Say in the log if other versions, or another planner, go on with the study."""
        now = self.description.to_entries() | {"versions": versions_here()}
        changed = {
            key: now[key]
            for key in ("algorithm", "options", "versions")
            if now[key] != json.loads(json.dumps(entries[key]))
        }
        if changed and not self.done:
            self.storage.log(f"goes on after {self.told} rewards with {changed}", **changed)

    @property
    def done(self) -> bool:
        """True if the study needs no more pulls."""
        return self._over

    @property
    def result(self) -> Result:
        """The answer after the last complete phase; not certified while a change is pending, or if
        failures seem to depend on rewards.
        """
        return self.storage.tries().judge(self._simulators.judge(self._run.result))

    @property
    def asked(self) -> int:
        """Pulls of all phases so far: their numbers are below this."""
        return self._next_number

    @property
    def told(self) -> int:
        """Rewards stored so far."""
        return self._next_number - sum(phase.missing for phase in self._open)

    @property
    def waiting(self) -> int:
        """Pulls of open phases that are not handed out."""
        return 0 if self._over else sum(phase.waiting for phase in self._open)

    @property
    def called_off(self) -> tuple[int, int]:
        """Pulls of phases that were in flight when the study was over, and those simulated."""
        if not self._over:
            return 0, 0
        return sum(phase.size for phase in self._open), sum(phase.told for phase in self._open)

    def take(self, n: int, first: set[int] | None = None) -> list[Pull]:
        """Hand out up to n pulls, those of older phases before others.

        Args:
            first: pairs whose pulls lead in phases not handed out yet.
        """
        with self.mutex:
            pulls: list[Pull] = []
            for phase in () if self._over else self._open:
                if first and phase.waiting == phase.size:
                    phase.put_first(first)
                pulls += map(self.pull, phase.take(n - len(pulls)))
            return pulls

    def pull(self, number: int) -> Pull:
        """Return a pull of an open phase."""
        phase = self._phase_of(number)
        assert phase is not None
        make = self._factories[phase.stored.index]
        return make(number, phase.stored.index, phase.pair(number), phase.block(number))

    def _phase_of(self, number: int) -> OpenPhase | None:
        return next((phase for phase in self._open if phase.holds(number)), None)

    def holds(self, number: int) -> bool:
        """Return whether this pull belongs to an open phase."""
        return self._phase_of(number) is not None

    def needs(self, number: int) -> bool:
        """Return whether this pull belongs to an open phase of a study that goes on, without a
        reward.
        """
        phase = self._phase_of(number)
        return not self._over and phase is not None and phase.needs(number)

    def was_called_off(self, number: int) -> bool:
        """Return whether the study was over before this pull had a reward."""
        phase = self._phase_of(number)
        return self._over and phase is not None and phase.needs(number)

    def give_back(self, numbers: Iterable[int]) -> None:
        """Let pulls that were handed out and came to nothing wait again."""
        with self.mutex:
            kept = list(numbers)
            for phase in self._open:
                phase.give_back(kept)

    def hold_back(self, numbers: set[int]) -> None:
        """Do not hand these out."""
        with self.mutex:
            for phase in self._open:
                phase.hold_back(numbers)

    def recall(self) -> None:
        """Return all pulls without a reward to the queue; plan the remaining phases."""
        with self.mutex:
            self._advance()
            self._open = [OpenPhase(phase.stored) for phase in self._open]

    def record(
        self,
        reports: Iterable[Report],
        final_failure: int | None = None,
        simulator: int | None = None,
    ) -> None:
        """Store the reports of pulls; rewards stored before stay.

        Args:
            simulator: the number of the rewards' simulator, from `use`.
            final_failure: a pull that will not be tried again, so that the study pauses.
        """
        with self.mutex:
            found = [(report, self._phase_of(report.id)) for report in reports]
            new = [(r, p) for r, p in found if p and p.needs(r.id) and not self._over]
            if new:
                new = [(self._costed(report), phase) for report, phase in new]
                kept = [report for report, _ in new]
                self.storage.record(kept, _by_phase(new), final_failure, simulator)
                self._simulators = self.storage.simulators()
                for report, phase in new:
                    if report.reward is not None:
                        phase.tell(report.id, Reading(report.reward, report.others), report.cost)
                self._advance()

    def _costed(self, report: Report) -> Report:
        """Return a report with the cost that the study asks for, if it is known."""
        asked = self.description.settings.cost
        if asked == "reported":
            return report
        timed = asked == "time" and report.started is not None
        seconds = max(report.finished - report.started, 0.0) if timed and report.started else None
        return report._replace(cost=seconds)

    def use(self, source: Source) -> int:
        """Return the number of the simulator that is used from now on; say so if it is another."""
        with self.mutex:
            before, known = self._simulators.first, self._simulators.known(source)
            if known is None:
                self.storage.add_simulator(source, self.told)
                self._simulators = self.storage.simulators()
                known = self._simulators[-1]
            if before is not None and known is not before and known.accepted is None:
                warnings.warn(
                    f"the simulator is not the one that gave the first of {self.told} rewards: "
                    f"{'; '.join(source.differences(before.source))}. What it gives is marked, and "
                    "the answer is not certified until the change is accepted with a reason",
                    SurefootWarning,
                    stacklevel=3,
                )
            return known.number

    def accept_change(self, reason: str) -> None:
        """Store why all changes of the simulator up to now make no difference to rewards."""
        with self.mutex:
            first = self._simulators.first
            pending = [one for one in self._simulators if one is not first and not one.accepted]
            if not reason.strip() or first is None or not pending:
                raise InputError(
                    "there is no change of the simulator to be accepted"
                    if reason.strip()
                    else "a change is accepted with a reason: say why rewards mean the same"
                )
            self.storage.accept_simulators([one.number for one in pending], reason.strip())
            self._simulators = self.storage.simulators()
            if self.state == "finished":
                self._set_state("finished", self.result.sentence)

    def record_losses(self, numbers: Iterable[int], error: str) -> None:
        """Count pulls whose worker died."""
        with self.mutex:
            self.storage.record_losses(numbers, error)

    def correct(self, rewards: Mapping[int, Reading]) -> None:
        """Replace rewards that were told, as long as nothing was concluded from them."""
        with self.mutex:
            for number in rewards:
                self._refuse_to_correct(number)
            phases = {number: self._phase_of(number) for number in rewards}
            was = {number: phase.reading(number) for number, phase in phases.items() if phase}
            self.storage.correct(was, rewards)
            for number, phase in phases.items():
                if phase:
                    phase.change(number, rewards[number])

    def _refuse_to_correct(self, number: int) -> None:
        if self.needs(number):
            raise InputError(f"pull {number} has no reward yet: tell it instead of correcting it")
        if self._over or not self.holds(number):
            raise InputError(
                f"the reward of pull {number} cannot be corrected: its phase has ended, and what "
                "was pulled since rests on it; start a new study"
            )

    def set_running(self, running: Iterable[Running]) -> None:
        """Store the pulls being simulated now, for readers of the study."""
        with self.mutex:
            self.storage.set_running(running)

    def pause(self, message: str) -> None:
        """Say in the file why the study does not go on by itself."""
        with self.mutex:
            self._set_state("paused", message)

    def resume(self) -> None:
        """Take up a study if it is paused: failed pulls may be tried again."""
        with self.mutex:
            if self.state == "paused":
                self.storage.release_failed()
                self._set_state("running", None)

    def change(self, settings: Mapping[str, Any]) -> None:
        """Go on with other settings that are no part of the question, and say so in the log."""
        with self.mutex:
            for name in settings.keys() - set(FREE_SETTINGS):
                raise InputError(
                    f"{name} is part of the question, so it cannot be changed: start a new study, "
                    f"or change {', '.join(sorted(FREE_SETTINGS))}"
                )
            asked = self.description.settings
            description = replace(self.description, settings=replace(asked, **settings))
            budget = description.settings.budget
            if budget is not None and budget < self._next_number:
                raise InputError(
                    f"budget={budget} is below the {self._next_number} pulls that "
                    f"were asked for already"
                )
            self._refuse_other_plans(description)
            said = [f"{name} from {getattr(asked, name)} to {settings[name]}" for name in settings]
            text = f"changed {', '.join(said)} after {self.told} rewards"
            self.storage.log(text, settings=description.to_entries()["settings"])
            self._set_state("running", None)
            self._load(description)

    def keep(self, configuration: dict[str, Any]) -> None:
        """Store the configuration that the study goes on with, unless it is the one stored."""
        with self.mutex:
            if configuration != self.storage.entries("configuration").get("configuration"):
                text = f"goes on with another configuration after {self.told} rewards"
                self.storage.log(text, configuration=configuration)
                self.command = Standing.from_entries(self.storage.entries()).how_to_go_on

    def snapshot(
        self, in_flight: int, pulls_per_second: float | None, trouble: str | None
    ) -> Snapshot:
        """Return how far the study is; an error if its file is gone."""
        self.storage.check_place()
        names = self.description.problem.arm_names
        last = self._run.history[-1] if self._run.history else None
        open_ = [] if self._over else self._open
        size, told = (open_[0].size, open_[0].told) if open_ else (0, 0)
        left = left_now(self.forecasts.latest, size - told, sum(phase.told for phase in open_))
        return Snapshot(
            told=self.told,
            phase=len(self._run.history),
            phase_pulls=size,
            phase_told=told,
            in_flight=in_flight,
            survivors=int(last.survivors.sum()) if last else len(names),
            leader=names[last.leader] if last else None,
            expected_left=left,
            pulls_per_second=pulls_per_second,
            trouble=trouble,
            near_tie=is_near_tie(self.told, left, self.description.settings),
        )

    _open: list[OpenPhase]  # the oldest first; called off once the study is over
    _over: bool
    _unnoted: tuple[int, Result, Note] | None  # a phase that was closed with a brief note

    def _load(self, description: Description) -> None:
        """Feed the stored phases, and go on with the open one or plan the next."""
        self.description, self._run = description, Run(description, self._own_algorithm)
        self._factory = PullFactory(description.problem, description.id, description.seed)
        self._factories: dict[int, PullFactory] = {}
        self._next_number, self._over, self._unnoted = 0, False, None
        unfinished = self._run.feed(self._counted(self.storage.phases()))
        if self._run.history and (known := self._noted()):
            self.forecasts.latest = known.expected_left
        self._open = [self._opened(OpenPhase(stored)) for stored in unfinished]
        self._plan()
        self._advance()
        self.note_last()

    def _counted(self, phases: Iterable[StoredPhase]) -> Iterator[StoredPhase]:
        for phase in phases:
            self._next_number = phase.first_pull + len(phase.pairs)
            yield phase

    def _advance(self) -> None:
        """Draw the conclusions from complete phases, in their order and each before the next phase
        is planned; may be called again if a write failed.
        """
        while not self._over and self._open and not self._open[0].missing:
            stored = self._open[0].stored
            if len(self._run.history) == stored.index:
                self.note_last()
                origins = self.storage.origins(stored.first_pull, len(stored.pairs))
                self._run.take(stored, origins)
            assert self._run.ending is not None
            result = self._run.result
            brief = Note.of(replace(result, confidence_later=None))
            self.storage.finish_phase(stored.index, brief.to_json(), self._run.ending)
            self._unnoted = stored.index, result, brief
            self._open.pop(0)
            self._plan()

    def note_last(self) -> None:
        """Store the slow part of the last closed phase's note: no pull of the next phase should
        wait for it.
        """
        with self.mutex:
            if self._unnoted is None:
                return
            index, result, brief = self._unnoted
            sure = {"sentence": result.sentence, "attained_confidence": result.attained_confidence}
            note = brief.model_copy(update=sure)
            if self.forecasts.wanted:
                note = note.with_forecast(self.forecasts.after_phase(self._run.algorithm))
            self.storage.change_note(index, note.to_json())
            self._unnoted = None

    def _plan(self) -> None:
        """Store the next phases, or the end of the study."""
        while phase := self._run.plan(len(self._run.history) + len(self._open), self._next_number):
            self.storage.add_phase(phase.stored)
            self._next_number += phase.size
            self._open.append(self._opened(phase))
        if self._run.next_phase() is None:
            self._over = True
            self._finish()

    def _opened(self, phase: OpenPhase) -> OpenPhase:
        """Let pulls have the streams of a phase."""
        seed = self._run.seed_of(phase.stored)
        self._factories[phase.stored.index] = self._factory.seeded(seed)
        return phase

    def _finish(self) -> None:
        self._unnoted = None
        if self.state != "finished":
            self.forecasts.latest = 0.0
            note = Note.of(self._run.result)
            if self._run.history:
                note = self._note_phase(note.with_forecast(0.0))
            self.storage.set_entries(result=note.to_dict())
            self._set_state("finished", self.result.sentence)

    def _noted(self) -> Note | None:
        """Return the note of the last complete phase."""
        found = self.storage.notes(since=len(self._run.history) - 1)
        return Note.from_json(found[0]) if found else None

    def _note_phase(self, note: Note) -> Note:
        """Store a note on the last complete phase, for readers."""
        self.storage.change_note(len(self._run.history) - 1, note.to_json())
        return note

    def _refuse_other_plans(self, description: Description) -> None:
        if self.description.boundary is not None:
            return
        try:
            refuse_another_plan(description, self._own_algorithm, self.storage.phases())
        except InputError:
            raise InputError(
                f"{self.description.algorithm} planned with its budget of "
                f"{self.description.settings.budget}, so it cannot be changed: start a new study"
            ) from None

    def _set_state(self, state: State, message: str | None) -> None:
        self.state, self.message = state, message
        self.storage.set_entries(state=state, message=message)


def _by_phase(reports: Iterable[tuple[Report, OpenPhase]]) -> dict[int, tuple[int, float]]:
    """Return how many of some rewards are of each phase, and the cost of these pulls."""
    found: dict[int, tuple[int, float]] = {}
    for report, phase in reports:
        if report.reward is not None:
            told, spent = found.get(phase.stored.index, (0, 0.0))
            found[phase.stored.index] = told + 1, spent + (report.cost or 0.0)
    return found
