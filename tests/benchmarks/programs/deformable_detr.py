"""Deformable DETR with mx.np: sampling at several scales, a Hungarian matcher, a set loss with GIoU."""

import math

import mxnet as mx
import numpy as onp
from mxnet import autograd, gluon, np, npx
from mxnet.gluon import nn
from scipy.optimize import linear_sum_assignment

npx.set_np()
mx.random.seed(9)
onp.random.seed(9)


class MSDeformAttn(nn.HybridBlock):
    def __init__(self, d_model=16, n_levels=2, n_heads=2, n_points=2):
        super().__init__()
        self.d, self.l, self.h, self.p = d_model, n_levels, n_heads, n_points
        self.sampling_offsets = nn.Dense(
            n_heads * n_levels * n_points * 2,
            flatten=False,
            weight_initializer=mx.init.Normal(0.02),
        )
        self.attention_weights = nn.Dense(n_heads * n_levels * n_points, flatten=False)
        self.value_proj = nn.Dense(d_model, flatten=False)
        self.output_proj = nn.Dense(d_model, flatten=False)

    def forward(self, query, ref, values, shapes):
        B, Q, _ = query.shape
        off = self.sampling_offsets(query).reshape(B, Q, self.l, self.h * self.p * 2)
        w = npx.softmax(
            self.attention_weights(query).reshape(B, Q, self.h, self.l * self.p), axis=-1
        ).reshape(B, Q, self.l, self.h, self.p)
        outs, start = [], 0
        for lvl, (H, W) in enumerate(shapes):
            v = self.value_proj(values[:, start : start + H * W])
            start += H * W
            v = (
                v.reshape(B, H * W, self.h, self.d // self.h)
                .transpose(0, 2, 3, 1)
                .reshape(B * self.h, self.d // self.h, H, W)
            )
            o = off[:, :, lvl].reshape(B, Q, self.h, self.p, 2)
            loc = ref[:, :, None, None, :] + o / np.array([W, H])
            grid = (2 * loc - 1).transpose(0, 2, 4, 1, 3).reshape(B * self.h, 2, Q, self.p)
            s = mx.nd.BilinearSampler(v.as_nd_ndarray(), grid.as_nd_ndarray()).as_np_ndarray()
            s = s * w[:, :, lvl].transpose(0, 2, 1, 3).reshape(B * self.h, 1, Q, self.p)
            outs.append(s.sum(axis=-1))
        out = sum(outs).reshape(B, self.d, Q).transpose(0, 2, 1)
        return self.output_proj(out)


class Layer(nn.HybridBlock):
    def __init__(self, d=16):
        super().__init__()
        self.attn = MSDeformAttn(d)
        self.norm1, self.norm2 = nn.LayerNorm(), nn.LayerNorm()
        self.ffn = nn.HybridSequential()
        self.ffn.add(
            nn.Dense(32, activation="relu", flatten=False),
            nn.Dropout(0.1),
            nn.Dense(d, flatten=False),
        )

    def forward(self, q, ref, values, shapes):
        q = self.norm1(q + self.attn(q, ref, values, shapes))
        return self.norm2(q + self.ffn(q))


def pos_embed(H, W, d=16, temperature=100.0):
    y, x = np.meshgrid(np.arange(H), np.arange(W), indexing="ij")
    dim = np.arange(d // 4, dtype="float32")
    dim = temperature ** (2 * np.floor(dim / 2) / (d // 4))
    px = x[:, :, None] / dim
    py = y[:, :, None] / dim
    return np.concatenate([np.sin(px), np.cos(px), np.sin(py), np.cos(py)], axis=-1).reshape(
        H * W, d
    )


def inverse_sigmoid(x, eps=1e-5):
    x = np.clip(x, 0, 1)
    return np.log(np.maximum(x, eps) / np.maximum(1 - x, eps))


class Detr(nn.Block):
    def __init__(self, classes=3, queries=6, d=16):
        super().__init__()
        self.c1 = nn.Conv2D(d, 3, strides=4, padding=1, activation="relu")
        self.c2 = nn.Conv2D(d, 3, strides=2, padding=1)
        self.gn = nn.BatchNorm(use_global_stats=False)
        self.query = self.params.get("query", shape=(queries, d), init=mx.init.Normal(1.0))
        self.refp = nn.Dense(2, flatten=False)
        self.layers = nn.Sequential()
        self.layers.add(Layer(d), Layer(d))
        self.cls = nn.Dense(classes + 1, flatten=False)
        self.box = nn.Dense(4, flatten=False, weight_initializer="zeros")

    def forward(self, x):
        f1 = self.c1(x)
        f2 = self.gn(self.c2(f1))
        shapes = [f.shape[2:] for f in (f1, f2)]
        vals = np.concatenate(
            [
                f.reshape(f.shape[0], f.shape[1], -1).transpose(0, 2, 1) + pos_embed(*s)[None]
                for f, s in zip((f1, f2), shapes)
            ],
            axis=1,
        )
        q = np.broadcast_to(self.query.data()[None], (x.shape[0],) + self.query.shape)
        ref = npx.sigmoid(self.refp(q))
        for l in self.layers:
            q = l(q, ref, vals, shapes)
        b = self.box(q)
        b = np.concatenate([b[..., :2] + inverse_sigmoid(ref), b[..., 2:]], axis=-1)
        return self.cls(q), npx.sigmoid(b)


def corners(b):
    c, s = b[..., :2], b[..., 2:]
    return np.concatenate([c - s / 2, c + s / 2], axis=-1)


def giou(a, b):
    a, b = corners(a)[:, None], corners(b)[None]
    area = lambda z: (z[..., 2] - z[..., 0]) * (z[..., 3] - z[..., 1])
    lt, rb = np.maximum(a[..., :2], b[..., :2]), np.minimum(a[..., 2:], b[..., 2:])
    wh = np.clip(rb - lt, 0, None)
    inter = wh[..., 0] * wh[..., 1]
    union = area(a) + area(b) - inter
    lt, rb = np.minimum(a[..., :2], b[..., :2]), np.maximum(a[..., 2:], b[..., 2:])
    hull = (rb - lt)[..., 0] * (rb - lt)[..., 1]
    return inter / union - (hull - union) / hull


def match(logits, boxes, labels, targets):
    p = npx.softmax(logits, axis=-1)
    cost = (
        -p[:, labels]
        + 5 * np.abs(boxes[:, None] - targets[None]).sum(-1)
        - 2 * giou(boxes, targets)
    )
    return [np.array(i, dtype="int64") for i in linear_sum_assignment(cost.asnumpy())]


net = Detr()
net.initialize(mx.init.Xavier())
trainer = gluon.Trainer(
    net.collect_params(),
    "adamw" if "adamw" in mx.optimizer.Optimizer.opt_registry else "adam",
    {"learning_rate": 2e-3},
)
ce = gluon.loss.SoftmaxCrossEntropyLoss(sparse_label=True)
imgs = np.random.uniform(0, 1, (2, 3, 32, 32))
labels = [np.array([0, 2], dtype="int32"), np.array([1], dtype="int32")]
tboxes = [np.array([[0.3, 0.3, 0.2, 0.3], [0.7, 0.6, 0.3, 0.2]]), np.array([[0.5, 0.5, 0.6, 0.4]])]
for it in range(4):
    with autograd.record():
        logits, boxes = net(imgs)
        loss = 0
        for b in range(2):
            with autograd.pause():
                i, j = match(logits[b], boxes[b], labels[b], tboxes[b])
                t = np.full((6,), 3, dtype="int32")
                t[i] = labels[b][j]
            w = np.where(t == 3, np.array(0.1), np.array(1.0))
            loss = loss + ce(logits[b], t, w.reshape(-1, 1)).sum()
            sel, tb = boxes[b][i], tboxes[b][j]
            g = giou(sel, tb)
            diag = np.diag(g)
            loss = loss + 5 * np.abs(sel - tb).sum() + 2 * (1 - diag).sum()
    loss.backward()
    norm = (
        sum(
            float((p.grad() ** 2).sum())
            for p in net.collect_params().values()
            if p.grad_req != "null"
        )
        ** 0.5
    )
    trainer.step(1)
    print(it, "%.4f %.4f" % (loss.item(), norm), i.tolist(), j.tolist())
print(net)
print(logits.shape, boxes[0, :2], type(loss).__name__)
print(pos_embed(2, 3, 8))
print(np.einsum("bqd,kd->bqk", logits, np.ones((2, 4))).shape)
v, idx = np.sort(boxes[0, :, 0])[::-1], np.argsort(boxes[0, :, 0])
print(v[:3], idx, np.isin(onp.array(1), onp.array([1])) if hasattr(np, "isin") else "no isin")
print(npx.topk(boxes[0, :, 0], k=3, ret_typ="both"))
for bad in (
    lambda: np.concatenate([imgs, boxes]),
    lambda: boxes.reshape(5, -1),
    lambda: npx.softmax(5),
    lambda: np.linalg.norm("a"),
    lambda: boxes.item(),
    lambda: float(boxes),
    lambda: boxes[10],
    lambda: net(np.ones((2, 3))),
):
    try:
        bad()
        print("ok")
    except Exception as e:
        print(type(e).__name__)
