"""Automatic differentiation: record, backward, grad, Function."""

import importlib as _importlib
from typing import Any as _Any

from mixnet.autograd.function import Function as Function
from mixnet.autograd.scope import is_recording as is_recording
from mixnet.autograd.scope import is_training as is_training
from mixnet.autograd.scope import pause as pause
from mixnet.autograd.scope import predict_mode as predict_mode
from mixnet.autograd.scope import record as record
from mixnet.autograd.scope import set_recording as set_recording
from mixnet.autograd.scope import set_training as set_training
from mixnet.autograd.scope import train_mode as train_mode
from mixnet.autograd.tape import backward as backward
from mixnet.autograd.tape import grad as grad
from mixnet.autograd.tape import mark_variables as mark_variables

# Names from higher layers that ``from mxnet.autograd import *`` imports as well.
_ABOVE = {
    "NDArray": ("mixnet.ndarray", "NDArray"),
    "Symbol": ("mixnet.symbol", "Symbol"),
    "array": ("mixnet.ndarray", "array"),
    "get_symbol": ("mixnet.symbol", "_get_symbol"),
}


def __getattr__(name: str) -> _Any:
    if name not in _ABOVE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}.")
    module, attribute = _ABOVE[name]
    return getattr(_importlib.import_module(module), attribute)


__all__ = [*(name for name in globals() if not name.startswith("_")), *_ABOVE]
__all__ = [n for n in __all__ if n not in ("function", "scope", "tape")]  # without submodules
