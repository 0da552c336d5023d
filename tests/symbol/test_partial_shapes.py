"""infer_shape_partial with unknown extents, against results of MXNet 1.9.1."""

import warnings
from collections.abc import Callable

import numpy as np
import pytest

import mixnet as mx
from mixnet import sym
from tests.each_record import each_record

X, Y = sym.var("x"), sym.var("y")


@pytest.mark.parametrize(("np_shape", "u"), [(False, 0), (True, -1)])
def test_an_unknown_batch_size_stays_unknown(np_shape, u) -> None:
    with mx.np_shape(np_shape):
        for symbol, shapes, outputs in [
            (sym.dot(X, Y), {"x": (u, 2, 3), "y": (3, 4)}, (u, 2, 4)),
            (sym.transpose(X), {"x": (u, 2, 3)}, (3, 2, u)),
            (sym.elemwise_add(X, Y), {"x": (u, 2), "y": (3, u)}, (3, 2)),
            (sym.Concat(X, Y, dim=1), {"x": (u, 3), "y": (u, 4)}, (u, 7)),
            (sym.mean(X, axis=1, keepdims=True), {"x": (u, 3)}, (u, 1)),
            (sym.Convolution(X, num_filter=5, kernel=(3, 3)), {"x": (u, 3, 8, 8)}, (u, 5, 6, 6)),
        ]:
            assert symbol.infer_shape_partial(**shapes)[1] == [outputs]


@pytest.mark.filterwarnings("ignore:The shapes of these arguments")
def test_entirely_unknown_shapes_are_empty() -> None:
    assert sym.cos(X).infer_shape_partial() == ([()], [()], [])
    with mx.np_shape(True):
        assert sym.cos(X).infer_shape_partial() == ([None], [None], [])
        assert sym.cos(X).infer_shape(x=()) == ([()], [()], [])
        assert sym.cos(X).infer_shape(x=(0, 3)) == ([(0, 3)], [(0, 3)], [])
    assert sym.cos(X).infer_shape(x=(0, 3)) == (None, None, None)


def test_the_shape_of_a_variable_may_be_a_number() -> None:
    weight = sym.var("w", shape=3)
    assert weight.infer_shape()[0] == [(3,)]
    assert weight.attr("__shape__") == "3"


def test_a_shape_with_unknown_extents_gives_way_to_that_of_the_variable() -> None:
    net = sym.relu(sym.var("v", shape=(2, 3)))
    for partial in [(0, 3), (4, 0), (0, 0)]:
        assert net.infer_shape(v=partial) == ([(2, 3)], [(2, 3)], [])
        assert net.infer_shape_partial(v=partial) == ([(2, 3)], [(2, 3)], [])
    assert net.infer_shape(v=(4, 3)) == ([(4, 3)], [(4, 3)], [])


def test_shapes_that_cannot_be_inferred_are_named_in_a_warning() -> None:
    product = mx.sym.dot(mx.sym.Variable("a"), mx.sym.Variable("b"))
    with pytest.warns(UserWarning, match=r"shapes.*\n\tb: \(\)$"):
        assert product.infer_shape(a=(2, 3)) == (None, None, None)
    with pytest.warns(UserWarning, match=r"dtypes.*\n\ta: None\n\tb: None$"):
        assert product.infer_type() == (None, None, None)
    many = mx.sym.Group([mx.sym.Variable(f"x{i}") for i in range(13)])
    with pytest.warns(UserWarning, match=r"\n\tx9: \(\)\n\t\.\.\.$"):
        many.infer_shape()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert product.infer_shape(a=(2, 3), b=(3, 4))[1] == [(2, 4)]
        assert product.infer_shape_partial(a=(2, 3))[0] == [(2, 3), ()]


@pytest.mark.filterwarnings("ignore:The shapes of these arguments")
def test_inputs_that_follow_from_the_first() -> None:
    """Answers are MXNet 1.9.1's."""
    for symbol, shapes, expected in [
        (
            sym.contrib.Proposal(
                X, Y, sym.var("z"), scales=(4, 8), ratios=(1,), rpn_post_nms_top_n=5
            ),
            {"x": (1, 4, 3, 5)},
            ([(1, 4, 3, 5), (1, 8, 3, 5), (1, 3)], [(5, 5)], []),
        ),
        (
            sym._internal._slice_assign(X, Y, begin=(0, 1), end=(2, None)),
            {"x": (4, 5)},
            ([(4, 5), (2, 4)], [(4, 5)], []),
        ),
        (
            sym._internal._scatter_elemwise_div(X, Y),
            {"y": (2, 3)},
            ([(2, 3), (2, 3)], [(2, 3)], []),
        ),
        (
            sym._internal._identity_with_attr_like_rhs(X, Y),
            {"x": (2, 3)},
            ([(2, 3), (2, 3)], [(2, 3)], []),
        ),
        (sym.contrib.getnnz(X), {"x": (2, 3)}, ([(2, 3)], [(1,)], [])),
    ]:
        assert symbol.infer_shape(**shapes) == expected


@each_record("make", [
    sym.random.uniform,
    sym.random.gamma,
    sym.random.poisson,
    sym.random.randn,
    sym.random_normal,
    lambda: sym.random.randint(0, 5),
    lambda: sym.random.exponential(shape=(0, 3)),
    lambda: sym._internal._zeros(shape=()),
    lambda: sym._internal._full(value=2.0),
])  # fmt: skip
def test_shapes_of_sources_follow_from_what_reads_them(make: Callable[[], mx.sym.Symbol]) -> None:
    """As in MXNet 1.9.1, where ``()`` is an unknown shape, too."""
    total = sym.elemwise_add(make(), X)
    assert total.infer_shape_partial(x=(2, 3)) == ([(2, 3)], [(2, 3)], [])
    assert total.simple_bind(mx.cpu(), x=(2, 3)).forward()[0].shape == (2, 3)
    with pytest.raises(RuntimeError, match="cannot be inferred"):
        make().simple_bind(mx.cpu())


def test_the_empty_shape_is_known_with_numpy_shapes() -> None:
    with mx.util.np_shape():
        assert sym._internal._zeros(shape=()).infer_shape() == ([], [()], [])


def test_the_shape_of_an_output_may_be_empty() -> None:
    close = sym.contrib.allclose(X, Y)
    assert close.infer_shape(x=(2, 3), y=(2, 3)) == ([(2, 3), (2, 3)], [()], [])


@pytest.mark.parametrize("shape", [None, 3, "33", [3, 2]])
def test_a_shape_by_name_is_a_tuple(shape: object) -> None:
    for infer in (sym.cos(X).infer_shape, sym.cos(X).infer_shape_partial):
        with pytest.raises(
            TypeError, match=r"a shape is a tuple of whole numbers, such as .*, but 'x' is "
        ):
            infer(x=shape)


def test_a_shape_by_position_may_be_left_out() -> None:
    assert (X + Y).infer_shape(None, (2, 3))[1] == [(2, 3)]
    with pytest.raises(TypeError, match=r"argument 1 is \[2\]"):
        (X + Y).infer_shape((2,), [2])


def test_no_dtype_by_name_is_float64_as_numpy_reads_it() -> None:
    assert sym.cos(X).infer_type(x=None) == ([np.float64], [np.float64], [])


def test_an_error_of_inference_shows_an_empty_shape() -> None:
    with mx.np_shape(True), pytest.raises(mx.MXNetError, match=r"of these shapes \(x: \(\)\)"):
        sym.linalg.potri(X).infer_shape(x=())
