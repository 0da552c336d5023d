"""Making, indexing, saving and differentiating arrays."""

from mixnet.base import (
    AttributeTypeError,
    AttributeValueError,
    ContextError,
    DTypeError,
    GradientError,
    IndexingError,
    MissingFileError,
    NotAnArrayError,
    NotSupportedForSparseNDArray,
    ShapeError,
    UnknownAttributeError,
)
from tests.mistakes.mistake import mistake

MISTAKES = [
    # ---- making
    mistake("nd.ones('abc')", AttributeValueError, "'abc'", "is not a shape"),
    mistake("nd.ones((2, 'a'))", AttributeValueError, "(2, 'a')", "is not a shape"),
    mistake("nd.zeros(2.5)", AttributeValueError, "2.5", "is not a shape"),
    mistake("nd.full((2,), 'a')", TypeError, "'a'", "not a number"),
    mistake("nd.ones((2, 3), dtype='flaot32')", TypeError, "'flaot32'", "float32"),
    mistake("nd.ones((2, 3), ctx=mx.gpu(77))", ContextError, "gpu", "mx.cpu()"),
    mistake("nd.zeros((2, 3), mx.cpu)", ContextError, "ctx=<function cpu", "use mx.cpu()"),
    mistake("nd.array([1, 2], ctx=3)", ContextError, "ctx=3", "use mx.cpu()"),
    mistake("mx.cpu('a')", ContextError, "'a'", "use mx.cpu(0)"),
    mistake("mx.Context('gpuu', 0)", ContextError, "'gpuu'", "cpu, gpu"),
    mistake("nd.array([[1, 2], [3]])", DTypeError, "[[1, 2], [3]]", "equal lengths"),
    mistake("nd.array('abc')", DTypeError, "'abc'", "numbers"),
    mistake("nd.array(None)", DTypeError, "None", "numbers"),
    mistake("mnp.array([[1, 2], [3]])", TypeError, "[[1, 2], [3]]", "equal lengths"),
    mistake("mnp.zeros('a')", AttributeValueError, "'a'", "is not a shape"),
    mistake("mnp.arange('a')", AttributeValueError, "'a'", "a number"),
    mistake("mnp.arange(0, 5, 0)", ZeroDivisionError, "step is 0"),
    mistake("nd.from_numpy([1, 2])", AttributeTypeError, "list", "mx.nd.array takes lists"),
    mistake("nd.random.uniform(0, 1, shape='a')", AttributeValueError, "shape='a'"),
    mistake("nd.random.normal(loc='a')", AttributeValueError, "loc='a'", "a number"),
    mistake("nd.random.randint(5, 2)", AttributeValueError, "low=5, high=2", "low < high"),
    mistake("nd.random.shuffle([1, 2])", (NotAnArrayError, AssertionError), "list", "mx.nd.array"),
    mistake("mx.random.seed('a')", AttributeValueError, "'a'", "whole number"),
    # ---- shapes and kinds
    mistake("x + y", ShapeError, "(2, 3) and (4, 5)", "extents must be equal"),
    mistake("x += y", ShapeError, "(2, 3) and (4, 5)", "Reshape"),
    mistake("x == y", ShapeError, "(2, 3) and (4, 5)"),
    mistake("x + nd.ones((2, 3), dtype='int32')", ShapeError, "int32", "astype('float32')"),
    mistake("x + [1, 2, 3]", TypeError, "list", "mx.nd.array"),
    mistake("x * [1, 2, 3]", TypeError, "list", "mx.nd.array"),
    mistake("x + numpy.ones((2, 3))", TypeError, "numpy.ndarray", "mx.nd.array"),
    mistake("numpy.ones((2, 3)) + x", TypeError, "numpy.ndarray", "mx.nd.array"),
    mistake("numpy.ones((2, 3)) - x", AssertionError, "numpy.ndarray", "mx.nd.array"),
    mistake("None / x", AssertionError, "None", "mx.nd.array"),
    mistake("mnp.ones((2, 3)) + mnp.ones((4, 5))", ShapeError, "(2, 3) and (4, 5)"),
    mistake("mnp.ones((2, 3)) @ mnp.ones((2, 3))", ShapeError, "(2, 3)", "Transpose"),
    mistake("x.reshape((4, 5))", ShapeError, "(4, 5)", "6 elements of shape (2, 3)"),
    mistake("x.reshape((-1, -1))", ShapeError, "(-1, -1)", "only one"),
    mistake("x.reshape('a')", TypeError, "'a'", "whole numbers"),
    mistake("x.reshape(shap=(3, 2))", TypeError, "'shap'", "shape and reverse"),
    mistake("x.copyto(y)", ShapeError, "(4, 5)", "(2, 3)"),
    mistake("x.as_in_context(3)", TypeError, "int", "a Context"),
    mistake("x.astype('floot')", TypeError, "'floot'", "float32"),
    mistake("if x: pass", ValueError, "(2, 3)", "any() or .all()"),
    mistake("float(x)", TypeError, "(2, 3)", "one element"),
    mistake("x.asscalar()", ValueError, "(2, 3)", "one element"),
    # ---- indices
    mistake("x[5]", IndexError, "5", "axis 0, which has 2"),
    mistake("x[0, 7]", IndexError, "7", "axis 1, which has 3"),
    mistake("x[0, 0, 0]", IndexError, "3", "(2, 3)"),
    mistake("x['a']", (IndexingError, ValueError), "'a'", "integers, slices"),
    mistake("x[1.5]", (IndexingError, ValueError), "1.5", "integers, slices"),
    mistake("x[0] = y", ShapeError, "(4, 5)", "(3,)"),
    mistake("x[0:2] = numpy.ones((5, 5))", ShapeError, "(5, 5)", "(2, 3)"),
    mistake("x[0] = 'a'", TypeError, "'a'", "cannot be stored"),
    mistake("nd.moveaxis(x, 0, 5)", IndexError, "destination=5", "(2, 3)"),
    # ---- names
    mistake(
        "nd.Convolutoin(x)",
        (UnknownAttributeError, AttributeError),
        "'Convolutoin'",
        "'Convolution'",
    ),
    mistake("mx.gulon", (UnknownAttributeError, AttributeError), "'gulon'", "'gluon'"),
    # ---- files
    mistake(
        "nd.load('nothing.params')", (MissingFileError, OSError), "nothing.params", "o such file"
    ),
    mistake("nd.save('no/such/a.params', x)", MissingFileError, "no/such/a.params", "folder"),
    mistake("nd.save('a.params', [1, 2])", TypeError, "a int", "not an NDArray"),
    mistake("nd.save('a.params', {1: x})", TypeError, "1", "strings"),
    # ---- sparse arrays
    mistake("x.tostype('crs')", ValueError, "'crs'", "'csr'"),
    mistake(
        "nd.sparse.csr_matrix(([1], [0]), shape=(2, 3))", ValueError, "not data and [0]", "indptr"
    ),
    mistake("nd.sparse.zeros('csr', (2, 3, 4))", ShapeError, "(2, 3, 4)", "matrix"),
    mistake(
        "x.tostype('csr').reshape((3, 2))",
        NotSupportedForSparseNDArray,
        "reshape",
        "tostype('default')",
    ),
    mistake("x.tostype('csr')[0, 0] = 3", ValueError, "(0, 0)", "array[:] = value"),
    # ---- gradients
    mistake("x.backward()", GradientError, "(2, 3)", "attach_grad()", "autograd.record()"),
    mistake(
        "x.attach_grad()\nz = x * 2\nz.backward()", GradientError, "(2, 3)", "autograd.record()"
    ),
    mistake(
        "x.attach_grad()\nwith autograd.record(): z = (x * 2).sum()\nz.backward()\nz.backward()",
        GradientError,
        "sum",
        "retain_graph=True",
    ),
    mistake("x.attach_grad('foo')", GradientError, "'foo'", "write, add, null"),
    mistake("x.attach_grad()\nwith autograd.record(): x += 1", GradientError, "+=", "y = y + 1"),
    mistake(
        "x.attach_grad()\nwith autograd.record(): z = x * 2\nz.backward(nd.ones((3, 3)))",
        GradientError,
        "(3, 3)",
        "(2, 3)",
    ),
    mistake(
        "x.attach_grad()\nwith autograd.record(): z = x * 2\nz.backward('a')",
        TypeError,
        "str",
        "NDArray",
    ),
    mistake(
        "x.attach_grad()\nwith autograd.record(): z = x * 2\nautograd.backward([z], [x, x])",
        (GradientError, AssertionError),
        "2 head gradient",
        "1 head",
    ),
    mistake("autograd.backward(3)", TypeError, "int", "NDArray"),
    mistake(
        "x.attach_grad()\nwith autograd.record(): z = x * 2\nautograd.grad(z, [y])",
        GradientError,
        "Variable 0",
        "attach_grad()",
    ),
    mistake("with autograd.record: pass", TypeError, "'function'"),
]
