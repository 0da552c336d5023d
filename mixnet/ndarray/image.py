"""``mx.nd.image``: operators on images, of arrays."""

from mixnet.ndarray.namespace import below

__getattr__, __dir__ = below("image").hooks(globals())
