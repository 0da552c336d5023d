"""Addresses and ports of this machine."""

from __future__ import annotations

import ipaddress
import random
import socket
from pathlib import Path

_AUTOMATIC = Path("/proc/sys/net/ipv4/ip_local_port_range")
"""Linux's setting: the first and the last port that it gives to sockets without a number."""
_LOWEST = 10_000
"""Many services of a system have fixed ports below."""


def is_loopback(address: str) -> bool:
    """Whether only processes on the same machine reach this address."""
    try:
        return ipaddress.ip_address(address).is_loopback
    except ValueError:
        return False


def bind_address(root: str) -> str:
    """The address to listen on: that of ``root`` if it belongs to this machine, else all addresses."""
    try:
        address = socket.getaddrinfo(root, 0, socket.AF_INET, socket.SOCK_STREAM)[0][4][0]
        with socket.socket() as probe:
            probe.bind((address, 0))
    except OSError:
        return ""
    # A name that resolves to the machine itself, as in /etc/hosts, would lock other machines out.
    is_name = not root.replace(".", "").isdigit() and root != "localhost"
    return "" if is_name and is_loopback(str(address)) else str(address)


def free_port(address: str = "") -> int:
    """An unused port of this machine, for a server that starts later.

    It is below those that the system gives to sockets without a number: one of these may go to another
    program's connection before the server listens, which takes seconds.

    Raises:
        OSError: ``address`` does not belong to this machine.
    """
    with socket.socket() as probe:
        probe.bind((address, 0))
        of_the_system = int(probe.getsockname()[1])
    end = int(_AUTOMATIC.read_text(encoding="utf-8").split()[0]) if _AUTOMATIC.exists() else 32768
    chance = random.SystemRandom()  # not the program's: seeded ranks would choose the same
    for _ in range(100 if end > 2 * _LOWEST else 0):
        port = chance.randrange(_LOWEST, end)
        with socket.socket() as probe:
            try:
                probe.bind((address, port))
            except OSError:
                continue
        return port
    return of_the_system
