"""Macroreplications: a whole study, run many times, and how often its answer was right."""

from surefoot.experiments.macroreplication.estimate import EstimatedSimulator
from surefoot.experiments.macroreplication.replicate import macroreplicate
from surefoot.experiments.macroreplication.summary import Macroreplications
from surefoot.experiments.macroreplication.truth import Truth

__all__ = ["EstimatedSimulator", "Macroreplications", "Truth", "macroreplicate"]
