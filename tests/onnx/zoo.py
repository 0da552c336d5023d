"""The whole model zoo through ONNX Runtime: ``python -m tests.onnx.zoo [part of a name]``.

Every network is exported with an open batch, checked by ``onnx.checker``, and run by ONNX
Runtime with a batch that is not the one of the export. The networks are too large for the suite,
which runs three of them.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import mixnet as mx
from mixnet.gluon.model_zoo import vision
from tests.encoder import Encoder

TOLERANCE = 1e-4  # of the greatest score
ENCODER = "BERT-like encoder"


def network(name: str) -> tuple[Any, list[np.ndarray]]:
    """A network with random parameters, and a batch of two for it."""
    rng = np.random.default_rng(0)
    mx.random.seed(0)
    if name == ENCODER:
        net = Encoder()
        net.initialize(mx.init.Normal(0.05))
        mask = np.ones((2, 128), "float32")
        mask[1, 100:] = 0
        return net, [rng.integers(0, 30522, (2, 128)).astype("float32"), mask]
    net = vision.get_model(name)
    net.initialize(mx.init.MSRAPrelu())  # numbers neither grow nor vanish over a hundred layers
    side = 299 if name.startswith("inception") else 224
    x = rng.normal(size=(2, 3, side, side)).astype("float32")
    with mx.autograd.train_mode():
        for _ in range(3):  # statistics of batch normalization
            net(mx.nd.array(x))
    return net, [x]


def check(name: str, folder: Path) -> tuple[float, int, int]:
    """Export a network, and run it there.

    Returns:
        The greatest difference over the greatest score, the nodes of the file, and its bytes.
    """
    import onnx
    import onnxruntime

    net, arrays = network(name)
    net.hybridize()
    ours = net(*map(mx.nd.array, arrays)).asnumpy()
    open_shapes = [("batch", *each.shape[1:]) for each in arrays]
    (path,) = net.export(str(folder / "net"), format="onnx", dynamic_input_shapes=open_shapes)
    onnx.checker.check_model(path, full_check=True)
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    inputs = [each.name for each in session.get_inputs()]
    one = [session.run(None, dict(zip(inputs, [each[i : i + 1] for each in arrays], strict=True)))[0]
           for i in range(2)]  # fmt: skip
    both = session.run(None, dict(zip(inputs, arrays, strict=True)))[0]
    difference = max(np.abs(each - ours).max() for each in (np.concatenate(one), both))
    size = sum(each.stat().st_size for each in folder.iterdir())
    return (
        difference / np.abs(ours).max(),
        len(onnx.load(path, load_external_data=False).graph.node),
        size,
    )


def rows(names: list[str]) -> Iterator[tuple[str, float, int, int]]:
    """Name, difference, nodes and bytes of each network."""
    for name in names:
        with tempfile.TemporaryDirectory() as folder:
            yield name, *check(name, Path(folder))


def main(part: str = "") -> int:
    """Print a row of a table for each network whose name contains ``part``; the number of those
    that differ.
    """
    differ = 0
    names = [each for each in (*vision._MODELS, ENCODER) if part in each]
    print("| network | difference / greatest score | nodes | MB |\n| --- | --- | --- | --- |")
    for name, difference, nodes, size in rows(names):
        differ += bool(difference > TOLERANCE)  # NumPy's number would be no exit status
        print(f"| {name} | {difference:.1e} | {nodes} | {size / 1e6:.1f} |", flush=True)
    print(f"\n{len(names) - differ} of {len(names)} within {TOLERANCE:g}")
    return differ


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
