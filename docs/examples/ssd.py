"""Finding shapes in pictures: ``python ssd.py``.

A single-shot detector (Liu et al., 2016), small, on generated pictures with a square or a disc in
each. Ends with the share of pictures it has not seen in which its best box has the right class and
overlaps the true one by at least half.
"""

from __future__ import annotations

import argparse

import numpy as np

import mixnet as mx
from mixnet import autograd, gluon, nd
from mixnet.gluon import nn

SIZES = ([0.3, 0.4], [0.5, 0.65])
RATIOS = [1, 1.5, 0.67]
BOXES = len(SIZES[0]) + len(RATIOS) - 1
CLASSES = ("square", "disc")


def pictures(count: int, size: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Noise with one shape each, and labels ``(count, 1, 5)``: class, left, top, right, bottom."""
    random = np.random.RandomState(seed)
    images = random.uniform(0, 0.3, (count, 3, size, size)).astype(np.float32)
    labels = np.zeros((count, 1, 5), np.float32)
    grid = np.arange(size) + 0.5
    for image, label in zip(images, labels, strict=False):
        extent = random.uniform(0.3, 0.7) * size
        left, top = random.uniform(0, size - extent, 2)
        kind = random.randint(2)
        across, down = grid - left - extent / 2, grid[:, None] - top - extent / 2
        if kind == 0:
            inside = (abs(across) < extent / 2) & (abs(down) < extent / 2)
        else:
            inside = across**2 + down**2 < extent**2 / 4
        image[:, inside] += random.uniform(0.4, 0.7, (3, 1))
        label[0] = [kind, *np.array([left, top, left + extent, top + extent]) / size]
    return images, labels


def halved(channels: int) -> nn.HybridSequential:
    """Two convolutions, then half the height and width."""
    net = nn.HybridSequential()
    for _ in range(2):
        net.add(nn.Conv2D(channels, 3, padding=1), nn.BatchNorm(), nn.Activation("relu"))
    net.add(nn.MaxPool2D(2))
    return net


class Detector(gluon.HybridBlock):
    """Anchors, scores of classes and offsets of boxes at two scales."""

    def __init__(self, **kwargs: object):
        super().__init__(**kwargs)
        with self.name_scope():
            self.body = nn.HybridSequential()
            self.body.add(halved(16), halved(32), halved(32))
            self.smaller = halved(32)
            self.classes, self.offsets = nn.HybridSequential(), nn.HybridSequential()
            for _ in SIZES:
                self.classes.add(nn.Conv2D(BOXES * (len(CLASSES) + 1), 3, padding=1))
                self.offsets.add(nn.Conv2D(BOXES * 4, 3, padding=1))

    def hybrid_forward(self, F, x):
        """Anchors ``(1, n, 4)``, scores ``(batch, classes + 1, n)``, offsets ``(batch, 4 n)``."""
        anchors, scores, offsets = [], [], []
        x = self.body(x)
        for scale, sizes in enumerate(SIZES):
            x = self.smaller(x) if scale else x
            anchors.append(F.contrib.MultiBoxPrior(x, sizes=sizes, ratios=RATIOS))
            for found, made in ((scores, self.classes), (offsets, self.offsets)):
                found.append(F.flatten(F.transpose(made[scale](x), (0, 2, 3, 1))))
        by_anchor = F.reshape(F.concat(*scores, dim=1), (0, -1, len(CLASSES) + 1))
        return (
            F.concat(*anchors, dim=1),
            F.transpose(by_anchor, (0, 2, 1)),
            F.concat(*offsets, dim=1),
        )


def overlap(boxes: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Intersection over union of boxes, pair by pair."""
    low, high = np.maximum(boxes[:, :2], others[:, :2]), np.minimum(boxes[:, 2:], others[:, 2:])
    both = np.clip(high - low, 0, None).prod(1)
    areas = [(each[:, 2:] - each[:, :2]).prod(1) for each in (boxes, others)]
    return both / (areas[0] + areas[1] - both)


def found_right(net: Detector, images: np.ndarray, labels: np.ndarray) -> float:
    """Share of pictures whose best box is right."""
    anchors, scores, offsets = net(nd.array(images))
    boxes = nd.contrib.MultiBoxDetection(nd.softmax(scores, axis=1), offsets, anchors).asnumpy()
    best = boxes[np.arange(len(boxes)), np.where(boxes[..., 0] < 0, -1, boxes[..., 1]).argmax(1)]
    same = best[:, 0] == labels[:, 0, 0]
    return float((same & (overlap(best[:, 2:], labels[:, 0, 1:]) >= 0.5)).mean())


def main() -> None:
    """Train and look at new pictures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pictures", type=int, default=640)
    parser.add_argument("--size", type=int, default=48)
    parser.add_argument("--batch-size", type=int, default=32)
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--lr", type=float, default=0.003)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    mx.random.seed(args.seed)
    np.random.seed(args.seed)
    images, labels = pictures(args.pictures, args.size, args.seed)
    unseen = pictures(128, args.size, args.seed + 1)
    net = Detector()
    net.initialize(mx.init.Xavier())
    net.hybridize()
    trainer = gluon.Trainer(net.collect_params(), "adam", {"learning_rate": args.lr})
    of_class = gluon.loss.SoftmaxCrossEntropyLoss(axis=1)
    of_box = gluon.loss.L1Loss()
    batches = mx.io.NDArrayIter(images, labels, args.batch_size, True, "discard")
    for epoch in range(args.epochs):
        batches.reset()
        total, count = 0.0, 0
        for batch in batches:
            with autograd.record():
                anchors, scores, offsets = net(batch.data[0])
                with autograd.pause():
                    wanted, counted, classes = nd.contrib.MultiBoxTarget(
                        anchors,
                        batch.label[0],
                        scores,
                        negative_mining_ratio=3,
                        negative_mining_thresh=0.5,
                    )
                mattering = nd.expand_dims(classes >= 0, 1)
                loss = of_class(scores, nd.maximum(classes, 0), mattering) + of_box(
                    offsets * counted, wanted
                )
            loss.backward()
            trainer.step(args.batch_size)
            total, count = total + loss.mean(), count + 1
        print(
            f"epoch {epoch}: loss {total.asscalar() / count:.4f}, "
            f"right {found_right(net, *unseen):.3f}"
        )
    print(f"pictures it has not seen with the shape found: {found_right(net, *unseen):.4f}")


if __name__ == "__main__":
    main()
