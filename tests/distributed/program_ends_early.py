"""Rank 0 has one batch more than the others."""

from __future__ import annotations

import mixnet as mx
from mixnet import nd

store = mx.kv.create("dist_sync")
store.init("w", nd.zeros(3))
for _ in range(3 if store.rank == 0 else 2):
    store.push("w", nd.ones(3))
    out = nd.zeros(3)
    store.pull("w", out=out)
    out.wait_to_read()
