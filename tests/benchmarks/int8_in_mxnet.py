"""``MIXNET_ORACLE=... python -m tests.benchmarks.int8_in_mxnet``: our int8 files in the real MXNet 1.9.1.

A small residual network is trained on digits and quantized here. MXNet reads the files, and
quantizes the same network itself. ``MIXNET_ORACLE`` is the path of a launcher of a Python that has MXNet.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_digits

import mixnet as mx
from mixnet.contrib import quantization
from tests.contrib.quantization.test_network import trained_network

DTYPES = ("auto", "int8")

IN_MXNET = """
import sys
import mxnet as mx, numpy as np
from mxnet.contrib import quantization

folder = sys.argv[1]
arrays = np.load(folder + "/arrays.npz")
data = mx.nd.array(arrays["data"])
symbol, arguments, states = mx.model.load_checkpoint(folder + "/floats", 0)


def scores(symbol, arguments, states):
    bound = symbol.bind(mx.cpu(), {**arguments, "data": data}, aux_states=states, grad_req="null")
    return bound.forward()[0].asnumpy()


results = {"floats": scores(symbol, arguments, states)}
for dtype in ("auto", "int8"):
    results["ours " + dtype] = scores(*mx.model.load_checkpoint(folder + "/" + dtype, 0))
    own = quantization.quantize_model_mkldnn(
        symbol, arguments, states, data_names=("data",), label_names=None, calib_mode="naive",
        calib_data=mx.io.NDArrayIter(arrays["examples"], batch_size=64), quantized_dtype=dtype,
        quantize_mode="smart", quantize_granularity="channel-wise", num_calib_examples=256,
    )
    results["own " + dtype] = scores(*own)
np.savez(folder + "/results.npz", **results)
"""


def write(folder: Path) -> dict[str, Any]:
    """Train, quantize and save; the scores here by name."""
    digits = load_digits()
    images = (digits.images[:, None] / 16.0).astype("float32")
    net = trained_network(images, digits.target.astype("float32"))
    data = images[1024:1280]
    examples = mx.gluon.data.ArrayDataset(images[:256], np.zeros(256, "float32"))
    np.savez(folder / "arrays.npz", data=data, examples=images[:256])
    scores = {"floats": net(mx.nd.array(data)).asnumpy()}
    net.export(str(folder / "floats"))
    for dtype in DTYPES:
        small = quantization.quantize_net_v2(
            net, quantized_dtype=dtype, quantize_mode="smart", quantize_granularity="channel-wise",
            calib_mode="naive", calib_data=mx.gluon.data.DataLoader(examples, batch_size=64),
        )  # fmt: skip
        small.hybridize()
        scores[dtype] = small(mx.nd.array(data)).asnumpy()
        small.export(str(folder / dtype))
    return scores


def main() -> None:
    """Print how far scores are apart, as shares of the greatest."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        here = write(folder)
        (folder / "in_mxnet.py").write_text(IN_MXNET, encoding="utf-8")
        subprocess.run([os.environ["MIXNET_ORACLE"], str(folder / "in_mxnet.py"), name], check=True)
        there = np.load(folder / "results.npz")
    floats = here["floats"]

    def apart(one: np.ndarray, other: np.ndarray) -> str:
        return f"{np.abs(one - other).max() / np.abs(floats).max():.1%}"

    print("float32, mixnet and MXNet:", apart(floats, there["floats"]))
    for dtype in DTYPES:
        ours, own = there[f"ours {dtype}"], there[f"own {dtype}"]
        print(f"{dtype}, in MXNet: our file and its own network {apart(ours, own)}")
        print(
            f"{dtype}, from float32: MXNet {apart(own, floats)}, mixnet {apart(here[dtype], floats)}"
        )


if __name__ == "__main__":
    main()
