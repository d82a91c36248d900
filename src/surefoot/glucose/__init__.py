"""UVA/Padova virtual patients, fast: meals, insulin, sensor, bolus calculator and the usual metrics.

Research software on virtual patients; not a medical device.
"""

from surefoot.glucose.batch import lane_seeds
from surefoot.glucose.calculator import Calculator
from surefoot.glucose.controller import Action, Observation, simulate_controller
from surefoot.glucose.histories import Histories, Statistics
from surefoot.glucose.meals import Diet, Scenario, diet
from surefoot.glucose.metrics import magni_risk, score
from surefoot.glucose.patient_table import patient_table
from surefoot.glucose.patients import Patient, all_patients, find_patient
from surefoot.glucose.sensor import Sensor, all_sensors, find_sensor
from surefoot.glucose.simulate import simulate

__all__ = [
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
