"""Addresses and ports of this machine."""

from __future__ import annotations

import ipaddress
import socket


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
    """An unused port of this machine."""
    with socket.socket() as probe:
        probe.bind((address, 0))
        return int(probe.getsockname()[1])
