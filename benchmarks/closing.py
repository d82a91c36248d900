"""What a boundary that a tolerance closes would gain by a binding lower line.

One comparison with a known scale is a Gaussian walk. With a tolerance its drift is at least some ε
if the leader is good enough. A walk below a *binding* line never counts again; that takes crossings
from the walk of a tie, so the upper boundary may be lower. Whitehead's triangular test and Lorden's
2-SPRT close like that. Expected pulls are exact, by the recursion of Armitage, McPherson and Rowe.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from scipy import optimize, special

from benchmarks.table import Row
from surefoot.algorithms.prime.schedule import Schedule, closed, first_schedule
from surefoot.algorithms.prime.tuning import Tuning
from surefoot.arrays import Array
from surefoot.noise import Gaussian

DELTA = 0.05
DRIFTS = (1.0, 1.5, 2.0)  # of the walk, in the ε that looks are planned for
MISSED = (0.4, 0.2, 0.1, 0.05, 0.01)  # how often a walk of drift ε may fall below the line
LENGTHS = (20.0, 60.0, 200.0)  # units after which looks end: the pulls that show a gap of ε
FAR, NODES = 8.5, 200  # a walk is further than this many deviations with probability 1e-17


class Passage(NamedTuple):
    """(n_looks,) probabilities that a walk leaves at each look, above or below."""

    up: Array
    down: Array


def passage(weights: Array, upper: Array, lower: Array, drift: float) -> Passage:
    """Where a Gaussian walk with this drift first leaves the lines, which are given for W."""
    nodes, measure = np.polynomial.legendre.leggauss(NODES)
    states, mass, variance = np.zeros(1), np.ones(1), 0.0
    up, down = [], []
    for weight, high, low in zip(weights, upper, lower, strict=True):
        mean, step, variance = states + drift * weight, math.sqrt(weight), variance + weight
        far = FAR * math.sqrt(variance)
        floor, ceiling = max(low, drift * variance - far), min(high, drift * variance + far)
        up.append(float(mass @ special.ndtr((mean - high) / step)))
        down.append(float(mass @ special.ndtr((floor - mean) / step)))
        half = (ceiling - floor) / 2
        if half <= 0:  # the lines have met
            break
        following = floor + half * (nodes + 1)
        density = np.exp(-(((following[None, :] - mean[:, None]) / step) ** 2) / 2)
        mass = half * measure * (mass @ density) / (step * math.sqrt(2 * math.pi))
        states = following
    rest = [0.0] * (len(weights) - len(up))
    return Passage(np.array(up + rest), np.array(down + rest))


def triangle(delta: float, drift: float, looks: int) -> Passage:
    """The 2-SPRT of drifts ± drift/2 at error δ by its published constant log(1/2δ), which is the
    triangular test too; looked at so often that it hardly overshoots.
    """
    gap, level = drift / 2, math.log(1 / (2 * delta))
    weights = np.full(looks, 2 * level / gap**2 / looks)
    line = level / gap - gap / 2 * np.cumsum(weights)
    line -= 0.583 * np.sqrt(weights)  # Siegmund's correction for looks that are not continuous
    return passage(weights, line, -line, -gap)


def rows() -> Iterator[Row]:
    error = float(triangle(DELTA, 1.0, 400).up.sum())
    yield Row(
        "2-SPRT, triangular test: error at log(1/2δ), 400 looks",
        f"{error:.4f}",
        f"{DELTA:g} ± 1 %",
        abs(error - DELTA) <= 0.01 * DELTA,
    )
    for length in LENGTHS:
        schedule = first_schedule(DELTA, Gaussian(1.0), closed(Tuning(), length))
        needed = 2 * math.log(1 / DELTA) + Tuning().closing_margin
        yield _row(length, math.sqrt(needed / schedule.variances[-1]), schedule)


def _row(length: float, drift: float, schedule: Schedule) -> Row:
    """What the best of several lines gains, for walks of several drifts."""
    lines = [_lined(schedule, drift, missed) for missed in MISSED]
    nowhere = np.full(len(schedule.weights), -math.inf)
    best = []
    for times in DRIFTS:
        usual = _pulls(schedule, schedule.boundary, nowhere, times * drift)
        best.append(min(_pulls(schedule, *lined, times * drift) for lined in lines) / usual)
    shown = ", ".join(
        f"{ratio:.3f} ({times:g} ε)" for times, ratio in zip(DRIFTS, best, strict=True)
    )
    return Row(
        f"looks that end after {length:g} units: expected pulls with / without the best line",
        shown,
        "≥ 0.95: a line is not worth its while",
        min(best) >= 0.95,
    )


def _pulls(schedule: Schedule, boundary: Array, line: Array, drift: float) -> float:
    """Expected units until a crossing, or until looks end; whoever fell below the line waits."""
    upper = boundary * np.sqrt(schedule.variances[1:])
    up, units = passage(schedule.weights, upper, line, drift).up, np.cumsum(schedule.sizes)
    return float(up @ units + (1 - up.sum()) * units[-1])


def _lined(schedule: Schedule, drift: float, missed: float) -> tuple[Array, Array]:
    """A line of the triangular test's slope that a walk of drift ε falls below this often, and the
    boundary of the schedule's shape that may stand with it.
    """
    variances = schedule.variances[1:]
    roots, never = np.sqrt(variances), np.full(len(variances), math.inf)

    def line(start: float) -> Array:
        return 0.75 * drift * variances - start

    def excess(start: float) -> float:
        return float(passage(schedule.weights, never, line(start), drift).down.sum()) - missed

    chosen = line(optimize.brentq(excess, 0.0, 50.0 / drift))
    delta = schedule.share * DELTA

    def spent(level: float) -> float:
        upper = np.maximum(np.sqrt(level + schedule.strictness) * roots, chosen)
        return float(passage(schedule.weights, upper, chosen, 0.0).up.sum()) - delta

    level = optimize.brentq(spent, 0.1, 20.0)
    return np.sqrt(level + schedule.strictness), chosen
