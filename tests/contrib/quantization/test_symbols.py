"""Symbols in int8: MXNet 1.9.1's structure, ranges and files."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import mixnet as mx
from mixnet.base import AttributeTypeError, AttributeValueError, DTypeError
from mixnet.contrib import quantization

RNG = np.random.RandomState(3)


def pool(x: Any, name: str) -> Any:
    return mx.sym.Pooling(x, kernel=(1, 1), pool_type="max", name=name)


def conv(x: Any, name: str) -> Any:
    return mx.sym.Convolution(x, kernel=(1, 1), num_filter=4, name=name)


def relu(x: Any, name: str) -> Any:
    return mx.sym.Activation(x, act_type="relu", name=name)


def arrays_of(sym: Any, **shapes: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    result, _, states = sym.infer_shape(**shapes)
    random = np.random.RandomState(0)
    parameters = {
        n: mx.nd.array(random.randn(*s) * 0.3)
        for n, s in zip(sym.list_arguments(), result, strict=True)
        if n not in shapes
    }
    moving = {
        n: mx.nd.array(np.abs(random.randn(*s)) + 0.5)
        for n, s in zip(sym.list_auxiliary_states(), states, strict=True)
    }
    return parameters, moving


DATA = np.random.RandomState(1).randn(4, 4, 3, 3).astype("float32")


def quantized(sym: Any, fused: bool = True, data: np.ndarray = DATA, **options: Any) -> Any:
    arguments, states = arrays_of(sym, data=data.shape)
    options = {
        "calib_mode": "naive",
        "calib_data": mx.io.NDArrayIter(mx.nd.array(data), batch_size=4),
        "quantized_dtype": "auto",
        **options,
    }
    function = quantization.quantize_model_mkldnn if fused else quantization.quantize_model
    return function(sym, arguments, states, label_names=None, **options)


def names(sym: Any) -> list[str]:
    return [node.name for node in sym.graph.nodes if not node.is_variable]


def chain() -> Any:
    return pool(conv(pool(mx.sym.var("data"), "p0"), "c"), "p1")


def residual() -> Any:
    data = mx.sym.var("data")
    x = mx.sym.BatchNorm(conv(data, "c0"), name="n0", fix_gamma=False)
    shortcut = relu(x, "r0")
    x = mx.sym.BatchNorm(conv(shortcut, "c1"), name="n1", fix_gamma=False)
    x = relu(mx.sym.elemwise_add(shortcut, x, name="add"), "r1")
    x = mx.sym.Pooling(x, global_pool=True, kernel=(1, 1), pool_type="avg", name="means")
    x = relu(mx.sym.FullyConnected(x, num_hidden=8, name="f0"), "r2")
    return mx.sym.FullyConnected(x, num_hidden=4, name="f1")


# What MXNet 1.9.1 makes of the same symbols.
FULL = [
    "data_quantize",
    "quantized_p0",
    "quantized_sg_mkldnn_conv_0",
    "quantized_p1",
    "p1_dequantize",
]
SMART = [
    "p0",
    "p0_output_quantize",
    "quantized_sg_mkldnn_conv_0",
    "sg_mkldnn_conv_0_dequantize",
    "p1",
]
RESIDUAL = [
    "data_quantize",
    "quantized_sg_mkldnn_conv_bn_act_0",
    "quantized_sg_mkldnn_conv_bn_add_act_1",
    "quantized_means",
    "quantized_sg_mkldnn_fully_connected_eltwise_0",
    "quantized_sg_mkldnn_fully_connected_1",
]


def test_the_fused_graph_has_mxnets_names() -> None:
    assert names(quantized(chain(), quantize_mode="full")[0]) == FULL
    assert names(quantized(chain(), quantize_mode="smart")[0]) == SMART
    actual, arguments, states = quantized(residual())
    assert names(actual) == RESIDUAL
    assert arguments["c0_weight"].dtype == np.float32  # as MXNet leaves it
    assert arguments["f0_weight_quantize"].dtype == np.int8
    assert sorted(states) == ["n0_moving_mean", "n0_moving_var", "n1_moving_mean", "n1_moving_var"]


def test_the_plain_graph_has_mxnets_operators() -> None:
    actual, arguments, _ = quantized(chain(), fused=False, quantize_mode="full")
    assert names(actual) == [
        "data_quantize", "quantized_p0", "quantized_c", "requantize_c", "quantized_p1", "p1_dequantize",
    ]  # fmt: skip
    assert arguments["c_weight_quantize"].dtype == np.int8
    assert "c_weight" not in arguments


@pytest.mark.parametrize("fused", [False, True])
@pytest.mark.parametrize("mode", ["none", "naive"])
def test_numbers_are_near_the_floats(fused: bool, mode: str) -> None:
    sym = residual()
    arguments, states = arrays_of(sym, data=DATA.shape)
    data = mx.nd.array(DATA)
    expected = sym.bind(
        mx.cpu(), {**arguments, "data": data}, aux_states=states, grad_req="null"
    ).forward()[0]
    calib = {"calib_data": None} if mode == "none" else {}
    actual, parameters, moving = quantized(
        sym, fused, calib_mode=mode, quantize_mode="full", **calib
    )
    out = actual.bind(mx.cpu(), {**parameters, "data": data}, aux_states=moving, grad_req="null")
    error = np.abs(out.forward()[0].asnumpy() - expected.asnumpy()).max()
    assert error < 0.05 * np.abs(expected.asnumpy()).max()


def test_a_sum_with_signed_integers_uses_all_of_uint8() -> None:
    """MXNet 1.9.1 cuts such a sum at 127, half of its range."""
    x = mx.sym.Variable("data")
    total = relu(conv(x, "conv") + conv(x, "shortcut"), "relu")
    symbol, arguments, states = quantized(total)
    inside = symbol.get_internals()
    (name,) = [each for each in inside.list_outputs() if each.endswith("add_act_0_output")]
    parameters = {**arguments, "data": mx.nd.array(DATA)}
    actual = inside[name].bind(mx.cpu(), parameters, aux_states=states).forward()[0]
    assert actual.dtype == np.uint8
    assert actual.max().asscalar() == 255


def test_a_saved_symbol_computes_the_same(tmp_path: Any) -> None:
    actual, parameters, moving = quantized(residual())
    actual.save(str(tmp_path / "q.json"))
    again = mx.sym.load(str(tmp_path / "q.json"))
    assert again.tojson() == actual.tojson()
    bound = [
        each.bind(
            mx.cpu(), {**parameters, "data": mx.nd.array(DATA)}, aux_states=moving, grad_req="null"
        )
        for each in (actual, again)
    ]
    one, two = (each.forward()[0].asnumpy() for each in bound)
    np.testing.assert_array_equal(one, two)


@pytest.mark.parametrize("fused", [True, False])
def test_onnx_runtime_computes_the_same(fused: bool, tmp_path: Any) -> None:
    pytest.importorskip("onnx", reason="pip install 'mixnet[onnx]'")
    runtime = pytest.importorskip("onnxruntime", reason="pip install 'mixnet[onnxruntime]'")
    hidden = relu(conv(mx.sym.Variable("data"), "c0"), "r0")
    sym = mx.sym.FullyConnected(pool(conv(hidden, "c1"), "p1"), num_hidden=5, name="f0")
    actual, parameters, moving = quantized(sym, fused)
    (expected,) = actual.eval(data=mx.nd.array(DATA), **parameters, **moving)
    path = mx.onnx.export_model(
        actual, {**parameters, **moving}, [DATA.shape], onnx_file_path=str(tmp_path / "net.onnx")
    )
    exact = runtime.SessionOptions()
    exact.graph_optimization_level = runtime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = runtime.InferenceSession(path, exact, providers=["CPUExecutionProvider"])
    (scores,) = session.run(None, {"data": DATA})
    step = np.abs(expected.asnumpy()).max() / 127
    np.testing.assert_allclose(scores, expected.asnumpy(), atol=1.01 * step)


def test_excluded_layers_are_not_quantized() -> None:
    remaining = names(quantized(residual(), excluded_sym_names=["r0"])[0])
    assert remaining[0] == "sg_mkldnn_conv_bn_act_0"
    remaining = names(quantized(residual(), excluded_op_names=["FullyConnected"])[0])
    assert "sg_mkldnn_fully_connected_1" in remaining


def test_entropy_finds_mxnets_thresholds() -> None:
    random = np.random.RandomState(3)
    shapes = {"f0_weight": (8, 6), "f0_bias": (8,), "f1_weight": (4, 8), "f1_bias": (4,)}
    arguments = {name: mx.nd.array(random.randn(*shape)) for name, shape in shapes.items()}
    data = random.randn(4096, 6)
    x = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=8, name="f0")
    sym = mx.sym.FullyConnected(relu(x, "r"), num_hidden=4, name="f1")
    actual, _, _ = quantization.quantize_model_mkldnn(
        sym, arguments, {}, label_names=None, calib_mode="entropy", quantized_dtype="int8",
        calib_data=mx.io.NDArrayIter(mx.nd.array(data), batch_size=1024),
    )  # fmt: skip
    thresholds = [
        float(a["max_calib_range"]) for a in actual.attr_dict().values() if "max_calib_range" in a
    ]
    # MXNet 1.9.1 prints 3.769236 and 11.325875; the second one differs by 1.5 % here; why is not known.
    np.testing.assert_allclose(min(thresholds), 3.769236, rtol=1e-4)
    np.testing.assert_allclose(max(thresholds), 11.325875, rtol=0.02)


def test_quantization_can_be_done_step_by_step() -> None:
    sym = residual()
    arguments, states = arrays_of(sym, data=DATA.shape)
    actual, parameters, moving, collector = quantization.quantize_graph(
        sym, arguments, states, calib_mode="naive", quantized_dtype="auto"
    )
    assert set(collector.include_layer) >= {
        "data",
        "c0_output",
        "n0_output",
        "add_output",
        "f1_output",
    }
    for name in collector.include_layer:
        collector.collect(name, mx.nd.array([-1.0, 2.0]))
        collector.collect(name, mx.nd.array([-3.0, 1.0]))
    calibrated, *_ = quantization.calib_graph(
        actual, parameters, moving, collector, "naive", "auto"
    )
    assert calibrated.attr_dict()["requantize_f1"]["min_calib_range"] == "-3.000000"
    assert calibrated.attr_dict()["data_quantize"]["max_calib_range"] == "2.000000"


def test_histograms_are_combined() -> None:
    one, two = RNG.randn(100), RNG.randn(100) * 3
    end = np.abs(one).max()
    counts, edges = np.histogram(one, bins=101, range=(-end, end))
    wide = np.abs(two).max()
    both = quantization.combine_histogram(
        (counts, edges, one.min(), one.max(), end), two, two.min(), two.max(), wide
    )
    assert both[0].sum() == 200
    assert both[2:4] == (min(one.min(), two.min()), max(one.max(), two.max()))
    nothing = (np.array([0, 5, 0]), np.zeros(4), 0.0, 0.0, 0.0)
    assert quantization.combine_histogram(nothing, two, -1, 1, wide)[4] == wide


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"calib_mode": "naiv"}, "Did you mean"),
        ({"calib_data": None}, "calib_data must be provided when calib_mode=naive"),
        ({"quantized_dtype": "int4"}, "unknown quantized_dtype int4"),
        ({"quantize_mode": "all"}, "smart, full"),
        ({"quantize_granularity": "row"}, "channel-wise"),
    ],
)
def test_wrong_options_are_refused(options: dict[str, Any], says: str) -> None:
    with pytest.raises(AttributeValueError, match=says):
        quantized(chain(), **options)


@pytest.mark.parametrize("mode", ["naive", "entropy"])
@pytest.mark.parametrize("number", [np.nan, -np.inf])
def test_examples_that_are_not_finite_are_refused(mode: str, number: float) -> None:
    data = DATA.copy()
    data[0, 0, 0, 0] = number
    with pytest.raises(
        AttributeValueError, match=r"'p0_output' ranges from .* need a finite range"
    ):
        quantized(chain(), data=data, calib_mode=mode)


def test_parameters_in_half_precision_are_refused() -> None:
    half = {"c_weight": mx.nd.zeros((4, 4, 1, 1), dtype="float16")}
    with pytest.raises(DTypeError, match=r"'c_weight' is float16.*net\.cast\('float32'\)"):
        quantization.quantize_model(chain(), half, {}, calib_mode="none")


def test_arguments_of_a_wrong_kind_are_refused() -> None:
    with pytest.raises(AttributeTypeError, match="quantize_net_v2"):
        quantization.quantize_model(mx.gluon.nn.Dense(2), {}, {})
    with pytest.raises(AttributeTypeError, match="HybridBlock"):
        quantization.quantize_net(mx.gluon.nn.Sequential(), data_shapes=[(1, 2)])
    with pytest.raises(AttributeValueError, match="data_shapes"):
        quantization.quantize_net(mx.gluon.nn.Dense(2))
    with pytest.raises(AttributeValueError, match="no examples"):
        quantized(chain(), calib_data=[])


@pytest.mark.parametrize("name", ["excluded_sym_names", "excluded_op_names"])
@pytest.mark.parametrize("names", ["f", 3, [3]])
def test_names_must_be_in_a_list(name: str, names: Any) -> None:
    """MXNet 1.9.1 raises a ValueError; the letters of a string are not the names."""
    with pytest.raises(ValueError, match=f"{name} must be a list of strings"):
        quantization.quantize_model(chain(), {}, {}, calib_mode="none", **{name: names})


def test_layers_of_a_network_must_be_in_a_list() -> None:
    net = mx.gluon.nn.HybridSequential()
    net.add(mx.gluon.nn.Dense(2, in_units=2))
    net.initialize()
    with pytest.raises(ValueError, match="exclude_layers must be a list of strings"):
        quantization.quantize_net(net, exclude_layers="dense", data_shapes=[(1, 2)])
    net.hybridize()
    net(mx.nd.ones((1, 2)))
    with pytest.raises(ValueError, match="exclude_layers_match must be a list of strings"):
        quantization.quantize_weights(net, exclude_layers_match="dense")


def test_invalid_calibration_examples_are_refused() -> None:
    with pytest.raises(ValueError, match="calib_data must be an iterator or a DataLoader"):
        quantized(chain(), calib_data=3)
    with pytest.raises(ValueError, match="a batch must be a DataBatch, an NDArray or a list"):
        quantized(chain(), calib_data=[1])


@pytest.mark.parametrize("mode", ["naive", "none"])
def test_the_backend_of_mxnet_fuses_before_and_after_quantize_model(mode: str) -> None:
    data = mx.sym.Variable("data")
    normed = mx.sym.BatchNorm(conv(data, "c"), name="b", fix_gamma=False)
    flat = mx.sym.Flatten(relu(normed, "r"))
    net = mx.sym.FullyConnected(flat, num_hidden=3, name="f")
    arguments, states = arrays_of(net, data=DATA.shape)
    fused = net.get_backend_symbol("MKLDNN_QUANTIZE")
    assert names(fused) == ["sg_mkldnn_conv_bn_act_0", flat.name, "sg_mkldnn_fully_connected_0"]
    whole, integers, moving = quantization.quantize_model(
        fused,
        arguments,
        states,
        label_names=None,
        calib_mode=mode,
        calib_data=mx.io.NDArrayIter(mx.nd.array(DATA), batch_size=4) if mode == "naive" else None,
        quantized_dtype="auto" if mode == "naive" else "int8",
    )
    whole = whole.get_backend_symbol("MKLDNN_QUANTIZE")
    if mode == "naive":
        assert "requantize" not in " ".join(names(whole))
    outputs = []
    for symbol, parameters, others in ((net, arguments, states), (whole, integers, moving)):
        module = mx.mod.Module(symbol, label_names=None)
        module.bind([("data", DATA.shape)], for_training=False)  # infers the shapes of all weights
        module.set_params(parameters, others)
        module.forward(mx.io.DataBatch([mx.nd.array(DATA)]))
        outputs.append(module.get_outputs()[0].asnumpy())
    np.testing.assert_allclose(outputs[1], outputs[0], atol=0.06 * np.abs(outputs[0]).max())


def test_shapes_and_dtypes_of_what_fused_integer_layers_read() -> None:
    data = mx.sym.Variable("data")
    added = conv(data, "c") + conv(data, "d")
    net = mx.sym.FullyConnected(mx.sym.Flatten(relu(added, "r")), num_hidden=3, name="f")
    whole, parameters, _ = quantized(net)
    shapes = dict(zip(whole.list_arguments(), whole.infer_shape(data=DATA.shape)[0], strict=True))
    dtypes = dict(zip(whole.list_arguments(), whole.infer_type(data="float32")[0], strict=True))
    for name, each in parameters.items():
        assert (shapes[name], dtypes[name]) == (each.shape, each.dtype), name
