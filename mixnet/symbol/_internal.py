"""``mx.sym._internal``: operators by their registered names, of symbols."""

from mixnet.symbol.namespace import below

__getattr__, __dir__ = below("_internal").hooks(globals())
