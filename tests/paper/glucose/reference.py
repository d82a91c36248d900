"""simglucose 0.2.11 itself, closed loop with the paper's calculator: the standard our kernels are
held to.

`stock=False` hands simglucose plain objects in place of pandas rows: the same arithmetic on the
same numbers, ten times faster. A test holds the two ways equal to the bit.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from datetime import datetime, timedelta
from types import SimpleNamespace

import numpy as np
from simglucose.actuator.pump import InsulinPump
from simglucose.controller.base import Action, Controller
from simglucose.patient.t1dpatient import T1DPatient
from simglucose.sensor.cgm import CGMSensor
from simglucose.simulation.env import T1DSimEnv
from simglucose.simulation.scenario import CustomScenario
from simglucose.simulation.sim_engine import SimObj

from surefoot.paper.glucose.day import Scenario, find_patient

logging.getLogger("simglucose").setLevel(logging.ERROR)


@dataclass(frozen=True)
class Trace:
    """Histories of one run; insulin and carbohydrates have one entry fewer than BG and CGM."""

    bg: np.ndarray
    cgm: np.ndarray
    insulin: np.ndarray
    carbohydrates: np.ndarray


class PaperCalculator(Controller):
    """The paper's bolus calculator on top of the patient's basal rate."""

    def __init__(
        self, basal: float, carb_factor: float, correction_factor: float, reading: str = "cgm"
    ):
        self.basal, self.carb, self.correction, self.reading = (
            basal,
            carb_factor,
            correction_factor,
            reading,
        )

    def policy(self, observation, reward, done, **info):
        bolus = 0.0
        if info["meal"] > 0:
            glucose = observation.CGM if self.reading == "cgm" else info["bg"]
            bolus = info["meal"] * info["sample_time"] / self.carb
            bolus += (glucose > 150) * (glucose - 140) / self.correction
        return Action(basal=self.basal, bolus=bolus / info["sample_time"])

    def reset(self):
        pass


def run(
    name: str,
    scenario: Scenario,
    controller: Controller,
    seed: int,
    sensor: str = "Dexcom",
    stock: bool = False,
) -> Trace:
    """One run of simglucose from minute 0 to the scenario's horizon."""
    start = datetime(2024, 1, 1)
    meals = [
        (timedelta(minutes=minute), grams)
        for minute, grams in zip(scenario.minutes, scenario.grams, strict=True)
    ]
    patient, monitor, pump = (
        T1DPatient.withName(name),
        CGMSensor.withName(sensor, seed=seed),
        InsulinPump.withName("Insulet"),
    )
    if not stock:
        patient, monitor, pump = without_pandas(patient, monitor, pump, seed)
    env = T1DSimEnv(patient, monitor, pump, CustomScenario(start_time=start, scenario=meals))
    SimObj(env, controller, timedelta(minutes=scenario.horizon), animate=False).simulate()
    return Trace(
        *(np.array(h, float) for h in (env.BG_hist, env.CGM_hist, env.insulin_hist, env.CHO_hist))
    )


def calculator_for(name: str, scale: float = 1.0, reading: str = "cgm") -> PaperCalculator:
    """The baseline calculator with both factors scaled."""
    patient = find_patient(name)
    daily = patient.total_daily_insulin
    return PaperCalculator(patient.basal, scale * 500 / daily, scale * 1800 / daily, reading)


def without_pandas(patient, monitor, pump, seed):
    class Figures(SimpleNamespace):
        def __getitem__(self, key):
            return getattr(self, key)

    def plain(row):
        return Figures(**row.to_dict())

    initial = np.array(patient._params.iloc[2:15].values, dtype=float)
    return (
        T1DPatient(plain(patient._params), init_state=initial),
        CGMSensor(plain(monitor._params), seed=seed),
        InsulinPump(plain(pump._params)),
    )
