"""Handwritten digits with ``Module``: ``python train_mnist.py --network lenet``.

Reads MNIST's four files, or their ``.gz``, from ``--data``; without them it takes the 1,797 digits
of 8x8 pixels that come with scikit-learn. Ends with the accuracy on digits it has not seen.
"""

from __future__ import annotations

import argparse
import gzip
import struct
from pathlib import Path

import numpy as np
from fit import add_fit_args, fit, own_part

import mixnet as mx

FILES = {
    "train": ("train-images-idx3-ubyte", "train-labels-idx1-ubyte"),
    "val": ("t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"),
}


def read_idx(path: Path) -> np.ndarray:
    """An array of bytes in MNIST's format: a header with its shape, then the bytes."""
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "rb") as file:
        axes = struct.unpack(">I", file.read(4))[0] & 0xFF
        shape = struct.unpack(f">{axes}I", file.read(4 * axes))
        return np.frombuffer(file.read(), np.uint8).reshape(shape)


def mnist(folder: Path) -> dict[str, tuple[np.ndarray, np.ndarray]] | None:
    """Images and labels for training and validation, if all the files are there."""
    found = {}
    for part, names in FILES.items():
        paths = [p for n in names for p in (folder / n, folder / f"{n}.gz") if p.exists()]
        if len(paths) < 2:
            return None
        images, labels = (read_idx(path) for path in paths[:2])
        found[part] = (images[:, None].astype(np.float32) / 255, labels.astype(np.float32))
    return found


def digits() -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """The digits of scikit-learn; every fifth is for validation."""
    from sklearn.datasets import load_digits

    loaded = load_digits()
    images = (loaded.images[:, None] / 16).astype(np.float32)
    labels = loaded.target.astype(np.float32)
    held = np.arange(len(labels)) % 5 == 0
    return {"train": (images[~held], labels[~held]), "val": (images[held], labels[held])}


def mlp(classes: int) -> mx.sym.Symbol:
    """Two hidden layers."""
    net = mx.sym.Flatten(mx.sym.var("data"))
    for number, hidden in enumerate((128, 64), 1):
        net = mx.sym.FullyConnected(net, num_hidden=hidden, name=f"fc{number}")
        net = mx.sym.Activation(net, act_type="relu", name=f"relu{number}")
    net = mx.sym.FullyConnected(net, num_hidden=classes, name="fc3")
    return mx.sym.SoftmaxOutput(net, name="softmax")


def lenet(classes: int) -> mx.sym.Symbol:
    """LeCun et al., 1998, with tanh; its kernels are padded, so that images of 8x8 do too."""
    net = mx.sym.var("data")
    for number, filters in enumerate((20, 50), 1):
        net = mx.sym.Convolution(
            net, kernel=(5, 5), pad=(2, 2), num_filter=filters, name=f"conv{number}"
        )
        net = mx.sym.Activation(net, act_type="tanh")
        net = mx.sym.Pooling(net, pool_type="max", kernel=(2, 2), stride=(2, 2))
    net = mx.sym.FullyConnected(mx.sym.Flatten(net), num_hidden=500, name="fc1")
    net = mx.sym.Activation(net, act_type="tanh")
    net = mx.sym.FullyConnected(net, num_hidden=classes, name="fc2")
    return mx.sym.SoftmaxOutput(net, name="softmax")


def main() -> None:
    """Train and say how well it went."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--network", choices=("mlp", "lenet"), default="mlp")
    parser.add_argument("--data", type=Path, default=Path("data"), help="folder of MNIST's files")
    parser.add_argument("--num-classes", type=int, default=10)
    add_fit_args(parser)
    args = parser.parse_args()
    data = mnist(args.data)
    if data is None:
        print(f"MNIST is not in {args.data}/: taking scikit-learn's digits.")
        data = digits()
    np.random.seed(args.seed)
    own = own_part(data["train"], args.kv_store)
    train = mx.io.NDArrayIter(*own, args.batch_size, shuffle=True)
    val = mx.io.NDArrayIter(*data["val"], args.batch_size)
    network = {"mlp": mlp, "lenet": lenet}[args.network](args.num_classes)
    accuracy = fit(args, network, train, val, len(own[0]))
    print(f"accuracy on digits it has not seen: {accuracy:.4f}")


if __name__ == "__main__":
    main()
