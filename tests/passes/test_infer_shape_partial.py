"""Partly known shapes, against results of MXNet 1.9.1."""

from __future__ import annotations

import pytest

import mixnet as mx
from tests.each_record import each_record

a, b, c = (mx.sym.Variable(name) for name in "abc")
dense = mx.sym.FullyConnected(a, num_hidden=5, name="fc")
convolved = mx.sym.Convolution(a, kernel=(3, 3), num_filter=8, name="conv")
relu = mx.sym.Activation(a, act_type="relu")

# symbol, given; arguments, outputs
MXNET = {
    "sum of complements": (a + b, {"a": (2, 0), "b": (0, 3)}, [(2, 3), (2, 3)], [(2, 3)]),
    "sum, one given": (a + b, {"a": (2, 0)}, [(2, 0), (2, 0)], [(2, 0)]),
    "three": (
        a * b + c,
        {"a": (2, 0, 0), "b": (0, 3, 0), "c": (0, 0, 4)},
        [(2, 3, 4)] * 3,
        [(2, 3, 4)],
    ),
    "concat": (mx.sym.concat(a, b, dim=1), {"a": (2, 0), "b": (0, 3)}, [(2, 0), (2, 3)], [(2, 0)]),
    "concat, batch": (
        mx.sym.concat(a, b, dim=1),
        {"a": (2, 4), "b": (0, 3)},
        [(2, 4), (2, 3)],
        [(2, 7)],
    ),
    "dense": (dense, {"a": (0, 7)}, [(0, 7), (5, 7), (5,)], [(0, 5)]),
    "batch from above": (
        dense + b,
        {"a": (0, 7), "b": (4, 0)},
        [(4, 7), (5, 7), (5,), (4, 5)],
        [(4, 5)],
    ),
    "convolution": (
        convolved,
        {"a": (0, 3, 0, 10)},
        [(0, 3, 0, 10), (8, 3, 3, 3), (8,)],
        [(0, 8, 0, 8)],
    ),
    "convolution, batch": (
        convolved + b,
        {"a": (0, 3, 10, 10), "b": (4, 0, 0, 0)},
        [(4, 3, 10, 10), (8, 3, 3, 3), (8,), (4, 8, 8, 8)],
        [(4, 8, 8, 8)],
    ),
    "label": (
        mx.sym.SoftmaxOutput(dense, name="s"),
        {"a": (0, 7), "s_label": (6,)},
        [(6, 7), (5, 7), (5,), (6,)],  # MXNet leaves the batch unknown
        [(6, 5)],
    ),
    "from the result": (relu + b, {"b": (2, 3)}, [(2, 3), (2, 3)], [(2, 3)]),
    "transpose": (mx.sym.transpose(a), {"a": (2, 0)}, [(2, 0)], [(0, 2)]),
    "split": (mx.sym.SliceChannel(a, num_outputs=2), {"a": (0, 4)}, [(0, 4)], [(0, 2), (0, 2)]),
    "embedding": (
        mx.sym.Embedding(a, input_dim=10, output_dim=3),
        {"a": (0, 5)},
        [(0, 5), (10, 3)],
        [(0, 5, 3)],
    ),
    "sum over the open axis": (mx.sym.sum(a, axis=1), {"a": (2, 0)}, [(2, 0)], [(2,)]),
    "nothing": (dense, {}, [(), (), ()], [()]),
    "weight alone": (dense, {"fc_weight": (5, 7)}, [(), (5, 7), ()], [()]),
}


@each_record("case", MXNET)
def test_shapes_are_inferred_as_in_mxnet(case: str) -> None:
    symbol, shapes, arguments, outputs = MXNET[case]
    assert symbol.infer_shape_partial(**shapes)[:2] == (arguments, outputs)


def test_unknown_extents_follow_from_the_other_operand() -> None:
    assert (a + b).infer_shape(a=(2, 0), b=(0, 3)) == ([(2, 3), (2, 3)], [(2, 3)], [])


def test_an_input_of_concat_follows_from_its_output() -> None:
    joined = mx.sym.concat(a, b, dim=1) + c
    assert joined.infer_shape_partial(a=(2, 4), b=(0, 0), c=(2, 7))[0] == [(2, 4), (2, 3), (2, 7)]


def test_contradicting_shapes_are_an_error() -> None:
    with pytest.raises(mx.MXNetError, match=r"'b' has shape \(3, 0\), but \(2, 0\) follows"):
        (a + b).infer_shape_partial(a=(2, 0), b=(3, 0))


@pytest.mark.parametrize(
    "symbol",
    [
        mx.sym.sum(a, axis=2),
        mx.sym.slice_axis(a, axis=-3, begin=0, end=1),
        mx.sym.swapaxes(a, dim1=0, dim2=4),
        mx.sym.LayerNorm(a, axis=3),
        mx.sym.BatchNorm(a, axis=3),
        mx.sym.topk(a, axis=3),
        mx.sym.pick(a, b, axis=3),
        mx.sym.Pooling(a, kernel=(2, 2)),
        convolved,
    ],
)
@pytest.mark.parametrize("shape", [(0, 3), (0, 0)])
def test_a_number_of_axes_is_refused_whatever_the_extents(
    symbol: mx.sym.Symbol, shape: tuple[int, ...]
) -> None:
    with pytest.raises(mx.MXNetError, match="does not take inputs of these shapes"):
        symbol.infer_shape_partial(a=shape)


def test_minus_one_is_an_unknown_extent_too_and_less_is_an_error() -> None:
    assert dense.infer_shape_partial(a=(-1, 4))[:2] == ([(0, 4), (5, 4), (5,)], [(0, 5)])
    with pytest.raises(mx.MXNetError, match=r"\(-2, 4\) is not a shape; .* 0 for an extent"):
        dense.infer_shape(a=(-2, 4))
