"""Automatic differentiation: record, backward, grad, Function."""

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
from mixnet.process.lazy import names_later as _names_later

# Names from higher layers that ``from mxnet.autograd import *`` imports as well.
_ABOVE = {
    "NDArray": "mixnet.ndarray:",
    "Symbol": "mixnet.symbol:",
    "array": "mixnet.ndarray:",
    "get_symbol": "mixnet.symbol:_get_symbol",
}
__getattr__, __dir__ = _names_later(globals(), _ABOVE)

__all__ = [*(name for name in globals() if not name.startswith("_")), *_ABOVE]
__all__ = [n for n in __all__ if n not in ("function", "scope", "tape")]  # without submodules
