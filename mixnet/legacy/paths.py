"""MXNet module paths whose content is elsewhere in mixnet, so that imports of them work."""

from __future__ import annotations

import importlib
import sys
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType

from mixnet.process.lazy import names_so_far

# path below the package: the module that has its names
PATHS = {
    "api": "legacy.api",
    "error": "legacy.error",
    "executor_manager": "legacy.executor_manager",
    "library": "legacy.library",
    "log": "legacy.log",
    "rtc": "legacy.rtc",
    "tvmop": "legacy.tvmop",
    "torch": "legacy.torch",
    "executor": "symbol.executor",
    "contrib.ndarray": "ndarray.contrib",
    "contrib.symbol": "symbol.contrib",
    "contrib.onnx.onnx2mx.import_model": "contrib.onnx.onnx2mx",
    "contrib.onnx.onnx2mx.import_onnx": "contrib.onnx.onnx2mx",
    "contrib.onnx.onnx2mx.import_to_gluon": "contrib.onnx.onnx2mx",
    "np_symbol": "symbol.numpy",
    "symbol.numpy._symbol": "symbol.numpy.symbol",
    "numpy_dispatch_protocol": "numpy.dispatch",
    "numpy_op_fallback": "numpy.fallback",
    "numpy_op_signature": "numpy_extension.op_signature",
    "ndarray.numpy": "numpy",
    "ndarray.numpy.linalg": "numpy.linalg",
    "ndarray.numpy.random": "numpy.random",
    "ndarray.numpy_extension": "numpy_extension",
    "ndarray.numpy_extension.image": "numpy_extension.image",
    "ndarray.numpy_extension.random": "numpy_extension.random",
    "ndarray.register": "ndarray.namespace",
    "ndarray_doc": "legacy.operator_doc",
    "ndarray.gen_op": "ndarray.op",
    "ndarray.gen__internal": "ndarray._internal",
    "ndarray.gen_contrib": "ndarray.contrib",
    "ndarray.gen_image": "ndarray.image",
    "ndarray.gen_linalg": "ndarray.linalg",
    "ndarray.gen_sparse": "ndarray.sparse",
    "symbol.register": "symbol.namespace",
    "symbol_doc": "legacy.operator_doc",
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
    "misc": "legacy.misc",
}


class _Finder(MetaPathFinder, Loader):
    """Imports a path of the table by importing the module that has its names."""

    def __init__(self, package: str):
        self.targets = {f"{package}.{path}": f"{package}.{name}" for path, name in PATHS.items()}

    def find_spec(self, fullname: str, path: object, target: object = None) -> ModuleSpec | None:
        return ModuleSpec(fullname, self) if fullname in self.targets else None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        module = importlib.import_module(self.targets[spec.name])
        spec.loader_state = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        spec = module.__spec__  # the import has put that of the path in place of the module's own
        if spec is not None and spec.name in self.targets:
            module.__spec__ = spec.loader_state


def install(package: str) -> None:
    """Make the paths importable below ``package``; what is not loaded yet is loaded when it is imported."""
    sys.meta_path.append(_Finder(package))
    for path, target in PATHS.items():
        module = sys.modules.get(f"{package}.{target}")
        if module is None:
            continue
        sys.modules[f"{package}.{path}"] = module
        parent, _, name = f"{package}.{path}".rpartition(".")
        owner = sys.modules[parent]
        if parent == package or name not in names_so_far(owner):
            setattr(owner, name, module)
