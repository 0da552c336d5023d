"""Skip-gram with negative sampling: embeddings with row_sparse gradients, lazy Adagrad, nearest
words by cosine.
"""

import mxnet as mx
import numpy as np
from mxnet import autograd, gluon, nd
from mxnet.gluon import nn

rng = np.random.RandomState(70)
groups = np.repeat(np.arange(6), 5)
corpus = []
for _ in range(80):
    g = rng.randint(6)
    corpus.append(list(rng.choice(np.where(groups == g)[0], 6)))
pairs = [
    (s[i], s[j])
    for s in corpus
    for i in range(6)
    for j in range(max(0, i - 2), min(6, i + 3))
    if i != j
]
print(len(pairs))


class SkipGram(gluon.HybridBlock):
    def __init__(self, vocab, dim, **kw):
        super().__init__(**kw)
        with self.name_scope():
            self.center = nn.Embedding(vocab, dim, sparse_grad=True, prefix="center_")
            self.context = nn.Embedding(vocab, dim, sparse_grad=True, prefix="context_")

    def hybrid_forward(self, F, center, context):
        return F.batch_dot(self.center(center), self.context(context), transpose_b=True)


net = SkipGram(30, 10)
net.initialize()
for p in net.collect_params().values():
    p.set_data(nd.array(rng.normal(0, 0.2, p.shape)))
net.hybridize()
loss_fn = gluon.loss.SigmoidBinaryCrossEntropyLoss()
trainer = gluon.Trainer(net.collect_params(), "adagrad", {"learning_rate": 0.3})
order = rng.permutation(len(pairs))
for epoch in range(2):
    total = 0.0
    for i in range(0, 1200, 60):
        chosen = [pairs[k] for k in order[i : i + 60]]
        center = nd.array([[c] for c, _ in chosen])
        context = nd.array(
            np.concatenate([[[o] for _, o in chosen], rng.randint(0, 30, (60, 4))], 1)
        )
        label = nd.concat(nd.ones((60, 1)), nd.zeros((60, 4)), dim=1)
        with autograd.record():
            pred = net(center, context).reshape(label.shape)
            loss = loss_fn(pred, label) * 5
        loss.backward()
        if epoch == 0 and i == 0:
            grad = net.center.weight.grad()
            print(
                type(grad).__name__,
                grad.stype,
                grad.indices.shape,
                "%.4f" % grad.data.norm().asscalar(),
            )
        trainer.step(60)
        total += loss.mean().asscalar()
    print(epoch, "%.4f" % (total / 20))
w = net.center.weight.data()
w = w / w.norm(axis=1, keepdims=True)
cos = nd.dot(w, w, transpose_b=True)
near = nd.topk(cos, k=5, ret_typ="indices").asnumpy().astype(int)
print(
    "same group %.2f" % np.mean([[groups[n] == groups[i] for n in near[i, 1:]] for i in range(30)])
)
rows = nd.sparse.retain(net.context.weight.data().tostype("row_sparse"), nd.array([1, 4]))
print(rows.indices.asnumpy(), rows.shape, "%.3f" % rows.asnumpy().sum())
