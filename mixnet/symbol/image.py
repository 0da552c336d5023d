"""``mx.sym.image``: operators on images, of symbols."""

from mixnet.symbol.namespace import below

__getattr__, __dir__ = below("image").hooks(globals())
