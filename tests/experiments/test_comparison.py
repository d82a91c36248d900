"""Algorithms side by side."""

from __future__ import annotations

from pathlib import Path

import pytest

import surefoot as sf
from surefoot.experiments.instances import classic, random_robust
from surefoot.experiments.peer_instances import slippage

INSTANCES = {"random/4": random_robust(4, 3, 3, gap=0.5), "classic": classic(3, 0.5)}


def test_every_algorithm_runs_on_every_instance(tmp_path: Path) -> None:
    algorithms = {"PRIME": "prime", "static": sf.RobustStatic(), "told": "oracle"}
    session = sf.Session(runs=3, out=tmp_path, processes=2)
    found = sf.compare(algorithms, INSTANCES, session=session)
    assert len(found.runs) == 3 * 2 * 3
    table = found.summary()
    assert table["instance"].tolist() == ["random/4"] * 3 + ["classic"] * 3
    assert table["algorithm"].tolist() == ["PRIME", "static", "told"] * 2
    assert (table["runs"] == 3).all()
    assert (table["certified"] == 3).all()
    assert (table["tenth"] <= table["mean"]).all()
    assert table["wrong_at_most"].tolist() == pytest.approx([0.708] * 6, abs=1e-3)
    by_name = table.set_index(["instance", "algorithm"])["mean"]
    assert by_name["random/4", "PRIME"] < by_name["random/4", "static"]
    assert found.chart().to_dict()["layer"]
    assert list(tmp_path.iterdir()) == []


def test_what_cannot_work_is_refused_before_any_run() -> None:
    with pytest.raises(sf.InputError, match="nothing to compare"):
        sf.compare([], INSTANCES)
    with pytest.raises(sf.InputError, match="relies on the linear model"):
        sf.compare(["robust-rage"], {"SC": slippage(3, 2)}, trust="pairs")
