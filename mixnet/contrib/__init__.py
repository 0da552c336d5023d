"""``mx.contrib``: MXNet's contributed modules: operators, text, quantization, mixed precision, ONNX."""

from mixnet.contrib import autograd as autograd
from mixnet.ndarray import contrib as _ndarray
from mixnet.process.lazy import names_later as _names_later
from mixnet.symbol import contrib as _symbol

# Type checkers take these for public names, which an import by another name is not.
nd = ndarray = _ndarray
sym = symbol = _symbol

_NAMES = (
    "amp",
    "io",
    "onnx",
    "quantization",
    "svrg_optimization",
    "tensorboard",
    "tensorrt",
    "text",
)

__getattr__, __dir__ = _names_later(
    globals(), {**{each: f".{each}" for each in _NAMES}, "quant": ".quantization"}
)
