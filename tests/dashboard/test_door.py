import socket

import pytest

from surefoot import InputError
from surefoot.view.dashboard import Door


@pytest.mark.parametrize("host", ["0.0.0.0", "192.0.2.7", "example.org", "::"])
def test_other_machines_need_a_token(host):
    with pytest.raises(InputError, match="it needs a token"):
        Door(host, token=None)


def test_a_short_token_is_refused():
    with pytest.raises(InputError, match="can be guessed"):
        Door(token="secret")


def test_every_door_has_a_token_of_its_own_unless_none_is_chosen():
    tokens = {Door().token, Door().token, Door("0.0.0.0").token}
    assert len(tokens) == 3
    assert all(len(token) >= 32 for token in tokens)
    assert Door(token=None).token is None


def test_a_port_in_use_is_named():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(InputError, match=f"port {port}.*choose another port"):
            Door(port=port).opened()


def test_the_link_carries_the_token():
    door = Door(port=0, token="sixteen letters!")
    with door.opened() as listening:
        port = listening.getsockname()[1]
        assert door.address(listening) == f"http://127.0.0.1:{port}/?token=sixteen letters!"
