"""``mx.sym``: computations composed by hand, and their executors."""

from typing import Any as _Any

from mixnet.symbol import executor as _executor
from mixnet.symbol import namespace as _namespace
from mixnet.symbol import operators as _operators
from mixnet.symbol import random as random
from mixnet.symbol.create import arange as arange
from mixnet.symbol.create import eye as eye
from mixnet.symbol.create import full as full
from mixnet.symbol.create import ones as ones
from mixnet.symbol.create import zeros as zeros
from mixnet.symbol.custom import Custom as Custom
from mixnet.symbol.executor import Executor as Executor
from mixnet.symbol.operators import hypot as hypot
from mixnet.symbol.operators import maximum as maximum
from mixnet.symbol.operators import minimum as minimum
from mixnet.symbol.operators import pow as pow
from mixnet.symbol.operators import power as power
from mixnet.symbol.symbol import Group as Group
from mixnet.symbol.symbol import Symbol as Symbol
from mixnet.symbol.symbol import Variable as Variable
from mixnet.symbol.symbol import Variable as var
from mixnet.symbol.symbol import load as load
from mixnet.symbol.symbol import load_json as fromjson
from mixnet.symbol.symbol import load_json as load_json

_operators.install(Symbol)
_executor.install(Symbol)


def __getattr__(name: str) -> _Any:
    if name.startswith("__"):
        raise AttributeError(name)
    return _namespace.function(name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_namespace.names()})
