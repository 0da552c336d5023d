"""``mx.sym._internal``: operators on symbols, by their registered names."""

from mixnet.symbol.namespace import below

__getattr__, __dir__ = below("_internal").hooks(globals())
