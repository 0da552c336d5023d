"""Exchanges endlessly; prints how long it took to notice that the others are unreachable."""

from __future__ import annotations

import time

import mixnet as mx
from mixnet import nd
from mixnet.distributed import WorkerLostError

store, value = mx.kv.create("dist_sync"), nd.ones(4)
store.init(0, value)
last = time.monotonic()
try:
    for step in range(1_000_000):
        store.push(0, value)
        store.pull(0, out=value)
        value.wait_to_read()
        last = time.monotonic()
        if step == 5:
            print("running", flush=True)
        time.sleep(0.02)
except WorkerLostError as error:
    print(f"after {time.monotonic() - last:.0f} s: {error}", flush=True)
    raise
