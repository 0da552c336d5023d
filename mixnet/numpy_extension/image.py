"""``mx.npx.image``: operators on images."""

from mixnet.numpy_extension.namespace import IMAGE as _IMAGE

__getattr__, __dir__ = _IMAGE.hooks(globals())
