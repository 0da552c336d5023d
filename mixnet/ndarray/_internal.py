"""``mx.nd._internal``: operators by their registered names, of arrays."""

from mixnet.ndarray.namespace import below

__getattr__, __dir__ = below("_internal").hooks(globals())
