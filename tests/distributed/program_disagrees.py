"""Workers push the same keys for a while, then rank 1 pushes other keys or in another order."""

from __future__ import annotations

import sys

import mixnet as mx
from mixnet import nd

difference = sys.argv[1]
store = mx.kv.create("dist_sync")
store.init(["a", "b"], [nd.zeros(3), nd.zeros((300, 400))])
row = nd.sparse.row_sparse_array((nd.ones((1, 400)), [0]), shape=(300, 400))
values = {"a": nd.ones(3), "b": nd.ones((300, 400))}
for _ in range(3):
    for key, value in values.items():
        store.push(key, value)
nd.waitall()
order = ["a", "b"] if store.rank == 0 else ["b", "a"]
if difference == "unread":
    store.push(order[0], values[order[0]])
    raise SystemExit(0)
try:
    if difference == "order":
        for key in order:
            store.push(key, values[key])
    elif difference == "kind" and store.rank == 1:
        store.push("a", values["a"])
        store.push("b", row)
        store.pull("b", out=nd.zeros((300, 400)))
    elif difference == "rate":
        store.set_optimizer(mx.optimizer.SGD(learning_rate=0.1 * (store.rank + 1)))
        store.push("a", values["a"])
    elif difference == "dtype" and store.rank == 1:
        store.push("a", values["a"].astype("float64"))
    else:
        if difference == "optimizer" and store.rank == 0:
            store.set_optimizer(mx.optimizer.SGD())
        store.push("a", values["a"])
        store.push("b", values["b"])
    nd.waitall()
except mx.MXNetError as error:
    notes = getattr(error, "__notes__", [])
    print(f"{type(error).__qualname__}: {error}", *notes, flush=True)
    raise SystemExit(3) from None
print("nothing was noticed", flush=True)
