"""For authors of algorithms: a conformance suite, and an exact test of "errors ≤ δ". Needs pytest.

from surefoot.testing import AlgorithmSuite, error_test

class TestMine(AlgorithmSuite):
    def make(self, instance):
        return Mine()
"""

from surefoot.testing.contract import Contract, Harness, Variety
from surefoot.testing.errors import LEVEL, ErrorTest, error_test

__all__ = ["LEVEL", "AlgorithmSuite", "ErrorTest", "Harness", "error_test"]


class AlgorithmSuite(Contract, Variety):
    """One suite that every algorithm passes: inherit from it in a test, and give it `make`."""
