"""A small BERT: token, segment and position embeddings, masked tokens by gather_nd, a
next-sentence head, AdamW of one's own.
"""

import mxnet as mx
import numpy as np
from mxnet import gluon, nd
from mxnet.gluon import HybridBlock, nn

rng = np.random.RandomState(50)
V, C, T, H = 20, 16, 12, 2


@mx.optimizer.Optimizer.register
class BertAdam(mx.optimizer.Optimizer):
    def __init__(self, learning_rate=0.001, beta1=0.9, beta2=0.999, epsilon=1e-6, wd=0.0, **kwargs):
        super().__init__(learning_rate=learning_rate, wd=wd, **kwargs)
        self.beta1, self.beta2, self.epsilon = beta1, beta2, epsilon

    def create_state(self, index, weight):
        return nd.zeros(weight.shape, weight.context, dtype=weight.dtype), nd.zeros(
            weight.shape, weight.context, dtype=weight.dtype
        )

    def update(self, index, weight, grad, state):
        self._update_count(index)
        lr, wd = self._get_lr(index), self._get_wd(index)
        mean, var = state
        grad = grad * self.rescale_grad
        mean[:] = self.beta1 * mean + (1 - self.beta1) * grad
        var[:] = self.beta2 * var + (1 - self.beta2) * grad.square()
        weight[:] -= lr * (mean / (var.sqrt() + self.epsilon) + wd * weight)


class Attention(HybridBlock):
    def __init__(self, **kw):
        super().__init__(**kw)
        with self.name_scope():
            self.qkv = nn.Dense(3 * C, flatten=False, in_units=C, prefix="qkv_")
            self.proj = nn.Dense(C, flatten=False, in_units=C, prefix="proj_")

    def hybrid_forward(self, F, x, mask):
        qkv = F.transpose(F.reshape(self.qkv(x), shape=(0, 0, 3, H, -1)), axes=(2, 0, 3, 1, 4))
        q, k, v = [
            F.reshape(F.squeeze(part, axis=0), shape=(-3, 0, 0))
            for part in F.split(qkv, num_outputs=3, axis=0)
        ]
        s = F.batch_dot(F.contrib.div_sqrt_dim(q), k, transpose_b=True)
        s = F.broadcast_add(
            s,
            F.expand_dims(
                F.reshape(
                    F.broadcast_axis(F.expand_dims((1 - mask) * -1e4, 1), axis=1, size=H),
                    shape=(-3, 0),
                ),
                axis=1,
            ),
        )
        out = F.reshape(F.batch_dot(F.softmax(s, axis=-1), v), shape=(-4, -1, H, 0, 0))
        return self.proj(F.reshape(F.transpose(out, axes=(0, 2, 1, 3)), shape=(0, 0, -3)))


class Encoder(HybridBlock):
    def __init__(self, **kw):
        super().__init__(**kw)
        with self.name_scope():
            self.attention = Attention()
            self.norm1, self.norm2 = nn.LayerNorm(in_channels=C), nn.LayerNorm(in_channels=C)
            self.ffn1 = nn.Dense(32, flatten=False, in_units=C)
            self.gelu = nn.GELU()
            self.ffn2 = nn.Dense(C, flatten=False, in_units=32)

    def hybrid_forward(self, F, x, mask):
        x = self.norm1(x + self.attention(x, mask))
        return self.norm2(x + self.ffn2(self.gelu(self.ffn1(x))))


class BERT(HybridBlock):
    def __init__(self, layers=2, **kw):
        super().__init__(**kw)
        with self.name_scope():
            self.word = nn.Embedding(V, C, prefix="word_")
            self.segment = nn.Embedding(2, C, prefix="segment_")
            self.position = self.params.get("position", shape=(T, C))
            self.norm = nn.LayerNorm(in_channels=C)
            self.layers = [Encoder(prefix="layer%d_" % i) for i in range(layers)]
            for layer in self.layers:
                self.register_child(layer)
            self.pooler = nn.Dense(C, activation="tanh", in_units=C, prefix="pooler_")
            self.nsp = nn.Dense(2, in_units=C, prefix="nsp_")
            self.mlm = nn.HybridSequential(prefix="mlm_")
            with self.mlm.name_scope():
                self.mlm.add(
                    nn.Dense(C, flatten=False, in_units=C), nn.GELU(), nn.LayerNorm(in_channels=C)
                )
                self.mlm.add(
                    nn.Dense(V, flatten=False, in_units=C, params=self.word.collect_params())
                )

    def hybrid_forward(self, F, tokens, segments, length, positions, position):
        x = F.broadcast_add(self.word(tokens) + self.segment(segments), F.expand_dims(position, 0))
        x = self.norm(x)
        ones = F.SequenceMask(
            F.transpose(F.ones_like(tokens)), sequence_length=length, use_sequence_length=True
        )
        mask = F.transpose(ones)
        for layer in self.layers:
            x = layer(x, mask)
        first = F.reshape(F.slice_axis(x, axis=1, begin=0, end=1), shape=(0, -1))
        rows = F.contrib.arange_like(positions, axis=0)
        rows = F.broadcast_like(F.expand_dims(rows, 1), positions)
        picked = F.gather_nd(
            x, F.stack(F.reshape(rows, (-1,)), F.reshape(positions, (-1,)), axis=0)
        )
        return self.nsp(self.pooler(first)), self.mlm(picked)


net = BERT(prefix="bert_")
net.initialize()
for name, p in sorted(net.collect_params().items()):
    if name.endswith(("weight", "position")):
        p.set_data(nd.array(rng.normal(0, 0.15, p.shape)))
net.hybridize()
for _, v in net.collect_params(".*beta|.*gamma|.*bias").items():
    v.wd_mult = 0.0
trainer = gluon.Trainer(net.collect_params(), "bertadam", {"learning_rate": 0.01, "wd": 0.01})
ce = gluon.loss.SoftmaxCELoss()
for step in range(12):
    start, gap = rng.randint(2, 10, 16), rng.randint(1, 3, 16)
    tokens = 2 + (start[:, None] + gap[:, None] * np.arange(T)) % (V - 2)
    length = rng.randint(8, T + 1, 16)
    pos = np.stack([rng.choice(8, 2, replace=False) for _ in range(16)])
    target = tokens[np.arange(16)[:, None], pos]
    tokens[np.arange(16)[:, None], pos] = 1
    seg = (np.arange(T)[None] >= 6).repeat(16, 0)
    with mx.autograd.record():
        nsp, mlm = net(nd.array(tokens), nd.array(seg), nd.array(length), nd.array(pos))
        l1, l2 = ce(nsp, nd.array(gap - 1)), ce(mlm, nd.array(target.reshape(-1)))
        loss = l1.mean() + l2.mean()
    loss.backward()
    trainer.allreduce_grads()
    gluon.utils.clip_global_norm([p.grad() for p in net.collect_params().values()], 1.0)
    trainer.update(1)
    if step < 5:
        print(step, "%.3f %.3f" % (l1.mean().asscalar(), l2.mean().asscalar()))
print(mlm.shape, nsp.shape, np.isfinite(loss.asscalar()), len(net.collect_params().keys()))
