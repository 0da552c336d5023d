"""The others wait for one slow process, which then stops without ending; see ``test_failures.py``."""

from __future__ import annotations

import os
import signal
import time

import mixnet as mx
from mixnet import nd
from mixnet.distributed import deadlocks

deadlocks.SECONDS = 1.0  # others wait so long before they ask
store = mx.kv.create("dist_sync")
store.init("w", nd.zeros(4))
out = nd.zeros(4)
for turn in range(6):
    if store.rank == 1 and turn == 3:
        end = time.monotonic() + 4
        while time.monotonic() < end:  # busy, as with work of Python's: it answers all the same
            pass
    if store.rank == 1 and turn == 5:
        os.kill(os.getpid(), signal.SIGSTOP)
    store.push("w", nd.ones(4))
    store.pull("w", out=out)
    assert out.asnumpy().tolist() == [3] * 4
