"""Networks between namespaces of this machine: one that is cut, and slow ones against the model of
scaling.
"""

from __future__ import annotations

import json
import os
import re
import resource
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mixnet.distributed.job import EXIT_LOST
from tests.distributed.launching import PROGRAMS, ROOT
from tests.waiting import until

pytestmark = pytest.mark.skipif(
    not os.environ.get("MIXNET_TEST_NETWORKS"),
    reason="takes two minutes, and measures times, so nothing else should run: make networks",
)
needs_root = pytest.mark.skipif(
    os.getuid() != 0 or shutil.which("ip") is None,
    reason="makes network namespaces: run as root, with iproute2",
)


def ip(*arguments: str) -> None:
    subprocess.run(["ip", *arguments], check=True, timeout=60)


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
            subprocess.run(["ip", "netns", "del", name], check=False, timeout=60)
        # A namespace with connections goes some time after its name.
        for link in ("mxport2", "mxport3", "mxtest"):
            subprocess.run(["ip", "link", "del", link], check=False, timeout=60)


@needs_root
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
    until(lambda: all("running" in log.read_text() for log in logs))
    ip("link", "set", "mxport3", "down")  # without a notice to the peers
    assert [worker.wait(60) for worker in workers] == [EXIT_LOST] * 2
    assert scheduler.wait(30) == 1
    for log, text in zip(logs, ("rank 1 (process", "cannot be reached"), strict=True):
        message = re.search(r"after (\d+) s: (.*)", log.read_text())
        assert message is not None and int(message[1]) < 30 and text in message[2]


# ---- the model of scaling -------------------------------------------------------------------------

MEGABITS = 100
_UNSHARE = ("unshare", "--user", "--map-root-user", "--net", "--mount", "--fork", "--kill-child")


@pytest.fixture(scope="module")
def slow_links() -> dict[str, Any]:
    """What ``program_capped_links.py`` found: ``model`` and ``run``."""
    for tool in ("unshare", "ip", "tc"):
        if shutil.which(tool) is None:
            pytest.skip(
                f"makes network namespaces with a limit, for which {tool} is missing (util-linux, "
                "iproute2)"
            )
    allowed = subprocess.run(
        [*_UNSHARE, "true"], capture_output=True, text=True, check=False, timeout=60
    )
    if allowed.returncode:
        pytest.skip(f"namespaces of a user are not allowed here: {allowed.stderr.strip()}")
    program = [sys.executable, "-m", "tests.distributed.program_capped_links", str(MEGABITS)]
    before = time.perf_counter(), seconds_of_others()
    done = subprocess.run([*_UNSHARE, *program], capture_output=True, text=True, cwd=ROOT,
                          env={**os.environ, "PYTHONPATH": str(ROOT)}, timeout=240)  # fmt: skip
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    answer: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    if "skip" in answer:
        pytest.skip(f"this kernel cannot limit a link between namespaces: {answer['skip']}")
    seconds, others = time.perf_counter() - before[0], seconds_of_others() - before[1]
    answer["others"] = others / seconds / (os.cpu_count() or 1)
    return answer


def seconds_of_others() -> float:
    """Processor time so far that was not spent by the programs of these tests."""
    names = ["user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal"]
    first = Path("/proc/stat").read_text().splitlines()[0].split()[1:]
    ticks = dict(zip(names, map(int, first), strict=False))
    busy = sum(ticks.values()) - ticks["idle"] - ticks["iowait"]
    own = resource.getrusage(resource.RUSAGE_CHILDREN)
    return busy / os.sysconf("SC_CLK_TCK") - own.ru_utime - own.ru_stime


def test_each_host_sends_what_a_ring_sends(slow_links: dict[str, Any]) -> None:
    run = slow_links["run"]
    assert [point["n"] for point in run["points"]] == [1, 2, 3, 4]
    if run["points"][0]["sent"] is None:
        pytest.skip("this system does not count the bytes of connections")
    for point in run["points"][1:]:
        n = point["n"]
        assert point["sent"] == pytest.approx(2 * (n - 1) / n * run["bytes"], rel=0.02)


def test_two_hosts_predict_three_and_four(slow_links: dict[str, Any]) -> None:
    """Steps of one and two hosts are all that the model knows; those of three and four are within 15 %."""
    model = slow_links["model"]
    assert model["calibrated"] == [1, 2] and [each["n"] for each in model["checked"]] == [3, 4]
    # The model says what a link does. Where two hosts did not fill theirs, the cores were the
    # limit, which are shared.
    used = 8 / model["beta"] / (MEGABITS * 1e6)
    assert used < 1.02, "faster than the link: not what was to be measured"
    if used < 0.85:
        pytest.skip(
            f"two hosts used {used:.0%} of their link: other programs kept this machine busy"
        )
    error = max(abs(each["error"]) for each in model["checked"])
    others = slow_links["others"]
    if error >= 0.15 and others > 0.2:
        pytest.skip(
            f"an error of {error:.0%}, but other programs used {others:.0%} of the processors"
        )
    assert error < 0.15, model["checked"]
