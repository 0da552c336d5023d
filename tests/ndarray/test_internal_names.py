"""Functions of ``mx.nd._internal`` that are not operators, and ``mx.numpy_op_signature``."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as onp
import pytest
from mixnet.numpy_op_signature import _get_builtin_op

import mixnet as mx
from mixnet import nd


def test_set_value_and_one_hot_rows() -> None:
    a = nd.zeros((2, 3))
    assert nd._internal._set_value(src=5, out=a) is a
    assert a.asnumpy().tolist() == [[5] * 3] * 2
    with pytest.raises(mx.MXNetError, match="out="):
        nd._internal._set_value(5.0)
    rows = nd._internal._onehot_encode(nd.array([0, 5]), nd.zeros((2, 3)))
    assert rows.asnumpy().tolist() == [[1, 0, 0], [0, 0, 0]]


def test_functions_of_images_decode_files(tmp_path: Any) -> None:
    cv2 = pytest.importorskip("cv2")
    pixels = onp.arange(24, dtype=onp.uint8).reshape(2, 4, 3)
    path = str(tmp_path / "image.png")
    cv2.imwrite(path, pixels)  # blue first
    assert (nd._internal._cvimread(path).asnumpy() == pixels[..., ::-1]).all()
    assert (nd._internal._cvimread(path, to_rgb=False).asnumpy() == pixels).all()
    assert nd._internal._cvimread(path, flag=0).shape == (2, 4, 1)
    content = (tmp_path / "image.png").read_bytes()
    batch = nd.zeros((2, 3, 2, 4))
    nd._internal._imdecode(None, 1, 0, 0, 0, 0, 3, len(content), content, out=batch)
    assert (batch.asnumpy()[1] == pixels.transpose(2, 0, 1)).all() and not batch.asnumpy()[0].any()


def test_functions_by_the_names_of_operators() -> None:
    names = ("_np_copy", "_npx_nonzero", "_np__linalg_svd", "_npi_add", "FullyConnected")
    results = [_get_builtin_op(name) for name in names]
    assert results == [mx.np.copy, mx.npx.nonzero, mx.np.linalg.svd, None, None]
    with pytest.raises(ValueError, match="Cannot find operator none"):
        _get_builtin_op("_npx__random_none")


@pytest.mark.parametrize(
    ("extent", "sections", "parts"),
    [(3, 2, [2, 1]), (5, 3, [2, 2, 1]), (7, 3, [3, 2, 2]), (3, 4, [1, 1, 1, 0])],
)
def test_sections_that_do_not_divide(extent: int, sections: int, parts: list[int]) -> None:
    with mx.util.np_shape(True):
        data = nd.ones((extent, 2))
        actual = nd._internal._split_v2(data, indices=(), axis=0, sections=sections)
        assert [each.shape[0] for each in actual] == parts
        symbols = mx.sym.np.array_split(mx.sym.var("x").as_np_ndarray(), sections)
        results = mx.sym.Group(symbols).bind(mx.cpu(), {"x": data}).forward()
        assert [each.shape[0] for each in results] == parts


def test_files_keep_whether_arrays_are_numpys(tmp_path: Any) -> None:
    def shapes(name: str) -> Any:
        return [each.shape for each in nd.load(str(tmp_path / name))]

    with mx.util.np_shape(True):
        nd.save(
            str(tmp_path / "numpy"), [nd.array(onp.ones((2, 0, 1))), nd.array(onp.ones((2, 1)))]
        )
        assert shapes("numpy") == [(2, 0, 1), (2, 1)]
    nd.save(str(tmp_path / "legacy"), [nd.array(onp.ones((2, 1)))])
    assert shapes("legacy") == [(2, 1)]
    with pytest.raises(mx.MXNetError, match="saved with numpy shapes on, and they are off"):
        shapes("numpy")
    with mx.util.np_shape(True), pytest.raises(mx.MXNetError, match="off, and they are on"):
        shapes("legacy")


@pytest.mark.parametrize("face", [mx.nd, mx.sym])
def test_namespaces_hold_their_operators(face: Any) -> None:
    """Programs ask `'box_decode' in F.contrib.__dict__` whether there is an operator."""
    assert {"box_decode", "box_nms"} <= vars(face.contrib).keys()
    assert "potrf" in face.linalg.__dict__ and "nothing" not in face.linalg.__dict__
    assert vars(face.op)["FullyConnected"] is face.op.FullyConnected
    assert vars(face)["FullyConnected"] is face.FullyConnected and "dot" in face.__dict__


@pytest.mark.parametrize("name", ["add", "true_divide", "power", "lesser_equal", "dot", "ones"])
def test_what_is_called_is_a_function(name: str) -> None:
    """Libraries wrap the functions of `mx.nd.__dict__`, and print their names."""
    assert inspect.isfunction(vars(mx.nd)[name])
    assert getattr(mx.nd, name).__name__ == name


def test_extensions_of_numpy_hold_their_operators() -> None:
    assert {"relu", "softmax", "image"} <= vars(mx.npx).keys()
    assert {"relu", "softmax"} <= vars(mx.sym.npx).keys()
    assert {"add", "concatenate"} <= vars(mx.sym.np).keys()
