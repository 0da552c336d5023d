"""``mx.sym.np``: the functions of ``mx.np`` on symbols."""

from mixnet.symbol.numpy import _internal as _internal
from mixnet.symbol.numpy import linalg as linalg
from mixnet.symbol.numpy import random as random
from mixnet.symbol.numpy.face import hooks as _hooks
from mixnet.symbol.numpy.symbol import _Symbol as _Symbol

__getattr__, __dir__ = _hooks("mixnet.numpy", globals())
