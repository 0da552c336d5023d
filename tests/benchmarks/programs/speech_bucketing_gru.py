"""Frames of different lengths in buckets of gluon: GRU with valid lengths, masks, batchify
functions by hand.
"""

import mxnet as mx
import numpy as np
from mxnet import autograd, gluon, nd
from mxnet.gluon import nn, rnn

rng = np.random.RandomState(14)
utterances = []
for _ in range(90):
    length, k = rng.choice([7, 11, 16, 20]), rng.randint(4)
    t = np.arange(length)[:, None]
    frames = np.sin(t * (0.3 + 0.3 * k) + np.arange(6)[None] * 0.7) + rng.normal(
        0, 0.2, (length, 6)
    )
    utterances.append((frames.astype("float32"), k))


class FixedBuckets(gluon.data.Sampler):
    def __init__(self, lengths, keys, batch_size):
        self.batches = []
        lengths = np.array(lengths)
        for low, high in zip([0] + keys[:-1], keys):
            index = np.where((lengths > low) & (lengths <= high))[0]
            self.batches += [
                index[i : i + batch_size].tolist() for i in range(0, len(index), batch_size)
            ]

    def __iter__(self):
        return iter(self.batches)

    def __len__(self):
        return len(self.batches)


def pad(samples):
    longest = max(s[0].shape[0] for s in samples)
    data = np.zeros((len(samples), longest, 6), "float32")
    for i, (frames, _) in enumerate(samples):
        data[i, : len(frames)] = frames
    return nd.array(data), nd.array([len(s[0]) for s in samples]), nd.array([s[1] for s in samples])


class Speech(nn.HybridBlock):
    def __init__(self, **kw):
        super().__init__(**kw)
        with self.name_scope():
            self.rnn = rnn.GRU(16, num_layers=2, layout="NTC")
            self.norm = nn.LayerNorm()
            self.out = nn.Dense(4)

    def hybrid_forward(self, F, x, length):
        h = self.norm(self.rnn(x))
        h = F.SequenceMask(F.swapaxes(h, 0, 1), sequence_length=length, use_sequence_length=True)
        return self.out(F.broadcast_div(F.sum(h, axis=0), F.expand_dims(length, 1)))


data = gluon.data.SimpleDataset(utterances)
sampler = FixedBuckets([len(f) for f, _ in utterances], [8, 16, 20], 15)
loader = gluon.data.DataLoader(data, batch_sampler=sampler, batchify_fn=pad)
print(len(loader), [b[0].shape for b in loader])
net = Speech()
net.initialize()
net(*pad(utterances[:2])[:2])
for p in net.collect_params().values():
    if not p.name.endswith(("gamma", "beta")):
        p.set_data(nd.array(rng.uniform(-0.3, 0.3, p.shape)))
net.hybridize()
metric = mx.metric.create(["acc", mx.metric.TopKAccuracy(2), "ce"])
loss_fn = gluon.loss.SoftmaxCrossEntropyLoss()
trainer = gluon.Trainer(net.collect_params(), "rmsprop", {"learning_rate": 0.01, "gamma1": 0.9})
for epoch in range(5):
    metric.reset()
    for x, n, y in loader:
        with autograd.record():
            out = net(x, n)
            loss = loss_fn(out, y)
        loss.backward()
        trainer.step(len(y))
        metric.update(y, nd.softmax(out))
    if epoch < 3:
        print(epoch, [(n, round(v, 2)) for n, v in metric.get_name_value()])
print("learns", metric.get()[1][0] > 0.8)
