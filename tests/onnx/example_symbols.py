"""Small networks of the kinds that examples train with ``Module``, as symbols: a function with
shapes for each.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mixnet as mx
from mixnet import sym

Example = tuple[Any, dict[str, tuple[int, ...]], dict[str, int]]
SYMBOLS: dict[str, Callable[[], Example]] = {}
"""By name: what makes a symbol, shapes of its inputs with a batch of two first, and limits of
those of whole numbers.
"""


def example(make: Callable[[], Example]) -> Callable[[], Example]:
    """Add a network to the table, under the name of its function."""
    SYMBOLS[make.__name__] = make
    return make


def data() -> Any:
    return sym.Variable("data")


def dense(x: Any, units: int, act: str | None = None, **more: Any) -> Any:
    x = sym.FullyConnected(x, num_hidden=units, **more)
    return x if act is None else sym.Activation(x, act_type=act)


def conv(x: Any, channels: int, kernel: int = 3, norm: bool = False, **more: Any) -> Any:
    x = sym.Convolution(
        x, num_filter=channels, kernel=(kernel, kernel), pad=(kernel // 2,) * 2, **more
    )
    return sym.Activation(sym.BatchNorm(x, fix_gamma=False) if norm else x, act_type="relu")


@example
def perceptron() -> Example:
    x = dense(dense(sym.Flatten(data()), 6, "relu"), 5, "tanh")
    return sym.SoftmaxOutput(dense(x, 3), name="softmax"), {"data": (2, 2, 4)}, {}


@example
def lenet() -> Example:
    x = sym.Pooling(conv(data(), 4, 5), pool_type="max", kernel=(2, 2), stride=(2, 2))
    x = sym.Pooling(
        conv(x, 6), pool_type="avg", kernel=(3, 3), stride=(2, 2), pooling_convention="full"
    )
    return sym.SoftmaxOutput(dense(x, 4), name="softmax"), {"data": (2, 1, 10, 10)}, {}


@example
def layers_of_many_widths() -> Example:
    x = conv(data(), 4, norm=True)
    pooled = sym.Pooling(x, kernel=(3, 3), pad=(1, 1), pool_type="avg")
    x = sym.Concat(
        conv(x, 2, 1), conv(conv(x, 2, 1), 3), conv(conv(x, 2, 1), 3, 5), conv(pooled, 2, 1)
    )
    x = sym.Pooling(sym.LRN(x, nsize=3), global_pool=True, pool_type="avg", kernel=(1, 1))
    return sym.softmax(dense(x, 3)), {"data": (2, 3, 6, 6)}, {}


@example
def whole_images_by_convolutions() -> Example:
    x = conv(data(), 4)
    low = sym.Pooling(x, kernel=(2, 2), stride=(2, 2), pool_type="max")
    scores = sym.Convolution(low, num_filter=3, kernel=(1, 1))
    wide = sym.Deconvolution(
        scores, num_filter=3, kernel=(4, 4), stride=(2, 2), num_group=3, no_bias=True
    )
    wide = sym.Crop(wide, x, num_args=2, center_crop=True)
    return sym.SoftmaxOutput(wide, multi_output=True, name="softmax"), {"data": (2, 3, 7, 7)}, {}  # fmt: skip


@example
def regions_of_images() -> Example:
    x = conv(data(), 4)
    scores = sym.Convolution(x, num_filter=4, kernel=(1, 1))
    chances = sym.reshape(
        sym.softmax(sym.reshape(scores, shape=(0, 2, -1, 0)), axis=1), shape=(0, 4, -1, 0)
    )
    places = sym.Convolution(x, num_filter=8, kernel=(1, 1))
    boxes = sym.contrib.MultiProposal(
        chances, places, sym.Variable("im_info"), feature_stride=4, scales=(2,), ratios=(0.5, 1),
        rpn_pre_nms_top_n=8, rpn_post_nms_top_n=3, rpn_min_size=1, threshold=0.7,
    )  # fmt: skip
    x = sym.ROIPooling(x, boxes, pooled_size=(2, 2), spatial_scale=0.25)
    return sym.softmax(dense(x, 3)), {"data": (2, 2, 6, 6), "im_info": (2, 3)}, {}


@example
def sentences_step_by_step() -> Example:
    words = sym.Embedding(data(), input_dim=11, output_dim=5)
    cells = mx.rnn.SequentialRNNCell()
    cells.add(mx.rnn.LSTMCell(6, prefix="lstm_"))
    cells.add(mx.rnn.ResidualCell(mx.rnn.GRUCell(6, prefix="gru_")))
    outputs, _ = cells.unroll(4, words, merge_outputs=True)
    x = dense(sym.reshape(outputs, shape=(-1, 6)), 11)
    return sym.SoftmaxOutput(x, name="softmax"), {"data": (2, 4)}, {"data": 11}


@example
def sentences_in_one_operator() -> Example:
    words = sym.Embedding(data(), input_dim=11, output_dim=5)
    cell = mx.rnn.FusedRNNCell(4, num_layers=2, mode="lstm", bidirectional=True, prefix="lstm_")
    steps = sym.SwapAxis(words, dim1=0, dim2=1)
    outputs, _ = cell.unroll(4, steps, layout="TNC", merge_outputs=True)
    outputs = sym.SwapAxis(outputs, dim1=0, dim2=1)
    return dense(outputs, 3, flatten=False), {"data": (2, 4)}, {"data": 11}


@example
def speech_of_any_length() -> Example:
    x, lengths = data(), sym.Variable("lengths")
    steps = sym.SwapAxis(x, dim1=0, dim2=1)
    turned = sym.SequenceReverse(steps, lengths, use_sequence_length=True)
    both = sym.Concat(steps, turned, dim=2)
    last = sym.SequenceLast(both, lengths, use_sequence_length=True)
    masked = sym.SequenceMask(both, lengths, use_sequence_length=True, value=-1)
    return (
        sym.Group([dense(last, 3), sym.max(masked, axis=0)]),
        {"data": (2, 5, 3), "lengths": (2,)},
        {"lengths": -5},
    )


@example
def tables_of_users_and_items() -> Example:
    users = sym.Variable("user")
    user = sym.Embedding(users, input_dim=9, output_dim=4)
    item = sym.Embedding(sym.Variable("item"), input_dim=7, output_dim=4)
    near = sym.sum(user * item, axis=1, keepdims=True) + sym.Embedding(
        users, input_dim=9, output_dim=1
    )
    return (
        sym.LinearRegressionOutput(sym.Flatten(near), name="score"),
        {"user": (2,), "item": (2,)},
        {"user": 9, "item": 7},
    )


@example
def wider_margins() -> Example:
    return sym.SVMOutput(dense(dense(data(), 6, "relu"), 3), name="svm"), {"data": (2, 5)}, {}


@example
def absolute_errors() -> Example:
    x = sym.LeakyReLU(dense(data(), 6), act_type="elu", slope=0.3)
    chance = sym.LogisticRegressionOutput(dense(x, 1), name="chance")
    return (
        sym.Group([chance, sym.MAERegressionOutput(dense(x, 2), name="size")]),
        {"data": (2, 5)},
        {},
    )


@example
def coded_and_decoded() -> Example:
    x = data()
    code = sym.Dropout(dense(x, 4, "sigmoid"), p=0.3)
    return sym.MakeLoss(sym.smooth_l1(dense(code, 8) - x, scalar=2.0)), {"data": (2, 8)}, {}


@example
def scores_by_noise() -> Example:
    hidden = dense(data(), 5, "tanh")
    weights = sym.Embedding(sym.Variable("words"), input_dim=11, output_dim=5)
    scores = sym.sum(sym.broadcast_mul(sym.expand_dims(hidden, axis=1), weights), axis=2)
    return sym.sigmoid(scores), {"data": (2, 3), "words": (2, 4)}, {"words": 11}


@example
def places_seen_through_a_window() -> Example:
    x = data()
    place = dense(conv(x, 2), 6, "tanh")
    x = sym.SpatialTransformer(
        x, place, target_shape=(4, 4), transform_type="affine", sampler_type="bilinear"
    )
    return dense(x, 3), {"data": (2, 2, 6, 6)}, {}


@example
def style_and_its_loss() -> Example:
    picture = data()
    x = conv(picture, 4)
    rows = sym.reshape(x, shape=(0, 0, -1))
    gram = sym.batch_dot(rows, rows, transpose_b=True) / 36
    expected = sym.Variable("style")
    loss = sym.sum(sym.square(gram - expected), axis=(1, 2))
    left = sym.slice_axis(picture, axis=3, begin=0, end=-1)
    right = sym.slice_axis(picture, axis=3, begin=1, end=None)
    smooth = sym.sum(sym.abs(left - right), axis=(1, 2, 3))
    return sym.Group([loss, smooth]), {"data": (2, 3, 6, 6), "style": (2, 4, 4)}, {}


@example
def places_and_kinds() -> Example:
    x = conv(data(), 4, norm=True)
    anchors = sym.contrib.MultiBoxPrior(x, sizes=(0.4,), ratios=(1, 2), clip=True)
    chances = sym.softmax(sym.reshape(conv(x, 6), shape=(0, 3, -1)), axis=1)
    places = sym.Flatten(sym.Convolution(x, num_filter=8, kernel=(1, 1)))
    return (
        sym.contrib.MultiBoxDetection(chances, places, anchors, nms_threshold=0.4, nms_topk=10),
        {"data": (2, 2, 4, 4)},
        {},
    )


@example
def frames_side_by_side() -> Example:
    x = sym.Convolution(data(), num_filter=3, kernel=(3, 3, 3), pad=(1, 1, 1))
    x = sym.Pooling(sym.BatchNorm(x), kernel=(2, 2, 2), stride=(2, 2, 2), pool_type="max")
    x = sym.InstanceNorm(x, sym.Variable("scale"), sym.Variable("shift"))
    return dense(sym.L2Normalization(x, mode="channel"), 3), {"data": (2, 2, 4, 4, 4)}, {}


@example
def arrays_taken_apart() -> Example:
    parts = sym.SliceChannel(data(), num_outputs=3, axis=1)
    chosen = sym.where(parts[0] > parts[1], parts[0], parts[2] * 2)
    order = sym.argsort(chosen, axis=1)
    best = sym.take(sym.Variable("table", shape=(4, 3)), sym.topk(chosen, k=2), axis=0)
    return (
        sym.Group(
            [
                sym.tile(chosen, reps=(1, 2)),
                order,
                best,
                sym.one_hot(sym.argmax(chosen, axis=1), depth=4),
            ]
        ),
        {"data": (2, 12)},
        {},
    )
