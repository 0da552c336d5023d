"""CRNN: convolutions, bidirectional LSTM, CTC in gluon and in symbols; greedy and prefix beam decoding."""

import collections
import math

import mxnet as mx
import numpy as np
from mxnet import autograd, gluon, nd
from mxnet.gluon import nn, rnn

np.random.seed(31)
mx.random.seed(31)
ALPHA = "abcde"


def render(text):
    img = np.zeros((8, 40), "f")
    for i, c in enumerate(text):
        k = ALPHA.index(c) + 1
        img[k : k + 2, 3 + i * 8 : 9 + i * 8] = 1
        img[7 - k, 4 + i * 8 : 7 + i * 8] = 0.5
    return img + np.random.randn(8, 40).astype("f") * 0.1


class Words(gluon.data.Dataset):
    def __init__(self, n):
        self.items = [
            "".join(np.random.choice(list(ALPHA), np.random.randint(2, 5))) for _ in range(n)
        ]

    def __len__(self):
        return len(self.items)

    def __getitem__(self, i):
        t = self.items[i]
        lab = np.full((4,), -1, "f")
        lab[: len(t)] = [ALPHA.index(c) for c in t]
        return render(t)[None], lab


class EncoderLayer(gluon.Block):
    def __init__(self, **kwargs):
        super(EncoderLayer, self).__init__(**kwargs)
        with self.name_scope():
            self.lstm = rnn.LSTM(12, 2, bidirectional=True, dropout=0.1, layout="NTC")

    def forward(self, x):
        x = x.transpose((0, 3, 1, 2))
        x = x.reshape((0, 0, -1))
        return self.lstm(x)


net = nn.Sequential()
with net.name_scope():
    net.add(
        nn.Conv2D(8, 3, padding=1, activation="relu"),
        nn.MaxPool2D((2, 2)),
        nn.Conv2D(12, 3, padding=(1, 1)),
        nn.InstanceNorm(),
        nn.Activation("relu"),
        nn.MaxPool2D(pool_size=(2, 1), strides=(2, 1)),
        EncoderLayer(),
        nn.Dropout(0.1),
        nn.Dense(len(ALPHA) + 1, flatten=False),
    )
net.initialize(mx.init.Xavier(rnd_type="uniform", factor_type="avg", magnitude=3))
ctc = gluon.loss.CTCLoss(weight=0.5)
print(ctc, ctc._layout, ctc._label_layout)


def greedy(p):
    out = []
    for seq in p:
        prev, s = None, ""
        for c in seq:
            if c != prev and c != len(ALPHA):
                s += ALPHA[int(c)]
            prev = c
        out.append(s)
    return out


def edit(a, b):
    d = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        prev, d[0] = d[0], i
        for j, y in enumerate(b, 1):
            prev, d[j] = d[j], min(d[j] + 1, d[j - 1] + 1, prev + (x != y))
    return d[-1]


class CER(mx.metric.EvalMetric):
    def __init__(self, name="cer", **kw):
        super(CER, self).__init__(name, **kw)

    def update(self, labels, preds):
        labels, preds = mx.metric.check_label_shapes(labels, preds, True)
        for l, p in zip(labels, preds):
            for t, g in zip(l.asnumpy(), greedy(p.argmax(axis=2).asnumpy())):
                t = "".join(ALPHA[int(c)] for c in t if c >= 0)
                self.sum_metric += edit(t, g)
                self.num_inst += len(t)


def beam(logp, width=4):
    NEG = -1e30
    lse = lambda *a: (
        max(a) + math.log(sum(math.exp(x - max(a)) for x in a)) if max(a) > NEG else NEG
    )
    beams = [((), (0.0, NEG))]
    for t in logp:
        nxt = collections.defaultdict(lambda: (NEG, NEG))
        for pre, (pb, pnb) in beams:
            for s in range(len(t)):
                if s == len(t) - 1:
                    b, nb = nxt[pre]
                    nxt[pre] = (lse(b, pb + t[s], pnb + t[s]), nb)
                    continue
                end = pre[-1] if pre else None
                b, nb = nxt[pre + (s,)]
                nxt[pre + (s,)] = (b, lse(nb, pb + t[s], *([pnb + t[s]] if s != end else [])))
                if s == end:
                    b, nb = nxt[pre]
                    nxt[pre] = (b, lse(nb, pnb + t[s]))
        beams = sorted(nxt.items(), key=lambda kv: lse(*kv[1]), reverse=True)[:width]
    return "".join(ALPHA[i] for i in beams[0][0]), lse(*beams[0][1])


data = Words(24)
batchify = gluon.data.batchify.Stack() if hasattr(gluon.data, "batchify") else None
loader = gluon.data.DataLoader(data, 8, shuffle=True, last_batch="keep", sampler=None)
lens = gluon.data.DataLoader(data.transform_first(lambda x: x * 2), batch_size=8)
print(len(loader), next(iter(lens))[0].shape)
tr = gluon.Trainer(
    net.collect_params(), "adadelta", {"learning_rate": 1.0, "rho": 0.9, "clip_gradient": 5.0}
)
metric = CER()
for ep in range(3):
    tot = 0
    metric.reset()
    for x, y in loader:
        with autograd.record():
            out = net(x)
            L = ctc(out, y)
        L.backward()
        tr.step(x.shape[0])
        tot += L.mean().asscalar()
        metric.update(y, out)
    print(ep, "%.4f" % tot, metric.get_name_value())
lp = nd.log_softmax(out)[:3].asnumpy()
for l in lp:
    w, s = beam(l)
    print(w, "%.3f" % s)
ll = nd.array([2, 4, 3, 1])
pl = nd.array([20, 10, 15, 20])
print(ctc(out[:4], y[:4].clip(0, 4), pl, ll))
print(gluon.loss.CTCLoss("TNC", "TN")(out[:4].transpose((1, 0, 2)), y[:4].T))
p = nd.random.normal(shape=(6, 2, 4))
p.attach_grad()
for kw in (
    dict(),
    dict(blank_label="last"),
    dict(use_data_lengths=True, data_lengths=nd.array([4, 6])),
    dict(use_label_lengths=True, label_lengths=nd.array([1, 2])),
):
    with autograd.record():
        q = nd.ctc_loss(
            p,
            nd.array([[1, 2, 0], [1, 1, 0]])
            if "blank_label" not in kw
            else nd.array([[1, 2, -1], [1, 1, -1]]),
            **kw,
        )
    q.backward()
    print(q, p.grad.asnumpy().round(4)[0])
d, l = mx.sym.Variable("data"), mx.sym.Variable("label")
s = mx.sym.contrib.ctc_loss(data=d, label=l, blank_label="first", name="ctc")
s = mx.sym.Group([mx.sym.MakeLoss(s, name="ml"), mx.sym.BlockGrad(mx.sym.softmax(d, axis=2))])
ex = s.simple_bind(
    mx.cpu(), data=(6, 2, 4), label=(2, 3), grad_req={"data": "write", "label": "null"}
)
ex.forward(is_train=True, data=p, label=nd.array([[1, 2, 0], [3, 0, 0]]))
ex.backward()
print(ex.outputs[0], ex.grad_dict["data"].norm(), ex.grad_arrays[1])
for bad in (
    lambda: nd.ctc_loss(p, nd.ones((3, 2))),
    lambda: gluon.loss.CTCLoss("NCT"),
    lambda: ctc(out),
    lambda: net(nd.ones((1, 1, 2, 2))),
):
    try:
        bad()
        mx.nd.waitall()
        print("ok")
    except Exception as e:
        print(type(e).__name__)
