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


def largest(symbol, arguments, states):
    inside = symbol.get_internals()
    sums = [name for name in inside.list_outputs() if name.endswith("output") and "_add_" in name]
    return [scores(inside[name], arguments, states).max() for name in sums]


results = {"floats": scores(symbol, arguments, states)}
for dtype in ("auto", "int8"):
    results["ours " + dtype] = scores(*mx.model.load_checkpoint(folder + "/" + dtype, 0))
    own = quantization.quantize_model_mkldnn(
        symbol, arguments, states, data_names=("data",), label_names=None, calib_mode="naive",
        calib_data=mx.io.NDArrayIter(arrays["examples"], batch_size=64), quantized_dtype=dtype,
        quantize_mode="smart", quantize_granularity="channel-wise", num_calib_examples=256,
    )
    results["own " + dtype] = scores(*own)
    results["largest " + dtype] = largest(*own)
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
        scores[f"largest {dtype}"] = largest_sums(folder / dtype, data)
    return scores


def largest_sums(file: Path, data: np.ndarray) -> np.ndarray:
    """The largest integer of each convolution with a fused sum."""
    symbol, arguments, states = mx.model.load_checkpoint(str(file), 0)
    inside = symbol.get_internals()
    sums = [name for name in inside.list_outputs() if name.endswith("output") and "_add_" in name]
    arrays_by_name = {**arguments, "data": mx.nd.array(data)}
    bound = mx.sym.Group([inside[name] for name in sums]).bind(
        mx.cpu(), arrays_by_name, aux_states=states, grad_req="null"
    )
    return np.array([each.asnumpy().max() for each in bound.forward()])


def main() -> None:
    """Print how far scores are apart, as shares of the greatest."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        results = write(folder)
        (folder / "in_mxnet.py").write_text(IN_MXNET, encoding="utf-8")
        subprocess.run([os.environ["MIXNET_ORACLE"], str(folder / "in_mxnet.py"), name], check=True)
        theirs = np.load(folder / "results.npz")
    floats = results["floats"]

    def difference(one: np.ndarray, other: np.ndarray) -> str:
        return f"{np.abs(one - other).max() / np.abs(floats).max():.1%}"

    print("float32, mixnet and MXNet:", difference(floats, theirs["floats"]))
    for dtype in DTYPES:
        ours, own = theirs[f"ours {dtype}"], theirs[f"own {dtype}"]
        print(f"{dtype}, in MXNet: our file and its own network {difference(ours, own)}")
        print(
            f"{dtype}, from float32: MXNet {difference(own, floats)}, "
            f"mixnet {difference(results[dtype], floats)}"
        )
        in_mxnet, in_mixnet = (each[f"largest {dtype}"].tolist() for each in (theirs, results))
        print(f"{dtype}, largest integers of fused sums: MXNet {in_mxnet}, mixnet {in_mixnet}")


if __name__ == "__main__":
    main()
