"""``mx.nd.linalg``: linear algebra on the last two axes of arrays."""

from mixnet.ndarray.namespace import below

__getattr__, __dir__ = below("linalg").hooks(globals())
