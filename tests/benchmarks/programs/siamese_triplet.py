"""Siamese pairs with a contrastive loss and triplets with TripletLoss and CosineEmbeddingLoss on
one shared embedding.
"""

import mxnet as mx
import numpy as np
from mxnet import autograd, gluon, nd
from mxnet.gluon import nn
from mxnet.gluon.data import Dataset

rng = np.random.RandomState(22)
centres = rng.normal(0, 1, (4, 16))


class Triplets(Dataset):
    def __init__(self, n):
        self.items = []
        for _ in range(n):
            a, b = rng.choice(4, 2, replace=False)
            self.items.append(
                [(centres[k] + rng.normal(0, 0.7, 16)).astype("float32") for k in (a, a, b)]
            )

    def __getitem__(self, i):
        return tuple(self.items[i])

    def __len__(self):
        return len(self.items)


class Embed(nn.HybridBlock):
    def __init__(self, **kwargs):
        super(Embed, self).__init__(**kwargs)
        self.fc1 = nn.Dense(24, activation="relu", in_units=16)
        self.fc2 = nn.Dense(6, in_units=24)

    def hybrid_forward(self, F, x):
        return F.L2Normalization(self.fc2(self.fc1(x)), mode="instance")


def contrastive(d, same, margin=0.5):
    return same * d**2 + (1 - same) * nd.maximum(margin - d, 0) ** 2


net = Embed()
net.initialize()
for p in net.collect_params().values():
    p.set_data(nd.array(rng.normal(0, 0.3, p.shape)))
net.hybridize()
data = Triplets(96)
loader = gluon.data.DataLoader(
    data.transform(lambda a, p, n: (a * 1.0, p * 1.0, n * 1.0)), batch_size=24
)
triplet, cosine = gluon.loss.TripletLoss(margin=0.5), gluon.loss.CosineEmbeddingLoss()
trainer = gluon.Trainer(net.collect_params(), "adamax", {"learning_rate": 0.01})
for epoch in range(5):
    sums = np.zeros(3)
    for a, p, n in loader:
        with autograd.record():
            ea, ep, en = net(a), net(p), net(n)
            one = triplet(ea, ep, en)
            two = cosine(ea, ep, nd.ones((24,))) + cosine(ea, en, -nd.ones((24,)))
            d1 = nd.sqrt(((ea - ep) ** 2).sum(axis=1) + 1e-6)
            d2 = nd.sqrt(((ea - en) ** 2).sum(axis=1) + 1e-6)
            three = contrastive(d1, nd.ones((24,))) + contrastive(d2, nd.zeros((24,)))
            loss = one + 0.1 * two.reshape((-1,)) + three
        loss.backward()
        trainer.step(24)
        sums += [one.mean().asscalar(), two.mean().asscalar(), three.mean().asscalar()]
    print(epoch, (sums / 4).round(3).tolist())
ref = net(nd.array(centres))
query = net(nd.array(np.concatenate([centres] * 5) + rng.normal(0, 0.5, (20, 16))))
near = nd.dot(query, ref, transpose_b=True).argmax(axis=1).asnumpy().astype(int)
print("%.2f" % (near == np.tile(np.arange(4), 5)).mean())
sdml = gluon.loss.SDMLLoss(smoothing_parameter=0.3)
print(sdml(ref, ref + 0.1).asnumpy().round(4).tolist())
