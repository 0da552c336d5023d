"""Exchanges of arrays on which many programs are queued; ``test_queued.py``."""

from __future__ import annotations

from typing import Any

import mixnet as mx
import mixnet.horovod as hvd
from mixnet import nd
from mixnet.distributed import processes

hvd.init()
world = processes.world()
variables_of = processes.variables_of
was_locked: list[bool] = []


def checked(values: Any, reason: str) -> Any:
    """``variables_of``, which may wait for a queued program."""
    was_locked.append(world._ordering.locked())
    return variables_of(values, reason)


processes.variables_of = checked  # type: ignore[assignment]
x = nd.ones((400, 400))
with mx.engine.bulk(1):
    for _ in range(40):
        x = hvd.allreduce(nd.dot(x, x) * (1 / 400))
print(
    "mean", x.mean().asscalar(), "exchanges", len(was_locked), "locked", any(was_locked), flush=True
)
