"""``mx.sym.npx``: the operators of ``mx.npx`` on symbols."""

from mixnet.ops.namespace import Namespace as _Namespace
from mixnet.symbol.numpy._internal import make as _make
from mixnet.symbol.numpy_extension import image as image
from mixnet.symbol.numpy_extension import random as random

__getattr__, __dir__ = _Namespace("mx.sym.npx", _make, "_npx_").hooks(
    globals(), ("image", "random")
)
