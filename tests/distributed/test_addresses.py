"""Ports for servers that start later."""

import socket

import pytest

from mixnet.distributed import addresses
from mixnet.distributed.addresses import free_port


@pytest.mark.skipif(
    addresses._AUTOMATIC.exists()
    and int(addresses._AUTOMATIC.read_text().split()[0]) <= 2 * addresses._LOWEST,
    reason="this system gives nearly all ports to sockets without a number",
)
def test_the_system_gives_free_ports_to_no_other_socket() -> None:
    chosen = {free_port() for _ in range(50)}
    sockets = [socket.socket() for _ in range(50)]
    for each in sockets:
        each.bind(("127.0.0.1", 0))
    automatic = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    assert len(chosen) > 40 and max(chosen) < min(automatic)


def test_a_free_port_can_be_bound() -> None:
    with socket.socket() as server:
        server.bind(("127.0.0.1", free_port("127.0.0.1")))
        server.listen()
        socket.create_connection(server.getsockname(), 10).close()


def test_an_address_of_another_machine_has_no_ports_here() -> None:
    with pytest.raises(OSError):
        free_port("192.0.2.1")


def test_ports_are_the_systems_where_it_gives_nearly_all(tmp_path, monkeypatch) -> None:
    setting = tmp_path / "ip_local_port_range"
    setting.write_text("1024\t65535\n")
    monkeypatch.setattr("mixnet.distributed.addresses._AUTOMATIC", setting)
    assert 1024 < free_port() < 65536
