from tests.charts.results import EVIL, WINGS, finished


def test_a_cell_shows_answer_certificate_and_phases_without_script():
    html = finished()._repr_html_()
    assert finished().sentence.split(" has ")[0] in html
    assert "boundary" in html
    assert f"{len(finished().history)} phases" in html
    assert "<script" not in html
    assert EVIL in WINGS
