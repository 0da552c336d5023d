"""Module paths of MXNet whose content lives elsewhere in mixnet, so that imports of them work."""

from __future__ import annotations

import importlib
import sys

# path below the package: the module that has its names
PATHS = {
    "executor": "symbol.executor",
    "contrib.ndarray": "ndarray.contrib",
    "contrib.symbol": "symbol.contrib",
    "contrib.onnx.onnx2mx.import_model": "contrib.onnx.onnx2mx",
    "contrib.onnx.onnx2mx.import_onnx": "contrib.onnx.onnx2mx",
    "contrib.onnx.onnx2mx.import_to_gluon": "contrib.onnx.onnx2mx",
    "np_symbol": "symbol.numpy",
    "numpy_dispatch_protocol": "numpy.dispatch",
    "numpy_op_fallback": "numpy.fallback",
    "numpy_op_signature": "numpy_extension.namespace",
    "ndarray.numpy": "numpy",
    "ndarray.numpy.linalg": "numpy.linalg",
    "ndarray.numpy.random": "numpy.random",
    "ndarray.numpy_extension": "numpy_extension",
    "ndarray.numpy_extension.image": "numpy_extension.image",
    "ndarray.numpy_extension.random": "numpy_extension.random",
    "ndarray.register": "ndarray.namespace",
    "ndarray.utils": "ndarray.params_file",
    "ndarray_doc": "ndarray.namespace",
    "ndarray.gen_op": "ndarray.op",
    "ndarray.gen__internal": "ndarray._internal",
    "ndarray.gen_contrib": "ndarray.contrib",
    "ndarray.gen_image": "ndarray.image",
    "ndarray.gen_linalg": "ndarray.linalg",
    "ndarray.gen_sparse": "ndarray.sparse",
    "symbol.register": "symbol.namespace",
    "symbol_doc": "symbol.namespace",
    "symbol.gen_op": "symbol.op",
    "symbol.gen__internal": "symbol._internal",
    "symbol.gen_contrib": "symbol.contrib",
    "symbol.gen_image": "symbol.image",
    "symbol.gen_linalg": "symbol.linalg",
    "symbol.gen_sparse": "symbol.sparse",
    "numpy.multiarray": "numpy",
    "numpy.utils": "numpy",
    "numpy.arrayprint": "numpy.io",
    "numpy.fallback_linalg": "numpy.linalg",
    "numpy.function_base": "numpy",
    "numpy.stride_tricks": "numpy.shape",
    "misc": "util",
}


def install(package: str) -> None:
    """Make the paths importable below ``package``."""
    for path, target in PATHS.items():
        module = importlib.import_module(f"{package}.{target}")
        sys.modules[f"{package}.{path}"] = module
        parent, _, name = f"{package}.{path}".rpartition(".")
        owner = sys.modules[parent]
        if parent == package or name not in vars(owner):
            setattr(owner, name, module)
