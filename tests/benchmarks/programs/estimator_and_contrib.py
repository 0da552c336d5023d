"""gluon.contrib: Estimator with handlers of one's own, Concurrent, SyncBatchNorm, recurrent
cells, data readers.
"""

import logging
import os

import mxnet as mx
import numpy as np
from mxnet import gluon, nd
from mxnet.gluon import nn
from mxnet.gluon.contrib import estimator as est
from mxnet.gluon.contrib import nn as cnn
from mxnet.gluon.contrib import rnn as crnn

logging.disable(logging.CRITICAL)
rng = np.random.RandomState(34)
X = rng.normal(0, 1, (120, 8)).astype("float32")
Y = X[:, :3].argmax(1).astype("float32")
net = nn.HybridSequential()
branches = cnn.HybridConcurrent(axis=1)
branches.add(
    nn.Dense(6, activation="relu", in_units=8),
    nn.Dense(6, activation="tanh", in_units=8),
    cnn.Identity(),
)
net.add(branches, nn.Dense(3, in_units=20))
net.initialize()
for p in net.collect_params().values():
    p.set_data(nd.array(rng.normal(0, 0.3, p.shape)))
net.hybridize()


class Notes(est.TrainBegin, est.EpochEnd, est.TrainEnd, est.BatchEnd):
    def __init__(self):
        self.notes, self.batches = [], 0

    def train_begin(self, estimator, *args, **kwargs):
        self.notes.append("begin")

    def batch_end(self, estimator, *args, **kwargs):
        self.batches += 1

    def epoch_end(self, estimator, *args, **kwargs):
        self.notes.append(round(float(estimator.train_metrics[0].get()[1]), 3))

    def train_end(self, estimator, *args, **kwargs):
        self.notes.append("end")


notes = Notes()
trainer = gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 0.02})
e = est.Estimator(
    net=net,
    loss=gluon.loss.SoftmaxCrossEntropyLoss(),
    train_metrics=[mx.metric.Accuracy()],
    trainer=trainer,
    context=mx.cpu(),
)
train = gluon.data.DataLoader(gluon.data.ArrayDataset(X, Y), 30)
val = gluon.data.DataLoader(gluon.data.ArrayDataset(X[:60], Y[:60]), 30)
checkpoint = est.CheckpointHandler(model_dir="models", model_prefix="small", epoch_period=2)
early = est.EarlyStoppingHandler(monitor=e.train_metrics[0], patience=3, mode="max")
e.fit(train_data=train, val_data=val, epochs=4, event_handlers=[notes, checkpoint, early])
print(notes.notes, notes.batches)
print(sorted(f for f in os.listdir("models") if f.endswith("params")))
e.evaluate(val)
print([(m.get()[0], "%.3f" % m.get()[1]) for m in e.val_metrics][:1])
x = nd.array(rng.normal(0, 1, (2, 5, 3)))
for cell in (
    crnn.LSTMPCell(6, 4, input_size=3),
    crnn.VariationalDropoutCell(
        gluon.rnn.GRUCell(4, input_size=3), drop_inputs=0.0, drop_states=0.0
    ),
):
    cell.initialize()
    for p in cell.collect_params().values():
        p.set_data(nd.array(rng.uniform(-0.4, 0.4, p.shape)))
    out, states = cell.unroll(5, x, layout="NTC", merge_outputs=True)
    print(
        type(cell).__name__,
        out.shape,
        "%.4f" % out.abs().sum().asscalar(),
        [s.shape for s in states],
    )
conv = crnn.Conv2DLSTMCell(
    input_shape=(2, 6, 6), hidden_channels=3, i2h_kernel=3, h2h_kernel=3, i2h_pad=1
)
conv.initialize()
for p in conv.collect_params().values():
    p.set_data(nd.array(rng.uniform(-0.2, 0.2, p.shape)))
out, states = conv(nd.array(rng.normal(0, 1, (1, 2, 6, 6))), conv.begin_state(1))
print(out.shape, "%.4f" % out.abs().sum().asscalar(), len(states))
norm = cnn.SyncBatchNorm(in_channels=2, num_devices=1)
norm.initialize()
print("%.4f" % norm(nd.array(rng.normal(3, 2, (4, 2, 3, 3)))).abs().mean().asscalar())
shuffle = cnn.PixelShuffle2D(2)
print(shuffle(nd.arange(16).reshape((1, 4, 2, 2))).asnumpy().astype(int).tolist())
stack = gluon.rnn.SequentialRNNCell()
stack.add(gluon.rnn.ResidualCell(gluon.rnn.GRUCell(3, input_size=3)))
stack.add(
    gluon.rnn.BidirectionalCell(
        gluon.rnn.RNNCell(2, input_size=3), gluon.rnn.RNNCell(2, input_size=3)
    )
)
stack.initialize(mx.init.Constant(0.1))
out, states = stack.unroll(5, x, merge_outputs=True)
print(out.shape, "%.4f" % out.sum().asscalar())
print(list(gluon.contrib.data.IntervalSampler(7, interval=3)))
