"""A worker is killed in the first run; the second run succeeds."""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path

import mixnet as mx
from mixnet import nd

store = mx.kv.create("dist_sync")
value = nd.ones(4)
store.init(0, value)
checkpoint = Path(sys.argv[1]) / "checkpoint"
begin = int(checkpoint.read_text()) if checkpoint.exists() else 0
print(f"begins at {begin}", flush=True)
for step in range(begin, 8):
    store.push(0, value)
    store.pull(0, out=value)
    value.wait_to_read()
    store.barrier()
    if store.rank == 0:
        checkpoint.write_text(str(step + 1))
        if begin == 0 and step == 3:
            print("ends now", flush=True)
            os.kill(os.getpid(), signal.SIGKILL)
    store.barrier()
    if store.rank == 1 and step == 5:
        time.sleep(2)  # the others wait for the slow one
print("done", flush=True)
