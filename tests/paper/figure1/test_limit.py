import pytest

from surefoot import complexity
from surefoot.experiments import instances
from surefoot.paper.figure1 import DESIGN_TOLERANCE as TOLERANCE
from surefoot.paper.figure1 import lower_bound


@pytest.mark.parametrize(
    "instance", [instances.irrelevant_dimensions(5), instances.unit_sphere(10, 4)]
)
def test_it_is_the_lower_bound_of_the_instance_and_never_above_it(instance):
    exact = complexity(*instance).lower_bound(0.05)
    assert (1 - TOLERANCE) * exact <= lower_bound(instance, 0.05) <= exact * (1 + 1e-3)
