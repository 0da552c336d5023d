"""``mxnet`` as an alias of mixnet: programs with ``import mxnet`` run unchanged."""

from __future__ import annotations

import importlib
import sys
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType

from mixnet.process.lazy import after_import

NAME = "mxnet"
STAND_IN = str(Path(__file__).with_name("stand_in"))
"""A folder for the path of modules, where processes find mixnet under the name ``mxnet``."""

LOADED_BY_MXNET = ("multiprocessing.pool", "urllib.request")
"""Modules that programs use without importing them, because MXNet does."""


class _Alias(MetaPathFinder, Loader):
    """Imports ``mxnet.path`` as the module ``path`` of the package: the same object, never a second copy."""

    def __init__(self, package: str):
        self.package = package

    def find_spec(self, fullname: str, path: object, target: object = None) -> ModuleSpec | None:
        if not fullname.startswith(f"{NAME}."):
            return None
        real_name = f"{self.package}{fullname.removeprefix(NAME)}"
        try:
            module = importlib.import_module(real_name)
        except ModuleNotFoundError as error:
            if error.name != real_name:  # something else that the module needs is missing
                raise
            return None
        _register_loaded()
        return ModuleSpec(fullname, self, loader_state=(module, module.__spec__))

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        module: ModuleType = spec.loader_state[0]
        return module

    def exec_module(self, module: ModuleType) -> None:
        spec = module.__spec__  # the import has put that of the alias in place of the module's own
        if spec is not None and spec.loader is self:
            module.__spec__ = spec.loader_state[1]


def _register_loaded() -> None:
    """Register every loaded module under its name below ``mxnet``, too.

    Libraries look up ``mxnet.ndarray`` and the like in ``sys.modules`` to learn which frameworks are in use.
    """
    package = __name__.partition(".")[0]
    if sys.modules.get(NAME) is not sys.modules[package]:
        return
    for name, module in sys.modules.copy().items():
        if name.startswith(f"{package}."):
            sys.modules.setdefault(f"{NAME}{name.removeprefix(package)}", module)


def as_mxnet() -> None:
    """Make ``import mxnet``, and imports of all its modules, give mixnet: in this process and
    those it forks or spawns.

    Programs, libraries and pickles written for MXNet then need no change. Names of that time that NumPy
    and Python's library have lost since, such as ``np.float``, are there again, see
    :mod:`mixnet.legacy.old_names`; NumPy makes ragged arrays and prints numbers as it did, see
    :mod:`mixnet.legacy.old_arrays`. ``python -m mixnet program.py`` does this for a program from outside.

    Raises:
        ImportError: the real MXNet has been imported already.
    """
    from mixnet.legacy import old_arrays, old_names  # not loaded by every program

    package = __name__.partition(".")[0]
    present = sys.modules.get(NAME)
    module = sys.modules[package]
    if present is not None and present is not module:
        file = getattr(present, "__file__", None)
        if file is None or not file.startswith(STAND_IN):
            raise ImportError(
                f"as_mxnet: {NAME} is imported already, from {file}, and its arrays are not mixnet's. Call "
                f"as_mxnet() before anything imports {NAME}, in a new process."
            )
    for name in LOADED_BY_MXNET:
        importlib.import_module(name)
    sys.modules[NAME] = module
    if not any(isinstance(each, _Alias) for each in sys.meta_path):
        sys.meta_path.insert(0, _Alias(package))
    if STAND_IN not in sys.path:
        # Processes that multiprocessing spawns inherit the path; its first entry stays the program's folder.
        sys.path.insert(1, STAND_IN)
    old_names.restore()
    old_arrays.restore()
    _register_loaded()
    if _register_loaded not in after_import:
        after_import.append(_register_loaded)
