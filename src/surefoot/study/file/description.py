"""A study's question: all that does not change while it runs, and its form in the file."""

from __future__ import annotations

import math
import numbers
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from functools import cached_property
from importlib.metadata import version
from typing import Any, Literal, get_args

from surefoot.algorithms import Algorithm, Result, Settings, stored_algorithm
from surefoot.algorithms.planner import Planner
from surefoot.algorithms.settings import FREE_SETTINGS, QUESTION
from surefoot.arrays import Array
from surefoot.certify import Boundary, LimitedCertifier
from surefoot.errors import InputError, StudyFileError
from surefoot.guides import GUIDES
from surefoot.limits import limits_to_plain
from surefoot.noise import Noise, noise_from_dict
from surefoot.problem.problem import RobustProblem
from surefoot.statistics import Outcome, charged
from surefoot.study.file.chain import Sealed, head_of, order_of, rewards_of
from surefoot.study.file.encoding import boundary_from_dict, boundary_to_dict
from surefoot.study.file.storage import StoredPhase
from surefoot.study.input import Outputs, Reading, Simulated, column, finite_reward, looked_up

Direction = Literal["maximize", "minimize"]
OnIdentical = Literal["refuse", "accept"]
OnFailure = Literal["retry", "worst"] | float
# what comes of values that are not what was written
UNREADABLE = (ValueError, TypeError, KeyError, IndexError, AttributeError, ArithmeticError)
NO_MODEL = "inf"  # an infinite misfit in a file: JSON has no such number


