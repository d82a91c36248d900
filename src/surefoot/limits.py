"""Limits that further outputs of a simulation must keep, for an arm to qualify.

A limit is given in the unit and with the sign in which the output is measured. Everything that
decides sees *margins* instead: how far a value is on the right side of its limit, so that the limit
is 0 and larger is better.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from surefoot.arrays import Array
from surefoot.errors import InputError
from surefoot.noise import NOISE_MODELS, USAGE, Bounded, Gaussian, Noise, noise_from_dict
from surefoot.problem.coding import exact_number
from surefoot.problem.measures import Measure, Worst, measure_from
from surefoot.statistics import Outcome, shifted

KEYS = ("at_most", "at_least", "measure", "noise", "slack")
EXAMPLE = '{"failures": {"at_most": 0.01}, "wait": {"at_most": 30, "measure": "mean"}}'


@dataclass(frozen=True)
class Limit:
    """A limit that an output must keep in its own measure: at_most or at_least, one of the two.

    Attributes:
        output: its name.
        at_most, at_least: the limit, in the unit of the output.
        measure: of the output, held against the limit; the worst case by default. The worst
            case is the largest value under at_most, the smallest under at_least.
        noise: what is known about the noise of this output.
        slack: by how much an arm may miss the limit and still be called one that qualifies, in the
            unit of the output: without it, an arm that lies on a limit can never be told from one
            that misses it.
    """

    output: str
    at_most: float | None = None
    at_least: float | None = None
    measure: Measure = Worst()  # noqa: RUF009
    noise: Noise = Gaussian()  # noqa: RUF009 - it never changes
    slack: float = 0.0

    def __post_init__(self) -> None:
        """Check everything, and keep plain numbers."""
        if not isinstance(self.output, str) or not self.output:
            raise InputError(f"output={self.output!r:.60} must be the name of an output")
        given = [name for name in KEYS[:2] if getattr(self, name) is not None]
        if len(given) != 1:
            raise InputError(
                f"the limit of {self.output!r} has {' and '.join(given) or 'no number'}: give "
                "at_most or at_least, one of the two"
            )
        if not isinstance(self.noise, Noise):
            raise InputError(
                f"noise={self.noise!r:.60} of {self.output!r} does not say what is known about its "
                f"noise: give surefoot.{USAGE}"
            )
        numbers = {name: self._number(name) for name in (*given, "slack")}
        if numbers["slack"] < 0:
            raise InputError(f"slack={self.slack!r:.60} of {self.output!r} must be 0 or more")
        for name, value in (numbers | {"measure": measure_from(self.measure)}).items():
            object.__setattr__(self, name, value)
        self._refuse_no_question()

    def _number(self, name: str) -> float:
        try:
            return exact_number(getattr(self, name))
        except InputError:
            raise InputError(
                f"{name}={getattr(self, name)!r:.60} of {self.output!r} must be a number in the "
                "unit of the output"
            ) from None

    def _refuse_no_question(self) -> None:
        """Refuse a limit that all outputs within their range keep, or all miss."""
        if self.noise.limits is None:
            return
        (low, high), missed = self.noise.limits, self.value - self.sign * self.slack
        if not low < min(self.value, missed) <= max(self.value, missed) < high:
            raise InputError(
                f"{self.output!r} lies between {low:g} and {high:g}, so a limit of {self.value:g} "
                f"with a slack of {self.slack:g} decides nothing: give one in between"
            )

    @property
    def value(self) -> float:
        """The limit."""
        found = self.at_least if self.at_most is None else self.at_most
        assert found is not None  # since it was checked
        return found

    @property
    def sign(self) -> int:
        """The factor that makes large values good."""
        return 1 if self.at_most is None else -1

    @property
    def words(self) -> str:
        """The limit as part of a sentence."""
        side = "at least" if self.sign > 0 else "at most"
        measure = "" if isinstance(self.measure, Worst) else f"the {self.measure.words} of "
        near = f" to within {self.slack:g}" if self.slack else ""
        return f"{measure}{self.output} {side} {self.value:g}{near}"

    def margins(self, values: Array) -> Array:
        """Return by how much values of the output are on the right side of the limit."""
        return self.sign * (values - self.value)

    def margins_of(self, outcome: Outcome, negated: bool = False) -> Outcome:
        """Return the margins of this output in an outcome, or their negatives less the slack."""
        zero = self.value - self.sign * self.slack if negated else self.value
        return shifted(outcome.others[self.output], zero, -self.sign if negated else self.sign)

    @property
    def margin_noise(self) -> Noise:
        """The noise of margins."""
        return self._shifted_noise(self.value, self.sign)

    @property
    def shortfall_noise(self) -> Noise:
        """The noise of negated margins, less the slack."""
        return self._shifted_noise(self.value - self.sign * self.slack, -self.sign)

    def _shifted_noise(self, zero: float, sign: int) -> Noise:
        if self.noise.limits is None:
            return self.noise
        low, high = sorted(sign * (end - zero) for end in self.noise.limits)
        return Bounded(low, high)

    def to_plain(self) -> dict[str, Any]:
        """Return plain values that JSON knows, without the name of the output."""
        found: dict[str, Any] = {
            "at_least" if self.sign > 0 else "at_most": self.value,
            "measure": self.measure.to_plain(),
            "noise": self.noise.to_dict(),
            "slack": self.slack,
        }
        return found


def limits_to_plain(limits: Sequence[Limit]) -> dict[str, Any]:
    """Return limits as plain values that JSON knows, from which `limits_from` makes them again."""
    return {
        output: [limit.to_plain() for limit in limits if limit.output == output]
        for output in dict.fromkeys(limit.output for limit in limits)
    }


def limits_from(given: Any) -> tuple[Limit, ...]:
    """Return the limits that somebody asks for, in Python or in a file.

    Args:
        given: limits; or by the name of each output the entries of its limit, or a list of such.
    """
    if isinstance(given, Limit):
        return (given,)
    if isinstance(given, Mapping):
        return tuple(
            _limit(output, entries)
            for output, several in given.items()
            for entries in (several if isinstance(several, list | tuple) else [several])
        )
    if isinstance(given, Sequence) and all(isinstance(each, Limit) for each in given):
        return tuple(given)
    raise InputError(f"limits={given!r:.80} must be limits by the names of outputs, like {EXAMPLE}")


def _limit(output: Any, entries: Any) -> Limit:
    if isinstance(entries, Limit) and entries.output == output:
        return entries
    if not isinstance(entries, Mapping) or not set(entries) <= set(KEYS):
        raise InputError(
            f"the limit of {output!r:.60} is {entries!r:.80}: give some of {', '.join(KEYS)}, like "
            f"{EXAMPLE}"
        )
    known = dict(entries)
    if isinstance(known.get("noise"), Mapping):
        known["noise"] = _noise(known["noise"])
    if "measure" in known:
        known["measure"] = measure_from(known["measure"])
    return Limit(output, **known)


def _noise(given: Mapping[str, Any]) -> Noise:
    """Return the noise that a file tells: by a study, or by who wrote a configuration."""
    options = dict(given)
    kind = options.pop("kind", None)
    return (
        NOISE_MODELS[kind].from_options(options)
        if kind in NOISE_MODELS
        else noise_from_dict(dict(given))
    )
