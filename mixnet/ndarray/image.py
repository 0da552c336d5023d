"""``mx.nd.image``: image operators on arrays."""

from mixnet.ndarray.namespace import below

__getattr__, __dir__ = below("image").hooks(globals())
