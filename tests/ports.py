"""Ports for servers that start later."""

from __future__ import annotations

import random
import socket
from pathlib import Path

_AUTOMATIC = Path("/proc/sys/net/ipv4/ip_local_port_range")


def free_port() -> int:
    """An unused port of this machine, below those that the system gives to sockets without a number.

    A port that the system has chosen may go to another test's socket before its server listens, which
    takes seconds.
    """
    end = int(_AUTOMATIC.read_text().split()[0]) if _AUTOMATIC.exists() else 32768
    chance = random.SystemRandom()  # not seeded: other workers choose at the same time
    for _ in range(100):
        port = chance.randrange(end // 3, end)
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
        return port
    raise AssertionError("no port is free")
