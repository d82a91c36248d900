"""The settings of every run, and an algorithm's own options as plain values for files."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from numbers import Real
from typing import TYPE_CHECKING, Any, Literal, TypedDict, TypeVar

import numpy as np

from surefoot.errors import InputError
from surefoot.limits import limits_from
from surefoot.noise import USAGE, Noise
from surefoot.problem.coding import exact_number, probability
from surefoot.problem.measures import Worst, measure_from
from surefoot.problem.problem import RobustProblem
from surefoot.statistics import MOST_PULLS

if TYPE_CHECKING:
    from surefoot.algorithms.base import Algorithm

SMALLEST_DELTA = 1e-12  # a quadrature that misses 1e-17 of a walk still resolves the error of looks
LARGEST_SCALE = 1e75  # fourth powers and their inverses are finite
SMALLEST_RAREST = 1e-9
MOST_PARALLEL = 1_000_000
SPARE = 0.3
IN_FLIGHT, MOST_IN_FLIGHT = 2, 100  # phases, where there are several workers; and at most


FREE = {"free": True}  # may change while a study goes on: it is no part of the question
# a digest of the question names it where it is not the default alone, as it must every setting that
# a later version adds
NAMED_IF_GIVEN = {"named if given": True}


class Asked(TypedDict, total=False):
    """The settings that may be left out, as keyword arguments; `Settings` describes them."""

    rules: Literal["valid", "paper"]
    tolerance: float
    budget: int | None
    on_misfit: Literal["reject", "ignore"]
    misfit: float
    measure: Any
    limits: Any
    guide: Any
    common_random_numbers: bool | Literal["auto"]
    aim: Literal["certify", "guess", "beat baseline"]
    gain: float
    objective: str | None
    rarest: float | None
    unseen: float | None
    parallel: int
    in_flight: int | None
    cost: Literal["time", "reported"] | None


@dataclass(frozen=True, kw_only=True)
class Settings:
    """The question that every run is asked.

    Attributes:
        delta: the probability with which a certified answer may be wrong.
        noise: the model of the noise.
        rules: "valid" (what the proofs need) or "paper" (the paper's rules to the letter).
        tolerance: an arm this close to the best robust value is good enough.
        budget: no more pulls than this.
        on_misfit: "reject" withholds the certificate when the linear model is rejected; "ignore"
            does not.
        misfit: how far the mean reward of a pair may be from the linear model, in the unit of the
            rewards; the certificate holds for every such reward. 0: the model is exact. ∞: there is
            no model, and pairs are compared directly.
        measure: an arm's value: "worst", the least mean over its perturbations; "mean"; a
            mean by weights, {"as planned": 0.7, "flu": 0.3}; or CVaR(0.2), the mean of the worst
            fifth.
        limits: of further outputs, which an arm must keep to qualify, as `Limit` or by name:
            {"failures": {"at_most": 0.01}}. The best arm of those that qualify is found.
        guide: guesses the means where there is no model: a name, a `Guide`, a regressor, or
            None for the default.
        common_random_numbers: whether pulls of different pairs share random streams: True, False,
            or "auto", which decides phase by phase.
        aim: "certify" stops when it is sure which arm is best. "beat baseline" stops as soon as an
            arm is shown to be as good as the baseline, or better by `gain`. "guess" spends the
            whole budget so that the best guess is most likely right, unless it is sure before.
        objective: the name of the output that an arm is to be best in, where simulations have
            several. None: they have one, without a name.
        rarest: no pair decides before it was pulled so often that an event of this probability was
            seen with probability 1 − delta. None: pairs decide as soon as their evidence suffices.
        unseen: goes on until an event that was never seen would have to cost more than this to
            change the answer, by lower bounds of leads, as far as the budget allows. None: never.
        parallel: workers that phases are large enough for. It is part of the question: the answer
            never depends on how many workers there really are.
        gain: by how much an arm must be better than the baseline where only that is asked, in the
            unit of the rewards; below 0: it may be worse by so much.
        baseline: the name of the arm that is used today, if there is one: the result says how far
            ahead of it the best arm is at least.
        in_flight: phases that may be pulled at the same time. Each is chosen without the rewards of
            incomplete ones before it, so no worker waits for the last pull of a phase. None: 1 for
            one worker, else 2.
        cost: the quantity to be small. None: the number of pulls. "time": the sum of their lengths.
            "reported": the sum of the costs that the simulator reports by `pull.charge`. Costs are
            learnt from pulls of earlier phases, and decide nothing but where pulls go.
    """

    delta: float
    noise: Noise
    rules: Literal["valid", "paper"] = "valid"
    tolerance: float = 0.0
    budget: int | None = field(default=None, metadata=FREE)
    on_misfit: Literal["reject", "ignore"] = "reject"
    misfit: float = math.inf
    measure: Any = field(default="worst", metadata=NAMED_IF_GIVEN)
    limits: Any = field(default=(), metadata=NAMED_IF_GIVEN)
    guide: Any = field(default=None, metadata=FREE)
    common_random_numbers: bool | Literal["auto"] = False
    aim: Literal["certify", "guess", "beat baseline"] = field(
        default="certify", metadata=NAMED_IF_GIVEN
    )
    gain: float = field(default=0.0, metadata=NAMED_IF_GIVEN)
    objective: str | None = field(default=None, metadata=NAMED_IF_GIVEN)
    rarest: float | None = None
    unseen: float | None = field(default=None, metadata=FREE)
    parallel: int = field(default=1, metadata=FREE)
    baseline: str | None = None
    in_flight: int | None = field(default=None, metadata=FREE)
    cost: Literal["time", "reported"] | None = field(default=None, metadata=FREE)

    def __post_init__(self) -> None:
        """Check everything, and keep plain numbers: study files hold nothing else."""
        self._set(delta=usable_delta(self.delta))
        if not isinstance(self.noise, Noise):
            raise InputError(
                f"noise={self.noise!r} does not say what is known about the noise: "
                f"give surefoot.{USAGE}"
            )
        _require_computable(self.noise)
        if self.rules not in ("valid", "paper"):
            raise InputError(f'rules={self.rules!r:.60} is not known: choose "valid" or "paper"')
        self._set(
            tolerance=_amount("tolerance", self.tolerance),
            misfit=_misfit(self.misfit),
            measure=measure_from(self.measure),
            limits=limits_from(self.limits),
            budget=_budget(self.budget),
        )
        self._set(parallel=_whole("parallel", self.parallel, "workers", MOST_PARALLEL))
        usual = 1 if self.parallel == 1 else IN_FLIGHT
        phases = usual if self.in_flight is None else self.in_flight
        self._set(in_flight=_whole("in_flight", phases, "phases", MOST_IN_FLIGHT))
        if self.on_misfit not in ("reject", "ignore"):
            raise InputError(
                f'on_misfit={self.on_misfit!r} is not known: choose "reject" or "ignore"'
            )
        if self.guide is not None and self.modelled:
            raise InputError(
                f"misfit={self.misfit:g} trusts a model, which is its own guide: leave guide out, "
                "or give misfit=math.inf"
            )
        if self.cost not in (None, "time", "reported"):
            raise InputError(
                f'cost={self.cost!r:.60} is not known: choose "time", the lengths of pulls, or '
                '"reported", what the simulator gives to pull.charge'
            )
        self._check_streams()
        self._check_aim()
        self._check_objective()
        self._check_limits()
        self._check_combinations()
        self._check_unseen()

    @property
    def phases_in_flight(self) -> int:
        """Phases that may be pulled at the same time."""
        assert self.in_flight is not None  # since it was checked
        return self.in_flight

    @property
    def least_pulls(self) -> int:
        """Pulls of a phase at least, for the sake of workers.

        Where lengths vary as exponential ones do, the last of W pulls ends ln W lengths after the
        first. A share of that, and one pull each, is enough for workers to go on with.
        """
        return round(self.parallel * (1 + SPARE * math.log(self.parallel)))

    @property
    def modelled(self) -> bool:
        """True if the certificate relies on the linear model, as far as `misfit` says."""
        return math.isfinite(self.misfit)

    @property
    def worst_case(self) -> bool:
        """True if an arm's value is its worst case over the perturbations."""
        return isinstance(self.measure, Worst)

    def _check_aim(self) -> None:
        if self.aim not in ("certify", "guess", "beat baseline"):
            raise InputError(
                f'aim={self.aim!r:.60} is not known: choose "certify", "guess" or "beat baseline"'
            )
        self._set(gain=_finite("gain", self.gain))
        self._check_baseline()
        if self.aim == "guess" and (self.budget is None or self.modelled):
            raise InputError(
                'aim="guess" spends a budget on direct comparisons: give budget and misfit=math.inf'
            )

    def _check_objective(self) -> None:
        name = self.objective
        if name is not None and (not isinstance(name, str) or not name or name != name.strip()):
            raise InputError(
                f'objective={name!r:.60} is no name of an output: give text, such as "cost"'
            )

    def _check_baseline(self) -> None:
        if self.aim != "beat baseline":
            if self.gain:
                raise InputError('gain is for aim="beat baseline" alone: leave it at 0')
            return
        if self.baseline is None:
            raise InputError('aim="beat baseline" needs baseline, the name of the arm of today')

    def _check_unseen(self) -> None:
        if self.rarest is not None:
            self._set(rarest=_rarest(self.rarest))
        if self.unseen is not None:
            self._set(unseen=_amount("unseen", self.unseen))
        for name in ("rarest", "unseen"):
            if getattr(self, name) is None:
                continue
            if self.modelled:
                raise InputError(
                    f"{name} counts the pulls of pairs that are compared directly: leave it out, "
                    "or give misfit=math.inf"
                )
            if self.noise.limits is not None:
                raise InputError(
                    f"the range of the rewards is known, so the certificate holds whatever is "
                    f"rare: leave {name} out"
                )

    def _check_limits(self) -> None:
        for limit in self.limits:
            _require_computable(limit.noise)
            if self.common_random_numbers and not limit.noise.allows_sharing:
                raise InputError(
                    f"common random numbers make pulls dependent, and the limit of "
                    f"{limit.output!r} has {limit.noise}: give it Gaussian() or Bounded(low, "
                    "high), or leave common_random_numbers out"
                )

    def _check_combinations(self) -> None:
        """Refuse settings that exclude each other; the first one is named as it is written."""
        written = {
            "misfit": f"misfit={self.misfit:g}" if self.modelled else None,
            "limits": "limits" if self.limits else None,
            "guide": None if self.guide is None else "a guide",
            "streams": (
                'common_random_numbers="auto"' if self.common_random_numbers == "auto" else None
            ),
            "guess": 'aim="guess"' if self.aim == "guess" else None,
            "unseen": None if self.unseen is None else "unseen",
            "rarest": None if self.rarest is None else "rarest",
            "tolerance": "tolerance" if self.tolerance > 0 else None,
            "cost": None if self.cost is None else f"cost={self.cost!r}",
        }
        for applies, names, sentence in _EXCLUDED:
            given = [written[name] for name in names if written[name] is not None]
            if given and applies(self):
                raise InputError(sentence.format(given[0]))

    def _check_streams(self) -> None:
        choice = self.common_random_numbers
        if not isinstance(choice, bool) and choice != "auto":
            raise InputError(
                f'common_random_numbers={choice!r:.60} is not known: choose True, False or "auto"'
            )
        if choice is not False and (self.modelled or not self.noise.allows_sharing):
            raise InputError(
                "common random numbers make pulls dependent, which only direct comparisons of "
                "batches allow: give misfit=math.inf and noise=Gaussian() or Bounded(low, high)"
            )

    def _set(self, **values: Any) -> None:
        for name, value in values.items():
            object.__setattr__(self, name, value)


QUESTION = [each for each in fields(Settings) if not each.metadata.get("free")]
FREE_SETTINGS = [each.name for each in fields(Settings) if each.metadata.get("free")]

# when settings exclude others, those that are excluded, and the sentence that says so
_EXCLUDED: tuple[tuple[Callable[[Settings], bool], tuple[str, ...], str], ...] = (
    (
        lambda asked: asked.aim == "beat baseline",
        ("misfit", "limits", "guide", "streams", "unseen", "rarest", "tolerance", "cost"),
        'aim="beat baseline" compares pairs, and does not go with {}: leave one of the two out',
    ),
    (
        lambda asked: not asked.worst_case,
        ("guess", "streams", "rarest", "unseen", "guide"),
        '{} is for the best worst case: leave it out, or measure at "worst"',
    ),
    (
        lambda asked: bool(asked.limits),
        ("guess", "streams", "rarest", "unseen", "guide", "cost", "misfit"),
        "{} does not go with limits, for which outputs are compared directly: leave one of the two "
        "out",
    ),
)


def usable_delta(given: Any) -> float:
    """Return δ as a float, if boundaries can be worked out for it."""
    number = probability(given)
    if number < SMALLEST_DELTA:
        raise InputError(
            f"delta={given!r} is too small to work out boundaries for: give {SMALLEST_DELTA:g} "
            "or more"
        )
    return number


def _amount(name: str, given: Any, otherwise: str = "") -> float:
    """Return a number in the unit of rewards, 0 or more."""
    try:
        number = exact_number(given)
    except InputError:
        number = -1.0
    if not 0 <= number <= LARGEST_SCALE:
        raise InputError(
            f"{name}={given!r:.60} must be a number ≥ 0, in the unit of the rewards, "
            f"and at most {LARGEST_SCALE:g}{otherwise}"
        )
    return number


def _finite(name: str, given: Any) -> float:
    try:
        number = exact_number(given)
    except InputError:
        raise InputError(
            f"{name}={given!r:.60} must be a number, in the unit of the rewards"
        ) from None
    if abs(number) > LARGEST_SCALE:
        raise InputError(f"{name}={given!r:.60} must be {LARGEST_SCALE:g} in size at most")
    return number


def _rarest(given: Any) -> float:
    try:
        number = exact_number(given)
    except InputError:
        number = 0.0
    if not SMALLEST_RAREST <= number < 1:
        raise InputError(
            f"rarest={given!r:.60} is not the probability of an event: 0.02 is what happens in 1 "
            f"of 50 pulls; give {SMALLEST_RAREST:g} or more, below 1"
        )
    return number


def _misfit(given: Any) -> float:
    if isinstance(given, Real) and given == math.inf:
        return math.inf
    return _amount("misfit", given, ", or math.inf for no model")


def _budget(given: Any) -> int | None:
    if given is None:
        return None
    try:
        number = exact_number(given)
    except InputError:
        number = -1.0
    if number != int(number) or not 0 <= number <= MOST_PULLS:
        raise InputError(
            f"budget={_shortened(given)} must be a whole number of pulls from 0 to "
            f"{MOST_PULLS:,}, or None for no limit"
        )
    return int(number)


def _whole(name: str, given: Any, what: str, most: int) -> int:
    try:
        number = exact_number(given)
    except InputError:
        number = 0.0
    if number != int(number) or not 1 <= number <= most:
        raise InputError(
            f"{name}={given!r:.60} must be a whole number of {what} from 1 to {most:,}"
        )
    return int(number)


def _shortened(given: Any) -> str:
    too_long = isinstance(given, int) and abs(given) >= 10**40
    return "a number of over 40 digits" if too_long else f"{given!r:.60}"


def _require_computable(noise: Noise) -> None:
    """Refuse scales whose squares, or the inverses of these, are not finite."""
    if noise.span is None:
        return
    smallest, largest = noise.span
    if smallest < 1 / LARGEST_SCALE or largest > LARGEST_SCALE:
        raise InputError(
            f"the noise has scales from {smallest:g} to {largest:g}: measure rewards in "
            f"a unit in which they lie between {1 / LARGEST_SCALE:g} and {LARGEST_SCALE:g}"
        )


T = TypeVar("T", bound="Algorithm")


def as_plain(options: Any) -> dict[str, Any]:
    """Return the fields of a dataclass as JSON knows them, nested ones too."""
    return {field.name: _plain(getattr(options, field.name)) for field in fields(options)}


def _plain(value: Any) -> Any:
    if is_dataclass(value) and not isinstance(value, type):
        return as_plain(value)
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    return [_plain(entry) for entry in value] if isinstance(value, tuple | list) else value


def built(cls: type[T], options: Mapping[str, Any]) -> T:
    """Return an algorithm with these options."""
    try:
        return cls(**options)
    except TypeError as error:
        known = list(inspect.signature(cls).parameters)
        unknown = ", ".join(repr(name) for name in options if name not in known)
        wrong = f"{unknown}; it has {', '.join(known) or 'none'}" if unknown else error
        raise InputError(f"algorithm {cls.name!r} does not take these options: {wrong}") from None


def default_misfit(algorithm: Algorithm) -> float:
    """Return the default misfit: 0 for algorithms that rely on a model, else ∞."""
    return math.inf if "no model" in algorithm.supports else 0.0


def refuse_unsupported(algorithm: Algorithm, settings: Settings) -> None:
    """Say which of the settings the algorithm cannot do."""
    needed = {
        "unknown scale": not settings.noise.known,
        "parallel": settings.parallel > 1,
        "in_flight": settings.phases_in_flight > 1,
        "no model": not settings.modelled,
        "paper rules": settings.rules == "paper",
        "tolerance": settings.tolerance > 0,
        "misfit": settings.modelled and settings.misfit > 0,
        "measure": not settings.worst_case,
        "limits": bool(settings.limits),
        "rarest": settings.rarest is not None,
        "unseen": settings.unseen is not None,
        "cost": settings.cost is not None,
        "beat baseline": settings.aim == "beat baseline",
        "guess": settings.aim == "guess",
    }
    for ability, is_needed in needed.items():
        if is_needed and ability not in algorithm.supports:
            raise InputError(f"{algorithm.name} {ABILITIES[ability]}")


# abilities of algorithms, each with the sentence that refuses one without it
ABILITIES = {
    "unknown scale": "needs the noise scale: give Gaussian(scale), or use "
    '"prime", which can do without',
    "parallel": "has phases of its own sizes: leave parallel at 1, or use "
    '"prime", which can make them larger',
    "in_flight": "learns from each phase before it chooses the next: leave in_flight at 1, or use "
    '"prime", which can do without',
    "no model": 'relies on the linear model: give misfit=0, or use "prime", which can do without',
    "paper rules": 'is not an algorithm of the paper: it has only rules="valid"',
    "tolerance": 'has no tolerance: leave it at 0, or use "prime"',
    "misfit": 'takes its model as exact: leave misfit at 0, or use "prime"',
    "measure": 'looks for the best worst case: leave measure at "worst", or use "prime"',
    "limits": 'looks at no other outputs: leave limits out, or use "prime"',
    "rarest": 'does not wait for what is rare: leave rarest out, or use "prime"',
    "unseen": 'does not wait for what is rare: leave unseen out, or use "prime"',
    "cost": 'counts pulls, not what they cost: leave cost out, or use "prime"',
    "beat baseline": 'does not stop once a baseline is beaten: use aim="certify", or "prime"',
    "guess": 'does not spend a budget on a guess: use aim="certify", or "prime"',
    "transductive": "compares the pairs that it pulls, but pulled or compared leave some out: "
    'use "prime" or "robust-rage"',
}


def refuse_transductive(algorithm: Algorithm, problem: RobustProblem, settings: Settings) -> None:
    """Refuse pairs that are compared and cannot be pulled, or the other way round, where the
    algorithm or the settings need them to be the same.
    """
    if not problem.transductive:
        return
    if "transductive" not in algorithm.supports:
        raise InputError(f"{algorithm.name} {ABILITIES['transductive']}")
    if problem.pulled is not None and not settings.modelled:
        raise InputError(
            "pairs that cannot be pulled are known by a model alone: give misfit=0, or how far "
            "means may be from the model"
        )
