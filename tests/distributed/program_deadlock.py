"""Two processes call the exchanges of all and of a process set in opposite order; ``test_process_sets.py``.

First they exchange in the same order a few times, so that each knows the other's order. Argument:
elements of the arrays.
"""

from __future__ import annotations

import sys

import mixnet as mx
import mixnet.horovod as hvd
from mixnet.distributed import deadlocks

deadlocks.SECONDS = 1.0  # the default is for slow networks
size, rounds = int(sys.argv[1]), int(sys.argv[2])
pair = hvd.ProcessSet([0, 1])
hvd.init(process_sets=[pair])


def of_all() -> None:
    """An exchange of all processes."""
    hvd.allreduce(mx.nd.ones(size)).asnumpy()


def of_pair() -> None:
    """An exchange of two of them."""
    hvd.allreduce(mx.nd.ones(size), process_set=pair).asnumpy()


for _ in range(rounds):
    of_all()
    if pair.included():
        of_pair()
print("agreed", flush=True)
if hvd.rank() == 0:
    of_pair()
    of_all()
else:
    of_all()
    if pair.included():
        of_pair()
