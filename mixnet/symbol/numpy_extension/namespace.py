"""The operators of ``mx.npx`` as functions of symbols with NumPy semantics."""

from __future__ import annotations

import functools
from typing import Any

from mixnet.ops.namespace import Namespace
from mixnet.ops.op import Op
from mixnet.symbol.compose import make_function
from mixnet.symbol.numpy.symbol import _Symbol


def _make(op: Op, name: str) -> Any:
    compose = make_function(op, name)

    @functools.wraps(compose)
    def function(*args: object, **kwargs: object) -> _Symbol:
        return _Symbol(compose(*args, **kwargs)._heads)

    return function


OPERATORS = Namespace("mx.sym.npx", _make, "_npx_")
IMAGE = Namespace("mx.sym.npx.image", _make, "_npx__image_")
