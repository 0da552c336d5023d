"""BERT with a word-piece tokenizer of its own: masked words, then a classifier with warm-up and
accumulated gradients.
"""

import collections
import json
import math
import random
import re
import unicodedata

import mxnet as mx
import numpy as np
from mxnet import autograd, gluon, nd
from mxnet.gluon import HybridBlock, nn
from mxnet.gluon.data import DataLoader

random.seed(100)
np.random.seed(100)
mx.random.seed(100)


class Vocab:
    def __init__(self, counter, padding="[PAD]", unk="[UNK]", special=("[CLS]", "[SEP]", "[MASK]")):
        self.idx_to_token = [unk, padding, *special] + [
            w for w, c in sorted(counter.items(), key=lambda k: (-k[1], k[0]))
        ]
        self.token_to_idx = collections.defaultdict(
            lambda: 0, {t: i for i, t in enumerate(self.idx_to_token)}
        )
        self.padding_token = padding
        self.cls_token, self.sep_token, self.mask_token = special

    def __len__(self):
        return len(self.idx_to_token)

    def __getitem__(self, t):
        return (
            [self.token_to_idx[x] for x in t]
            if isinstance(t, (list, tuple))
            else self.token_to_idx[t]
        )

    def to_tokens(self, i):
        return [self.idx_to_token[x] for x in i]


class WordPiece:
    def __init__(self, vocab):
        self.v = vocab

    def __call__(self, text):
        out = []
        text = unicodedata.normalize("NFC", text)
        for w in re.findall("\\w+|[^\\w\\s]", text.lower()):
            i, sub = (0, [])
            while i < len(w):
                j = len(w)
                while j > i and ("##" if i else "") + w[i:j] not in self.v.token_to_idx:
                    j -= 1
                if j == i:
                    sub = ["[UNK]"]
                    break
                sub.append(("##" if i else "") + w[i:j])
                i = j
            out += sub
        return out


texts = [
    ("이 영화 정말 좋아요", 1),
    ("정말 최고의 영화", 1),
    ("지루한 영화", 0),
    ("이 배우 별로", 0),
    ("배우 연기 좋아요!", 1),
    ("연기 별로, 지루한 이야기", 0),
    ("이야기 최고", 1),
    ("정말 지루해", 0),
] * 8
cnt = collections.Counter()
for t, _ in texts:
    for w in re.findall("\\w+|[^\\w\\s]", t):
        cnt[w[:2]] += 1
        for k in range(2, len(w), 1):
            cnt["##" + w[k:]] += 1
        for ch in w:
            cnt[ch] += 1
            cnt["##" + ch] += 1
vocab = Vocab(cnt)
tok = WordPiece(vocab)
print(len(vocab), tok("정말 지루한 영화!"), vocab[tok("최고의 xyz")])


class BERTSentenceTransform:
    def __init__(self, tok, L, vocab, pad=True, pair=False):
        self.t, self.L, self.v, self.pad, self.pair = (tok, L, vocab, pad, pair)

    def __call__(self, line):
        a = self.t(line[0])[: self.L - 2]
        tokens = [self.v.cls_token] + a + [self.v.sep_token]
        seg = [0] * len(tokens)
        n = len(tokens)
        ids = self.v[tokens]
        if self.pad:
            ids += [self.v[self.v.padding_token]] * (self.L - n)
            seg += [0] * (self.L - n)
        return (
            np.array(ids, dtype="int32"),
            np.array(n, dtype="int32"),
            np.array(seg, dtype="int32"),
        )


class BERTDataset(mx.gluon.data.Dataset):
    def __init__(self, data, tf):
        self.sentences = [tf([t]) for t, _ in data]
        self.labels = [np.int32(l) for _, l in data]

    def __getitem__(self, i):
        return self.sentences[i] + (self.labels[i],)

    def __len__(self):
        return len(self.labels)


ds = BERTDataset(texts, BERTSentenceTransform(tok, 12, vocab))
print(ds[0][:3])


class GELU(HybridBlock):
    def __init__(self, **kw):
        super().__init__(**kw)
        self._s = math.sqrt(2.0)

    def hybrid_forward(self, F, x):
        return x * 0.5 * (1.0 + F.erf(x / self._s))


