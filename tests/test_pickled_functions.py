"""Functions of operators are pickled by the place where users find them, as in MXNet."""

from __future__ import annotations

import functools
import pickle

import mixnet as mx
from tests.each_record import each_record

# MXNet 1.9.1 pickles those below the first; it cannot pickle ``mx.nd.relu``.
NAMES = (
    "nd.relu", "nd.contrib.box_decode", "nd.linalg.gemm2", "nd.random.uniform", "nd.image.to_tensor",
    "nd.sparse.dot", "nd._internal._plus_scalar", "sym.relu", "sym.contrib.box_decode",
    "sym.linalg.gemm2", "sym.random.uniform", "np.exp", "np.add", "np.mean", "np.linalg.norm",
    "np.random.uniform", "npx.relu", "npx.image.to_tensor", "contrib.nd.box_decode",
    "nd.contrib.adamw_update", "sym.contrib.mp_adamw_update", "nd.add", "nd.true_divide",
    "nd.random.randn", "sym.random.shuffle", "random.randn", "sym.maximum",
    "sym.pow", "sym.power", "np.linalg.qr", "np.trapz",
)  # fmt: skip


@each_record("name", NAMES)
def test_functions_of_operators(name: str) -> None:
    function = functools.reduce(getattr, name.split("."), mx)
    assert pickle.loads(pickle.dumps(function)) is function


def test_modules_are_those_that_mxnet_names() -> None:
    assert mx.nd.contrib.box_decode.__module__ == "mixnet.ndarray.contrib"
    assert mx.nd.random.uniform.__module__ == "mixnet.ndarray.random"
    assert mx.npx.relu.__module__ == "mixnet.numpy_extension"
    assert mx.np.exp.__module__ == "mixnet.numpy"
