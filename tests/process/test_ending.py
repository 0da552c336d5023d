"""A process ends while threads of the user compute."""

from __future__ import annotations

import subprocess
import sys

PROGRAM = """
import atexit, threading, time

total = None
atexit.register(lambda: print("saved", total.asnumpy()[0] > 1))

import mixnet as mx
from mixnet import nd

total = nd.ones((50,))

def compute():
    array = nd.ones((50, 50))
    with mx.runtime.compiling_at_once():
        while True:
            array = nd.dot(array, array) * 0.01
            total.__iadd__(1)
            array.wait_to_read()

for _ in range(3):
    threading.Thread(target=compute, daemon=True).start()
while total.asnumpy()[0] < 50:
    time.sleep(0.01)
"""


def test_a_process_ends_while_daemon_threads_compute() -> None:
    run = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=100
    )
    assert (run.returncode, run.stdout, run.stderr) == (0, "saved True\n", "")
