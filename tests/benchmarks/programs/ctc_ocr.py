"""Reading strips of digits with a bidirectional LSTM and CTC: loss as operator, as gluon loss,
greedy decoding.
"""

import mxnet as mx
import numpy as np
from mxnet import autograd, gluon
from mxnet.gluon import nn, rnn

rng = np.random.RandomState(77)
glyphs = rng.rand(5, 8, 4) > 0.5


def strip(n, width=24):
    images, labels = rng.normal(0, 0.1, (n, 8, width)), np.full((n, 4), -1.0)
    for i in range(n):
        x = 1
        for j in range(rng.randint(2, 5)):
            k = rng.randint(5)
            images[i, :, x : x + 4] += glyphs[k]
            labels[i, j] = k
            x += rng.randint(4, 6)
    return mx.nd.array(images), mx.nd.array(labels)


class CRNN(gluon.HybridBlock):
    def __init__(self, **kwargs):
        super(CRNN, self).__init__(**kwargs)
        with self.name_scope():
            self.conv = nn.Conv2D(16, (8, 3), padding=(0, 1), activation="relu")
            self.lstm = rnn.LSTM(12, 1, layout="NTC", bidirectional=True)
            self.fc = nn.Dense(6, flatten=False)

    def hybrid_forward(self, F, x):
        x = F.squeeze(self.conv(F.expand_dims(x, 1)), axis=2)
        return self.fc(self.lstm(F.transpose(x, (0, 2, 1))))


def decode(pred):
    text = []
    for row in pred.argmax(-1).asnumpy().astype(int):
        last, out = -1, []
        for k in row:
            if k != last and k != 5:
                out.append(int(k))
            last = k
        text.append(out)
    return text


net = CRNN()
net.initialize()
x, y = strip(48)
net(x[:2])
for p in net.collect_params().values():
    p.set_data(mx.nd.array(rng.uniform(-0.25, 0.25, p.shape)))
ctc = gluon.loss.CTCLoss(layout="NTC", label_layout="NT")
trainer = gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 0.02})
for epoch in range(14):
    total = 0
    for i in range(0, 48, 16):
        with autograd.record():
            loss = ctc(net(x[i : i + 16]), y[i : i + 16])
        loss.backward()
        gluon.utils.clip_global_norm([p.grad() for p in net.collect_params().values()], 50.0)
        trainer.step(16)
        total += loss.sum().asscalar()
    if epoch < 4:
        print(epoch, "%.3f" % (total / 48))
print("falls:", total / 48 < 3)
pred = net(x[:6])
text = decode(pred)
print([type(t).__name__ for t in text][:1], pred.shape)
act = mx.nd.array(rng.normal(0, 1, (6, 2, 5)))
lab = mx.nd.array([[1, 2, 0], [3, 3, 4]])
print(
    mx.nd.ctc_loss(act, lab).asnumpy().round(4),
    mx.nd.contrib.CTCLoss(act, lab, blank_label="first").asnumpy().round(4),
)
print(mx.nd.ctc_loss(act, lab - 1, blank_label="last", use_data_lengths=False).asnumpy().round(4))
lengths = ctc(
    act.swapaxes(0, 1),
    mx.nd.array([[1, 2, 0], [3, 3, 1]]),
    mx.nd.array([6, 5]),
    mx.nd.array([2, 3]),
)
print(lengths.asnumpy().round(4))
