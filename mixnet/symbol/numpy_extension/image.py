"""``mx.sym.npx.image``: operators on images."""

from mixnet.ops.namespace import Namespace as _Namespace
from mixnet.symbol.numpy._internal import make as _make

__getattr__, __dir__ = _Namespace("mx.sym.npx.image", _make, "_npx__image_").hooks(globals())
