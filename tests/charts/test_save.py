import pandas as pd
import pytest

from surefoot import InputError
from surefoot.view.charts import pace_chart, save
from surefoot.view.charts.save import write_whole

CHART = pace_chart(pd.DataFrame({"minute": [0, 60], "pulls": [3, 4]}))


def test_three_files_are_written_and_nothing_else(tmp_path):
    written = save(CHART, tmp_path / "figures" / "pace")
    assert sorted(path.name for path in (tmp_path / "figures").iterdir()) == [
        "pace.html",
        "pace.png",
        "pace.svg",
    ]
    png, svg, html = (path.read_bytes() for path in written)
    assert png.startswith(b"\x89PNG")
    assert b"pulls per minute" in svg
    assert b'src="http' not in html
    assert b"vegaEmbed" in html


def test_an_ending_is_not_taken_for_a_stem(tmp_path):
    with pytest.raises(InputError, match="has an ending already"):
        save(CHART, tmp_path / "pace.png")


def test_a_failed_write_leaves_the_old_file_and_no_draft(tmp_path):
    target = tmp_path / "page.html"
    target.mkdir()
    with pytest.raises(InputError, match="cannot be written"):
        write_whole(target, b"new")
    assert list(tmp_path.iterdir()) == [target]
