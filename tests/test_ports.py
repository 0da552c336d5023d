"""Ports of tests are free, and the system gives them to no other socket."""

import socket

from tests.ports import free_port


def test_the_system_chooses_other_ports() -> None:
    chosen = {free_port() for _ in range(50)}
    sockets = [socket.socket() for _ in range(50)]
    for each in sockets:
        each.bind(("127.0.0.1", 0))
    automatic = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    assert len(chosen) > 40 and max(chosen) < min(automatic)


def test_a_port_can_be_bound() -> None:
    with socket.socket() as server:
        server.bind(("127.0.0.1", free_port()))
        server.listen()
        socket.create_connection(server.getsockname(), 10).close()
