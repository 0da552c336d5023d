"""A network that is cut, between namespaces of this machine."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from mixnet.distributed.job import EXIT_LOST
from tests.distributed.launching import PROGRAMS, ROOT

pytestmark = pytest.mark.skipif(
    not os.environ.get("MIXNET_TEST_NETWORKS") or os.getuid() != 0 or shutil.which("ip") is None,
    reason="takes half a minute and makes network namespaces: set MIXNET_TEST_NETWORKS=1, as root, with iproute2",
)


def ip(*arguments: str) -> None:
    subprocess.run(["ip", *arguments], check=True)


@pytest.fixture
def two_hosts() -> Iterator[list[str]]:
    """Names of two namespaces at 10.77.0.2 and 10.77.0.3, joined by a bridge at 10.77.0.1."""
    names = ["mxtest2", "mxtest3"]
    try:
        ip("link", "add", "mxtest", "type", "bridge")
        ip("addr", "add", "10.77.0.1/24", "dev", "mxtest")
        ip("link", "set", "mxtest", "up")
        for number, name in enumerate(names, 2):
            ip("netns", "add", name)
            ip(
                "link",
                "add",
                f"mxport{number}",
                "type",
                "veth",
                "peer",
                "name",
                "eth0",
                "netns",
                name,
            )
            ip("link", "set", f"mxport{number}", "master", "mxtest", "up")
            ip("-n", name, "addr", "add", f"10.77.0.{number}/24", "dev", "eth0")
            ip("-n", name, "link", "set", "eth0", "up")
        yield names
    finally:
        for name in names:
            subprocess.run(["ip", "netns", "del", name], check=False)
        subprocess.run(["ip", "link", "del", "mxtest"], check=False)


def test_a_cut_network_ends_both_sides(two_hosts: list[str], tmp_path: Path) -> None:
    env = {**os.environ, "DMLC_PS_ROOT_URI": "10.77.0.1", "DMLC_PS_ROOT_PORT": "9433", "DMLC_NUM_WORKER": "2",
           "DMLC_NUM_SERVER": "0", "DMLC_INTERFACE": "eth0", "PYTHONPATH": str(ROOT)}  # fmt: skip
    scheduler = subprocess.Popen(
        [sys.executable, "-c", "import mixnet"], env={**env, "DMLC_ROLE": "scheduler"}
    )
    logs = [tmp_path / f"rank {rank}" for rank in range(2)]
    workers = [
        subprocess.Popen(
            ["ip", "netns", "exec", name, sys.executable, str(PROGRAMS / "program_goes_on.py")],
            env={**env, "DMLC_ROLE": "worker", "DMLC_WORKER_ID": str(rank)},
            stdout=logs[rank].open("w"), stderr=subprocess.STDOUT,
        )
        for rank, name in enumerate(two_hosts)
    ]  # fmt: skip
    end = time.monotonic() + 60
    while not all("running" in log.read_text() for log in logs) and time.monotonic() < end:
        time.sleep(0.1)
    ip("link", "set", "mxport3", "down")  # nobody is told
    assert [worker.wait(60) for worker in workers] == [EXIT_LOST] * 2
    assert scheduler.wait(30) == 1
    for log, text in zip(logs, ("rank 1 (process", "cannot be reached"), strict=True):
        found = re.search(r"after (\d+) s: (.*)", log.read_text())
        assert found is not None and int(found[1]) < 30 and text in found[2]
