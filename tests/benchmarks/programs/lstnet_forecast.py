"""LSTNet on sines: convolution, GRU, skip GRU and an autoregressive part; the evaluation is a
relative error.
"""

import mxnet as mx
import numpy as np
from mxnet import autograd, gluon, nd
from mxnet.gluon import nn, rnn

rng = np.random.RandomState(6)
t = np.arange(260)
series = np.stack(
    [np.sin(2 * np.pi * t / 12 + i) + 0.3 * np.sin(2 * np.pi * t / 5 + 2 * i) for i in range(4)], 1
)
series = (series + rng.normal(0, 0.05, series.shape)).astype("float32")
window, horizon, skip = 24, 3, 6


class TimeSeries(gluon.data.Dataset):
    def __init__(self, array):
        self.array = array

    def __len__(self):
        return len(self.array) - window - horizon

    def __getitem__(self, i):
        return self.array[i : i + window], self.array[i + window + horizon - 1]


class LSTNet(nn.HybridBlock):
    def __init__(self, num_series, conv_hid, gru_hid, skip_hid, ar_window, **kwargs):
        super(LSTNet, self).__init__(**kwargs)
        self.num_series, self.ar_window, self.conv_hid = num_series, ar_window, conv_hid
        with self.name_scope():
            self.conv = nn.Conv2D(
                conv_hid, kernel_size=(5, num_series), padding=(2, 0), activation="relu"
            )
            self.dropout = nn.Dropout(0.0)
            self.rnn = rnn.GRUCell(gru_hid)
            self.skip = rnn.GRU(skip_hid, layout="TNC")
            self.fc = nn.Dense(num_series)
            self.ar = nn.Dense(1)

    def hybrid_forward(self, F, x):
        c = self.dropout(F.squeeze(self.conv(F.expand_dims(x, 1)), axis=3))
        seq = F.transpose(c, (2, 0, 1))
        outs, states = self.rnn.unroll(window, seq, layout="TNC", merge_outputs=False)
        s = F.reshape(c, (-1, self.conv_hid, window // skip, skip))
        s = F.reshape(F.transpose(s, (2, 0, 3, 1)), (window // skip, -1, self.conv_hid))
        s = F.slice_axis(self.skip(s), axis=0, begin=-1, end=None)
        s = F.reshape(s, (-1, skip * 4))
        out = self.fc(F.concat(outs[-1], s, dim=1))
        ar = F.slice_axis(F.transpose(x, (0, 2, 1)), axis=2, begin=-self.ar_window, end=None)
        ar = self.ar(F.reshape(ar, (-1, self.ar_window)))
        return out + F.reshape(ar, (-1, self.num_series))


net = LSTNet(4, 8, 10, 4, 6)
net.initialize()
net(nd.zeros((2, window, 4)))
for p in net.collect_params().values():
    p.set_data(nd.array(rng.uniform(-0.25, 0.25, p.shape)))
net.hybridize()
train = gluon.data.DataLoader(TimeSeries(series[:220]), 32, last_batch="discard")
test = gluon.data.DataLoader(TimeSeries(series[190:]), 20, last_batch="keep")
loss = gluon.loss.L1Loss()
trainer = gluon.Trainer(
    net.collect_params(),
    optimizer="adam",
    optimizer_params={"learning_rate": 3e-3, "clip_gradient": 10.0},
)
for epoch in range(4):
    total, n = nd.zeros((1,)), 0
    for x, y in train:
        with autograd.record():
            l = loss(net(x), y)
        l.backward()
        trainer.step(32)
        total += l.mean()
        n += 1
    print(epoch, "%.4f" % (total / n).asscalar())
pred, true = zip(*[(net(x).asnumpy(), y.asnumpy()) for x, y in test])
pred, true = np.concatenate(pred), np.concatenate(true)
print(
    pred.shape,
    "rse %.3f" % (np.sqrt(((pred - true) ** 2).sum()) / np.sqrt(((true - true.mean()) ** 2).sum())),
)
