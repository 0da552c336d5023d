"""``mx.nd.op``: every public operator, on arrays."""

from mixnet.ndarray.namespace import below

__getattr__, __dir__ = below("op").hooks(globals())
