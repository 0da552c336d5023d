"""Methods of arrays that are operators: from the registry, with MXNet's calling conventions."""

from __future__ import annotations

from typing import Any

import numpy as np

from mixnet.base import ShapeError
from mixnet.ndarray.invoke import invoke, make_function
from mixnet.ndarray.ndarray import NDArray
from mixnet.ops.registry import OPERATORS, Op, find
from mixnet.runtime.call import make_call
from mixnet.runtime.value import Spec


def output_spec(op: Op, statics: Any, spec: Spec) -> Spec:
    """Shape and dtype of the output of a unary operator, without recording it."""
    call = op.calls.get((statics, (spec,), None)) or make_call(op, statics, (spec,), 0, None)
    return call.outputs[0]


def reshape(self: NDArray, *shape: Any, **kwargs: Any) -> Any:
    """The same storage in another shape; -1 stands for what is left, 0 for the axis as it is.

    MXNet's codes -2, -3 and -4 and ``reverse`` are those of the operator ``Reshape``.

    Raises:
        ShapeError: the number of elements differs.
    """
    if len(shape) == 1 and isinstance(shape[0], (tuple, list)):
        shape = tuple(shape[0])
    wanted = tuple(kwargs.get("shape", shape))
    op = find("Reshape")
    if all(int(each) > 0 for each in wanted):
        if int(np.prod(wanted, dtype=np.int64)) != self.size:
            raise ShapeError(
                f"reshape: {self.size} elements of shape {self.shape} do not fit into {wanted}."
            )
        return self._view(0, tuple(int(each) for each in wanted))
    # The operator knows MXNet's codes: its output shape is that of the view.
    given = {"shape": wanted, "reverse": bool(kwargs.get("reverse", False))}
    statics, _ = op.bind(given)
    return self._view(0, output_spec(op, statics, self._spec).shape)


def transposed(self: NDArray, *axes: Any, **kwargs: Any) -> Any:
    """The array with axes in another order, reversed by default."""
    if len(axes) == 1 and (axes[0] is None or isinstance(axes[0], (tuple, list))):
        axes = tuple(axes[0] or ())
    return invoke(find("transpose"), (self,), {"axes": tuple(kwargs.get("axes") or axes)})


def broadcast_to(self: NDArray, shape: Any) -> Any:
    """The array repeated along axes of extent one to ``shape``; 0 keeps an axis as it is."""
    shape = (shape,) if isinstance(shape, int) else tuple(shape)
    return invoke(find("broadcast_to"), (self,), {"shape": shape})


def broadcast_like(self: NDArray, other: NDArray) -> Any:
    """The array repeated along axes of extent one to the shape of ``other``."""
    return broadcast_to(self, other.shape)


def operate(cls: Any, op: Op, arrays: Any, attributes: dict[str, Any], out: Any = None) -> Any:
    """What the functions of ``mx.np`` call to compute."""
    return invoke(op, arrays, attributes, out, cls)


def install(cls: Any) -> None:
    """Give a class of arrays the methods that the registry declares."""
    for name, op in OPERATORS.items():
        if op.method and name.isidentifier() and not hasattr(cls, name):
            setattr(cls, name, make_function(op, name))
    cls._operate = classmethod(operate)
    cls.reshape = reshape
    cls.transpose = transposed
    cls.T = property(lambda self: transposed(self))
    cls.broadcast_to = broadcast_to
    cls.broadcast_like = broadcast_like
