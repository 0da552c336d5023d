"""``mx.npx.image``: operators on images."""

from mixnet.numpy._internal import make as _make
from mixnet.ops.namespace import Namespace as _Namespace

__getattr__, __dir__ = _Namespace("mx.npx.image", _make, "_npx__image_").hooks(globals())
