"""Every operator as ONNX: against NumPy's references, run by ONNX Runtime."""

from __future__ import annotations

import json

import numpy as np
import pytest

import mixnet as mx
from mixnet.base import MXNetError
from mixnet.export.network import Input
from mixnet.onnx.export.model import to_model
from mixnet.onnx.export.support import reason_against
from mixnet.ops import OPERATORS
from tests.each_record import each_record
from tests.onnx.runtime import onnx, session
from tests.ops.record import Record
from tests.ops.records import RANDOM, RECORDS, family_of
from tests.ops.test_records import inputs_of

WRITTEN = [r for r in RECORDS if reason_against(OPERATORS[r.op].name) is None]
# MXNet 1.9.1's exporter writes these; "null" is a variable.
MXNETS = [
    "Activation",
    "BatchNorm",
    "BlockGrad",
    "Cast",
    "Concat",
    "Convolution",
    "Crop",
    "Deconvolution",
    "Dropout",
    "Embedding",
    "Flatten",
    "FullyConnected",
    "InstanceNorm",
    "L2Normalization",
    "LRN",
    "LayerNorm",
    "LeakyReLU",
    "LogisticRegressionOutput",
    "MakeLoss",
    "Pad",
    "Pooling",
    "RNN",
    "ROIPooling",
    "Reshape",
    "SequenceMask",
    "SequenceReverse",
    "SliceChannel",
    "SoftmaxOutput",
    "SwapAxis",
    "UpSampling",
    "_arange",
    "_contrib_AdaptiveAvgPooling2D",
    "_contrib_BilinearResize2D",
    "_contrib_ROIAlign",
    "_contrib_arange_like",
    "_contrib_box_decode",
    "_contrib_box_nms",
    "_contrib_div_sqrt_dim",
    "_contrib_interleaved_matmul_selfatt_qk",
    "_contrib_interleaved_matmul_selfatt_valatt",
    "_copy",
    "_div_scalar",
    "_equal_scalar",
    "_greater_scalar",
    "_lesser_scalar",
    "_linalg_gemm2",
    "_maximum",
    "_maximum_scalar",
    "_minimum",
    "_minimum_scalar",
    "_minus_scalar",
    "_mul_scalar",
    "_ones",
    "_plus_scalar",
    "_power",
    "_power_scalar",
    "_random_normal",
    "_random_uniform",
    "_random_uniform_like",
    "_rdiv_scalar",
    "_rminus_scalar",
    "_rnn_param_concat",
    "_sample_multinomial",
    "_split_v2",
    "_zeros",
    "abs",
    "add_n",
    "arccos",
    "arcsin",
    "arctan",
    "argmax",
    "argmin",
    "argsort",
    "batch_dot",
    "broadcast_add",
    "broadcast_axis",
    "broadcast_div",
    "broadcast_equal",
    "broadcast_greater",
    "broadcast_greater_equal",
    "broadcast_lesser",
    "broadcast_lesser_equal",
    "broadcast_like",
    "broadcast_logical_and",
    "broadcast_logical_or",
    "broadcast_logical_xor",
    "broadcast_minimum",
    "broadcast_mod",
    "broadcast_mul",
    "broadcast_not_equal",
    "broadcast_power",
    "broadcast_sub",
    "broadcast_to",
    "ceil",
    "clip",
    "cos",
    "depth_to_space",
    "dot",
    "elemwise_add",
    "elemwise_div",
    "elemwise_mul",
    "elemwise_sub",
    "exp",
    "expand_dims",
    "floor",
    "gather_nd",
    "hard_sigmoid",
    "identity",
    "log",
    "log2",
    "log_softmax",
    "logical_not",
    "max",
    "mean",
    "min",
    "negative",
    "norm",
    "one_hot",
    "ones_like",
    "prod",
    "reciprocal",
    "relu",
    "repeat",
    "reshape_like",
    "reverse",
    "shape_array",
    "sigmoid",
    "sin",
    "size_array",
    "slice",
    "slice_axis",
    "slice_like",
    "softmax",
    "space_to_depth",
    "sqrt",
    "square",
    "squeeze",
    "stack",
    "sum",
    "sum_axis",
    "take",
    "tan",
    "tanh",
    "tile",
    "topk",
    "transpose",
    "where",
    "zeros_like",
]