class SelfAttention(HybridBlock):
    def __init__(self, units, heads, dropout, **kw):
        super().__init__(**kw)
        self.h = heads
        self.u = units
        with self.name_scope():
            self.query_key_value = nn.Dense(3 * units, flatten=False, in_units=units, prefix="qkv_")
            self.drop = nn.Dropout(dropout)

    def hybrid_forward(self, F, x, mask):
        qkv = self.query_key_value(x)
        q = qkv
        att = F.contrib.interleaved_matmul_selfatt_qk(q, heads=self.h)
        if mask is not None:
            att = F.where(mask, att, F.ones_like(att) * -1e18)
        w = self.drop(F.softmax(att, axis=-1))
        w = F.where(mask, w, F.zeros_like(w)) if mask is not None else w
        return (F.contrib.interleaved_matmul_selfatt_valatt(qkv, w, heads=self.h), w)


class Cell(HybridBlock):
    def __init__(self, units, hidden, heads, dropout, **kw):
        super().__init__(**kw)
        with self.name_scope():
            self.att = SelfAttention(units, heads, dropout)
            self.proj = nn.Dense(units, flatten=False, in_units=units, prefix="proj_")
            self.ln = nn.LayerNorm(in_channels=units, epsilon=1e-12)
            self.f1 = nn.Dense(hidden, flatten=False, prefix="ffn1_")
            self.act = GELU()
            self.f2 = nn.Dense(units, flatten=False, prefix="ffn2_")
            self.ln2 = nn.LayerNorm(epsilon=1e-12)
            self.drop = nn.Dropout(dropout)

    def hybrid_forward(self, F, x, mask):
        o, w = self.att(x, mask)
        x = self.ln(x + self.drop(self.proj(o)))
        y = self.f2(self.act(self.f1(x)))
        return (self.ln2(x + self.drop(y)), w)


class BERT(HybridBlock):
    def __init__(self, V, units=16, hidden=32, layers=2, heads=2, maxlen=16, dropout=0.1, **kw):
        super().__init__(**kw)
        self.heads = heads
        with self.name_scope():
            self.word_embed = nn.HybridSequential(prefix="word_embed_")
            with self.word_embed.name_scope():
                self.word_embed.add(nn.Embedding(V, units, weight_initializer=mx.init.Normal(0.02)))
                self.word_embed.add(nn.Dropout(dropout))
            self.token_type_embed = nn.Embedding(2, units)
            self.position_weight = self.params.get(
                "position_weight", shape=(maxlen, units), init=mx.init.Normal(0.02)
            )
            self.ln = nn.LayerNorm()
            self.cells = nn.HybridSequential(prefix="transformer_")
            with self.cells.name_scope():
                for i in range(layers):
                    self.cells.add(Cell(units, hidden, heads, dropout, prefix="transformer%d_" % i))
            self.pooler = nn.Dense(units, activation="tanh", flatten=False, prefix="pooler_")
            self.decoder = nn.HybridSequential(prefix="decoder_")
            with self.decoder.name_scope():
                self.decoder.add(
                    nn.Dense(units, flatten=False),
                    GELU(),
                    nn.LayerNorm(),
                    nn.Dense(V, flatten=False, params=self.word_embed[0].collect_params()),
                )

    def hybrid_forward(self, F, ids, seg, vlen, pos=None, position_weight=None):
        x = self.word_embed(ids) + self.token_type_embed(seg)
        ar = F.contrib.arange_like(ids, axis=1)
        x = F.broadcast_add(x, F.expand_dims(F.take(position_weight, ar), 0))
        x = self.ln(x).transpose((1, 0, 2))
        m = F.broadcast_lesser(
            F.cast(F.reshape(ar, (1, -1)), "float32"), F.reshape(F.cast(vlen, "float32"), (-1, 1))
        )
        m = F.batch_dot(
            F.expand_dims(F.ones_like(ids).astype("float32"), 2),
            F.expand_dims(m, 1).astype("float32"),
        )
        m = F.repeat(m, repeats=self.heads, axis=0)
        ws = []
        for c in self.cells:
            x, w = c(x, m)
            ws.append(w)
        x = x.transpose((1, 0, 2))
        out = self.pooler(F.squeeze(F.slice_axis(x, axis=1, begin=0, end=1), axis=1))
        if pos is not None:
            b = F.contrib.arange_like(pos, axis=0)
            b = F.broadcast_like(F.expand_dims(b, 1), pos)
            enc = F.gather_nd(x, F.stack(b, pos, axis=0))
            return (x, out, self.decoder(enc))
        return (x, out, ws[-1])


