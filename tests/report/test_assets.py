import base64
import hashlib

from surefoot.view.report import assets


def test_vega_comes_with_its_interpreter_and_cannot_end_its_script():
    script = assets.vega_script()
    assert "vegaEmbed" in script
    assert "</script" not in script
    assert assets.vega_script() is script


def test_a_fingerprint_is_that_of_the_policy():
    expected = base64.b64encode(hashlib.sha256(b"a").digest()).decode()
    assert assets.fingerprint("a") == f"sha256-{expected}"
