"""``mx.sym.npx.image``: operators on images."""

from mixnet.symbol.numpy_extension.namespace import IMAGE as _IMAGE

__getattr__, __dir__ = _IMAGE.hooks(globals())
