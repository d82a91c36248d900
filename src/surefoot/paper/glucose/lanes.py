"""The fast kernel: three glucose states a lane, many lanes side by side, over tables they share.

Meals do not depend on insulin, so the rate at which they appear in plasma is solved once for a
patient and a scenario. Insulin kinetics are linear, so the effect of a lane's boluses is a sum of
shifted copies of one response. Both are tabulated every quarter of a minute: the points at which
the lanes' half-minute steps look. Lanes advance in blocks of `WIDTH`; the last block is padded, so
a lane's numbers do not depend on the batch it runs in.

Two habits let the compiler turn the loops over lanes into vector instructions. Rows of lanes lie
one after the other in flat arrays and are addressed by unsigned numbers: with signed ones every
access would first ask whether the index is negative. And a loop's length is read from an array: a
loop of known, small length is unrolled instead. Sums may use fused multiply-add, but are never
reordered.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from scipy.linalg import expm

from surefoot.arrays import Array, IntArray
from surefoot.paper.glucose.day import UNITS_TO_PMOL, Patient, Physiology, Scenario, pump_rate
from surefoot.paper.glucose.model import (
    FROZEN,
    LAST_STOMACH,
    TAKEN,
    ClosedLoop,
    SeenGlucose,
    bolus_rate,
    eat,
    emptying_rate,
)
from surefoot.system.compiled import kernel

POINTS = 4  # a minute
FINE = 4  # steps from one point to the next while eating

INSULIN_STATES = (5, 6, 7, 8, 9, 10, 11)
PLASMA, USE, DELAY, MAKE, LIVER, FIRST_DEPOT, SECOND_DEPOT, ONE = range(8)


class _Responses(NamedTuple):
    """Tables of one (patient, scenario, length of the sensor's window); times in quarter minutes.

    Attributes:
        appearance: Glucose from meals, mg/kg/min, (4·horizon + 1,).
        basal_use: State 6 under basal insulin alone, pmol/L.
        basal_make: State 8 under basal insulin alone, pmol/L.
        bolus_use: State 6 that 1 U/min during the first window adds.
        bolus_make: State 8 that 1 U/min during the first window adds.
        windows: The window during which each bolus runs, (n_boluses,).
        grams: Carbohydrates that each bolus covers, g, (n_boluses,).
    """

    appearance: Array
    basal_use: Array
    basal_make: Array
    bolus_use: Array
    bolus_make: Array
    windows: IntArray
    grams: Array


@lru_cache(maxsize=64)  # a table of 5 days takes 1 MB
def responses(patient: Patient, scenario: Scenario, window: int) -> _Responses:
    """Return the tables for a patient who eats this scenario, with actions that last `window`
    minutes.
    """
    appearance = np.empty(POINTS * scenario.horizon + 1)
    _fill_appearance(
        np.array(patient.initial_state[:3]), scenario.announced(), patient.physiology, appearance
    )
    windows, grams = boluses(scenario, window)
    return _Responses(
        appearance, *insulin_responses(patient, scenario.horizon, window), windows, grams
    )


def boluses(scenario: Scenario, window: int) -> tuple[IntArray, Array]:
    """When boluses run and for how many grams: the window after the one in which the meal was
    announced.
    """
    eaten = scenario.announced().reshape(-1, window).sum(axis=1)[:-1]
    meals = np.flatnonzero(eaten > 0)
    return meals + 1, eaten[meals]


@kernel
def _fill_appearance(gut: Array, announced: Array, p: Physiology, appearance: Array) -> None:
    """Solve states 0 to 2 for the announced meals; the rate of appearance every quarter of a
    minute.
    """
    solid, liquid, intestine = gut[0], gut[1], gut[2]
    meal = np.zeros(4)
    meal[LAST_STOMACH] = solid + liquid
    scale = p.f * p.kabs / p.BW
    appearance[0] = scale * intestine
    for minute in range(announced.size):
        eaten = eat(announced[minute], solid + liquid, meal)
        meal_size = meal[LAST_STOMACH] + 1000 * meal[TAKEN]
        now = POINTS * minute
        if eaten > 0:
            for point in range(1, POINTS + 1):
                for _ in range(FINE):
                    now_in = (solid, liquid, intestine)
                    solid, liquid, intestine, _ = _gut_step(
                        now_in, 1000 * eaten, meal_size, p, 1.0 / (POINTS * FINE)
                    )
                appearance[now + point] = scale * intestine
        else:
            for point in range(2, POINTS + 1, 2):
                now_in = (solid, liquid, intestine)
                solid, liquid, intestine, middle = _gut_step(
                    now_in, 0.0, meal_size, p, 2.0 / POINTS
                )
                appearance[now + point - 1] = scale * middle
                appearance[now + point] = scale * intestine


@kernel
def _gut_slope(
    gut: tuple[float, float, float], eaten: float, meal_size: float, p: Physiology
) -> tuple[float, float, float]:
    solid, liquid, intestine = gut
    emptying = emptying_rate(solid + liquid, meal_size, p)
    return (
        eaten - p.kmax * solid,
        p.kmax * solid - emptying * liquid,
        emptying * liquid - p.kabs * intestine,
    )


@kernel
def _gut_step(
    gut: tuple[float, float, float], eaten: float, meal_size: float, p: Physiology, h: float
) -> tuple[float, float, float, float]:
    """Return one Runge-Kutta step; the fourth value is the intestine's content in the middle of the
    step.
    """
    a, b, c = gut
    a1, b1, c1 = _gut_slope(gut, eaten, meal_size, p)
    half = (a + h / 2 * a1, b + h / 2 * b1, c + h / 2 * c1)
    a2, b2, c2 = _gut_slope(half, eaten, meal_size, p)
    half = (a + h / 2 * a2, b + h / 2 * b2, c + h / 2 * c2)
    a3, b3, c3 = _gut_slope(half, eaten, meal_size, p)
    a4, b4, c4 = _gut_slope((a + h * a3, b + h * b3, c + h * c3), eaten, meal_size, p)
    return (
        a + h / 6 * (a1 + 2 * a2 + 2 * a3 + a4),
        b + h / 6 * (b1 + 2 * b2 + 2 * b3 + b4),
        c + h / 6 * (c1 + 2 * c2 + 2 * c3 + c4),
        c + h / 24 * (5 * c1 + 4 * c2 + 4 * c3 - c4),
    )


@lru_cache(maxsize=64)
def insulin_responses(
    patient: Patient, horizon: int, window: int
) -> tuple[Array, Array, Array, Array]:
    """Return the effect of basal insulin, and that of a bolus of 1 U/min during the first window:
    two tables each.
    """
    p = patient.physiology
    rest, count = _insulin_matrix(p, 0.0), POINTS * horizon
    start = np.array([patient.initial_state[state] for state in INSULIN_STATES] + [1.0])
    basal = _insulin_matrix(p, pump_rate(patient.basal)) + _insulin_offset(p)
    basal_use, basal_make = np.empty(count + 1), np.empty(count + 1)
    _propagate(expm(basal / POINTS), start, 0, count, basal_use, basal_make)

    bolus_use, bolus_make = np.empty(count + 1), np.empty(count + 1)
    unit, on = np.eye(8)[ONE], min(POINTS * window, count)
    middle = _propagate(expm(_insulin_matrix(p, 1.0) / POINTS), unit, 0, on, bolus_use, bolus_make)
    _propagate(expm(rest / POINTS), middle, on, count, bolus_use, bolus_make)
    return basal_use, basal_make, bolus_use, bolus_make


def _insulin_matrix(p: Physiology, rate: float) -> Array:
    """States 5 to 11 as a linear system, driven by `rate` U/min; the eighth state is the constant
    1.
    """
    m = np.zeros((8, 8))
    m[PLASMA, [PLASMA, LIVER, FIRST_DEPOT, SECOND_DEPOT]] = -(p.m2 + p.m4), p.m1, p.ka1, p.ka2
    m[USE, [PLASMA, USE]] = p.p2u / p.Vi, -p.p2u
    m[DELAY, [PLASMA, DELAY]] = p.ki / p.Vi, -p.ki
    m[MAKE, [DELAY, MAKE]] = p.ki, -p.ki
    m[LIVER, [PLASMA, LIVER]] = p.m2, -(p.m1 + p.m30)
    m[FIRST_DEPOT, [FIRST_DEPOT, ONE]] = -(p.ka1 + p.kd), rate * UNITS_TO_PMOL / p.BW
    m[SECOND_DEPOT, [FIRST_DEPOT, SECOND_DEPOT]] = p.kd, -p.ka2
    return m


def _insulin_offset(p: Physiology) -> Array:
    """Insulin acts on utilisation by its excess over the basal concentration: a constant drive of
    state 6.
    """
    m = np.zeros((8, 8))
    m[USE, ONE] = -p.p2u * p.Ib
    return m


@kernel
def _propagate(step: Array, start: Array, first: int, last: int, use: Array, make: Array) -> Array:
    """Write states 6 and 8 at points first..last, starting from `start`; gives the last state."""
    now, after = start.copy(), np.empty(8)
    use[first], make[first] = now[USE], now[MAKE]
    for point in range(first + 1, last + 1):
        for row in range(8):
            total = 0.0
            for column in range(8):
                total += step[row, column] * now[column]
            after[row] = total
        now, after = after, now
        use[point], make[point] = now[USE], now[MAKE]
    return now


WIDTH = 16
ROW, TWO_ROWS, THREE_ROWS = np.uint64(WIDTH), np.uint64(2 * WIDTH), np.uint64(3 * WIDTH)
STEP = 0.5  # minutes: two points of the tables
FUSED = {"contract"}


class _Block(NamedTuple):
    """WIDTH lanes side by side.

    Attributes:
        glucose: Rows of glucose in plasma, in tissue and under the skin, mg/kg, (3·WIDTH,).
        before: BG when the last window began, mg/dL, (WIDTH,).
        now: BG at its end.
        mean: Mean over its minutes.
        rates: Rows of the boluses given so far, U/min; a multiple of four rows.
        since: Points since the start of each bolus, one for each row of `rates`.
        use: State 6 at the points of a window, pmol/L, one row per point.
        make: State 8, likewise.
    """

    glucose: Array
    before: Array
    now: Array
    mean: Array
    rates: Array
    since: IntArray
    use: Array
    make: Array


@kernel
def _new_block(n_boluses: int, points: int) -> _Block:
    """Room for a block with that many boluses and points in a window."""
    rows = -(-n_boluses // 4) * 4
    return _Block(
        np.empty(3 * WIDTH),
        np.empty(WIDTH),
        np.empty(WIDTH),
        np.empty(WIDTH),
        np.zeros(rows * WIDTH),
        np.zeros(rows, dtype=np.int64),
        np.empty((points + 1) * WIDTH),
        np.empty((points + 1) * WIDTH),
    )


@kernel
def _start_block(block: _Block, initial: Array, p: Physiology) -> None:
    """Put every lane in the patient's initial state, with no bolus given."""
    block.rates[:] = 0.0
    block.since[:] = 0
    for row in range(3):
        block.glucose[row * WIDTH : (row + 1) * WIDTH] = initial[row]
    block.now[:] = initial[2] / p.Vg
    block.mean[:] = initial[2] / p.Vg


@kernel(fastmath=FUSED)
def _insulin_action(
    tables: _Responses, points: int, active: int, first: int, block: _Block
) -> None:
    """Insulin action over one window, by superposition of the boluses given so far.

    Four boluses go in one pass, so that a row is read and written once for them. Those still to
    come count as just begun: a response is 0 at its start.

    Args:
        tables: Shared by the lanes.
        points: Points in a window.
        active: How many boluses have begun.
        first: The point of the tables at which this window begins.
        block: Its rows `use` and `make` are written.
    """
    use, make, rates, since = block.use, block.make, block.rates, block.since
    on_use, on_make = tables.bolus_use, tables.bolus_make
    lanes = np.uint64(block.now.size)
    for k in range(points + 1):
        row = np.uint64(k) * ROW
        basal_use, basal_make = tables.basal_use[first + k], tables.basal_make[first + k]
        for lane in range(lanes):
            use[row + lane] = basal_use
        for lane in range(lanes):
            make[row + lane] = basal_make
        for bolus in range(active):
            since[bolus] = first + k - points * tables.windows[bolus]
        for bolus in range(0, active, 4):
            a, b, c, d = since[bolus], since[bolus + 1], since[bolus + 2], since[bolus + 3]
            use_a, use_b, use_c, use_d = on_use[a], on_use[b], on_use[c], on_use[d]
            make_a, make_b, make_c, make_d = on_make[a], on_make[b], on_make[c], on_make[d]
            given = np.uint64(bolus) * ROW
            for lane in range(lanes):
                rate_a, rate_b = rates[given + lane], rates[given + ROW + lane]
                rate_c, rate_d = rates[given + TWO_ROWS + lane], rates[given + THREE_ROWS + lane]
                use[row + lane] += rate_a * use_a + rate_b * use_b + rate_c * use_c + rate_d * use_d
                make[row + lane] += (
                    rate_a * make_a + rate_b * make_b + rate_c * make_c + rate_d * make_d
                )


@kernel(fastmath=FUSED)
def _glucose_slope(
    glucose: tuple[float, float, float], use: float, make: float, appearance: float, p: Physiology
) -> tuple[float, float, float]:
    """States 3, 4 and 12 of `model.slope`, given insulin action and the appearance of meals."""
    plasma, tissue, skin = glucose
    production = p.kp1 - p.kp2 * plasma - p.kp3 * make
    production = production if production > 0 else 0.0
    excess = plasma - p.ke2
    excretion = p.ke1 * excess if excess > 0 else 0.0
    exchange = p.k1 * plasma - p.k2 * tissue
    utilisation = (p.Vm0 + p.Vmx * use) * tissue / (p.Km0 + tissue)
    d_plasma = production + appearance - p.Fsnc - excretion - exchange
    d_tissue = exchange - utilisation
    d_skin = p.ksc * (plasma - skin)
    return (
        d_plasma if plasma >= 0 else 0.0,
        d_tissue if tissue >= 0 else 0.0,
        d_skin if skin >= 0 else 0.0,
    )


@kernel(fastmath=FUSED)
def _advance_step(
    glucose: Array,
    use: Array,
    make: Array,
    k: int,
    appearance: tuple[float, float, float],
    p: Physiology,
) -> None:
    """Take a classical Runge-Kutta step, from point k of the window to k + 2, for all lanes of a
    block.

    Args:
        glucose: As in `Block`; updated.
        use: As in `Block`.
        make: As in `Block`.
        k: Where in the window the step begins.
        appearance: Of meals at points k, k + 1 and k + 2, mg/kg/min.
        p: The patient's parameters.
    """
    h, row = STEP, np.uint64(k) * ROW
    start, middle, end = appearance
    for lane in range(np.uint64(glucose.size // 3)):
        x, y, z = glucose[lane], glucose[lane + ROW], glucose[lane + TWO_ROWS]
        x1, y1, z1 = _glucose_slope((x, y, z), use[row + lane], make[row + lane], start, p)
        u, m = use[row + ROW + lane], make[row + ROW + lane]
        half = (x + h / 2 * x1, y + h / 2 * y1, z + h / 2 * z1)
        x2, y2, z2 = _glucose_slope(half, u, m, middle, p)
        half = (x + h / 2 * x2, y + h / 2 * y2, z + h / 2 * z2)
        x3, y3, z3 = _glucose_slope(half, u, m, middle, p)
        u, m = use[row + TWO_ROWS + lane], make[row + TWO_ROWS + lane]
        x4, y4, z4 = _glucose_slope((x + h * x3, y + h * y3, z + h * z3), u, m, end, p)
        x += h / 6 * (x1 + 2 * x2 + 2 * x3 + x4)
        y += h / 6 * (y1 + 2 * y2 + 2 * y3 + y4)
        z += h / 6 * (z1 + 2 * z2 + 2 * z3 + z4)
        glucose[lane] = x if x >= 0 else FROZEN
        glucose[lane + ROW] = y if y >= 0 else FROZEN
        glucose[lane + TWO_ROWS] = z if z >= 0 else FROZEN


@kernel(fastmath=FUSED)
def _advance_window(block: _Block, meals: Array, first: int, points: int, p: Physiology) -> None:
    """Advance a block by one window; leaves BG at its two ends and its mean over the minutes in
    `block`.

    Args:
        block: Insulin action in place.
        meals: Appearance of meals at all points of the run, mg/kg/min.
        first: The point at which the window begins.
        points: Points in a window.
        p: The patient's parameters.
    """
    glucose, before, now, mean = block.glucose, block.before, block.now, block.mean
    use, make = block.use, block.make
    for lane in range(np.uint64(mean.size)):
        before[lane], mean[lane] = now[lane], 0.0
    for k in range(0, points, 2):
        appearance = (meals[first + k], meals[first + k + 1], meals[first + k + 2])
        _advance_step(glucose, use, make, k, appearance, p)
        if (k + 2) % POINTS == 0:
            for lane in range(np.uint64(mean.size)):
                mean[lane] += glucose[lane + TWO_ROWS]
    for lane in range(np.uint64(mean.size)):
        mean[lane] *= POINTS / (points * p.Vg)
        now[lane] = glucose[lane + TWO_ROWS] / p.Vg


@kernel
def run_lanes(p: Physiology, initial: Array, tables: _Responses, loop: ClosedLoop) -> None:
    """Simulate every lane of one patient and scenario.

    Args:
        p: The patient's parameters.
        initial: Glucose in plasma, in tissue and under the skin at minute 0, mg/kg, (3,).
        tables: Shared by the lanes.
        loop: The lanes; their results are written.
    """
    bg, instant, rates = loop.bg, loop.instant, loop.rates
    n_lanes, n_samples = bg.shape
    n_boluses, points = tables.windows.size, POINTS * loop.window
    block = _new_block(n_boluses, points)
    for first in range(0, n_lanes, WIDTH):
        used, active = min(WIDTH, n_lanes - first), 0
        _start_block(block, initial, p)
        for lane in range(used):
            bg[first + lane, 0] = instant[first + lane, 0] = block.now[lane]
        for step in range(n_samples - 1):
            if active < n_boluses and tables.windows[active] == step:
                for lane in range(used):
                    i = first + lane
                    seen = SeenGlucose(block.before[lane], block.now[lane], block.mean[lane])
                    rate = bolus_rate(loop, i, active, tables.grams[active], seen)
                    rates[i, active] = block.rates[active * WIDTH + lane] = rate
                active += 1
            _insulin_action(tables, points, active, points * step, block)
            _advance_window(block, tables.appearance, points * step, points, p)
            for lane in range(used):
                bg[first + lane, step + 1] = block.mean[lane]
                instant[first + lane, step + 1] = block.now[lane]
