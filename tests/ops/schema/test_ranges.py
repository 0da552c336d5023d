"""Ranges of attributes: declared with the operator, checked where attributes are bound, shown by help."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Annotated, Any

import numpy as onp
import pytest

import mixnet as mx
from mixnet import gluon, nd, sym
from mixnet.base import AttributeValueError, AxisError, MXNetError, ShapeError
from mixnet.gluon import nn, rnn
from mixnet.ops import OPERATORS
from mixnet.ops.schema.arguments import check_arguments
from mixnet.ops.schema.attributes import Attribute, Positive, Scalar, Share, attribute
from mixnet.ops.schema.ranges import AxisOf, Length, Range
from tests.each_record import each_record

np, npx = mx.np, mx.npx


@pytest.fixture(scope="module", autouse=True)
def _arrays() -> None:
    global X, IMAGES
    X, IMAGES = nd.ones((2, 3)), nd.ones((1, 2, 5, 5))


# ---- ranges ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("limits", "inside", "outside"),
    [
        (Range(0, 1), [0, 0.5, 1], [-0.1, 1.1, float("nan"), float("inf")]),
        (Range(1), [1, 2**70, float("inf")], [0, -1, float("nan")]),
        (Range(above=0), [1e-9], [0, -1e-9]),
        (Range(below=3, low=-1), [-1, 2.9], [3, -1.1]),
        (Range(1), [(1, 2), (), (None, 4)], [(1, 0), (-1,)]),
        (Length(2), [(1, 2)], [(), (1,), (1, 2, 3)]),
        (Length(1, 3), [(1,), (1, 2, 3)], [(), (1,) * 4]),
    ],
)
def test_limits_allow_exactly_their_values(
    limits: Any, inside: list[Any], outside: list[Any]
) -> None:
    assert all(limits.allows(each) for each in inside)
    assert not any(limits.allows(each) for each in outside)


@pytest.mark.parametrize(
    ("hint", "value", "words"),
    [
        (Share, 3, "op: x=3 is out of range; give a number from 0 to 1."),
        (Positive, "0", "op: x='0' is out of range; give a whole number of 1 or more."),
        (
            Positive | None,
            -1,
            "op: x=-1 is out of range; give a whole number of 1 or more, or None.",
        ),
        (Annotated[float, Range(above=0)], 0, "op: x=0 is out of range; give a number above 0."),
        (
            Annotated[tuple[int, ...], Length(1, 3), Range(1)],
            (0, 3),
            "op: x=(0, 3) is out of range; give a shape of 1 to 3 numbers, each 1 or more.",
        ),
        (int, 2**40, f"op: x={2**40} is out of range; give a whole number of 32 bits."),
        (
            Annotated[int, Range(0, 0)],
            1,
            "op: x=1 is out of range; give a whole number of 0 alone.",
        ),
    ],
)
def test_one_form_of_the_error(hint: Any, value: Any, words: str) -> None:
    from mixnet.ops.schema.attributes import REQUIRED

    with pytest.raises(AttributeValueError) as error:
        attribute("x", hint, REQUIRED).parse(value, "op")
    assert str(error.value) == words


def test_the_default_is_the_way_out() -> None:
    with pytest.raises(AttributeValueError, match=r"from 0 to 1\. Its default is 0\.5\.$"):
        nd.Dropout(X, p=3)


# ---- the same on every way to an operator ---------------------------------------------------------


def _file(operator: str, **attributes: Any) -> str:
    nodes = [
        {"op": "null", "name": "x", "inputs": []},
        {"op": operator, "name": "y", "attrs": attributes, "inputs": [[0, 0, 0]]},
    ]
    return json.dumps({"nodes": nodes, "arg_nodes": [0], "heads": [[1, 0, 0]]})


DROPOUT: dict[str, Callable[[], Any]] = {
    "nd": lambda: nd.Dropout(X, p=3),
    "text": lambda: nd.Dropout(X, p="3"),
    "sym": lambda: sym.Dropout(sym.var("x"), p=3),
    "npx": lambda: npx.dropout(np.ones((2,)), p=3),
    "file": lambda: sym.load_json(_file("Dropout", p="3")),
    "gluon": lambda: nn.Dropout(3),
    "cell": lambda: rnn.DropoutCell(3)(X, []),
}


@pytest.mark.parametrize("way", DROPOUT)
def test_every_way_to_an_operator(way: str) -> None:
    with pytest.raises(
        AttributeValueError, match=r"3'? is out of range; give a number from 0 to 1"
    ):
        DROPOUT[way]()


def test_axes_are_checked_in_symbols() -> None:
    with pytest.raises(AxisError, match=r"axis=7 is out of range: the array has 2 axes"):
        sym.BatchNorm(sym.var("x"), axis=7).infer_shape(x=(2, 3))
    with pytest.raises(ShapeError, match=r"axis=4 is out of range"):
        sym.softmax(sym.var("x"), axis=4).infer_shape(x=(2, 3))
    assert issubclass(AxisError, (IndexError, ValueError))  # as NumPy's is


def test_an_axis_of_the_result_may_be_one_more() -> None:
    assert nd.expand_dims(X, axis=2).shape == (2, 3, 1)
    assert nd.expand_dims(X, axis=-3).shape == (1, 2, 3)
    with pytest.raises(AxisError, match="the result has 3 axes; give one from -3 to 2"):
        nd.expand_dims(X, axis=3)
    AxisOf().check("op", "axis", None, 0)


# ---- numbers that are inputs of the program -------------------------------------------------------


def test_a_dynamic_number_is_checked_and_stays_dynamic() -> None:
    op = OPERATORS["_npi_exponential"]
    bound = {op.bind({"scale": each, "size": (2,)})[0] for each in (0.5, 1.5, 2.5)}
    assert len(bound) == 1  # one program
    with pytest.raises(AttributeValueError, match=r"scale=-1 is out of range; give a number of 0"):
        op.bind({"scale": -1, "size": (2,)})
    with pytest.raises(AttributeValueError, match="scale=nan"):
        op.bind({"scale": float("nan"), "size": (2,)})


def test_a_range_is_checked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    op = OPERATORS["tile"]
    op.bind({"reps": (3, 2, 1)})
    parsed: list[str] = []
    real = Attribute.parse
    monkeypatch.setattr(
        Attribute, "parse", lambda self, *a: (parsed.append(self.name), real(self, *a))[1]
    )
    op.bind({"reps": (3, 2, 1)})
    assert not parsed
    op.bind({"reps": (3, 2, 2)})
    assert parsed == ["reps"]


# ---- operators and layers of your own -------------------------------------------------------------


def test_an_operator_of_your_own_has_ranges() -> None:
    def blur(data, *, strength: Annotated[Scalar, Range(0, 1)] = 0.5, window: Positive):  # type: ignore[no-untyped-def]
        """Blurred.

        Returns:
            The shape of ``data``.
        """
        return data * strength

    blur.__annotations__ = {"strength": Annotated[Scalar, Range(0, 1)], "window": Positive}
    op = mx.ops.register("blur_for_ranges")(blur)
    with pytest.raises(AttributeValueError, match=r"blur_for_ranges: strength=2 is out of range"):
        nd.blur_for_ranges(X, strength=2, window=1)
    with pytest.raises(AttributeValueError, match=r"window=0 is out of range"):
        nd.blur_for_ranges(X, window=0)
    lines = op.__doc__.splitlines()
    at = lines.index("Attributes:")
    described = [line.partition(";")[0] for line in lines[at + 1 : at + 3]]
    assert described == [
        "    strength: a number, from 0 to 1",
        "    window: a whole number, 1 or more",
    ]
    assert lines.index("Returns:") > at


def test_help_lists_types_ranges_and_defaults() -> None:
    text = "Attributes:\n    p: a number, from 0 to 1; 0.5 by default.\n    mode: "
    assert text in nd.Dropout.__doc__
    assert "num_hidden: a whole number, 1 or more; required." in sym.FullyConnected.__doc__
    kernel = "kernel: a tuple of whole numbers, 1 to 3 numbers, each 1 or more; required."
    assert kernel in npx.convolution.__doc__
    assert "pool_type: one of 'avg', 'lp', 'max', 'sum'; 'max' by default." in nd.Pooling.__doc__
    assert (
        "axis: a tuple of whole numbers, an axis of the array; None by default." in nd.sum.__doc__
    )


def test_a_layer_of_your_own_checks_its_arguments() -> None:
    class Scale(gluon.HybridBlock):
        @check_arguments
        def __init__(self, share: Share, times: Positive | None = None, **kwargs: Any):
            super().__init__(**kwargs)

    Scale(0.5), Scale(1, None), Scale(share=1, times=onp.int64(3))
    with pytest.raises(AttributeValueError, match="Scale: share=2 is out of range"):
        Scale(2)
    with pytest.raises(AttributeValueError, match="Scale: times=0 is out of range"):
        Scale(1, times=0)
    with pytest.raises(TypeError, match="share"):
        Scale()


# ---- what stays allowed ---------------------------------------------------------------------------

ALLOWED: dict[str, tuple[Callable[[], Any], tuple[int, ...]]] = {
    "no rows": (lambda: np.zeros((0, 3)), (0, 3)),
    "depth 0": (lambda: nd.one_hot(nd.array([1]), depth=0), (1, 0)),
    "codes": (lambda: nd.Reshape(IMAGES, shape=(0, -1)), (1, 50)),
    "joined axes": (lambda: nd.Reshape(IMAGES, shape=(-3, -2)), (2, 5, 5)),
    "negative axis": (lambda: nd.sum(X, axis=-1), (2,)),
    "k of all": (lambda: nd.topk(X, k=0), (2, 3)),
    "everything dropped": (lambda: nd.Dropout(X, p=1, mode="always"), (2, 3)),
    "no repeat": (lambda: nd.repeat(X, repeats=0), (0,)),
    "no copies": (lambda: nd.tile(X, reps=(0, 1)), (0, 3)),
    "no numbers": (lambda: nd.arange(3, 3), (0,)),
    "scale 0": (lambda: np.random.normal(0, 0, size=(2,)), (2,)),
    "empty slice": (lambda: nd.slice_axis(X, axis=0, begin=1, end=1), (0, 3)),
    "low above high": (lambda: nd.clip(X, 3, 1), (2, 3)),
    "units not known": (lambda: nn.Dense(4, in_units=0).weight, (4, 0)),
    "a flat curve": (lambda: nd.smooth_l1(X, scalar=0), (2, 3)),
}


@each_record("name", ALLOWED)
def test_values_within_the_limits_are_allowed(name: str) -> None:
    make, shape = ALLOWED[name]
    actual = make()
    assert actual.shape == shape
    if hasattr(actual, "asnumpy"):
        assert onp.isfinite(actual.asnumpy()).all()


# ---- mistakes: one class of errors, in words of mixnet --------------------------------------------


def _run(block: gluon.Block, data: Any) -> Any:
    block.initialize()
    return block(data)


MISTAKES: dict[str, tuple[Callable[[], Any], str]] = {
    # layers
    "Dense(-2)": (lambda: nn.Dense(-2), "Dense: units=-2"),
    "Dense in": (lambda: nn.Dense(2, in_units=-1), "in_units=-1"),
    "Conv2D channels": (lambda: nn.Conv2D(-3, 3), "Conv2D: channels=-3"),
    "Conv2D kernel": (lambda: nn.Conv2D(3, 0), "kernel_size"),
    "Conv2D strides": (lambda: nn.Conv2D(3, 1, strides=0), "strides=0"),
    "Conv2D groups": (lambda: nn.Conv2D(3, 1, groups=0), "groups=0"),
    "Conv2D padding": (lambda: nn.Conv2D(3, 1, padding=-1), "padding=-1"),
    "Conv2D too large": (lambda: _run(nn.Conv2D(3, 9), IMAGES), "reaches over 9"),
    "Conv2D of a matrix": (lambda: _run(nn.Conv2D(3, 1), X), "must have 4 axes"),
    "transposed": (lambda: nn.Conv2DTranspose(3, (0, 0)), "Conv2DTranspose: kernel_size"),
    "Embedding": (lambda: nn.Embedding(0, 3), "Embedding: input_dim=0"),
    "pool 0": (lambda: nn.MaxPool2D(0), "MaxPool2D: pool_size=0"),
    "pool stride": (lambda: nn.AvgPool2D(2, strides=0), "strides=0"),
    "pool of a matrix": (lambda: _run(nn.MaxPool2D(2), X), "three to five axes"),
    "BatchNorm momentum": (lambda: nn.BatchNorm(momentum=3), "momentum=3"),
    "BatchNorm epsilon": (lambda: nn.BatchNorm(epsilon=-1), "epsilon=-1"),
    "BatchNorm axis": (lambda: _run(nn.BatchNorm(axis=7), IMAGES), "axis=7"),
    "LayerNorm axis": (lambda: _run(nn.LayerNorm(axis=5), IMAGES), "axis=5"),
    "GroupNorm": (lambda: nn.GroupNorm(0), "num_groups=0"),
    "reflection": (lambda: _run(nn.ReflectionPad2D(9), IMAGES), "below the extent"),
    "LSTM layers": (lambda: rnn.LSTM(3, num_layers=0), "LSTM: num_layers=0"),
    "LSTM units": (lambda: rnn.LSTM(-3), "hidden_size=-3"),
    "LSTM dropout": (lambda: rnn.LSTM(3, dropout=2), "dropout=2"),
    "LSTM of a matrix": (lambda: _run(rnn.LSTM(3), X), r"LSTM takes .*\(time, batch, units\).* not \(2, 3\)"),
    "RNN of a vector": (lambda: _run(rnn.RNN(3), nd.ones((3,))), r"RNN takes .* not \(3,\)"),
    "GRU of images": (lambda: _run(rnn.GRU(3, layout="NTC"), IMAGES), "batch, time, units"),
    "cell": (lambda: rnn.LSTMCell(-1), "LSTMCell: hidden_size=-1"),
    "zoneout": (lambda: rnn.ZoneoutCell(rnn.RNNCell(3), 2), "zoneout_outputs=2"),
    # shapes
    "nd.zeros": (lambda: nd.zeros((-1,)), r"shape=\(-1,\)"),
    "np.ones": (lambda: np.ones((-2, 3)), r"shape=\(-2, 3\)"),
    "np.full": (lambda: np.full((-2, 3), 1), r"shape=\(-2, 3\)"),
    "nd.eye": (lambda: nd.eye(-1), "N=-1"),
    "np.indices": (lambda: np.indices((-1, 2)), "dimensions"),
    "random shape": (lambda: nd.random.uniform(shape=(-2,)), r"shape=\(-2,\)"),
    "random size": (lambda: np.random.normal(size=(-2,)), r"size=\(-2,\)"),
    "tile": (lambda: nd.tile(X, reps=-1), "reps=-1"),
    "x.tile": (lambda: X.tile(-1), "reps=-1"),
    "np.tile": (lambda: np.tile(np.ones(2), -1), "reps"),
    "repeat": (lambda: nd.repeat(X, -1), "repeats=-1"),
    "two unknown": (lambda: X.reshape(-1, -1), "only one may be -1"),
    "broadcast_to": (lambda: nd.broadcast_to(X, shape=(2, 7)), "only axes of extent 1"),
    "reshape_like": (lambda: nd.reshape_like(X, IMAGES), "50 elements|same number of elements"),
    "squeeze": (lambda: nd.squeeze(X, axis=0), "extent 1"),
    # numbers
    "arange step": (lambda: nd.arange(0, 3, 0), "step other than 0"),
    "arange away": (lambda: nd.arange(5, 3), "leads away"),
    "np.arange": (lambda: np.arange(float("nan")), "finite"),
    "linspace": (lambda: np.linspace(0, 1, -1), "num=-1"),
    "one_hot": (lambda: nd.one_hot(X, -3), "depth=-3"),
    "one_hot huge": (lambda: nd.one_hot(X, 2**40), "32 bits"),
    "UpSampling": (lambda: nd.UpSampling(IMAGES, scale=0, sample_type="nearest"), "scale=0"),
    "num_hidden": (lambda: sym.FullyConnected(sym.var("x"), num_hidden=-2), "num_hidden=-2"),
    "another num_hidden": (
        lambda: nd.FullyConnected(X, nd.ones((4, 3)), num_hidden=7, no_bias=True),
        r"num_hidden=7, but weight is \(4, 3\)",
    ),
    "kernel 0": (lambda: sym.Convolution(sym.var("x"), kernel=(0, 0), num_filter=2), "kernel"),
    "kernel -3": (lambda: sym.Convolution(sym.var("x"), kernel=(-3, -3), num_filter=2), "kernel"),
    "stride 0": (
        lambda: nd.Convolution(IMAGES, nd.ones((1, 2, 3, 3)), kernel=(3, 3), stride=(0, 0),
                               num_filter=1, no_bias=True),
        "stride",
    ),
    "pooling 0": (lambda: nd.Pooling(IMAGES, kernel=(0, 0)), "kernel"),
    "topk": (lambda: nd.topk(X, k=7), "k=7"),
    "pad": (lambda: np.pad(np.ones(2), -1), "pad_width"),
    "slice step": (lambda: nd.slice(X, begin=(0,), end=(1,), step=(0,)), "step"),
    "slice lengths": (lambda: nd.slice(X, begin=(0,), end=(1, 2)), "same length"),
    "slice_axis": (lambda: nd.slice_axis(X, axis=0, begin=0, end=9), "not a part of axis 0"),
    "split": (lambda: nd.split(X, num_outputs=0), "num_outputs=0"),
    "split_v2": (lambda: nd.split_v2(X, 0), "sections"),
    "depth_to_space": (lambda: nd.depth_to_space(IMAGES, 3), "block_size"),
    "RNN": (
        lambda: sym.RNN(sym.var("x"), state_size=3, num_layers=1, mode="lstm").infer_shape(x=(2, 3)),
        r"data is \(2, 3\)",
    ),
    "SequenceMask": (lambda: nd.SequenceMask(X, nd.ones((3,)), True, axis=4), "axis=4"),
    "ROIPooling": (
        lambda: nd.ROIPooling(IMAGES, nd.ones((1, 5)), pooled_size=(0, 2), spatial_scale=1),
        "pooled_size",
    ),
    "ROI scale": (
        lambda: nd.ROIPooling(IMAGES, nd.ones((1, 5)), pooled_size=(2, 2), spatial_scale=3),
        "spatial_scale=3",
    ),
    "FTML": (lambda: nd.ftml_update(X, X, X, X, X, lr=0.1, t=1, beta1=3), "beta1=3"),
    # axes
    "np.sum": (lambda: np.sum(np.ones((2, 3)), axis=5), "axis"),
    "np.mean": (lambda: np.mean(np.ones((2, 3)), axis=(0, 0)), "twice"),
    "nd.mean": (lambda: nd.mean(X, axis=(0, 0)), "twice"),
    "np.sort": (lambda: np.sort(np.ones((2, 3)), axis=5), "axis=5"),
    "np.take": (lambda: np.take(np.ones((2, 3)), np.array([0]), axis=5), "axis=5"),
    "np.unique": (lambda: np.unique(np.ones(3), axis=5), "axis=5"),
    "np.rot90": (lambda: np.rot90(np.ones((2, 3)), 1, (0, 0)), "same axis"),
    "np.trace": (lambda: np.trace(np.ones((2, 2)), axis1=0, axis2=0), "same axis"),
    "swapaxes": (lambda: nd.swapaxes(X, 0, 7), "dim2=7"),
    "Concat": (lambda: nd.concat(X, X, dim=4), "dim=4"),
    # distributions
    "normal": (lambda: nd.random.normal(0, -1), "scale=-1"),
    "np normal": (lambda: np.random.normal(0, -1), "scale=-1"),
    "exponential": (lambda: nd.random.exponential(0), "scale=0"),
    "gamma": (lambda: nd.random.gamma(-1, 1), "alpha=-1"),
    "uniform": (lambda: nd.random.uniform(3, 1), "low=3"),
    "negative_binomial": (lambda: nd.random.negative_binomial(-1, 0.5), "k=-1"),
    "choice": (lambda: np.random.choice(0), "0 places"),
    "multinomial": (lambda: np.random.multinomial(-1, [0.5, 0.5]), "n=-1"),
}  # fmt: skip

FOREIGN = re.compile(r"\b(jax|jnp|lax|XLA|MLIR|HLO|numpy\.|broadcast_in_dim|zip\(\)|tuple index|"
                     r"list assignment|modulo|lower jaxpr|reduce_window)\b", re.I)  # fmt: skip


@each_record("mistake", MISTAKES)
def test_a_wrong_value_is_an_error(mistake: str) -> None:
    make, words = MISTAKES[mistake]
    with pytest.raises(MXNetError, match=words) as error:
        actual = make()
        for each in actual if isinstance(actual, list) else [actual]:
            each.asnumpy()
    assert isinstance(error.value, ValueError)
    assert not FOREIGN.search(str(error.value)), error.value
