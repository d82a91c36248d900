"""The kernel: everything that the validity of a certificate depends on, and nothing else.

A planner commits to claims before a phase; the kernel scores them by its rewards, adds the scores
up and eliminates arms. Read `contrast`, `score`, `boundary`, `walk`, `certifier` in this order;
docs/certificate.md states the theorem that they implement.
"""

from surefoot.certify.boundary import (
    Boundary,
    GaussianBoundary,
    MixtureBoundary,
    WealthBoundary,
    student_widths,
)
from surefoot.certify.certifier import Certifier, Commitment, Uses
from surefoot.certify.contrast import Claims, Question, Rows, Stakes
from surefoot.certify.limited import Limited, LimitedBoundary, LimitedCertifier
from surefoot.certify.score import (
    BatchScores,
    EqualScores,
    ScaleScores,
    Scores,
    SubGaussianScores,
    WealthScores,
)

__all__ = [
    "BatchScores",
    "Boundary",
    "Certifier",
    "Claims",
    "Commitment",
    "EqualScores",
    "GaussianBoundary",
    "Limited",
    "LimitedBoundary",
    "LimitedCertifier",
    "MixtureBoundary",
    "Question",
    "Rows",
    "ScaleScores",
    "Scores",
    "Stakes",
    "SubGaussianScores",
    "Uses",
    "WealthBoundary",
    "WealthScores",
    "student_widths",
]