def model_of(record: Record, data: list[np.ndarray], opset: int) -> bytes:
    """The record's operator as a model; its inputs are named by their places."""
    variables = [mx.sym.Variable(f"x{i}") for i in range(len(data))]
    symbol = getattr(mx.sym, record.op)(*variables, **record.attrs)
    inputs = [Input(f"x{i}", d.shape, d.dtype) for i, d in enumerate(data)]
    model, _ = to_model(symbol.graph, inputs, {}, [f"out{i}" for i in range(len(symbol))], opset)
    onnx.checker.check_model(model)
    return model.SerializeToString()


def results(content: bytes, data: list[np.ndarray]) -> list[np.ndarray]:
    result = session(content)
    return result.run(None, {i.name: data[int(i.name[1:])] for i in result.get_inputs()})


@each_record(
    "record", [r for r in WRITTEN if r.reference], ids=lambda record: record.op, by=family_of
)
def test_onnx_runtime_gives_numpys_numbers(record: Record) -> None:
    data = inputs_of(record, "float32")
    actual = results(model_of(record, data, 18), data)
    expected = record.reference(*[d.astype("float64") for d in data])  # type: ignore[misc]
    expected = expected if isinstance(expected, tuple) else (expected,)
    for ours, theirs in zip(actual, expected, strict=False):
        assert ours.shape == np.shape(theirs)
        np.testing.assert_allclose(ours.astype("float64"), theirs, rtol=1e-4, atol=1e-5)


@each_record(
    "record", [r for r in WRITTEN if not r.reference], ids=lambda record: record.op, by=family_of
)
def test_onnx_runtime_gives_our_numbers(record: Record) -> None:
    data = inputs_of(record, "float32")
    actual = results(model_of(record, data, 18), data)
    ours = getattr(mx.nd, record.op)(*[mx.nd.array(d, dtype=d.dtype) for d in data], **record.attrs)
    ours = ours if isinstance(ours, list) else [ours]
    for their, our in zip(actual, ours, strict=True):
        assert (their.shape, their.dtype) == (our.shape, our.dtype)
        np.testing.assert_allclose(their, our.asnumpy(), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("opset", [13, 28])
def test_the_oldest_and_the_newest_set(opset: int) -> None:
    refused = {}
    for record in WRITTEN:
        try:
            model_of(record, inputs_of(record, "float32"), opset)
        except MXNetError as error:
            refused[record.op] = str(error)
    assert opset == 13 or not refused
    for text in refused.values():
        assert "is available from opset_version=1" in text


def test_every_operator_has_a_conversion_or_a_reason() -> None:
    library = {op.name for op in OPERATORS.values() if op.function.__module__.startswith("mixnet.")}
    checked = {OPERATORS[r.op].name for r in RECORDS} | RANDOM
    for name in library:
        assert reason_against(name) or name in checked
    for name in MXNETS:
        assert reason_against(OPERATORS[name].name) is None, name


# reset_arrays gives nothing: there is no model of it.
REFUSED = [r for r in RECORDS if reason_against(OPERATORS[r.op].name) and r.op != "reset_arrays"]


@each_record("record", REFUSED, ids=lambda record: record.op)
def test_operators_that_cannot_be_exported_say_why(record: Record) -> None:
    with pytest.raises(
        MXNetError,
        match=f"Operator {OPERATORS[record.op].name} of node .* cannot be expressed in ONNX",
    ):
        model_of(record, inputs_of(record, "float32"), 18)


DRAWN = {
    "_random_normal": {"loc": 2.0, "scale": 0.5, "shape": (1000,)},
    "_random_uniform": {"low": 1.0, "high": 3.0, "shape": (1000,)},
    "_random_exponential": {"lam": 0.5, "shape": (1000,)},
}


@pytest.mark.parametrize("name", DRAWN)
def test_random_numbers_are_of_the_distribution(name: str) -> None:
    symbol = getattr(mx.sym, name)(**DRAWN[name])
    model, _ = to_model(symbol.graph, [], {}, ["out"], 17)
    (actual,) = session(model.SerializeToString()).run(None, {})
    assert actual.mean() == pytest.approx(2, abs=0.3)  # of 1000 numbers: five deviations
    assert actual.std() == pytest.approx(
        {"_random_normal": 0.5, "_random_uniform": 3**-0.5}.get(name, 2), rel=0.25
    )


def test_the_list_of_operators_is_json() -> None:
    names = mx.onnx.get_operator_support()
    assert {"Convolution", "RNN", "_foreach"} <= set(json.loads(json.dumps(names)))
    assert "Custom" not in names
