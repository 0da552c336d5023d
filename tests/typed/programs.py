"""Typical programs for the type checker: annotations must allow everything that the library accepts.

``make lint`` checks this file; nothing runs it.
"""

from __future__ import annotations

import logging
from typing import Any

import numpy as np

import mixnet as mx
from mixnet import autograd, gluon, nd
from mixnet.gluon import nn


class Net(gluon.HybridBlock):
    def __init__(self, classes: int, **kwargs: Any):
        super().__init__(**kwargs)
        with self.name_scope():
            self.body = nn.HybridSequential()
            self.body.add(nn.Conv2D(8, 3, strides=(1, 1), padding=1, activation="relu"))
            self.body.add(nn.MaxPool2D(2), nn.BatchNorm(), nn.Dropout(0.5))
            self.out = nn.Dense(classes, weight_initializer=mx.init.Xavier())

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        return self.out(self.body(x))


class Masked(gluon.HybridBlock):
    def forward(self, x: nd.NDArray, mask: nd.NDArray) -> nd.NDArray:
        return x * mask


class Scaled(gluon.HybridBlock):
    def hybrid_forward(self, F: Any, x: nd.NDArray, scale: nd.NDArray) -> nd.NDArray:
        return x * scale


class Identity(autograd.Function):
    def forward(self, x: nd.NDArray) -> nd.NDArray:
        return x

    def backward(self, head: nd.NDArray) -> nd.NDArray:
        return head


def train() -> None:
    context = [mx.cpu(0)]
    net = Net(10)
    net.initialize(mx.init.Xavier(magnitude=2.24), ctx=context)
    net.hybridize(static_alloc=True)
    by_dict = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1, "wd": 1e-4})
    by_list = gluon.Trainer(list(net.collect_params().values()), mx.optimizer.Adam(1e-3))
    loss = gluon.loss.SoftmaxCrossEntropyLoss(sparse_label=True)
    metric = mx.metric.Accuracy()
    data = gluon.data.ArrayDataset(np.zeros((8, 1, 28, 28), "float32"), np.zeros(8))
    for x, y in gluon.data.DataLoader(data, batch_size=4, shuffle=True, last_batch="discard"):
        with autograd.record():
            out = net(x)
            value = loss(out, y)
        value.backward()
        by_dict.step(x.shape[0])
        by_list.step(x.shape[0], ignore_stale_grad=True)
        metric.update([y], [out])
        metric.update(y, out)
    net.save_parameters("net.params")
    net.load_parameters("net.params", ctx=mx.cpu())
    net.cast("float16")
    net.cast(np.float16)


def arrays() -> None:
    a = nd.array([[1, 2], [3, 4]], dtype="float32", ctx=mx.cpu())
    b = nd.array(np.ones((2, 2)), dtype=np.float64)
    c = nd.array(a) + b.astype("float32") * 2 - 1 / a
    nd.save("arrays.nd", [a, b])
    nd.save("arrays.nd", [row.copy() for row in a])
    nd.save("arrays.nd", {"a": a, "b": b})
    nd.save("arrays.nd", c)
    c[0, 1:] = 3
    c[:] = np.zeros((2, 2))
    number: float = float(c.sum().asscalar())
    logging.info("%s %s", number, c.shape[0])
    states = nd.contrib.foreach(lambda x, s: (x + s, s), a, nd.zeros((2,)))
    nd.contrib.while_loop(lambda i: i < 3, lambda i: (i, [i + 1]), [nd.zeros((1,))], 5)
    logging.info("%s", states)
    mx.random.seed(1)
    image = mx.image.imdecode(b"")
    mx.image.imresize(image, 8, 8)
    mx.image.CreateAugmenter((3, 8, 8), mean=True, std=np.array([1.0, 1.0, 1.0]))


