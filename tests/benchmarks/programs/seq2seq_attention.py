"""Sequence to sequence with additive attention: an encoder, a decoder cell step by step, teacher
forcing, greedy output.
"""

import mxnet as mx
import numpy as np
from mxnet import autograd, gluon, nd
from mxnet.gluon import nn, rnn

rng = np.random.RandomState(9)
vocab, bos, eos, hidden = 12, 10, 11, 20


def batch(n, length=5):
    src = rng.randint(0, 10, (n, length))
    tgt = np.concatenate([np.full((n, 1), bos), src[:, ::-1], np.full((n, 1), eos)], 1)
    return nd.array(src), nd.array(tgt)


class Encoder(nn.Block):
    def __init__(self, **kw):
        super(Encoder, self).__init__(**kw)
        with self.name_scope():
            self.embed = nn.Embedding(vocab, 16)
            self.rnn = rnn.GRU(hidden)

    def forward(self, x, state):
        return self.rnn(self.embed(x).swapaxes(0, 1), state)

    def begin_state(self, *args, **kwargs):
        return self.rnn.begin_state(*args, **kwargs)


class Attention(nn.Block):
    def __init__(self, **kw):
        super(Attention, self).__init__(**kw)
        with self.name_scope():
            self.net = nn.Sequential()
            self.net.add(
                nn.Dense(16, activation="tanh", use_bias=False, flatten=False),
                nn.Dense(1, use_bias=False, flatten=False),
            )

    def forward(self, enc, state):
        states = nd.broadcast_axis(state.expand_dims(0), axis=0, size=enc.shape[0])
        e = self.net(nd.concat(enc, states, dim=2))
        alpha = nd.softmax(e, axis=0)
        return (alpha * enc).sum(axis=0)


class Decoder(nn.Block):
    def __init__(self, **kw):
        super(Decoder, self).__init__(**kw)
        with self.name_scope():
            self.embed = nn.Embedding(vocab, 16)
            self.attention = Attention()
            self.cell = rnn.GRUCell(hidden)
            self.out = nn.Dense(vocab)

    def forward(self, token, state, enc):
        context = self.attention(enc, state[0])
        out, state = self.cell(nd.concat(self.embed(token), context, dim=1), state)
        return self.out(out), state


encoder, decoder = Encoder(prefix="enc_"), Decoder(prefix="dec_")
for net in (encoder, decoder):
    net.initialize()
src, tgt = batch(2)
enc, st = encoder(src, encoder.begin_state(batch_size=2))
decoder(tgt[:, 0], [st[0][0]], enc)
for net in (encoder, decoder):
    for p in net.collect_params().values():
        p.set_data(nd.array(rng.uniform(-0.3, 0.3, p.shape)))
trainers = [
    gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 0.01})
    for net in (encoder, decoder)
]
loss_fn = gluon.loss.SoftmaxCrossEntropyLoss()
for step in range(30):
    src, tgt = batch(16)
    loss = nd.zeros((16,))
    with autograd.record():
        enc, state = encoder(src, encoder.begin_state(batch_size=16, func=nd.zeros))
        state = [state[0][0]]
        for i in range(tgt.shape[1] - 1):
            out, state = decoder(tgt[:, i], state, enc)
            loss = loss + loss_fn(out, tgt[:, i + 1])
    loss.backward()
    for t in trainers:
        t.step(16)
    if step in (0, 1, 2, 5, 10):
        print(step, "%.3f" % (loss.mean().asscalar() / 6))
print("falls:", loss.mean().asscalar() / 6 < 2.2)
src, _ = batch(1)
enc, state = encoder(src, encoder.begin_state(batch_size=1))
state, token, words = [state[0][0]], nd.array([bos]), []
for _ in range(8):
    out, state = decoder(token, state, enc)
    token = out.argmax(axis=1)
    k = int(token.asscalar())
    if k == eos:
        break
    words.append(k)
print(len(words) <= 8)
