"""A detector of squares like SSD: MultiBoxPrior, MultiBoxTarget, MultiBoxDetection, and box
operators of contrib.
"""

import mxnet as mx
import numpy as np
from mxnet import autograd, gluon, nd
from mxnet.gluon import nn

rng = np.random.RandomState(2)


def make(n, size=48):
    x, y = np.zeros((n, 3, size, size), "float32"), np.full((n, 1, 5), -1, "float32")
    for i in range(n):
        k, s = rng.randint(2), rng.randint(12, 24)
        top, left = rng.randint(0, size - s, 2)
        x[i, k, top : top + s, left : left + s] = 1
        y[i, 0] = [
            k,
            (left + 0.13) / size,
            top / size,
            (left + s + 0.29) / size,
            (top + s - 0.17) / size,
        ]
    return nd.array(x + rng.normal(0, 0.1, x.shape)), nd.array(y)


sizes, ratios = [[0.25, 0.35], [0.5, 0.6]], [[1, 2, 0.5]] * 2
num_anchors, num_classes = 4, 2


def down(channels):
    out = nn.HybridSequential()
    for _ in range(2):
        out.add(
            nn.Conv2D(channels, 3, strides=1, padding=1),
            nn.BatchNorm(in_channels=channels),
            nn.Activation("relu"),
        )
    out.add(nn.MaxPool2D(2))
    return out


class ToySSD(gluon.HybridBlock):
    def __init__(self, **kwargs):
        super(ToySSD, self).__init__(**kwargs)
        with self.name_scope():
            self.body = nn.HybridSequential()
            for c in (8, 16, 32):
                self.body.add(down(c))
            self.more = down(32)
            self.cls = nn.HybridSequential()
            self.box = nn.HybridSequential()
            for _ in range(2):
                self.cls.add(nn.Conv2D(num_anchors * (num_classes + 1), 3, padding=1))
                self.box.add(nn.Conv2D(num_anchors * 4, 3, padding=1))

    def hybrid_forward(self, F, x):
        anchors, classes, boxes = [], [], []
        x = self.body(x)
        for i in range(2):
            anchors.append(F.contrib.MultiBoxPrior(x, sizes=sizes[i], ratios=ratios[i], clip=False))
            classes.append(F.flatten(F.transpose(self.cls[i](x), axes=(0, 2, 3, 1))))
            boxes.append(F.flatten(F.transpose(self.box[i](x), axes=(0, 2, 3, 1))))
            if i == 0:
                x = self.more(x)
        return (
            F.concat(*anchors, dim=1),
            F.concat(*classes, dim=1).reshape((0, -1, num_classes + 1)),
            F.concat(*boxes, dim=1),
        )


net = ToySSD(prefix="ssd_")
net.initialize()
data, label = make(32)
net(data[:1])
for p in net.collect_params().values():
    if p.name.endswith("weight"):
        fan = float(np.prod(p.shape[1:]))
        p.set_data(nd.array(rng.normal(0, np.sqrt(2 / fan), p.shape)))
net.hybridize()
trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1, "wd": 5e-4})
cls_loss, box_loss = gluon.loss.SoftmaxCrossEntropyLoss(), gluon.loss.HuberLoss()
for step in range(12):
    part = slice(step % 2 * 16, step % 2 * 16 + 16)
    with autograd.record():
        anchors, cls, box = net(data[part])
        box_target, box_mask, cls_target = nd.contrib.MultiBoxTarget(
            anchors,
            label[part],
            cls.transpose((0, 2, 1)),
            negative_mining_ratio=3,
            overlap_threshold=0.5,
        )
        loss1 = cls_loss(cls, cls_target)
        loss = loss1 + box_loss(box * box_mask, box_target * box_mask)
    loss.backward()
    trainer.step(16)
    if step in (0, 1, 2, 3):
        print(
            step,
            "%.3f" % loss.mean().asscalar(),
            "%.4f" % box_mask.mean().asscalar(),
            int((cls_target > 0).sum().asscalar()),
        )
print("falls:", loss.mean().asscalar() < 0.6, anchors.shape, cls.shape, box.shape)
anchors, cls, box = net(data[:4])
out = nd.contrib.MultiBoxDetection(
    nd.SoftmaxActivation(cls.transpose((0, 2, 1)), mode="channel"),
    box,
    anchors,
    nms_threshold=0.3,
    force_suppress=True,
    nms_topk=50,
)
print(out.shape, all((row[:, 1].max() <= 1.0) for row in out.asnumpy()))
boxes = nd.array(
    [
        [0, 0.9, 0.1, 0.1, 0.5, 0.5],
        [0, 0.8, 0.12, 0.1, 0.5, 0.52],
        [1, 0.7, 0.1, 0.1, 0.5, 0.5],
        [0, 0.1, 0.6, 0.6, 0.9, 0.9],
    ]
)
print(
    nd.contrib.box_nms(boxes, overlap_thresh=0.5, coord_start=2, score_index=1, id_index=0)
    .asnumpy()
    .round(2)
)
print(nd.contrib.box_iou(boxes[:2, 2:], boxes[2:, 2:], format="corner").asnumpy().round(4))
ids, scores = nd.contrib.bipartite_matching(
    nd.array([[0.5, 0.6], [0.1, 0.2], [0.3, 0.4]]), threshold=1e-12, is_ascend=False
)
print(ids.asnumpy(), scores.asnumpy())
