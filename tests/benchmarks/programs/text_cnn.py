"""TextCNN: two embeddings, one of them frozen from a made GloVe file, Conv1D of several widths,
a vocabulary of contrib.text.
"""

import collections

import mxnet as mx
import numpy as np
from mxnet import autograd, gluon, nd
from mxnet.contrib import text
from mxnet.gluon import nn

rng = np.random.RandomState(60)
good, bad = "good great fine lovely bright".split(), "bad awful poor dull grim".split()
other = ["w%d" % i for i in range(20)]
reviews = []
for i in range(120):
    y = i % 2
    words = list(rng.choice(other, rng.randint(6, 12)))
    for _ in range(2):
        words.insert(rng.randint(len(words)), rng.choice(good if y else bad))
    reviews.append((words, y))
counter = collections.Counter(w for words, _ in reviews for w in words)
vocab = text.vocab.Vocabulary(counter, min_freq=2, reserved_tokens=["<pad>"])
with open("made.vec", "w") as f:
    for w in sorted(counter):
        sign = 1 if w in good else -1 if w in bad else 0
        f.write(w + " " + " ".join("%.4f" % v for v in rng.normal(sign * 0.4, 0.3, 8)) + "\n")
glove = text.embedding.CustomEmbedding("made.vec", vocabulary=vocab)
print(
    len(vocab),
    vocab.to_indices(["<unk>", "<pad>", "nothing"]),
    vocab.to_tokens([0, 1]),
    glove.vec_len,
)
X = nd.array([(vocab.to_indices(words) + [1] * 12)[:14] for words, _ in reviews])
Y = nd.array([y for _, y in reviews])


class TextCNN(nn.Block):
    def __init__(self, vocab, embed_size, kernels, channels, **kwargs):
        super(TextCNN, self).__init__(**kwargs)
        self.embedding = nn.Embedding(len(vocab), embed_size)
        self.constant_embedding = nn.Embedding(len(vocab), embed_size)
        self.dropout = nn.Dropout(0.0)
        self.decoder = nn.Dense(2)
        self.pool = nn.GlobalMaxPool1D()
        self.convs = nn.Sequential()
        for c, k in zip(channels, kernels):
            self.convs.add(nn.Conv1D(c, k, activation="relu"))

    def forward(self, inputs):
        e = nd.concat(self.embedding(inputs), self.constant_embedding(inputs), dim=2).transpose(
            (0, 2, 1)
        )
        encoding = nd.concat(*[nd.flatten(self.pool(conv(e))) for conv in self.convs], dim=1)
        return self.decoder(self.dropout(encoding))


net = TextCNN(vocab, 8, [2, 3, 4], [6, 6, 6])
net.initialize()
net(X[:2])
for p in net.collect_params().values():
    p.set_data(nd.array(rng.uniform(-0.2, 0.2, p.shape)))
for e in (net.embedding, net.constant_embedding):
    e.weight.set_data(glove.idx_to_vec)
net.constant_embedding.collect_params().setattr("grad_req", "null")
before = net.constant_embedding.weight.data().copy()
trainer = gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 0.01})
loss = gluon.loss.SoftmaxCrossEntropyLoss()
train = gluon.data.DataLoader(gluon.data.ArrayDataset(X, Y), 20, shuffle=False)
for epoch in range(4):
    total, hits = 0.0, 0.0
    for x, y in train:
        with autograd.record():
            out = net(x)
            l = loss(out, y)
        l.backward()
        trainer.step(x.shape[0])
        total += l.sum().asscalar()
        hits += (out.argmax(axis=1) == y).sum().asscalar()
    print(epoch, "%.3f" % (total / 120), "%.2f" % (hits / 120))
print((net.constant_embedding.weight.data() == before).min().asscalar())
query = glove.get_vecs_by_tokens(["good", "awful"])
print(query.shape, "%.4f" % nd.dot(query[0], query[1]).asscalar())
