"""``mx.sym.np._internal``: MXNet's operators behind ``mx.np``, by their names there, on symbols."""

from __future__ import annotations

import functools
from typing import Any

from mixnet.ops.namespace import Namespace
from mixnet.ops.op import Op
from mixnet.symbol.compose import make_function
from mixnet.symbol.numpy.symbol import _Symbol


def make(op: Op, name: str) -> Any:
    """The function of an operator on symbols with NumPy semantics."""
    compose = make_function(op, name)

    @functools.wraps(compose)
    def function(*args: object, **kwargs: object) -> _Symbol:
        if "dtype" in kwargs and kwargs["dtype"] is None:
            op.read_no_dtype(kwargs, numpys=True)
        return _Symbol(compose(*args, **kwargs)._heads)

    return function


__getattr__, __dir__ = Namespace("mx.sym.np._internal", make, "_npi_").hooks(globals())
