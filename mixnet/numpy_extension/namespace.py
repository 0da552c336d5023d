"""The operators of ``mx.npx`` as functions of ``mx.np`` arrays."""

from __future__ import annotations

from typing import Any

from mixnet.ndarray.invoke import make_function
from mixnet.numpy.ndarray import ndarray
from mixnet.ops.namespace import Namespace
from mixnet.ops.op import Op


def _make(op: Op, name: str) -> Any:
    return make_function(op, name, ndarray)


OPERATORS = Namespace("mx.npx", _make, "_npx_")
IMAGE = Namespace("mx.npx.image", _make, "_npx__image_")