@dataclass(frozen=True, eq=False)
class Description:
    """The question of a study: all that does not change while it runs.

    Attributes:
        id: a random identifier; each pull carries it.
        direction: "minimize" turns the sign of every reward on its way to the algorithm; files keep
            it as measured.
        seed: from which each pull's random stream is derived.
        on_identical: the reaction if all pulls of a pair give one reward; see `Replicates`.
        boundary: of the kernel; None if the algorithm draws its own conclusions.
        on_failure: the reward that a failed pull counts as; None: it is tried again.
    """

    id: str
    name: str
    problem: RobustProblem
    settings: Settings
    algorithm: str
    options: dict[str, Any]
    direction: Direction
    seed: int
    versions: dict[str, str]
    on_identical: OnIdentical
    boundary: Boundary | None
    on_failure: float | None

    @classmethod
    def fresh(
        cls,
        name: str,
        problem: RobustProblem,
        settings: Settings,
        algorithm: Algorithm,
        *,
        direction: Direction,
        seed: int | None,
        on_identical: OnIdentical,
        on_failure: OnFailure = "retry",
    ) -> Description:
        """Return the description of a new study, with an identifier, and a seed if none is
        given.
        """
        if direction not in ("maximize", "minimize"):
            raise InputError(
                f'direction={direction!r} is not known: choose "maximize" or "minimize"'
            )
        if on_identical not in ("refuse", "accept"):
            raise InputError(
                f'on_identical={on_identical!r} is not known: choose "refuse" or "accept"'
            )
        if settings.baseline is not None:
            problem.arm_named(settings.baseline)
        outputs_needed(settings)  # refuses limits without an objective
        made = cls(
            id=secrets.token_hex(8),
            name=name,
            problem=problem,
            settings=settings,
            algorithm=algorithm.name,
            options=algorithm.options(),
            direction=direction,
            seed=secrets.randbits(128) if seed is None else _whole_seed(seed),
            versions=versions_here(),
            on_identical=on_identical,
            boundary=None,
            on_failure=_counted_as(on_failure, settings, direction),
        )
        return replace(made, boundary=_boundary_of(made.start(algorithm)))

    @property
    def sign(self) -> int:
        """The factor that makes a stored reward one to be maximised."""
        return 1 if self.direction == "maximize" else -1

    @property
    def signed_settings(self) -> Settings:
        """The settings for rewards that are to be maximised, as an algorithm sees them."""
        noise = self.settings.noise
        return replace(self.settings, noise=noise if self.sign > 0 else noise.negated())

    def measured(self, result: Result) -> Result:
        """Return a result of the algorithm in the unit in which pulls are measured."""
        return result if self.sign > 0 else result.turned(self.settings)

    @cached_property
    def outputs(self) -> Outputs:
        """The outputs that every pull must have."""
        return outputs_needed(self.settings)

    def reading(self, pull: int, given: Simulated) -> Reading:
        """Return a pull's reading, as measured; refuse outputs that the study excludes."""
        try:
            reading = self.outputs.read(given)
        except InputError as error:
            raise InputError(f"pull {pull}: {error}") from None
        self._refuse_outside(self.settings.noise, f"the reward of pull {pull}", reading.reward)
        if isinstance(given, Mapping):
            for limit in self.settings.limits:
                what = f"output {limit.output!r} of pull {pull}"
                self._refuse_outside(limit.noise, what, given[limit.output])
        return reading

    def _refuse_outside(self, noise: Noise, what: str, value: float) -> None:
        limits = noise.limits
        if limits is not None and not limits[0] <= value <= limits[1]:
            raise InputError(
                f"{what} is {value:g}, but the study says that all lie between "
                f"{limits[0]:g} and {limits[1]:g}: mend the simulator, or start a new study with "
                "the true range; this reward is not stored, and no other is lost"
            )

    def differences(self, other: Description) -> set[str]:
        """Return the parts of the question in which another study differs, by the names of its
        settings.
        """
        here, there = _settings_to_dict(self.settings), _settings_to_dict(other.settings)
        found = {each.name for each in QUESTION if here[each.name] != there[each.name]}
        if self.problem.to_dict() != other.problem.to_dict():
            found.add("arms, perturbations or features")
        if (self.algorithm, self.options) != (other.algorithm, other.options):
            found.add("algorithm")
        parts = ("direction", "seed", "on_identical", "on_failure")
        return found | {name for name in parts if getattr(self, name) != getattr(other, name)}

    def changes(self, settings: Settings) -> dict[str, Any]:
        """Return those of some settings that may change while a study goes on, and do."""
        wanted = {name: getattr(settings, name) for name in FREE_SETTINGS}
        return {k: v for k, v in wanted.items() if v != getattr(self.settings, k)}

    def to_entries(self) -> dict[str, Any]:
        """Return it as plain values for the study file."""
        return {
            "id": self.id,
            "name": self.name,
            "problem": self.problem.to_dict(),
            "settings": _settings_to_dict(self.settings),
            "algorithm": self.algorithm,
            "options": self.options,
            "direction": self.direction,
            "seed": str(self.seed),  # beyond 64 bits: as text, every JSON reader keeps it
            "versions": self.versions,
            "on_identical": self.on_identical,
            "boundary": None if self.boundary is None else boundary_to_dict(self.boundary),
            "on_failure": self.on_failure,
        }

    @cached_property
    def head(self) -> bytes:
        """The digest of the question, with which the chain of a study's phases begins."""
        settings = _settings_to_dict(self.settings)
        usual = _settings_to_dict(Settings(delta=self.settings.delta, noise=self.settings.noise))
        question = {
            "problem": self.problem.to_dict(),
            **{
                each.name: settings[each.name]
                for each in QUESTION
                if settings[each.name] != usual[each.name]
                or not each.metadata.get("named if given")
            },
            "direction": self.direction,
            "seed": str(self.seed),
            "on_identical": self.on_identical,
            "boundary": None if self.boundary is None else boundary_to_dict(self.boundary),
        }
        if self.on_failure is not None:
            question |= {"on_failure": self.on_failure}
        if self.boundary is None:
            question |= {"algorithm": self.algorithm, "options": self.options}
        return head_of(question)

    @classmethod
    def from_entries(cls, entries: dict[str, Any]) -> Description:
        """Rebuild a description from `to_entries`."""
        missing = [field.name for field in fields(cls) if field.name not in entries]
        if missing:
            raise StudyFileError(
                f"the study file is damaged: it lacks {', '.join(missing)}; restore it from a copy"
            )
        try:
            return cls._rebuilt(entries)
        except UNREADABLE as error:
            raise StudyFileError(
                f"the study file is damaged: what was asked cannot be read ({error!s:.200}); "
                "restore it from a copy"
            ) from None

    @classmethod
    def _rebuilt(cls, entries: dict[str, Any]) -> Description:
        if not all(isinstance(entries[key], str) for key in ("id", "name", "algorithm")):
            raise TypeError("a name is no text")
        if entries["direction"] not in get_args(Direction):
            raise ValueError(f"direction is {entries['direction']!r}")
        if entries["on_identical"] not in get_args(OnIdentical):
            raise ValueError(f"on_identical is {entries['on_identical']!r}")
        boundary, counted = entries["boundary"], entries["on_failure"]
        return cls(
            id=entries["id"],
            name=entries["name"],
            problem=RobustProblem.from_dict(entries["problem"]),
            settings=_settings_from_dict(entries["settings"]),
            algorithm=entries["algorithm"],
            options=dict(entries["options"]),
            direction=entries["direction"],
            seed=_whole_seed(int(entries["seed"])),
            versions=dict(entries["versions"]),
            on_identical=entries["on_identical"],
            boundary=None if boundary is None else boundary_from_dict(boundary),
            on_failure=None if counted is None else float(counted),
        )

    def start(self, algorithm: Algorithm | None = None) -> Algorithm:
        """Return a fresh run; `algorithm` is needed only for one that surefoot does not ship."""
        chosen = algorithm or self._shipped()
        if chosen.name != self.algorithm or chosen.options() != self.options_of(type(chosen)):
            raise InputError(
                f"the study was made with {self.algorithm!r} and options "
                f"{self.options}, not with {chosen.name!r} and "
                f"{chosen.options()}: give the same algorithm, or start a new study"
            )
        return chosen.start(self.problem, _with_guide(self.signed_settings), self.boundary)

    def going_on_with(self, algorithm: Algorithm | None) -> Description:
        """Return the question with another planner: with a kernel, any planner may go on."""
        if self.boundary is None or not isinstance(algorithm, Planner):
            return self
        return replace(self, algorithm=algorithm.name, options=algorithm.options())

    def outcome(self, phase: StoredPhase) -> Outcome:
        """Return the outcome of a complete phase, summed and put into batches in the order of the
        pulls' numbers, not that of arrival.
        """
        n_pairs = self.problem.n_pairs
        rewards = self.sign * phase.rewards
        others = {name: self._output(phase, name) for name in self.outputs.limited}
        phase_of = phase.layout(n_pairs)
        outcome = Outcome.from_rewards(phase_of, n_pairs, phase.pairs, rewards, others)
        if self.settings.cost is None or phase.costs is None:
            return outcome
        return replace(outcome, charged=charged(n_pairs, phase.pairs, phase.costs))

    def _output(self, phase: StoredPhase, name: str) -> Array:
        """Return (n_pulls,) one output, as measured."""
        return phase.rewards if name == self.outputs.objective else column(phase.others, name)

    def sealed(self, phase: StoredPhase, outcome: Outcome | None = None) -> Sealed:
        """Return a closed phase with digests of its contents, and the stored digests.

        Args:
            outcome: of the phase, if it is known already.
        """
        ending = phase.ending
        if ending is None or not phase.usable:
            raise StudyFileError(
                f"the study file is damaged: phase {phase.index} was closed without all of its "
                "rewards; restore it from a copy"
            )
        return Sealed(
            phase=phase.layout(self.problem.n_pairs),
            commitment=phase.commitment,
            limits=ending.limits,
            origins=phase.origins,
            outcome=self.outcome(phase) if outcome is None else outcome,
            order=order_of(phase.pairs),
            rewards=rewards_of(phase.rewards, phase.others),
            plan=phase.plan,
            link=phase.link,
            kept_rewards=ending.rewards,
            closing=ending.closing,
        )

    def options_of(self, algorithm: type[Algorithm]) -> dict[str, Any]:
        """Return all options: those that came after the file was made have their defaults."""
        return algorithm.from_options(self.options).options()

    def _shipped(self) -> Algorithm:
        try:
            return stored_algorithm(self.algorithm, self.options)
        except InputError as error:
            raise InputError(
                f"{error}. If it is your own, give it: Study.open(path, algorithm=YourAlgorithm(…))"
            ) from None


