"""A residual network on CIFAR-10 with Gluon: ``python train_cifar10.py --data ~/cifar10``.

Takes CIFAR-10's binary files if they are in ``--data`` (or downloads them with ``--download``), else
pictures that it draws: stripes, checks, discs and the like in ten classes. Ends with the accuracy on
pictures it has not seen.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np

import mixnet as mx
from mixnet import autograd, gluon
from mixnet.gluon.data.vision import CIFAR10, transforms
from mixnet.gluon.model_zoo import vision

MEAN, SPREAD = [0.4914, 0.4822, 0.4465], [0.2470, 0.2435, 0.2616]


def drawn(count: int, seed: int, size: int = 32) -> gluon.data.ArrayDataset:
    """Pictures of ten textures in random colours, with noise."""
    random = np.random.RandomState(seed)
    down, across = np.mgrid[:size, :size] / size
    images, labels = np.zeros((count, size, size, 3), np.uint8), np.arange(count) % 10
    for image, label in zip(images, labels, strict=False):
        shift, waves = random.uniform(0, 1, 2), random.uniform(2, 5)
        x, y = across + shift[0], down + shift[1]
        radius = np.hypot(across - 0.5, down - 0.5)
        pattern = (
            np.sin(2 * np.pi * waves * x),
            np.sin(2 * np.pi * waves * y),
            np.sin(2 * np.pi * waves * (x + y)),
            np.sin(2 * np.pi * waves * (x - y)),
            np.sin(2 * np.pi * waves * x) * np.sin(2 * np.pi * waves * y),
            np.sin(2 * np.pi * 2 * waves * radius),
            0.35 - radius,
            radius - 0.35,
            across - 0.5,
            down - 0.5,
        )[label]
        first, second = random.uniform(0, 255, (2, 3))
        mixed = np.where((pattern > 0)[..., None], first, second)
        image[:] = np.clip(mixed + random.normal(0, 20, mixed.shape), 0, 255)
    return gluon.data.ArrayDataset(mx.nd.array(images, dtype="uint8"), labels.astype(np.int32))


def main() -> None:
    """Train and say how well it went."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--data", type=Path, default=Path("data/cifar10"))
    parser.add_argument("--download", action="store_true")
    parser.add_argument(
        "--network", default="", help="name in the model zoo; a small network by default"
    )
    parser.add_argument("--gpus", help="numbers, such as 0,1; the CPU if omitted")
    parser.add_argument("--cpus", type=int, default=1, help="CPU devices to train on")
    parser.add_argument("--pictures", type=int, default=2000, help="pictures to draw for training")
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--epochs", type=int, default=6)
    parser.add_argument("--lr", type=float, default=0.1)
    parser.add_argument("--wd", type=float, default=1e-4)
    parser.add_argument("--workers", type=int, default=0)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    mx.random.seed(args.seed)
    np.random.seed(args.seed)
    if args.gpus:
        devices = [mx.gpu(int(number)) for number in args.gpus.split(",")]
    else:
        devices = [mx.cpu(number) for number in range(args.cpus)]
    if args.download or (args.data / "data_batch_1.bin").exists():
        train, held = (CIFAR10(str(args.data), train=part) for part in (True, False))
    else:
        print(f"CIFAR-10 is not in {args.data}/: drawing {args.pictures} pictures.")
        train, held = drawn(args.pictures, args.seed), drawn(args.pictures // 4, args.seed + 1)
    last = [transforms.ToTensor(), transforms.Normalize(MEAN, SPREAD)]
    turned = transforms.Compose([transforms.RandomFlipLeftRight(), *last])
    batches = gluon.data.DataLoader(
        train.transform_first(turned),
        args.batch_size,
        shuffle=True,
        last_batch="discard",
        num_workers=args.workers,
    )
    unseen = gluon.data.DataLoader(
        held.transform_first(transforms.Compose(last)), args.batch_size, num_workers=args.workers
    )
    if args.network:
        net = vision.get_model(args.network, classes=10)
    else:
        net = vision.ResNetV1(vision.BasicBlockV1, [1, 1, 1], [16, 16, 32, 64], 10, thumbnail=True)
    net.initialize(mx.init.Xavier(magnitude=2), ctx=devices)
    net.hybridize(static_alloc=True, static_shape=True)
    steps = args.epochs * len(batches)
    rate = mx.lr_scheduler.CosineScheduler(steps, args.lr, 0, warmup_steps=steps // 10)
    settings = {"lr_scheduler": rate, "momentum": 0.9, "wd": args.wd}
    trainer = gluon.Trainer(net.collect_params(), "nag", settings)
    loss = gluon.loss.SoftmaxCrossEntropyLoss()

    def accuracy() -> float:
        metric = mx.metric.Accuracy()
        for images, labels in unseen:
            metric.update([labels], [net(images.as_in_context(devices[0]))])
        return metric.get()[1]

    for epoch in range(args.epochs):
        metric, begun = mx.metric.Accuracy(), time.time()
        for images, labels in batches:
            parts = [
                gluon.utils.split_and_load(each, devices, even_split=False)
                for each in (images, labels)
            ]
            with autograd.record():
                outputs = [net(each) for each in parts[0]]
                losses = [loss(out, each) for out, each in zip(outputs, parts[1], strict=False)]
            autograd.backward(losses)
            trainer.step(args.batch_size)
            metric.update(parts[1], outputs)
        trained = metric.get()[1]  # waits for the last step
        rate_now = len(batches) * args.batch_size / (time.time() - begun)
        print(
            f"epoch {epoch}: {trained:.3f} in training, {accuracy():.3f} else, {rate_now:.0f} images/s"
        )
    print(f"accuracy on pictures it has not seen: {accuracy():.4f}")


if __name__ == "__main__":
    main()
