"""UVA/Padova virtual patients, fast: meals, insulin, sensor, bolus calculator and the usual
metrics.

Research software on virtual patients; not a medical device.

The paper's reward of many settings of one patient, a low- and a high-carb day each, and 5-day
metrics:

    days = np.array([diet("low"), diet("high")])[:, None]
    runs = simulate("adult#001", Calculator(carb_factors, correction_factors), days, seed,
    statistics=["magni_risk"]) rewards = runs.reward.sum(axis=0)

    names = np.array([patient.name for patient in all_patients()])[:, None]
    plan = diet("low", "high", "low", "high", "low")
    evaluation = simulate(names, Calculator.baseline(names), plan, lane_seeds(seed, (30, 20)),
    statistics=STATISTICS) evaluation["time_in_range"].mean(), evaluation.risk_index.mean()
"""

from surefoot.paper.glucose.day import (
    Calculator,
    Diet,
    Patient,
    Scenario,
    all_patients,
    diet,
    find_patient,
    patient_table,
)
from surefoot.paper.glucose.metrics import STATISTICS, Histories, Statistics, magni_risk, score
from surefoot.paper.glucose.sensor import Sensor, all_sensors, find_sensor
from surefoot.paper.glucose.simulate import (
    Action,
    Observation,
    lane_seeds,
    simulate,
    simulate_controller,
)

__all__ = [
    "STATISTICS",
    "Action",
    "Calculator",
    "Diet",
    "Histories",
    "Observation",
    "Patient",
    "Scenario",
    "Sensor",
    "Statistics",
    "all_patients",
    "all_sensors",
    "diet",
    "find_patient",
    "find_sensor",
    "lane_seeds",
    "magni_risk",
    "patient_table",
    "score",
    "simulate",
    "simulate_controller",
]
