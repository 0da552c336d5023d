"""Ctrl-C and the processes of a DataLoader."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

from tests import processes
from tests.waiting import next_line

pytestmark = pytest.mark.spread
ROOT = Path(__file__).parents[3]

if not Path("/proc/self/task").exists():
    pytest.skip("looks at processes as Linux shows them", allow_module_level=True)


@pytest.mark.parametrize("part", range(2))
def test_an_interrupt_at_any_line(part: int) -> None:
    process = processes.run(
        [sys.executable, "-m", "tests.gluon.data.interrupts", str(part), "2"],
        cwd=ROOT, capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert process.returncode == 0, process.stdout + process.stderr[-3000:]


PROGRAM = """
import os, signal, sys, time, warnings
warnings.simplefilter("ignore")
import numpy as np
from mixnet.gluon import data

def children():
    return open(f"/proc/self/task/{os.getpid()}/children").read().split()

loader = data.DataLoader(data.SimpleDataset([np.full(2, i, "float32") for i in range(60)]), 3, num_workers=3)
for turn in range(12):
    try:
        print("go", flush=True)
        end = time.monotonic() + 30  # should Python have dropped it, in a finalizer
        while time.monotonic() < end:
            for batch in loader:
                pass
            loader._mx_stop_workers()
    except KeyboardInterrupt:
        pass
    found, is_pressed = None, False
    while not is_pressed:
        try:  # it may be pressed twice
            found = [float(v) for batch in loader for v in batch.asnumpy()[:, 0]]
            while not os.path.exists(f"{sys.argv[1]}/{turn}"):
                time.sleep(0.001)
            is_pressed = True
        except KeyboardInterrupt:
            pass
    assert found == list(range(60)), found
    pids = {str(each.pid) for each in loader._worker_pool._processes}
    assert set(children()) == pids, (children(), pids)
loader._mx_stop_workers()
assert not children(), children()
print("done", flush=True)
"""


def test_real_interrupts_one_after_the_other(tmp_path: Path) -> None:
    chance = random.Random(3)
    process = processes.Popen(
        [sys.executable, "-c", textwrap.dedent(PROGRAM), str(tmp_path)],
        cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        for turn in range(12):
            assert next_line(process) == "go\n"
            time.sleep(chance.uniform(0.05, 0.35))
            for _ in range(1 + turn % 2):
                os.kill(process.pid, signal.SIGINT)
                time.sleep(chance.uniform(0, 0.01))
            (tmp_path / str(turn)).touch()  # none is under way any more
        out, errors = process.communicate(timeout=120)
        assert out == "done\n" and process.returncode == 0, errors[-3000:]
        assert "Traceback" not in errors, errors
    finally:
        process.kill()
