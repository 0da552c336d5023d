"""``mx.sym``: symbolic computations and their executors."""

from mixnet.symbol import _internal as _internal
from mixnet.symbol import binding as _binding
from mixnet.symbol import contrib as contrib
from mixnet.symbol import image as image
from mixnet.symbol import linalg as linalg
from mixnet.symbol import memory as _memory
from mixnet.symbol import namespace as _namespace
from mixnet.symbol import op as op
from mixnet.symbol import operators as _operators
from mixnet.symbol import random as random
from mixnet.symbol import sparse as sparse
from mixnet.symbol.cached_op import CachedOp as CachedOp
from mixnet.symbol.create import arange as arange
from mixnet.symbol.create import eye as eye
from mixnet.symbol.create import full as full
from mixnet.symbol.create import histogram as histogram
from mixnet.symbol.create import linspace as linspace
from mixnet.symbol.create import ones as ones
from mixnet.symbol.create import zeros as zeros
from mixnet.symbol.custom import Custom as Custom
from mixnet.symbol.executor import Executor as Executor
from mixnet.symbol.operators import hypot as hypot
from mixnet.symbol.operators import maximum as maximum
from mixnet.symbol.operators import minimum as minimum
from mixnet.symbol.operators import pow as pow
from mixnet.symbol.operators import power as power
from mixnet.symbol.operators import split_v2 as split_v2
from mixnet.symbol.spell import get_symbol as _get_symbol
from mixnet.symbol.symbol import Group as Group
from mixnet.symbol.symbol import Symbol as Symbol
from mixnet.symbol.symbol import Variable as Variable
from mixnet.symbol.symbol import load as load
from mixnet.symbol.symbol import load_json as load_json

_operators.install(Symbol)
_binding.install(Symbol)
_memory.install(Symbol, Executor)


from mixnet.process.lazy import star_names as _star_names  # noqa: E402
from mixnet.symbol import numpy as numpy  # noqa: E402
from mixnet.symbol import numpy_extension as numpy_extension  # noqa: E402

# Type checkers take these for public names, which an import by another name is not.
var, fromjson, np, npx = Variable, load_json, numpy, numpy_extension

__getattr__, __dir__ = _namespace.OPERATORS.hooks(
    globals(),
    (
        "_internal",
        "contrib",
        "image",
        "linalg",
        "numpy",
        "numpy_extension",
        "op",
        "random",
        "sparse",
        "symbol",
    ),
)

# Neither ``np`` nor ``npx``: a program's own ``np`` is NumPy.
_MODULES = ("contrib", "image", "linalg", "numpy", "numpy_extension", "random", "sparse")
__all__ = sorted(
    ({*_star_names(globals(), _MODULES), *_namespace.OPERATORS.names()}) - {"np", "npx"}
)
