"""Sums of products, equations, insertion, slices without a step, distributions, integers of 8 bits."""

from mixnet.base import (
    AttributeTypeError,
    AttributeValueError,
    AxisError,
    IndexingError,
    OperatorTypeError,
    ShapeError,
)
from tests.mistakes.mistake import mistake

_QUANTIZED = "q, one = x.astype('int8'), nd.ones(1)\n"
_MATRIX = "m = mnp.ones((2, 3))\n"

MISTAKES = [
    mistake(
        _MATRIX + "mnp.einsum('ij,jk->ik', m, m)",
        AttributeValueError,
        "'ij,jk->ik'",
        "label 'j' is 3 in array 0 and 2 in array 1",
    ),
    mistake(
        _MATRIX + "mnp.einsum('ij,kj->iz', m, m)",
        AttributeValueError,
        "'z'",
        "of the result is in no term",
    ),
    mistake(
        _MATRIX + "mnp.einsum('ijk->k', m)",
        AttributeValueError,
        "'ijk'",
        "names 3 axes, array 0 has 2",
        "'...'",
    ),
    mistake(
        _MATRIX + "mnp.einsum('ij', m, m)",
        AttributeValueError,
        "'ij'",
        "for 2 arrays",
        "one term for each",
    ),
    mistake(_MATRIX + "mnp.einsum('i?->i', m)", AttributeValueError, "'?'", "letters"),
    mistake(_MATRIX + "mnp.einsum('ij->ii', m)", AttributeValueError, "'i'", "twice in the result"),
    mistake(
        _MATRIX + "mnp.linalg.tensorsolve(m, mnp.ones(4))",
        ShapeError,
        "a is (2, 3), b (4,)",
        "unknowns",
    ),
    mistake(
        "mnp.linalg.tensorsolve(mnp.ones((2, 3, 6)), mnp.ones((2, 3)), axes=(9,))",
        AxisError,
        "axis=9",
        "-3 to 2",
    ),
    mistake(_MATRIX + "mnp.linalg.tensorinv(m, ind=1)", ShapeError, "(2, 3)", "another ind"),
    mistake(
        "mnp.insert(mnp.arange(5), slice(0, 9, 0), 3)",
        AttributeValueError,
        "step of a slice is 0",
        "give 1",
    ),
    mistake(
        "mnp.insert(mnp.arange(5), slice(0, 2), mnp.ones(7))", ShapeError, "(7,)", "room for (2,)"
    ),
    mistake("mnp.insert(mnp.arange(5), [0, 1], mnp.ones(7))", ShapeError, "(7,)", "room for (2,)"),
    mistake("x[::0]", (IndexingError, ValueError, IndexError), "::0", "a step that is not 0"),
    mistake("mnp.ones(3)[1:2:0] = 3", IndexingError, "1:2:0", "a step that is not 0"),
    mistake("x['a':2]", IndexingError, "'a':2", "whole numbers"),
    mistake(
        "mnp.random.multivariate_normal(mnp.zeros(3), mnp.ones((2, 2)))",
        ShapeError,
        "mean is (3,), cov (2, 2)",
        "(..., n, n)",
    ),
    mistake(
        "mnp.random.multivariate_normal(mnp.zeros(2), mnp.ones((2, 2)), size='a')",
        AttributeTypeError,
        "'a'",
        "whole numbers",
    ),
    mistake(
        "mnp.linalg.norm([1.0, 2.0])",
        AssertionError,
        "norm takes mx.np arrays, not list",
        "mx.np.array",
    ),
    mistake("mnp.random.normal(size=(2, 'a'))", OperatorTypeError, "(2, 'a')", "whole numbers"),
    mistake("mnp.full((2,), 'a')", AttributeTypeError, "'a'", "a number"),
    mistake(
        _QUANTIZED
        + "nd.contrib.quantized_concat(q, q[:, :2], one, one, one, one, dim=0, num_args=2)",
        ShapeError,
        "[(2, 3), (2, 2)]",
        "axis 0",
    ),
    mistake(
        _QUANTIZED + "nd.contrib.quantized_concat(q, q, one, one, one, one, dim=7, num_args=2)",
        AxisError,
        "dim=7",
        "-2 to 1",
    ),
    mistake(
        _QUANTIZED + "nd.contrib.quantized_concat(q, q, x, one, one, one, num_args=2)",
        ShapeError,
        "(2, 3)",
        "one number",
    ),
    mistake(
        "q, c, one = images.astype('int8'), nd.ones(5), nd.ones(1)\n"
        "nd.contrib.quantized_batch_norm(q, c, c, c, c, one, one, min_calib_range=0.0, max_calib_range=1.0)",
        ShapeError,
        "gamma is (5,)",
        "3 channels",
        "the shape (3,)",
    ),
]