def recurrent() -> None:
    cell = gluon.rnn.LSTMCell(8, input_size=4, i2h_weight_initializer="zeros")
    plain = gluon.rnn.RNNCell(8, activation=nn.LeakyReLU(0.1))
    stack = gluon.rnn.SequentialRNNCell()
    stack.add(cell)
    stack.add(gluon.rnn.ResidualCell(plain))
    inputs = [nd.zeros((2, 4)) for _ in range(3)]
    outputs, states = cell.unroll(3, inputs, begin_state=cell.begin_state(2), merge_outputs=True)
    layer = gluon.rnn.LSTM(8, num_layers=2, bidirectional=True, layout="NTC")
    out, hidden = layer(nd.zeros((2, 3, 4)), layer.begin_state(batch_size=2))
    logging.info("%s %s %s %s", outputs, states, out, hidden)


def symbols() -> None:
    data = mx.sym.Variable("data")
    net = mx.sym.FullyConnected(data, num_hidden=4, name="fc")
    net = mx.sym.SoftmaxOutput(net, name="softmax")
    executor = net.simple_bind(mx.cpu(), data=(2, 3), grad_req="write")
    executor.forward(is_train=True, data=nd.ones((2, 3)))
    executor.backward()
    module = mx.mod.Module(
        net, data_names=["data"], label_names=["softmax_label"], context=mx.cpu()
    )
    train_data = mx.io.NDArrayIter(np.zeros((8, 3)), np.zeros(8), batch_size=2, shuffle=True)
    module.bind(train_data.provide_data, train_data.provide_label)
    module.init_params(mx.init.Uniform(0.1))
    module.init_optimizer("local", "sgd", optimizer_params=(("learning_rate", 0.1),))
    module.fit(
        train_data,
        eval_data=train_data,
        eval_metric="acc",
        optimizer="sgd",
        optimizer_params={"learning_rate": 0.1},
        batch_end_callback=mx.callback.Speedometer(2, 10),
        epoch_end_callback=[mx.callback.do_checkpoint("model")],
        num_epoch=1,
    )
    module.predict(train_data)
    store = mx.kv.create("local")
    store.init(3, nd.ones((2, 2)))
    store.push([3, 4], [nd.ones((2, 2)), [nd.ones((2, 2))]])
    store.pull("weight", out=[nd.ones((2, 2))])
    batch = mx.io.DataBatch(data=[nd.ones((2, 3))], label=None)
    module.forward(batch, is_train=False)


def parameters() -> None:
    class Scaled(gluon.Block):
        def __init__(self) -> None:
            super().__init__()
            self.scale = self.params.get("scale", shape=(1,), init=mx.init.One())
            self.constant = gluon.Constant("constant", [[1, 2], [3, 4]])
            self.weight = gluon.Parameter("weight", shape=3, dtype=np.float32)

        def forward(self, x: Any, *args: Any) -> Any:
            return x * self.scale.data(x.context)

    block = Scaled()
    block.initialize(ctx=mx.cpu())
    block.weight.set_data(nd.ones((3,)))
    block.weight.grad_req = "null"
    block(nd.ones((2, 3)))


def numpy_functions() -> None:
    a = mx.np.ones((2, 3))
    mx.np.where(a > 1, a, 0.5)
    mx.np.take(a, [0, 1], axis=1, mode="clip")
    mx.np.outer(a, a)
    mx.np.quantile(a, 0.5, axis=0)
    mx.np.pad(a, ((1, 1), (0, 0)))
    mx.np.linalg.norm(a, 2, axis=1)
    mx.np.unravel_index([0, 3], (2, 2))
    mx.np.random.beta(a, 2.0, size=(2, 3))
    mx.npx.random.bernoulli(prob=0.5, size=(3,))


def metrics() -> None:
    metric = mx.metric.Perplexity(ignore_label=None)
    metric.update([nd.zeros((2,))], [nd.ones((2, 3))])
    mx.metric.Loss().update(None, [nd.ones((2,)), np.ones(2)])
    mx.metric.F1().update(np.zeros(2), np.ones((2, 2)))
