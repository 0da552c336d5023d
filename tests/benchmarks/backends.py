"""Prediction by each backend, and by ONNX Runtime alone: ``python -m tests.benchmarks.backends [part of a name]``.

Contenders take turns in one process. ``alone`` has NumPy arrays in its hands and calls ONNX Runtime; the others call the
network and wait for the result.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import mixnet as mx
from mixnet.gluon.model_zoo import vision
from tests.benchmarks.timing import interleaved
from tests.encoder import Encoder

BATCHES = (1, 16)
BACKENDS = ("XLA", "ONNXRuntime")


def _images(batch: int) -> list[np.ndarray]:
    return [np.random.default_rng(0).uniform(size=(batch, 3, 224, 224)).astype("float32")]


def _tokens(batch: int) -> list[np.ndarray]:
    tokens = np.random.default_rng(0).integers(0, 30522, (batch, 128)).astype("float32")
    return [tokens, np.ones((batch, 128), "float32")]


NETWORKS: dict[str, tuple[Callable[[], Any], Callable[[int], list[np.ndarray]]]] = {
    "ResNet-50 v1": (vision.resnet50_v1, _images),
    "MobileNet v2": (vision.mobilenet_v2_1_0, _images),
    "encoder, 4 layers of 256": (lambda: Encoder(units=256, layers=4, heads=4), _tokens),
}


def seconds(name: str, batch: int, repeats: int = 7) -> dict[str, float]:
    """Median seconds of a prediction by each contender."""
    import onnxruntime

    make, data = NETWORKS[name]
    mx.random.seed(0)
    net, arrays = make(), data(batch)
    net.initialize(mx.init.Xavier())
    net.hybridize()
    inputs = [mx.nd.array(each) for each in arrays]
    expected = net(*inputs).asnumpy()
    contenders: dict[str, Callable[[], Any]] = {}
    with tempfile.TemporaryDirectory() as folder, mx.runtime.compiling_at_once():
        (path,) = net.export(str(Path(folder) / "net"), format="onnx")
        net.save_parameters(str(Path(folder) / "net.params"))
        for backend in BACKENDS:
            own = make()
            own.load_parameters(str(Path(folder) / "net.params"))
            own.hybridize()
            own.optimize_for(*inputs, backend=backend)
            np.testing.assert_allclose(own(*inputs).asnumpy(), expected, rtol=1e-3, atol=1e-3)
            contenders[backend] = lambda own=own: own(*inputs).wait_to_read()
        session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
        feed = dict(zip([each.name for each in session.get_inputs()], arrays, strict=True))
        contenders["alone"] = lambda: session.run(None, feed)
        return interleaved(contenders, repeats, warmup=4)


def main(part: str = "") -> None:
    """Print a row of a table for each network and batch."""
    print("| network, batch | XLA | ONNXRuntime | ONNX Runtime alone | best of ours / alone |")
    print("| --- | --- | --- | --- | --- |")
    for name in NETWORKS:
        for batch in BATCHES if part in name else ():
            found = seconds(name, batch)
            times = " | ".join(f"{1e3 * found[each]:.1f} ms" for each in (*BACKENDS, "alone"))
            best = min(found[each] for each in BACKENDS) / found["alone"]
            print(f"| {name}, {batch} | {times} | {best:.2f} |", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
