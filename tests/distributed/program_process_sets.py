"""Process sets of three processes; every process of ``test_process_sets.py`` runs this."""

from __future__ import annotations

import numpy as np
import pytest

import mixnet as mx
import mixnet.horovod as hvd
from mixnet.base import MXNetError

pair = hvd.ProcessSet([2, 0])
with pytest.raises(MXNetError, match=r"was not added.*add_process_set in all processes"):
    pair.size()
hvd.init(process_sets=[pair])
rank = hvd.rank()
assert hvd.size() == 3 and hvd.global_process_set.size() == 3
assert (pair.process_set_id, pair.ranks, pair.size(), pair.included()) == (1, [0, 2], 2, rank != 1)
alone = hvd.add_process_set([1])
assert alone.process_set_id == 2

for ranks, text in (
    ([0, 2], r"there is a process set of the ranks \[0, 2\]"),
    ([0, 1, 2], r"there is a process set of the ranks \[0, 1, 2\]"),
    ([0, 3], r"ranks \[0, 3\] have to be one or more from 0 to 2"),
    ([], "have to be one or more"),
    ([-1], "have to be one or more"),
):
    with pytest.raises(ValueError, match=text):
        hvd.add_process_set(ranks)
with pytest.raises(TypeError, match="takes a list of ranks, such as"):
    hvd.ProcessSet(3)
with pytest.raises(ValueError, match=r"comm is not supported.*add_process_set"):
    hvd.init([0, 1])


def exchange_all(size: int) -> None:
    """Exchanges of arrays that go directly, and of those that a program sums."""
    whole = hvd.allreduce(mx.nd.full(size, rank + 1), average=False)
    if rank == 1:
        with pytest.raises(ValueError, match=r"rank 1 is not in process set 1 of the ranks 0, 2"):
            hvd.allreduce(mx.nd.ones(size), process_set=pair)
        only = hvd.allreduce(mx.nd.full(size, 5), process_set=alone)
        assert only.asnumpy().tolist() == [5] * size and alone.rank() == 0
    else:
        assert pair.rank() == (0 if rank == 0 else 1)
        mean = hvd.allreduce(mx.nd.full(size, rank + 1), process_set=pair)
        assert mean.asnumpy().tolist() == [2] * size
        group = [mx.nd.full(size, rank + 1), mx.nd.full(3, rank, dtype="int32")]
        hvd.grouped_allreduce_(group, average=False, process_set=pair)
        assert [each.asnumpy()[0] for each in group] == [4, 2]
        copy = hvd.broadcast(mx.nd.full(size, rank), root_rank=2, process_set=pair)
        assert copy.asnumpy().tolist() == [2] * size
        rows = hvd.allgather(mx.nd.full((rank + 1, 2), rank), process_set=pair)
        assert rows.asnumpy()[:, 0].tolist() == [0, 2, 2, 2]
        parts = hvd.alltoall(mx.nd.arange(2) + 10 * rank, process_set=pair)
        assert parts.asnumpy().tolist() == ([0, 20] if rank == 0 else [1, 21])
        with pytest.raises(ValueError, match=r"root_rank=1: ranks are \[0, 2\]"):
            hvd.broadcast_(copy, root_rank=1, process_set=pair)
    assert whole.asnumpy().tolist() == [6] * size


for size in (4, 100_000):
    for _ in range(3):
        exchange_all(size)
if pair.included():
    assert hvd.broadcast_object({"from": rank}, 2, process_set=pair) == {"from": 2}
    assert hvd.allgather_object(rank, process_set=pair) == [0, 2]


def trained(rows: np.ndarray, **options: object) -> np.ndarray:
    net = mx.gluon.nn.Dense(2, in_units=3)
    net.initialize(mx.init.Constant(0.1 * (1 + rank)))
    hvd.broadcast_parameters(net.collect_params(), **options)
    trainer = hvd.DistributedTrainer(
        net.collect_params(), "sgd", {"learning_rate": 0.5}, process_set=options["process_set"]
    )
    for each in rows:
        with mx.autograd.record():
            loss = (net(mx.nd.array(each[None])) ** 2).sum()
        loss.backward()
        trainer.step(1)
    return net.weight.data().asnumpy()


draw = np.random.RandomState(0).randn(3, 4, 3).astype("float32")
if rank == 1:
    weight = trained(draw[1], root_rank=1, process_set=alone)
else:
    weight = trained(draw[rank], root_rank=0, process_set=pair)
weights = hvd.allgather(mx.nd.array(weight[None])).asnumpy()
if rank == 0:  # two of the processes are one model, as trained by hand
    by_hand = np.full((2, 3), 0.1, "float32"), np.zeros(2, "float32")
    for both in zip(draw[0], draw[2], strict=True):
        outs = [x @ by_hand[0].T + by_hand[1] for x in both]
        by_hand[0][:] -= 0.5 * np.mean(
            [2 * np.outer(out, x) for out, x in zip(outs, both, strict=True)], axis=0
        )
        by_hand[1][:] -= 0.5 * np.mean([2 * out for out in outs], axis=0)
    assert (weights[0] == weights[2]).all() and not np.allclose(weights[0], weights[1])
    assert np.allclose(weights[0], by_hand[0], rtol=1e-4)

assert hvd.remove_process_set(pair) and not hvd.remove_process_set(pair)
assert pair.process_set_id is None and not hvd.remove_process_set(hvd.global_process_set)
pair = hvd.add_process_set([0, 2])
if pair.included():
    assert hvd.allreduce(mx.nd.ones(2), average=False, process_set=pair).asnumpy()[0] == 2
print("done\n", end="", flush=True)
hvd.allreduce(mx.nd.ones(1)).wait_to_read()
if rank == 0:
    hvd.allreduce(mx.nd.ones(3), process_set=pair).wait_to_read()
elif rank == 2:
    hvd.allreduce(mx.nd.ones(4), process_set=pair).wait_to_read()
