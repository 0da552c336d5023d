"""Arrays of the wrong kind, dtype, shape or device, as MXNet 1.9.1 refuses them."""

from mixnet.base import (
    AttributeKindError,
    ContextError,
    DTypeError,
    GradientError,
    MatrixError,
    MXNetError,
    OptionError,
    OtherArrayError,
    ShapeError,
    SizeError,
    ZeroError,
)
from tests.mistakes.mistake import mistake

_HEAD = """
x.attach_grad()
with autograd.record():
    z = x * 2
"""
_SYMBOL = "s, b = sym.var('a') + sym.var('b'), nd.ones(2)\n"
_VECTOR = "v, m = mnp.ones(3), mnp.ones((2, 3))\n"
_ROWS = "w, g = nd.ones((3, 1)), nd.ones((4, 1)).tostype('row_sparse')\n"

MISTAKES = [
    # ---- head gradients
    mistake(_HEAD + "z.backward(x.astype('int32'))", GradientError, "int32", "float32", "astype"),
    mistake(
        _HEAD + "autograd.grad(z, x, x.astype('float64'))", GradientError, "float64", "float32"
    ),
    mistake(
        "g = x.astype('int32')\nautograd.mark_variables([x], [g])\n"
        "with autograd.record():\n    z = x * 2\nz.backward()",
        GradientError,
        "(2, 3) of int32",
        "(2, 3) of float32",
    ),
    mistake(
        "a = sym.var('a') * 2\ne = a.bind(mx.cpu(), [x], [nd.zeros((2, 3), dtype='float64')])\n"
        "e.forward(is_train=True)\ne.backward(x)",
        GradientError,
        "float64",
        "float32",
    ),
    # ---- arrays for a result
    mistake("nd.square(x, out=mnp.ones((2, 3)))", OtherArrayError, "mx.np", "as_nd_ndarray()"),
    mistake("nd.zeros(2, out=mnp.ones(2))", OtherArrayError, "mx.np", "as_nd_ndarray()"),
    # ---- arrays as attributes
    mistake("x.clip(nd.ones(1), 3)", (AttributeKindError, MXNetError), "a_min", "not a number"),
    mistake(
        "nd.expand_dims(x, axis=nd.array([0], dtype='int32'))", AttributeKindError, "axis", "whole"
    ),
    mistake("mnp.zeros(mnp.array(2))", TypeError, "shape", "tuple of whole numbers"),
    # ---- executors
    mistake(
        _SYMBOL + "s.bind(mx.cpu(), {'a': b, 'b': b.as_in_context(mx.cpu(1))})",
        ContextError,
        "b is on cpu(1)",
        "the executor on cpu(0)",
        "group2ctx",
    ),
    mistake(
        _SYMBOL + "s.bind(mx.cpu(), [b, b], [b, b.as_in_context(mx.cpu(1))])",
        ContextError,
        "b is on cpu(1)",
    ),
    mistake(
        _SYMBOL + "s.bind(mx.cpu(), [b, b], {'a': 3})", TypeError, "args_grad", "a must be", "int"
    ),
    mistake(_SYMBOL + "s.bind(mx.cpu(), {'a': 3})", TypeError, "args", "a must be an NDArray"),
    mistake(_SYMBOL + "s.bind(mx.cpu(), [b, None])", TypeError, "b must be an NDArray"),
    # ---- parameters of distributions
    mistake(
        "nd.random.normal(nd.ones(2), nd.ones(2, dtype='float64'))",
        DTypeError,
        "float32 and float64",
        "astype('float32')",
    ),
    mistake(
        "mnp.random.gamma(mnp.ones(2, dtype='int32'), mnp.ones(2))", DTypeError, "int32 and float32"
    ),
    # ---- steps of rows
    mistake(_ROWS + "nd.sgd_update(w, g, lr=0.1)", ShapeError, "grad has shape (4, 1)", "(3, 1)"),
    mistake(_ROWS + "optimizer.Adam().update(0, w, g, (w, w))", ShapeError, "(4, 1)", "(3, 1)"),
    mistake(
        _ROWS + "nd.sgd_mom_update(w, w.tostype('row_sparse'), nd.ones((4, 1)), lr=0.1)",
        ShapeError,
        "mom has shape (4, 1)",
    ),
    # ---- losses
    mistake(
        "nd.softmax_cross_entropy(nd.ones((2, 2)), nd.ones((2, 1)))",
        ShapeError,
        "(2, 1)",
        "label (batch,)",
    ),
    # ---- functions of mx.np
    mistake("mnp.hypot(3, 4, mnp.ones(1))", TypeError, "out is for arrays", "a number"),
    mistake("mnp.empty_like(mnp.ones(2), shape=(3,))", OptionError, "shape=(3,)", "np.empty"),
    mistake(_VECTOR + "mnp.linalg.matrix_power(v, 2)", MatrixError, "(3,)", "square matrices"),
    mistake(_VECTOR + "mnp.linalg.matrix_power(m, 2)", MatrixError, "(2, 3)", "square matrices"),
    mistake("mnp.linalg.matrix_power(mnp.eye(2), 1.5)", TypeError, "n=1.5", "whole number"),
    mistake(_VECTOR + "mnp.linalg.multi_dot([v, v, v])", MatrixError, "(3,), (3,), (3,)"),
    mistake(_VECTOR + "mnp.linalg.multi_dot([m, m])", SizeError, "(2, 3), (2, 3)", "first axis"),
    mistake(_VECTOR + "mnp.split(v, 0)", ZeroError, "0 equal parts"),
]
