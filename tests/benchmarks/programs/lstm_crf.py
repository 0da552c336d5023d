"""A BiLSTM-CRF tagger with the forward algorithm and Viterbi decoding one step at a time, as
tutorials have it.
"""

import mxnet as mx
import numpy as np
from mxnet import autograd, gluon, nd
from mxnet.gluon import nn, rnn

rng = np.random.RandomState(80)
START, STOP = "<s>", "</s>"
sentences = [
    (
        "the wall street journal reported today that apple corporation made money".split(),
        "B I I I O O O B I O O".split(),
    ),
    ("georgia tech is a university in georgia".split(), "B I O O O O B".split()),
    ("mary saw bell labs and ibm".split(), "O O B I O B".split()),
]
word_ix = {w: i for i, w in enumerate(sorted({w for s, _ in sentences for w in s}))}
tag_ix = {"B": 0, "I": 1, "O": 2, START: 3, STOP: 4}


def log_sum_exp(vec):
    m = nd.max(vec).asscalar()
    return nd.log(nd.sum(nd.exp(vec - m))) + m


class BiLSTM_CRF(gluon.Block):
    def __init__(self, vocab_size, tag_ix, embedding_dim, hidden_dim):
        super(BiLSTM_CRF, self).__init__()
        with self.name_scope():
            self.hidden_dim, self.tag2idx, self.n = hidden_dim, tag_ix, len(tag_ix)
            self.embeds = nn.Embedding(vocab_size, embedding_dim)
            self.lstm = rnn.LSTM(hidden_dim // 2, num_layers=1, bidirectional=True)
            self.hidden2tag = nn.Dense(self.n)
            self.transitions = self.params.get("crf_transition", shape=(self.n, self.n))

    def features(self, sentence):
        hidden = [nd.zeros((2, 1, self.hidden_dim // 2))] * 2
        out, _ = self.lstm(self.embeds(sentence).reshape((len(sentence), 1, -1)), hidden)
        return nd.split(
            self.hidden2tag(out.reshape((len(sentence), -1))),
            num_outputs=len(sentence),
            axis=0,
            squeeze_axis=True,
        )

    def forward_alg(self, feats):
        alphas = [[-10000.0] * self.n]
        alphas[0][self.tag2idx[START]] = 0.0
        alphas = nd.array(alphas)
        for feat in feats:
            now = []
            for tag in range(self.n):
                emit = feat[tag].reshape((1, -1))
                now.append(
                    log_sum_exp(alphas + self.transitions.data()[tag].reshape((1, -1)) + emit)
                )
            alphas = nd.concat(*now, dim=0).reshape((1, -1))
        return log_sum_exp(alphas + self.transitions.data()[self.tag2idx[STOP]])

    def score(self, feats, tags):
        score = nd.array([0])
        tags = nd.concat(nd.array([self.tag2idx[START]]), *[t for t in tags], dim=0)
        for i, feat in enumerate(feats):
            score = (
                score
                + self.transitions.data()[int(tags[i + 1].asscalar()), int(tags[i].asscalar())]
                + feat[int(tags[i + 1].asscalar())]
            )
        return (
            score
            + self.transitions.data()[
                self.tag2idx[STOP], int(tags[int(tags.shape[0] - 1)].asscalar())
            ]
        )

    def viterbi(self, feats):
        pointers = []
        vvars = nd.full((1, self.n), -10000.0)
        vvars[0, self.tag2idx[START]] = 0
        for feat in feats:
            best, scores = [], []
            for tag in range(self.n):
                v = vvars + self.transitions.data()[tag]
                k = int(nd.argmax(v, axis=1).asscalar())
                best.append(k)
                scores.append(v[0, k])
            vvars = (nd.concat(*scores, dim=0) + feat).reshape((1, -1))
            pointers.append(best)
        v = vvars + self.transitions.data()[self.tag2idx[STOP]]
        k = int(nd.argmax(v, axis=1).asscalar())
        score, path = v[0, k], [k]
        for best in reversed(pointers):
            k = best[k]
            path.append(k)
        assert path.pop() == self.tag2idx[START]
        return score, path[::-1]

    def neg_log_likelihood(self, sentence, tags):
        feats = self.features(sentence)
        return self.forward_alg(feats) - self.score(feats, tags)

    def forward(self, sentence):
        return self.viterbi(self.features(sentence))


model = BiLSTM_CRF(len(word_ix), tag_ix, 6, 8)
model.initialize()
data = [
    (nd.array([word_ix[w] for w in s]), nd.array([tag_ix[t] for t in tags]))
    for s, tags in sentences
]
model.features(data[0][0])
for p in model.collect_params().values():
    p.set_data(nd.array(rng.uniform(-0.4, 0.4, p.shape)))
transitions = model.transitions.data()
transitions[tag_ix[START], :] = -10000
transitions[:, tag_ix[STOP]] = -10000
optimizer = gluon.Trainer(model.collect_params(), "sgd", {"learning_rate": 0.05, "wd": 1e-4})
score, path = model(data[0][0])
print("%.3f" % score.asscalar(), path)
for epoch in range(4):
    total = 0.0
    for s, tags in data:
        with autograd.record():
            loss = model.neg_log_likelihood(s, tags)
        loss.backward()
        optimizer.step(1)
        total += loss.asscalar()
    print(epoch, "%.4f" % total)
for s, tags in data:
    score, path = model(s)
    print("%.3f" % score.asscalar(), path)
