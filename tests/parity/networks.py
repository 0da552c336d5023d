"""Networks whose symbol files the real MXNet has loaded and run; see ``test_written_symbols.py``.

``python -m tests.parity.networks FOLDER`` writes their files and inputs; ``run_symbols.py`` there runs
under mxnet 1.9.1 and writes what it computed.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np

import mixnet as mx
from mixnet import sym


def _perceptron() -> Any:
    x = sym.var("x")
    y = sym.FullyConnected(x, num_hidden=4, name="fc1")
    y = sym.Activation(y, act_type="relu", name="relu1")
    y = sym.FullyConnected(y, num_hidden=3, no_bias=True, name="fc2")
    return sym.softmax(y * 2 + 1, axis=-1), {"x": (2, 5)}


def _convolution() -> Any:
    x = sym.var("x")
    with mx.AttrScope(ctx_group="one"):
        y = sym.Convolution(x, kernel=(3, 3), pad=(1, 1), num_filter=4, name="conv")
    y = sym.BatchNorm(y, fix_gamma=False, name="bn")
    y = sym.LeakyReLU(y, act_type="elu", slope=0.3)
    y = sym.Pooling(y, kernel=(2, 2), stride=(2, 2), pool_type="avg")
    parts = sym.split(y, num_outputs=2, axis=1)
    return sym.Group([sym.concat(parts[1], parts[0], dim=1), sym.flatten(y)]), {"x": (2, 3, 4, 4)}


def _recurrent() -> Any:
    x = sym.var("x")
    y = sym.RNN(x, state_size=3, num_layers=2, mode="gru", name="rnn", bidirectional=True)
    return y, {"x": (4, 2, 3)}


def _loops() -> Any:
    d, s, w = sym.var("d"), sym.var("s"), sym.var("w")
    out, states = sym.contrib.foreach(lambda i, t: (i * w + t[0], [t[0] + i]), d, [s])
    rows, values = sym.contrib.while_loop(
        lambda i, y: i < 3, lambda i, y: (y * w, [i + 1, y + 1]), [sym.var("i"), s + 1],
        max_iterations=3,
    )  # fmt: skip
    total = sym.sum(values[1])
    chosen = sym.contrib.cond(total > 2, lambda: values[1] * w, lambda: values[1] - w)
    group = sym.Group([out, states[0], rows, chosen])
    return group, {"d": (3, 2), "s": (2,), "w": (2,), "i": (1,)}


def _shapes() -> Any:
    x = sym.var("x")
    y = sym.slice(x, begin=(0, 1), end=(None, 3))
    y = sym.transpose(sym.reshape(y, shape=(-1, 0), reverse=True), axes=(1, 0))
    y = sym.broadcast_add(sym.topk(y, k=2, ret_typ="value"), sym.sum(x, axis=(0, 1)) ** 2)
    return sym.Group([y, sym.one_hot(sym.argmax(x, axis=1), depth=4)]), {"x": (3, 4)}


NETWORKS = {
    "perceptron": _perceptron, "convolution": _convolution, "recurrent": _recurrent,
    "loops": _loops, "shapes": _shapes,
}  # fmt: skip


def make(name: str) -> tuple[Any, dict[str, np.ndarray]]:
    """A network and values of all its arguments and states."""
    with mx.name.NameManager():
        symbol, shapes = NETWORKS[name]()
    arguments, _, states = symbol.infer_shape(**shapes)
    rng = np.random.default_rng(len(name))
    values = {}
    for each, shape in zip(symbol.list_arguments(), arguments, strict=True):
        values[each] = rng.uniform(0.1, 1, shape).astype("float32")
    for each, shape in zip(symbol.list_auxiliary_states(), states, strict=True):
        values[each] = rng.uniform(0.5, 1, shape).astype("float32")
    if "i" in values:
        values["i"] = np.zeros(1, "float32")
    return symbol, values


def main(folder: str) -> None:
    """Write every network's symbol file and inputs."""
    for name in NETWORKS:
        symbol, values = make(name)
        symbol.save(str(Path(folder) / f"{name}.json"))
        np.savez(Path(folder) / f"{name}-inputs.npz", **values)


if __name__ == "__main__":
    main(sys.argv[1])
