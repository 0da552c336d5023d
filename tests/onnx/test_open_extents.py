"""Files with open extents: imported symbols take any extent, and are exported with open extents again."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mixnet as mx
from mixnet.base import MXNetError, ShapeError
from mixnet.onnx.extents import simplified
from mixnet.onnx.load.extents import open_extent
from tests.onnx.backend import measure
from tests.onnx.models import floats, model_of, saved
from tests.onnx.runtime import onnx, run

make = onnx.helper.make_node
ONE, MINUS = np.array([1]), np.array([-1])


def _agrees(
    model: Any, path: Path, shapes: list[tuple[int, ...]], again: tuple[Any, ...] = ()
) -> Any:
    """Compare a model with ONNX Runtime for some shapes of its input ``x``; the block."""
    saved(model, path)
    block = mx.contrib.onnx.import_to_gluon(path)
    for hybrid in (False, True):
        block.hybridize(hybrid)
        for shape in shapes:
            _same(path, block, floats(*shape))
    if again:
        (exported,) = block.export(
            str(path.with_suffix("")) + "_again", format="onnx", dynamic_input_shapes=[again]
        )
        for shape in shapes:
            x = floats(*shape)
            for imported, reexported in zip(run(path, x), run(exported, x), strict=True):
                np.testing.assert_allclose(imported, reexported, rtol=1e-4, atol=1e-5)
    return block


def _same(path: Path, block: Any, x: np.ndarray) -> None:
    results = block(mx.nd.array(x))
    results = results if isinstance(results, (list, tuple)) else [results]
    for out, expected in zip(results, run(path, x), strict=True):
        assert out.shape == expected.shape
        np.testing.assert_allclose(out.asnumpy(), expected, rtol=1e-4, atol=1e-5)


def _shape_of_class_token() -> list[Any]:
    return [
        make("Shape", ["x"], ["shape"]),
        make("Gather", ["shape", "zero"], ["batch"], axis=0),
        make("Unsqueeze", ["batch", "axis"], ["first"]),
        make("Concat", ["first", "minus", "minus"], ["like"], axis=0),
        make("Equal", ["like", "unknown"], ["open"]),
        make("Where", ["open", "ones", "like"], ["target"]),
    ]


def test_a_class_token_is_repeated_for_each_image(tmp_path: Path) -> None:
    nodes = [
        *_shape_of_class_token(),
        make("Expand", ["token", "target"], ["tokens"]),
        make("Concat", ["tokens", "x"], ["all"], axis=1),
        make("Concat", ["first", "minus"], ["flat"], axis=0),
        make("Reshape", ["all", "flat"], ["rows"]),
    ]
    constants = {
        "zero": np.array(0), "axis": np.array([0]), "minus": MINUS, "unknown": np.array([-1] * 3),
        "ones": np.ones(3, np.int64), "token": floats(1, 1, 4),
    }  # fmt: skip
    model = model_of(nodes, {"x": ["batch", 5, 4]}, ["all", "rows"], **constants)
    block = _agrees(model, tmp_path / "net.onnx", [(2, 5, 4), (1, 5, 4)], ("n", 5, 4))
    ops = [node.op.name for node in block._symbol.graph.nodes if not node.is_variable]
    assert ops == ["broadcast_like", "Concat", "Reshape"], "all are MXNet's own"
    assert list(block.collect_params()) == ["token"]
    mx.look(block, mx.nd.ones((3, 5, 4)), compile=False)
    block.hybridize()
    with mx.autograd.record():
        loss = block(mx.nd.ones((3, 5, 4)))[0].sum()
    loss.backward()
    np.testing.assert_allclose(block.collect_params()["token"].grad().asnumpy(), 3)


def test_numbers_computed_from_a_length(tmp_path: Path) -> None:
    nodes = [
        make("Shape", ["x"], ["shape"]),
        make("Gather", ["shape", "one"], ["length"], axis=0),
        make("Range", ["zero", "length", "one"], ["places"]),
        make("Gather", ["table", "places"], ["embedded"]),
        make("Add", ["x", "embedded"], ["with_places"]),
        make("Cast", ["length"], ["float"], to=1),
        make("ReduceSum", ["with_places", "axis"], ["sum"], keepdims=0),
        make("Div", ["sum", "float"], ["mean"]),
        make("Add", ["length", "one"], ["more"]),
        make("Unsqueeze", ["more", "first_axis"], ["rows"]),
        make("ConstantOfShape", ["rows"], ["zeros"]),
    ]
    constants = {
        "one": np.array(1), "zero": np.array(0), "table": floats(9, 3), "axis": ONE,
        "first_axis": np.array([0]),
    }  # fmt: skip
    model = model_of(nodes, {"x": ["n", "t", 3]}, ["mean", "zeros"], **constants)
    block = _agrees(model, tmp_path / "net.onnx", [(2, 4, 3), (3, 7, 3)], ("n", "t", 3))
    assert list(block.collect_params()) == ["table"]


def test_triangles_of_any_length_are_selected(tmp_path: Path) -> None:
    nodes = [make("Trilu", ["x"], ["above"]), make("Trilu", ["x"], ["below"], upper=0)]
    model = model_of(nodes, {"x": ["n", "t", "t"]}, ["above", "below"])
    _agrees(model, tmp_path / "net.onnx", [(2, 3, 3), (1, 5, 5)])


@pytest.mark.parametrize("kind", ["LSTM", "GRU"])
def test_recurrent_states_that_are_zeros(kind: str, tmp_path: Path) -> None:
    gates = {"LSTM": 4, "GRU": 3}[kind]  # a GRU of this form becomes a loop over its steps
    weights = {"w": floats(1, gates * 2, 3), "r": floats(1, gates * 2, 2)}
    model = model_of(
        [make(kind, ["x", "w", "r"], ["out", "last"], hidden_size=2)],
        {"x": ["t", "n", 3]}, ["out", "last"], **weights,
    )  # fmt: skip
    block = _agrees(model, tmp_path / "net.onnx", [(4, 2, 3), (2, 3, 3)])
    trained = [n for n, p in block.collect_params().items() if p.grad_req != "null"]
    assert len(trained) <= 2, "states are not trained"


def test_a_loop_over_an_open_length_is_imported(tmp_path: Path) -> None:
    info = onnx.helper.make_tensor_value_info
    body = onnx.helper.make_graph(
        [
            make("Gather", ["x", "turn"], ["row"], axis=0),
            make("Add", ["sum", "row"], ["next"]),
            make("Identity", ["going"], ["again"]),
            make("Identity", ["next"], ["copy"]),
        ],
        "body",
        [info("turn", 7, []), info("going", 9, []), info("sum", 1, [2])],
        [info("again", 9, []), info("next", 1, [2]), info("copy", 1, [2])],
    )
    nodes = [
        make("Shape", ["x"], ["shape"]),
        make("Gather", ["shape", "zero"], ["turns"], axis=0),
        make("Loop", ["turns", "", "first"], ["last", "all"], body=body),
    ]
    constants = {"zero": np.array(0), "first": np.zeros(2, np.float32)}
    model = model_of(nodes, {"x": ["t", 2]}, ["last", "all"], **constants)
    _agrees(model, tmp_path / "net.onnx", [(3, 2), (5, 2)])


@pytest.mark.parametrize(
    "options",
    [
        {"mode": "linear", "coordinate_transformation_mode": "half_pixel"},
        {
            "mode": "nearest",
            "coordinate_transformation_mode": "asymmetric",
            "nearest_mode": "floor",
        },
    ],
)
def test_images_of_any_size_are_enlarged(options: dict[str, str], tmp_path: Path) -> None:
    resize = make("Resize", ["x", "", "scales"], ["out"], **options)
    scales = np.array([1, 1, 2, 2], np.float32)
    model = model_of([resize], {"x": ["n", 2, "h", "w"]}, ["out"], scales=scales)
    _agrees(model, tmp_path / "net.onnx", [(1, 2, 3, 5), (2, 2, 4, 2)], ("n", 2, "h", "w"))


@pytest.mark.parametrize("mode", ["linear", "nearest"])
def test_images_are_resized_to_a_computed_size(mode: str, tmp_path: Path) -> None:
    where = {"linear": "align_corners", "nearest": "asymmetric"}[mode]
    nodes = [
        make("MaxPool", ["x"], ["small"], kernel_shape=[2, 2], strides=[2, 2]),
        make("Shape", ["x"], ["shape"]),
        make(
            "Resize", ["small", "", "", "shape"], ["out"], mode=mode, nearest_mode="floor",
            coordinate_transformation_mode=where,
        ),
    ]  # fmt: skip
    model = model_of(nodes, {"x": ["n", 2, "h", "w"]}, ["out"])
    _agrees(model, tmp_path / "net.onnx", [(1, 2, 5, 7), (2, 2, 4, 9)], ("n", 2, "h", "w"))


def test_an_affine_grid_is_imported_with_open_extents(tmp_path: Path) -> None:
    nodes = [
        make("Shape", ["x"], ["shape"]),
        make("Gather", ["shape", "zero"], ["batch"], axis=0),
        make("Unsqueeze", ["batch", "axis"], ["first"]),
        make("Concat", ["first", "minus", "minus"], ["like"], axis=0),
        make("Slice", ["like", "axis", "stop"], ["batch_alone"]),
        make("Concat", ["batch_alone", "two", "three"], ["theta_shape"], axis=0),
        make("Expand", ["theta", "theta_shape"], ["turned"]),
        make("AffineGrid", ["turned", "shape"], ["grid"]),
        make("GridSample", ["x", "grid"], ["out"], mode="linear"),
    ]
    constants = {
        "zero": np.array(0), "axis": np.array([0]), "minus": MINUS, "two": np.array([2]),
        "three": np.array([3]), "stop": np.array([1]), "theta": floats(1, 2, 3),
    }  # fmt: skip
    model = model_of(nodes, {"x": ["n", 2, 4, 5]}, ["out"], opset=20, **constants)
    _agrees(model, tmp_path / "net.onnx", [(2, 2, 4, 5), (3, 2, 4, 5)], ("n", 2, 4, 5))


def test_an_extent_that_has_to_be_known_does_not_stay_open(tmp_path: Path) -> None:
    nodes = [make("Shape", ["x"], ["shape"]), make("EyeLike", ["x"], ["eye"])]
    model = model_of([*nodes, make("Add", ["x", "eye"], ["out"])], {"x": ["n", "m"]}, ["out"])
    path = saved(model, tmp_path / "net.onnx")
    block = mx.contrib.onnx.import_to_gluon(path, input_shapes={"x": (2, 3)})
    x = floats(2, 3)
    np.testing.assert_allclose(block(mx.nd.array(x)).asnumpy(), x + np.eye(2, 3), rtol=1e-5)
    with pytest.raises(ShapeError, match=r"\(3, 3\) was given for one of \(2, 3\).*'x'.*EyeLike"):
        block(mx.nd.ones((3, 3))).asnumpy()


def test_a_number_computed_from_an_extent_has_no_axes(tmp_path: Path) -> None:
    nodes = [
        make("Shape", ["x"], ["shape"]),
        make("Gather", ["shape", "one"], ["length"], axis=0),
        make("Cast", ["length"], ["number"], to=onnx.TensorProto.FLOAT),
        make("Unsqueeze", ["number", "axes"], ["row"]),
        make("Mul", ["x", "row"], ["out"]),
    ]
    constants = {"one": np.array(1), "axes": np.array([0, 1])}
    model = model_of(nodes, {"x": ["n", "t"]}, ["out"], **constants)
    _agrees(model, tmp_path / "net.onnx", [(2, 3), (1, 5)])


def test_repeated_zeros_are_not_parameters(tmp_path: Path) -> None:
    nodes = [
        make("Shape", ["x"], ["shape"]),
        make("Slice", ["shape", "first", "second"], ["batch"]),
        make("Concat", ["first", "batch", "second"], ["like"], axis=0),
        make("Expand", ["zeros", "like"], ["state"]),
        make("LSTM", ["x", "w", "r", "", "", "state", "state"], ["out"], hidden_size=2),
    ]
    constants = {
        "first": ONE,
        "second": np.array([2]),
        "zeros": np.zeros((1, 1, 2), "float32"),
        "w": floats(1, 8, 3),
        "r": floats(1, 8, 2),
    }
    model = model_of(nodes, {"x": ["t", "n", 3]}, ["out"], **constants)
    block = _agrees(model, tmp_path / "net.onnx", [(4, 2, 3), (2, 3, 3)])
    assert list(block.collect_params()) == ["out_parameters"]


def test_known_shapes_are_exported_without_shape_operators(tmp_path: Path) -> None:
    nodes = [
        make("Shape", ["x"], ["shape"]),
        make("ConstantOfShape", ["shape"], ["zeros"]),
        make("ReduceProd", ["shape"], ["count"]),
        make("Cast", ["count"], ["number"], to=onnx.TensorProto.FLOAT),
        make("Concat", ["x", "zeros"], ["both"], axis=1),
        make("Mul", ["both", "number"], ["out"]),
    ]
    model = model_of(nodes, {"x": ["n", "t"]}, ["out"])
    path = saved(model, tmp_path / "net.onnx")

    def operators(**options: Any) -> set[str]:
        symbol, arguments, _ = mx.contrib.onnx.import_model(path, **options)
        x = floats(2, 3)
        (out,) = symbol.eval(x=mx.nd.array(x), **arguments)
        expected = np.hstack([x, 0 * x]) * 6
        np.testing.assert_allclose(out.asnumpy(), expected, rtol=1e-6)
        return {each["op"] for each in json.loads(symbol.tojson())["nodes"]}

    of_extents = {"_with_extents", "_extents", "_of_shape"}
    assert operators() & of_extents
    assert not operators(input_shapes={"x": (2, 3)}) & of_extents


def test_attributes_computed_from_extents() -> None:
    x, y = mx.nd.ones((1, 3)), mx.nd.zeros((4, 2))
    call = mx.nd._internal._with_extents
    x.attach_grad()
    with mx.autograd.record():
        out = call(x, y, operator="broadcast_to", attributes="{'shape': (shape0[0], 3)}")
    out.backward()
    assert out.shape == (4, 3)
    np.testing.assert_allclose(x.grad.asnumpy(), 4)
    values = mx.nd._internal._extents(y, values="(2*shape0[0] - 1, max(shape0[1], 7) // 2)")
    assert values.asnumpy().tolist() == [7, 3] and values.dtype == np.int64


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("shape0[2]", r"shape0\[2\] is not an extent; there are shape0=\(4, 2\)"),
        ("shape1[0]", "is not an extent"),
        ("__import__('os')", "is not an expression of extents"),
        ("(lambda: 1)()", "is not an expression of extents"),
        ("9 ** 9", "is not an expression of extents"),
        ("((", "is not an expression of extents"),
    ],
)
def test_invalid_expressions_are_refused(text: str, words: str) -> None:
    with pytest.raises(MXNetError, match=words):
        mx.nd._internal._extents(mx.nd.zeros((4, 2)), values=text).asnumpy()


def test_an_array_of_numpy_is_named_as_what_it_is() -> None:
    data = mx.sym.var("data")
    block = mx.gluon.SymbolBlock(mx.sym.relu(data), [data])
    with pytest.raises(ValueError, match=r"SymbolBlock takes .* got a ndarray.*mx\.nd\.array"):
        block(np.ones((2, 3), "float32"))


def test_groups_of_a_pooled_image_of_any_size(tmp_path: Path) -> None:
    """What PyTorch writes for GroupNorm; the product of two pooled extents is no negative number."""
    nodes = [
        make("MaxPool", ["x"], ["half"], kernel_shape=[2, 2], strides=[2, 2]),
        make("Reshape", ["half", "to_groups"], ["groups"]),
        make("InstanceNormalization", ["groups", "ones", "zeros"], ["same"]),
        make("Shape", ["half"], ["shape"]),
        make("Reshape", ["same", "shape"], ["back"]),
        make("Mul", ["back", "scale"], ["out"]),
        make("InstanceNormalization", ["out", "gamma", "beta"], ["own"]),
    ]
    constants = {
        "to_groups": np.array([0, 2, -1]), "ones": np.ones(2, "float32"),
        "zeros": np.zeros(2, "float32"), "scale": floats(4, 1, 1),
        "gamma": np.ones(4, "float32"), "beta": np.zeros(4, "float32"),
    }  # fmt: skip
    model = model_of(nodes, {"x": ["n", 4, "h", "w"]}, ["own"], **constants)
    block = _agrees(model, tmp_path / "net.onnx", [(2, 4, 6, 4), (1, 4, 5, 9)], ("n", 4, "h", "w"))
    trained = {k for k, each in block.collect_params().items() if each.grad_req != "null"}
    assert trained == {"scale", "gamma", "beta"}, "not the exporter's own ones and zeros"


def test_an_image_is_padded_to_the_size_before_it_was_pooled(tmp_path: Path) -> None:
    """The join of a U-Net for odd sizes; half of the difference is computed as in TorchScript."""
    nodes = [
        make("AveragePool", ["x"], ["half"], kernel_shape=[2, 2], strides=[2, 2]),
        make("AveragePool", ["half"], ["low"], kernel_shape=[2, 2], strides=[2, 2]),
        make("ConvTranspose", ["low", "w"], ["up"], strides=[2, 2]),
        make("Shape", ["half"], ["wanted"]),
        make("Shape", ["up"], ["given"]),
        make("Sub", ["wanted", "given"], ["missing"]),
        make("Div", ["missing", "two"], ["before"]),
        make("Sub", ["missing", "before"], ["after"]),
        make("Concat", ["before", "after"], ["pads"], axis=0),
        make("Pad", ["up", "pads"], ["padded"]),
        make("Concat", ["half", "padded"], ["out"], axis=1),
    ]
    constants = {"w": floats(3, 3, 2, 2), "two": np.array([2])}
    model = model_of(nodes, {"x": ["n", 3, "h", "w_"]}, ["out"], **constants)
    shapes = [(1, 3, 8, 8), (2, 3, 7, 15), (1, 3, 6, 9)]
    _agrees(model, tmp_path / "net.onnx", shapes, ("n", 3, "h", "w"))


@pytest.mark.parametrize(
    ("extent", "simple"),
    [
        (lambda n: (n - 2) // 2 + 1, "floordiv(open0, 2)"),
        (lambda n: 3 * ((n - 1) // 2) + 6, "3*floordiv(open0 + 3, 2)"),
        (lambda n: n - n // 2 * 2, "mod(open0, 2)"),
        (lambda n: n // 2 - n // 2 // 2 * 2 + 5, "mod(floordiv(open0, 2), 2) + 5"),
        (lambda n: (n + 1) // 2 - n // 2, None),
        (lambda n: 2 * (n // 2) + 1, None),
    ],
)
def test_extents_in_one_form(extent: Any, simple: str | None) -> None:
    open_one = extent(open_extent(0))
    assert str(simplified(open_one)) == (simple or str(open_one))
    for n in range(1, 12):
        assert eval(
            str(simplified(open_one)).replace("open0", str(n)),
            {"floordiv": int.__floordiv__, "mod": int.__mod__},
        ) == extent(n)


def test_a_file_that_needs_numbers_says_which(tmp_path: Path) -> None:
    nodes = [
        make("MaxPool", ["x"], ["half"], kernel_shape=[2, 2], strides=[2, 2]),
        make("Shape", ["half"], ["shape"]),
        make("Cast", ["shape"], ["floats"], to=1),
        make("Sqrt", ["floats"], ["roots"]),
        make("Cast", ["roots"], ["numbers"], to=7),
        make("Expand", ["one", "numbers"], ["out"]),
    ]
    model = model_of(nodes, {"x": ["n", 3, "h", "w"]}, ["half", "out"], one=floats(1))
    path = saved(model, tmp_path / "net.onnx")
    words = r"kernel \(2, 2\) is larger.*taken as 1.*since.*Expand.*input_shapes=\{'x': \(1, 3, 1, 1\)\}"
    with pytest.raises(MXNetError, match=words):
        mx.contrib.onnx.import_to_gluon(path)
    block = mx.contrib.onnx.import_to_gluon(path, input_shapes={"x": (4, 3, 9, 16)})
    assert [each.shape for each in block(mx.nd.ones((4, 3, 9, 16)))] == [(4, 3, 4, 8), (2, 1, 2, 2)]


def test_an_axis_of_extent_zero_is_not_an_unknown_extent() -> None:
    counts, failed = measure("empty_set", files="reduce")
    assert set(counts) == {"pass"} and counts["pass"] >= 16, failed


def test_a_symbol_for_one_shape_refuses_others(tmp_path: Path) -> None:
    nodes = [
        make("Shape", ["x"], ["shape"]),
        make("ReduceProd", ["shape"], ["count"]),
        make("Cast", ["count"], ["number"], to=onnx.TensorProto.FLOAT),
        make("Mul", ["x", "number"], ["out"]),
    ]
    path = saved(model_of(nodes, {"x": ["n", "t"]}, ["out"]), tmp_path / "net.onnx")
    symbol, arguments, _ = mx.contrib.onnx.import_model(path, input_shapes={"x": (2, 3)})
    for each in (symbol, mx.sym.load_json(symbol.tojson())):
        (out,) = each.eval(x=mx.nd.ones((2, 3)), **arguments)
        assert out.asnumpy().tolist() == [[6.0] * 3] * 2
        words = r"'x' has shape \(4, 3\); .* for \(2, 3\) alone.*input_shapes=\{'x': \(\.\.\.\)\}"
        with pytest.raises(ShapeError, match=words):
            each.eval(x=mx.nd.ones((4, 3)), **arguments)
    block = mx.gluon.SymbolBlock(symbol, [mx.sym.var("x")])
    block.collect_params().initialize()
    for name, value in arguments.items():
        block.collect_params()[name].set_data(value)
    for hybrid in (False, True):
        block.hybridize(hybrid)
        assert block(mx.nd.ones((2, 3))).asnumpy().tolist() == [[6.0] * 3] * 2
        with pytest.raises(ShapeError, match=words):
            block(mx.nd.ones((4, 3)))


def test_a_symbol_without_fixed_extents_accepts_any_shape(tmp_path: Path) -> None:
    path = saved(
        model_of([make("Relu", ["x"], ["out"])], {"x": ["n", 3]}, ["out"]), tmp_path / "net.onnx"
    )
    symbol, _, _ = mx.contrib.onnx.import_model(path, input_shapes={"x": (2, 3)})
    assert symbol.infer_shape()[1] == [(2, 3)]
    assert symbol.infer_shape(x=(4, 3))[1] == [(4, 3)]