class Classifier(nn.Block):
    def __init__(self, bert, num_classes=2, dropout=None, prefix=None, params=None):
        super().__init__(prefix=prefix, params=params)
        self.bert = bert
        with self.name_scope():
            self.classifier = nn.HybridSequential(prefix=prefix)
            if dropout:
                self.classifier.add(nn.Dropout(rate=dropout))
            self.classifier.add(nn.Dense(units=num_classes))

    def forward(self, inputs, token_types, valid_length=None):
        _, pooler, _ = self.bert(inputs, token_types, valid_length)
        return self.classifier(pooler)


bert = BERT(len(vocab), prefix="bert_")
bert.initialize(mx.init.Normal(0.02))
bert.hybridize(static_alloc=True)
print(sorted(bert.collect_params())[:6], len(bert.collect_params().keys()))
trainer = gluon.Trainer(
    bert.collect_params(), "lamb", {"learning_rate": 0.01, "wd": 0.01, "bias_correction": True}
)
mlm = gluon.loss.SoftmaxCELoss()
for v in bert.collect_params(".*beta|.*gamma|.*bias").values():
    v.wd_mult = 0.0
dl = DataLoader(ds, batch_size=16, shuffle=True)
for ep in range(2):
    for ids, vl, seg, _ in dl:
        pos = nd.array(
            [[1, random.randint(1, int(n) - 2) if n > 3 else 1] for n in vl.asnumpy()],
            dtype="int32",
        )
        bi = nd.arange(ids.shape[0]).reshape((-1, 1)).broadcast_like(pos).astype("int32")
        lab = nd.gather_nd(ids, nd.stack(bi, pos))
        masked = ids.copy()
        for b in range(ids.shape[0]):
            for p in pos[b].asnumpy():
                masked[b, int(p)] = vocab["[MASK]"]
        with autograd.record():
            _, _, dec = bert(masked, seg, vl, pos)
            l = mlm(dec, lab).mean()
        l.backward()
        trainer.step(1)
    print("mlm", ep, l.asscalar(), dec.shape)
model = Classifier(bert, 2, dropout=0.1)
model.classifier.initialize(init=mx.init.Normal(0.02))
model.hybridize()
loss_function = gluon.loss.SoftmaxCELoss()
metric = mx.metric.Accuracy()
trainer = gluon.Trainer(
    model.collect_params(),
    "adamw" if mx.optimizer.Optimizer.opt_registry.get("adamw") else "adam",
    {"learning_rate": 0.005, "epsilon": 1e-09, "wd": 0.01},
)
params = [p for p in model.collect_params().values() if p.grad_req != "null"]
acc = 2
for p in params:
    p.grad_req = "add"
step_size = len(ds) // 16
total = step_size * 4
warm = int(total * 0.1)
step = 0
for ep in range(3):
    metric.reset()
    sl = 0
    for bid, (t, v, s, label) in enumerate(DataLoader(ds, 16, shuffle=True)):
        with autograd.record():
            out = model(t, s, v.astype("float32"))
            ls = loss_function(out, label).mean() / acc
        ls.backward()
        if (bid + 1) % acc == 0:
            step += 1
            trainer.set_learning_rate(
                0.005 * (step / max(1, warm) if step < warm else (total - step) / (total - warm))
            )
            trainer.allreduce_grads()
            nm = gluon.utils.clip_global_norm(
                [p.grad() for p in params if p.grad().shape], 1, check_isfinite=False
            )
            trainer.update(1, ignore_stale_grad=True)
            for p in params:
                p.zero_grad()
        sl += ls.asscalar()
        metric.update([label], [out])
    print(
        ep,
        "loss %.4f" % sl,
        metric.get(),
        trainer.learning_rate,
        nm.asscalar(),
        trainer._optimizer.num_update,
    )
print(model)
inputs = [nd.array([ds[i][k] for i in range(4)]) for k in (0, 2, 1)]
print(nd.argmax(model(*inputs), axis=1))
print(model.save_parameters("m.params", deduplicate=True))
print(len(nd.load("m.params")), model.load_parameters("m.params", ignore_extra=True))
bert.export("bert", 0)
j = json.load(open("bert-symbol.json"))
print(
    len(j["nodes"]),
    len(j["arg_nodes"]),
    [n["name"] for n in j["nodes"] if n["op"] == "null"][:8],
    collections.Counter((n["op"] for n in j["nodes"])).most_common(8),
)
print([n["name"] for n in j["nodes"]][:60])
_, _, w = bert(*[nd.array([x]) for x in (ds[0][0], ds[0][2], ds[0][1])])
print(w.shape, w[0, 0])
