"""The order in which shapes and dtypes of custom operators are inferred, and errors of that."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import mixnet as mx
from mixnet import gluon

NAME = "custom_inference"


class _Double(mx.operator.CustomOp):
    def forward(self, is_train, req, in_data, out_data, aux):  # type: ignore[no-untyped-def]
        self.assign(out_data[0], req[0], in_data[0] * 2)


class _Columns(mx.operator.CustomOpProp):
    """``infer_type`` reads what ``infer_shape`` kept, as programs for MXNet may do."""

    def infer_shape(self, in_shape: list[Any]) -> Any:
        self.columns = in_shape[0][1]
        return in_shape, [in_shape[0]], []

    def infer_type(self, in_type: list[Any]) -> Any:
        assert self.columns == 3
        return in_type, [np.float64], []

    def create_operator(self, ctx, shapes, dtypes):  # type: ignore[no-untyped-def]
        return _Double()


def _arrays() -> Any:
    return mx.nd.Custom(mx.nd.ones((2, 3)), op_type=NAME)


def _hybridized() -> Any:
    class Block(gluon.HybridBlock):
        def hybrid_forward(self, F, x):  # type: ignore[no-untyped-def]
            return F.Custom(x, op_type=NAME)

    block = Block()
    block.hybridize()
    return block(mx.nd.ones((2, 3)))


def _bound() -> Any:
    net = mx.sym.Custom(mx.sym.var("data"), op_type=NAME)
    return net.simple_bind(mx.cpu(), data=(2, 3)).forward(data=mx.nd.ones((2, 3)))[0]


@pytest.mark.parametrize("run", [_arrays, _hybridized, _bound])
def test_shapes_are_inferred_before_types(run: Callable[[], Any]) -> None:
    mx.operator.register(NAME)(_Columns)
    result = run()
    assert result.dtype == np.float64
    assert (result.asnumpy() == 2).all()


@pytest.mark.parametrize("run", [_arrays, _hybridized, _bound])
@pytest.mark.parametrize(
    "methods", [("infer_shape",), ("infer_type",), ("infer_shape", "infer_type")]
)
def test_error_names_the_method_that_raised(
    run: Callable[[], Any], methods: tuple[str, ...]
) -> None:
    class Failing(_Columns):
        pass

    def fail(*_: object) -> None:
        raise KeyError("missing")

    for method in methods:
        setattr(Failing, method, fail)
    mx.operator.register(NAME)(Failing)
    words = f"Custom: '{NAME}': Failing.{methods[0]} raised KeyError: 'missing'"
    with pytest.raises(mx.MXNetError, match=re.escape(words)):
        run()


class _OfStorage(mx.operator.CustomOpProp):
    """Its outputs are stored as the first input."""

    def infer_storage_type(self, in_stype: list[str]) -> Any:
        return in_stype, in_stype[:1], []

    def create_operator(self, ctx, shapes, dtypes):  # type: ignore[no-untyped-def]
        return _Double()


@pytest.mark.parametrize("stype", ["default", "csr", "row_sparse"])
def test_outputs_have_the_inferred_storage_type(stype: str) -> None:
    mx.operator.register(NAME)(_OfStorage)
    result = mx.nd.Custom(mx.nd.array([[1, 0], [0, 3]]).tostype(stype), op_type=NAME)
    assert result.stype == stype  # as MXNet 1.9.1
    assert result.asnumpy().tolist() == [[2, 0], [0, 6]]


def test_errors_of_storage_inference_name_it() -> None:
    class Failing(_OfStorage):
        def infer_storage_type(self, in_stype: list[str]) -> Any:
            raise KeyError("no such type")

    mx.operator.register(NAME)(Failing)
    with pytest.raises(mx.MXNetError, match=r"Failing.infer_storage_type raised KeyError"):
        mx.nd.Custom(mx.nd.ones((2, 2)).tostype("csr"), op_type=NAME)
