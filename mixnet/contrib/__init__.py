"""``mx.contrib``: MXNet's contributed modules: operators, text, quantization, mixed precision, ONNX."""

from mixnet.contrib import autograd as autograd
from mixnet.ndarray import contrib as nd
from mixnet.ndarray import contrib as ndarray
from mixnet.process.lazy import names_later as _names_later
from mixnet.symbol import contrib as sym
from mixnet.symbol import contrib as symbol

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
