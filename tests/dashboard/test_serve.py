import socket

import pytest

from surefoot import InputError
from surefoot.cli import main
from surefoot.dashboard import serve


@pytest.mark.parametrize("host", ["0.0.0.0", "192.0.2.7", "example.org", "::"])
def test_other_machines_need_a_token(host):
    with pytest.raises(InputError, match="give --token"):
        serve([], host=host)


def test_a_short_token_is_refused():
    with pytest.raises(InputError, match="can be guessed"):
        serve([], token="secret")


def test_a_port_in_use_is_named():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(InputError, match=f"port {port}.*choose another --port"):
            serve([], port=port)


def test_the_command_names_a_file_that_is_not_there(tmp_path, capsys):
    with pytest.raises(SystemExit) as end:
        main(["dashboard", str(tmp_path / "nothing.db")])
    assert end.value.code == 2
    assert "there is no file" in capsys.readouterr().err
