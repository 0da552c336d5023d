"""``mx.nd.op``: every public operator, of arrays."""

from mixnet.ndarray.namespace import below

__getattr__, __dir__ = below("op").hooks(globals())
