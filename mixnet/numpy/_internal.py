"""``mx.nd.np._internal``: MXNet's operators behind ``mx.np``, by their names there."""

from __future__ import annotations

from typing import Any

from mixnet.ndarray.invoke import make_function
from mixnet.numpy.ndarray import ndarray
from mixnet.ops.namespace import Namespace
from mixnet.ops.op import Op


def make(op: Op, name: str) -> Any:
    """The function of an operator on ``mx.np`` arrays."""
    return make_function(op, name, ndarray)


__getattr__, __dir__ = Namespace("mx.nd.np._internal", make, "_npi_").hooks(globals())
