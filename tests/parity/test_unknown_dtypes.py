"""Dtypes that follow from others, both ways, as MXNet 1.9.1 infers them."""

from __future__ import annotations

import json
from itertools import chain
from typing import Any

import numpy as np
import pytest

import mixnet as mx
from tests.each_record import each_record
from tests.parity.record_unknown_dtypes import FIXTURE, answer, symbol_of

ROWS = json.loads(FIXTURE.read_text())
DIFFERS = {
    "Crop": "float32 even where nothing is known",
    "IdentityAttachKLSparseReg": "the same",
    "InstanceNorm": "the same, and MXNet takes no other",
    "_sample_normal": "float32 only once the dtype of its parameters is known",
    "amp_cast": "only in symbols that AMP has made",
    "amp_multicast": "the same",
}


@each_record(
    "row",
    [row for row in ROWS if row["case"][0] not in DIFFERS],
    ids=lambda row: f"{row['case'][0]}-{len(row['case'][2])}",
)
def test_dtypes_are_inferred_where_mxnet_infers_them(row: dict[str, Any]) -> None:
    symbol, _ = symbol_of(mx, tuple(row["case"]))
    for question, expected in row["asked"]:
        inferred = answer(symbol, question, mx.MXNetError)
        contradicts = len(set(question.values())) > 1
        if expected == "raises":
            # MXNet also refuses where the dtype of the data alone is unknown; here more may follow.
            assert inferred == "raises" or not contradicts, question
        elif inferred == "raises":
            # The two choices of ``where`` are of two dtypes: MXNet infers nothing and refuses later.
            assert contradicts and expected[1] == [None], question
        else:
            for theirs, ours in zip(chain(*expected), chain(*inferred), strict=True):
                assert theirs is None or theirs == ours, question


def test_a_contradiction_names_the_node_and_both_dtypes(capsys) -> None:
    a, b = mx.sym.Variable("a"), mx.sym.Variable("b")
    with pytest.raises(
        mx.MXNetError, match=r"'sum' \(elemwise_add\): its input 'b' has dtype float32, but float16"
    ):
        mx.sym.elemwise_add(a, b, name="sum").infer_type(a="float16", b="float32")
    assert "a: float16" in capsys.readouterr().out


def test_a_dtype_reaches_what_was_not_given_one_through_the_result() -> None:
    a, b = mx.sym.Variable("a"), mx.sym.Variable("b")
    executor = (a + mx.sym.relu(b)).simple_bind(
        mx.cpu(), type_dict={"a": "float16"}, a=(2, 3), b=(2, 3)
    )
    assert executor.arg_dict["b"].dtype is np.float16
    assert executor.forward()[0].dtype is np.float16


X, Y = (mx.sym.Variable(name).as_np_ndarray() for name in "xy")
OF_NUMPY = {
    "greater": (X > 1, "bool", "bool"), "less of two": (X < Y, "bool", "bool"),
    "isinf": (mx.sym.np.isinf(X), "bool", "bool"), "any": (mx.sym.np.any(X), "bool", "bool"),
    "logical_not": (mx.sym.np.logical_not(X), "bool", "bool"),
    "argmax": (mx.sym.np.argmax(X), "int64", "int64"), "nonzero": (mx.sym.npx.nonzero(X), "int64", "int64"),
    "mean": (mx.sym.np.mean(X), "float32", "float16"), "a quotient": (X / 2, "float32", "float16"),
    "a quotient of a number": (2 / X, "float32", "float16"), "sum": (mx.sym.np.sum(X), "int64", "float16"),
    "prod": (mx.sym.np.prod(X), "int64", "float16"),
    "sum in float64": (mx.sym.np.sum(X, dtype="float64"), "float64", "float64"),
}  # fmt: skip


@each_record("name", OF_NUMPY)
def test_results_of_numpy_functions(name: str) -> None:
    """Dtypes that MXNet infers of booleans and of float16."""
    symbol, of_booleans, of_floats = OF_NUMPY[name]
    for dtype, expected in (("bool", of_booleans), ("float16", of_floats)):
        assert np.dtype(symbol.infer_type_partial(x=dtype)[1][0]).name == expected


def test_a_result_of_another_dtype_says_nothing_of_the_inputs() -> None:
    assert (mx.sym.np.mean(X) + Y).infer_type_partial(y="float64")[0] == [None, np.float64]
    chosen = mx.sym.np.where(X, Y, Y)
    assert chosen.infer_type_partial(x="int32") == ([np.int32, None], [None], [])
    assert chosen.infer_type_partial(y="float64") == ([None, np.float64], [np.float64], [])


@each_record(
    ("name", "attributes", "dtype", "expected"),
    [
        ("_plus_scalar", {"scalar": 2.0}, "bool", "int64"),
        ("_plus_scalar", {"scalar": 2.0}, "uint8", "uint8"),
        ("_mul_scalar", {"scalar": 1.5, "is_int": False}, "int32", "float64"),
        ("_rdiv_scalar", {"scalar": 1.5, "is_int": False}, "int64", "float64"),
        ("_power_scalar", {"scalar": 0.5, "is_int": False}, "uint8", "float64"),
        ("_mul_scalar", {"scalar": 1.5, "is_int": False}, "float16", "float16"),
        ("cumsum", {}, "bool", "int64"),
        ("cumsum", {"dtype": "float32"}, "bool", "float32"),
        ("amp_cast", {"dtype": "float16"}, "int64", "int64"),
    ],
)
def test_results_of_whole_numbers_have_the_dtype_that_is_computed(
    name: str, attributes: dict[str, Any], dtype: str, expected: str
) -> None:
    symbols, arrays = (
        getattr(each, name, None) or getattr(each._internal, name) for each in (mx.sym, mx.nd)
    )
    (inferred,) = symbols(mx.sym.var("x"), **attributes).infer_type(x=dtype)[1]
    computed = arrays(mx.nd.array([1, 0], dtype=dtype), **attributes).dtype
    assert np.dtype(inferred) == np.dtype(computed) == np.dtype(expected)


def test_amp_multicast_of_whole_numbers_infers_what_it_returns() -> None:
    both = mx.sym.amp_multicast(mx.sym.var("x"), mx.sym.var("y"), num_outputs=2)
    inferred = both.infer_type(x="int64", y="int32")[1]
    assert [np.dtype(each).name for each in inferred] == ["int64", "int32"]
