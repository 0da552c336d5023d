"""Module.fit on an iterator of one's own: callbacks, checkpoints, resuming, an evaluation with
two metrics.
"""

import logging
import os

import mxnet as mx
import numpy as np

logging.getLogger().setLevel(logging.ERROR)


class Spirals(mx.io.DataIter):
    def __init__(self, batch_size, batches, seed):
        super(Spirals, self).__init__(batch_size)
        self.seed, self.batches, self.cur = seed, batches, 0

    @property
    def provide_data(self):
        return [mx.io.DataDesc("data", (self.batch_size, 2))]

    @property
    def provide_label(self):
        return [mx.io.DataDesc("softmax_label", (self.batch_size,))]

    def reset(self):
        self.cur = 0

    def next(self):
        if self.cur >= self.batches:
            raise StopIteration
        rng = np.random.RandomState(self.seed + self.cur)
        self.cur += 1
        label = rng.randint(0, 3, self.batch_size)
        radius = rng.uniform(0.1, 1, self.batch_size)
        angle = radius * 4 + label * 2 * np.pi / 3
        data = np.stack([radius * np.cos(angle), radius * np.sin(angle)], 1)
        return mx.io.DataBatch([mx.nd.array(data)], [mx.nd.array(label)], pad=0, index=None)


def get_symbol():
    net = mx.sym.Variable("data")
    for i, size in enumerate((32, 16)):
        net = mx.sym.FullyConnected(net, num_hidden=size, name="fc%d" % (i + 1))
        net = mx.sym.Activation(net, act_type="tanh", name="tanh%d" % (i + 1))
    net = mx.sym.FullyConnected(net, num_hidden=3, name="out")
    return mx.sym.SoftmaxOutput(net, name="softmax")


@mx.init.register
class NumpyNormal(mx.init.Initializer):
    def __init__(self, scale=0.3):
        super(NumpyNormal, self).__init__(scale=scale)
        self.scale = scale
        self.rng = np.random.RandomState(7)

    def _init_weight(self, name, arr):
        arr[:] = self.rng.normal(0, self.scale, arr.shape)


train, val = Spirals(40, 15, 0), Spirals(40, 5, 1000)
seen = []


def count_batches(param):
    if param.nbatch == 14:
        seen.append((param.epoch, param.nbatch, sorted(dict(param.eval_metric.get_name_value()))))


mod = mx.mod.Module(get_symbol(), context=mx.cpu())
mod.fit(
    train,
    eval_data=val,
    eval_metric=["acc", "ce"],
    optimizer="sgd",
    optimizer_params=(("learning_rate", 0.1), ("momentum", 0.9)),
    initializer=NumpyNormal(),
    batch_end_callback=[mx.callback.Speedometer(40, 5), count_batches],
    epoch_end_callback=mx.callback.do_checkpoint("spirals", period=2),
    num_epoch=4,
)
print(seen)
print(sorted(f for f in os.listdir(".") if f.startswith("spirals")))
print("after 4:", [(n, "%.4f" % v) for n, v in mod.score(val, ["acc", "ce"])])

symbol, arg_params, aux_params = mx.model.load_checkpoint("spirals", 4)
again = mx.mod.Module(symbol)
again.fit(
    train,
    eval_data=val,
    arg_params=arg_params,
    aux_params=aux_params,
    begin_epoch=4,
    num_epoch=12,
    optimizer="adam",
    optimizer_params={"learning_rate": 0.01},
)
print("after 12:", [(n, "%.3f" % v) for n, v in again.score(val, ["acc", "ce"])])
print(again.predict(val, num_batch=2).shape, again.output_shapes)
print(sorted((k, v.shape) for k, v in again.get_params()[0].items()))
for preds, i_batch, batch in again.iter_predict(val, num_batch=2):
    print(
        i_batch,
        preds[0].asnumpy().argmax(1)[:10].astype(int),
        batch.label[0].asnumpy()[:10].astype(int),
    )