def _counted_as(given: OnFailure, settings: Settings, direction: Direction) -> float | None:
    """Return the reward that a failed pull counts as; None if it is tried again."""
    if given == "retry":
        return None
    if settings.objective is not None:
        raise InputError(
            f"on_failure={given!r:.60} is one reward, but simulations have several outputs: return "
            "what a failed one counts as from the simulator"
        )
    limits = settings.noise.limits
    if given == "worst" and limits is not None:
        return float(limits[0] if direction == "maximize" else limits[1])
    try:
        counted = finite_reward(0, given)
    except InputError:
        raise InputError(
            f'on_failure={given!r:.60} is not known: choose "retry", the reward that a failed pull '
            'counts as, or "worst" where noise=Bounded(low, high) says what that is'
        ) from None
    if limits is not None and not limits[0] <= counted <= limits[1]:
        raise InputError(
            f"on_failure={counted:g} is no reward between {limits[0]:g} and {limits[1]:g}, as "
            "noise says that all are: give one, or a wider range"
        )
    return counted


def versions_here() -> dict[str, str]:
    """Return the versions of all that plans."""
    return {package: version(package) for package in ("surefoot", "numpy", "scipy")}


def _boundary_of(run: Algorithm) -> Boundary | None:
    """Return the boundary of a run's kernel; None where there is nothing to decide."""
    if not (isinstance(run, Planner) and hasattr(run, "certifier")):
        return None
    kernel = run.certifier
    return kernel.whole if isinstance(kernel, LimitedCertifier) else kernel.walks.boundary


