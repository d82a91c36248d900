import numpy as np

from surefoot.algorithms.prime.finishing import Rivals
from surefoot.algorithms.prime.misfit.allocation import climbed


def test_a_single_contrast_is_pulled_in_proportion_to_its_weights_and_noise():
    """Σ a² s / λ is least at λ ∝ |a| √s."""
    contrast, noise = np.array([[1.0, -0.5, 0.25]]), np.array([1.0, 4.0, 1.0])
    rivals = Rivals(contrast, np.ones(1), np.ones(1), np.ones(1), 10.0)
    shares = np.full(3, 1 / 3)
    for _ in range(30):
        shares = climbed(rivals, noise, shares, 8)
    best = np.abs(contrast[0]) * np.sqrt(noise)
    assert np.allclose(shares, best / best.sum(), atol=1e-3)


def test_what_no_rival_needs_gets_nothing_and_the_harder_one_more():
    directions = np.array([[1.0, -1.0, 0.0, 0.0], [1.0, 0.0, -1.0, 0.0]])
    rivals = Rivals(directions, np.array([1.0, 3.0]), np.ones(2), np.ones(2), 20.0)
    shares = np.full(4, 0.25)
    for _ in range(10):
        shares = climbed(rivals, np.ones(4), shares, 8)
    assert shares[3] < 1e-6
    assert shares[1] > 2 * shares[2]
