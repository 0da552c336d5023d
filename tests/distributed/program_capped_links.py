"""``measure`` between hosts whose links carry so many bits a second; prints what ``ScalingView``
makes of it, as JSON.

Run by ``unshare --user --map-root-user --net --mount --fork --kill-child``: all hosts are
network namespaces inside those of this program, so it needs no rights and leaves nothing behind.
Its last line is ``{"skip": reason}`` where the kernel lacks something.
"""

from __future__ import annotations

import fcntl
import json
import os
import socket
import struct
import subprocess
import sys
from pathlib import Path
from typing import Any

import mixnet as mx
from mixnet.distributed import MeasureError, measuring
from mixnet.gluon import nn

ROOT = Path(__file__).parents[2]
PATIENCE = 120  # seconds for one job
SWITCH = "10.77.0.1"
_SIOCGIFFLAGS, _IFF_UP = 0x8913, 1  # of Linux


class CannotMakeHosts(Exception):
    """The kernel or a tool lacks what is needed."""


def command(*arguments: str) -> None:
    done = subprocess.run(arguments, capture_output=True, text=True, check=False, timeout=240)
    if done.returncode:
        raise CannotMakeHosts(f"{' '.join(arguments)}: {done.stderr.strip() or done.returncode}")


def check_namespace() -> None:
    """Refuse to change the network and the mounts of the machine, which root may.

    In a new network namespace the loopback interface is down.
    """
    request = struct.pack("16sh14x", b"lo", 0)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        (flags,) = struct.unpack_from("h", fcntl.ioctl(any_socket, _SIOCGIFFLAGS, request), 16)
    if flags & _IFF_UP:
        sys.exit("This network is in use: run this program by unshare, see its docstring.")


def make_hosts(count: int, megabits: int) -> None:
    """Namespaces ``host0``, ... at 10.77.0.2, ... on one bridge; what leaves a host passes a token bucket."""
    command("mount", "-t", "tmpfs", "none", "/run")  # where `ip` keeps names, ours alone
    command("ip", "link", "set", "lo", "up")
    command("ip", "link", "add", "switch", "type", "bridge")
    command("ip", "addr", "add", f"{SWITCH}/24", "dev", "switch")
    command("ip", "link", "set", "switch", "up")
    for i in range(count):
        host, port = f"host{i}", f"port{i}"
        command("ip", "netns", "add", host)
        command("ip", "link", "add", port, "type", "veth", "peer", "name", "eth0", "netns", host)
        command("ip", "link", "set", port, "master", "switch", "up")
        command("ip", "-n", host, "addr", "add", f"10.77.0.{i + 2}/24", "dev", "eth0")
        command("ip", "-n", host, "link", "set", "eth0", "up")
        command("ip", "-n", host, "link", "set", "lo", "up")
        limit = ("rate", f"{megabits}mbit", "burst", "64kb", "latency", "300ms")
        command("tc", "-n", host, "qdisc", "replace", "dev", "eth0", "root", "tbf", *limit)


def run(count: int, folder: str, timeout: float, status: object) -> dict[str, Any]:
    """A job of ``measure`` with one worker on each host and the scheduler on the switch."""
    answer = Path(folder, "answer.json")
    answer.unlink(missing_ok=True)
    env = {
        **os.environ,
        "DMLC_PS_ROOT_URI": SWITCH,
        "DMLC_PS_ROOT_PORT": str(9500 + count),
        "DMLC_NUM_WORKER": str(count),
        "DMLC_NUM_SERVER": "0",
        "DMLC_INTERFACE": "eth0",
        "PYTHONPATH": str(ROOT),
        "MIXNET_JOINT_STEP_AFTER": "2",
    }
    scheduler = subprocess.Popen(
        [sys.executable, "-c", "import mixnet"], env={**env, "DMLC_ROLE": "scheduler"}
    )
    program = [sys.executable, "-m", "mixnet.tools.measured_job", folder]
    workers = [
        subprocess.Popen(["ip", "netns", "exec", f"host{rank}", *program], cwd=ROOT,
                         env={**env, "DMLC_ROLE": "worker", "DMLC_WORKER_ID": str(rank)})
        for rank in range(count)
    ]  # fmt: skip
    codes = [each.wait(timeout) for each in (*workers, scheduler)]
    if any(codes):
        raise MeasureError(f"the job of {count} hosts failed: exit codes {codes}")
    return json.loads(answer.read_text())  # type: ignore[no-any-return]


def main(megabits: int) -> None:
    """Measure one to four hosts."""
    check_namespace()
    try:
        make_hosts(4, megabits)
    except (CannotMakeHosts, OSError) as error:
        print(json.dumps({"skip": str(error)}), flush=True)
        return
    measuring._run = run
    network = nn.HybridSequential(prefix="net_")
    with network.name_scope():
        for _ in range(6):
            network.add(nn.Dense(256, in_units=256))
    network.initialize()
    measured = mx.distributed.measure(
        network, mx.nd.ones((2, 256)), (1, 2, 3, 4), steps=1, repeats=5, device_seconds=0.03, timeout=PATIENCE
    )  # fmt: skip
    print(measured, flush=True)
    view = mx.widgets.ScalingView(measured)
    print(json.dumps({"model": view.model, "run": measured.to_dict()}), flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]))
