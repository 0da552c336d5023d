"""Safetensors files, against the package ``safetensors`` where it is installed."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

import mixnet as mx

DTYPES = ["float64", "float32", "float16", "int64", "int32", "int16", "int8", "uint64", "uint32", "uint16",
          "uint8", "bool"]  # fmt: skip


def _file(path: Path, header: object, content: bytes = b"") -> str:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + content)
    return str(path)


def _entry(shape: list[int], begin: int, end: int, dtype: str = "F32") -> dict[str, object]:
    return {"dtype": dtype, "shape": shape, "data_offsets": [begin, end]}


def test_a_file_written_by_hand_is_read(tmp_path: Path) -> None:
    content = np.array([1.5, -2.0], "<f4").tobytes() + np.array([[7], [8]], "<i8").tobytes()
    header = {"b": _entry([2, 1], 8, 24, "I64"), "a": _entry([2], 0, 8), "__metadata__": {"x": "y"}}
    arrays = mx.nd.load(_file(tmp_path / "named-as.you-like", header, content))
    assert set(arrays) == {"a", "b"}
    np.testing.assert_array_equal(arrays["a"].asnumpy(), np.array([1.5, -2], "float32"))
    np.testing.assert_array_equal(arrays["b"].asnumpy(), [[7], [8]])
    assert arrays["b"].dtype == np.int64


def test_files_can_be_read_by_the_safetensors_package(tmp_path: Path) -> None:
    package = pytest.importorskip("safetensors.numpy", reason="pip install safetensors")
    values = {name: np.arange(6).reshape(2, 3).astype(name) for name in DTYPES}
    values["empty"] = np.zeros((0, 4), "float32")
    path = str(tmp_path / "all.safetensors")
    mx.nd.save(
        path, {name: mx.nd.array(value, dtype=value.dtype) for name, value in values.items()}
    )
    theirs, ours = package.load_file(path), mx.nd.load(path)
    assert set(theirs) == set(ours) == set(values)
    for name, value in values.items():
        for actual in (theirs[name], ours[name].asnumpy()):
            assert actual.dtype == value.dtype
            np.testing.assert_array_equal(actual, value)


def test_files_of_the_safetensors_package_can_be_read(tmp_path: Path) -> None:
    package = pytest.importorskip("safetensors.numpy", reason="pip install safetensors")
    path = str(tmp_path / "theirs")
    package.save_file({"w": np.eye(3, dtype="float16"), "scalar": np.array(4, "int64")}, path)
    actual = mx.nd.load(path)
    np.testing.assert_array_equal(actual["w"].asnumpy(), np.eye(3))
    assert actual["scalar"].shape == () and int(actual["scalar"].asnumpy()) == 4


def test_bfloat16_and_bytes_are_stored(tmp_path: Path) -> None:
    content = np.array([1, 2, 3], ml_dtypes.bfloat16).tobytes()
    path = _file(tmp_path / "b", {"x": _entry([3], 0, 6, "BF16")}, content)
    (array,) = mx.nd.load_frombuffer(Path(path).read_bytes()).values()
    np.testing.assert_array_equal(array.astype("float32").asnumpy(), [1, 2, 3])
    mx.nd.save(str(tmp_path / "again.safetensors"), {"x": array})
    assert mx.nd.load(str(tmp_path / "again.safetensors"))["x"].dtype == ml_dtypes.bfloat16


def test_a_params_file_with_a_header_of_the_same_length(tmp_path: Path) -> None:
    # 0x112, the first number of a .params file, is also a possible length of a header.
    header = json.dumps({"x": _entry([1], 0, 4)}).encode()
    path = _file(tmp_path / "x", header + b" " * (0x112 - len(header)), b"\0\0\x80\x3f")
    assert mx.nd.load(path)["x"].asnumpy().tolist() == [1.0]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (lambda: [mx.nd.ones((2,))], "Give a dict from names to arrays"),
        (lambda: {"__metadata__": mx.nd.ones((2,))}, "the format's own entry"),
        (
            lambda: {"rows": mx.nd.ones((2, 2)).tostype("row_sparse")},
            r"'rows' is row_sparse.*tostype",
        ),
    ],
)
def test_arrays_that_cannot_be_written_are_errors(
    tmp_path: Path, data: Callable[[], object], message: str
) -> None:
    with pytest.raises(ValueError, match=message) as raised:
        mx.nd.save(str(tmp_path / "x.safetensors"), data())
    assert isinstance(raised.value, mx.MXNetError)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("header", "content", "message"),
    [
        (b"{", b"", "not JSON"),
        (b'{"a": 1, "a": 2}', b"", "occurs twice"),
        ({"a": 3}, b"", "does not have dtype, shape and data_offsets"),
        ({"a": _entry([2], 0, 4)}, bytes(4), r"of shape \(2,\) and dtype F32 should lie"),
        ({"a": _entry([2], 0, 8)}, bytes(4), "should lie at bytes 0 to 8 of 4"),
        ({"a": _entry([-1], 0, 4)}, bytes(4), r"shape \[-1\]"),
        ({"a": _entry([True], 0, 4)}, bytes(4), r"shape \[True\]"),
        ({"a": _entry([1], 4, 8)}, bytes(8), "begins at byte 4, not 0"),
        ({"a": _entry([1], 0, 4), "b": _entry([1], 0, 4)}, bytes(4), "begins at byte 0, not 4"),
        ({"a": _entry([1], 0, 4)}, bytes(9), "end at byte 4 of 9"),
        ({"a": _entry([0, 1 << 62], 0, 0)}, b"", "has shape"),
        ({"a": _entry([1], 0, 1, "F8_E4M3")}, bytes(1), "has dtype 'F8_E4M3'"),
    ],
)
def test_damaged_files_say_where(
    tmp_path: Path, header: object, content: bytes, message: str
) -> None:
    with pytest.raises(mx.MXNetError, match=message) as raised:
        mx.nd.load(_file(tmp_path / "bad.safetensors", header, content))
    assert "bad.safetensors" in str(raised.value)


def test_a_header_longer_than_the_file(tmp_path: Path) -> None:
    path = tmp_path / "bad"
    path.write_bytes(struct.pack("<Q", 1 << 40) + b"{}")
    with pytest.raises(mx.MXNetError, match="should have 1099511627776 bytes"):
        mx.nd.load(str(path))
