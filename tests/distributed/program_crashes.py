"""A server is killed, then a worker while the server restarts; the second run succeeds."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

import mixnet as mx
from mixnet import nd
from mixnet.distributed.processes import world

mark = Path(sys.argv[1]) / "second"
is_first = not mark.exists()
store = mx.kv.create("dist_async")
store.init("w", nd.zeros(16))
store.set_optimizer(mx.optimizer.Test())
store.push("w", nd.ones(16))
store.barrier()
out = nd.zeros(16)
store.pull("w", out=out)
assert (out.asnumpy() == 2).all(), out
(server,) = store.handle.server_processes()
others = world().gather(out.asnumpy())  # both have pulled
if is_first:
    if store.rank == 1:
        mark.touch()
        os.kill(server, signal.SIGKILL)
        os.kill(os.getpid(), signal.SIGKILL)
    world().member.loss_noted.wait(30)
    store.push("w", nd.ones(16))
    store.barrier()
    raise AssertionError("nobody said that rank 1 is lost")
print("done", flush=True)