def outputs_needed(settings: Settings) -> Outputs:
    """Return the outputs that every pull of a study must have."""
    limited = dict.fromkeys(limit.output for limit in settings.limits)
    return Outputs(settings.objective, tuple(limited))


def _settings_to_dict(settings: Settings) -> dict[str, Any]:
    """Return settings as plain values that JSON knows: ∞ as text."""
    plain = {field.name: getattr(settings, field.name) for field in fields(settings)}
    return plain | {
        "noise": settings.noise.to_dict(),
        "misfit": settings.misfit if settings.modelled else NO_MODEL,
        "measure": settings.measure.to_plain(),
        "limits": limits_to_plain(settings.limits),
        "guide": _guide_to_store(settings.guide),
    }


def _settings_from_dict(stored: dict[str, Any]) -> Settings:
    """Rebuild settings from `settings_to_dict`."""
    misfit = math.inf if stored["misfit"] == NO_MODEL else stored["misfit"]
    return Settings(
        **(dict(stored) | {"noise": noise_from_dict(stored["noise"]), "misfit": misfit})
    )


def _with_guide(settings: Settings) -> Settings:
    """Return the settings with the guide itself in the place of its name."""
    return replace(settings, guide=_guide_from(_guide_to_store(settings.guide)))


def _guide_to_store(guide: Any) -> str | None:
    if guide is None or (isinstance(guide, str) and (guide in GUIDES or ":" in guide)):
        return guide
    raise InputError(
        f"guide={guide!r:.80} cannot be kept in a study file: give the name of one "
        f'({", ".join(map(repr, GUIDES))}), or where to find your own, as "module:attribute"'
    )


def _guide_from(guide: str | None) -> Any:
    """Return the object that "module:attribute" names, and other names as they are."""
    if guide is None or ":" not in guide:
        return guide
    found = looked_up(guide, "guide")
    return found() if isinstance(found, type) else found


def _whole_seed(seed: Any) -> int:
    """Return a seed as an int."""
    if not isinstance(seed, numbers.Integral) or isinstance(seed, bool) or seed < 0:
        raise InputError(f"seed={seed!r} must be a whole number ≥ 0, or None for a fresh one")
    return int(seed)
