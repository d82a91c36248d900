import numpy as np

from surefoot import Gaussian, Outcome, Settings
from surefoot.algorithms import algorithm_from
from surefoot.view.charts import residuals_chart, residuals_frame
from tests.view.charts.results import finished, fresh, wings


def test_residuals_are_in_standard_errors_of_the_averages():
    result = finished()
    frame = residuals_frame(result)
    pulled = np.flatnonzero(result.counts)
    expected = (result.pair_averages - result.pair_means)[pulled] * np.sqrt(result.counts[pulled])
    np.testing.assert_allclose(frame["residual"], expected, atol=1e-9)
    assert len(frame) == len(pulled)


def test_an_unknown_scale_is_taken_from_replicates():
    problem, _ = wings()
    run = algorithm_from("prime").start(
        problem, Settings(delta=0.05, noise=Gaussian(equal=True), misfit=0)
    )
    phase = run.next_phase()
    rewards = np.random.default_rng(0).normal(scale=7.0, size=phase.samples)
    run.update(
        Outcome.from_rewards(
            0, problem.n_pairs, np.repeat(np.arange(problem.n_pairs), phase.counts), rewards
        )
    )
    pulled = phase.counts > 0
    scale = np.sqrt(run.tally.scatter.sum() / run.tally.freedom.sum())
    np.testing.assert_allclose(
        run.result.pair_errors[pulled], scale / np.sqrt(phase.counts[pulled])
    )
    assert np.isnan(run.result.pair_errors[~pulled]).all()


def test_the_chart_states_the_test_and_bears_no_data():
    assert residuals_chart(finished()).to_dict()["title"]["subtitle"] == finished().checks
    assert residuals_chart(fresh()).to_dict()["datasets"]["residuals"] == []
