"""A program for Horovod that was started without a launcher, and is the only process."""

import mixnet as mx
import mixnet.horovod as hvd
from mixnet import autograd, gluon, nd


def trained(trainer_of) -> list[list[float]]:
    """The weights after three steps."""
    net = gluon.nn.Dense(1, use_bias=False)
    net.initialize(mx.init.One())
    trainer = trainer_of(net.collect_params())
    for _ in range(3):
        with autograd.record():
            loss = net(nd.array([[1, 2]])).sum()
        loss.backward()
        trainer.step(1)
    return net.weight.data().asnumpy().tolist()


hvd.init()
assert (hvd.rank(), hvd.size(), hvd.local_rank(), hvd.local_size()) == (0, 1, 0, 1)
value = nd.array([1, 2])
assert hvd.allreduce(value).asnumpy().tolist() == [1, 2]
assert hvd.broadcast(value, root_rank=0).asnumpy().tolist() == [1, 2]
assert hvd.allgather(value).asnumpy().tolist() == hvd.alltoall(value).asnumpy().tolist() == [1, 2]
assert hvd.broadcast_object([1, "a"]) == [1, "a"] and hvd.allgather_object(7) == [7]
hvd.stop_timeline()  # HOROVOD_TIMELINE has started it
settings = "sgd", {"learning_rate": 0.25}
assert trained(lambda parameters: hvd.DistributedTrainer(parameters, *settings)) == [[0.25, -0.5]]
store = mx.kv.create("horovod")
assert (store.rank, store.num_workers) == (0, 1)
assert trained(lambda parameters: gluon.Trainer(parameters, *settings, kvstore=store)) == [
    [0.25, -0.5]
]
print("all right")
