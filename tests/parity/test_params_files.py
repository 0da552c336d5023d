"""``.params`` files: MXNet's are read, written bytes are MXNet's, and damage is reported."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
import pytest

import mixnet as mx
from mixnet import nd
from tests.each_record import each_record

FIXTURES = Path(__file__).parent / "fixtures"
FILES = ["params_list", "params_dict_dtypes", "params_arg_aux", "params_single"]
SPARSE = ["params_sparse", "params_csr_empty"]
NUMPY = ["params_np", "params_np_list"]


@each_record("name", [*FILES, "legacy_v0", "legacy_v1", "params_np_list", "params_np"])
def test_files_of_mxnet_are_read(name: str) -> None:
    with mx.util.np_shape(name in NUMPY):
        loaded = nd.load(str(FIXTURES / f"{name}.params"))
    if name.startswith("legacy"):
        assert loaded and all(
            a.size for a in (loaded.values() if isinstance(loaded, dict) else loaded)
        )
        return
    stored = np.load(FIXTURES / f"{name}.npz")
    actual = loaded if isinstance(loaded, dict) else {str(i): a for i, a in enumerate(loaded)}
    assert set(actual) == set(stored.files)
    for key, array in actual.items():
        expected = stored[key]
        if array.dtype != expected.dtype:  # NumPy files hold bfloat16 in another dtype
            expected = expected.astype("float32")
            array = array.astype("float32")
        assert array.shape == expected.shape
        np.testing.assert_array_equal(array.asnumpy(), expected)


@pytest.mark.parametrize("name", SPARSE)
def test_sparse_files_of_mxnet_are_read(name: str) -> None:
    loaded = nd.load(str(FIXTURES / f"{name}.params"))
    stored = np.load(FIXTURES / f"{name}.npz")
    actual = loaded if isinstance(loaded, dict) else {str(i): a for i, a in enumerate(loaded)}
    for key, array in actual.items():
        dense = f"{key}_dense" if f"{key}_dense" in stored else key
        np.testing.assert_array_equal(array.asnumpy(), stored[dense])
        for part in ("data", "indices", "indptr"):
            if f"{key}_{part}" in stored:
                found_part = getattr(array, part).asnumpy()
                np.testing.assert_array_equal(found_part, stored[f"{key}_{part}"])
                assert found_part.dtype == stored[f"{key}_{part}"].dtype


def test_numpy_files_are_written_as_mxnet_does(tmp_path: Path) -> None:
    mx.npx.set_np()
    try:
        for name in NUMPY:
            original = FIXTURES / f"{name}.params"
            mx.npx.save(str(tmp_path / "again.params"), mx.npx.load(str(original)))
            assert (tmp_path / "again.params").read_bytes() == original.read_bytes()
    finally:
        mx.npx.reset_np()


@pytest.mark.parametrize("name", [*FILES, *SPARSE, "params_empty_list"])
def test_written_again_they_are_the_same_bytes(name: str, tmp_path: Path) -> None:
    original = FIXTURES / f"{name}.params"
    nd.save(tmp_path / "again.params", nd.load(str(original)))
    assert (tmp_path / "again.params").read_bytes() == original.read_bytes()


def test_every_truncation_is_an_error_that_names_the_file() -> None:
    content = (FIXTURES / "params_list.params").read_bytes()
    for size in range(0, len(content), 7):
        with pytest.raises(mx.MXNetError, match=r"part\.params"):
            nd.load_frombuffer(content[:size], "part.params")


def test_every_flipped_byte_is_an_error_or_other_numbers() -> None:
    content = (FIXTURES / "params_arg_aux.params").read_bytes()
    for place in range(len(content)):
        damaged = bytearray(content)
        damaged[place] ^= 0xFF
        try:
            nd.load_frombuffer(bytes(damaged))
        except mx.MXNetError as error:
            assert "buffer" in str(error)


def test_a_failed_save_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "a.params"
    nd.save(path, [nd.ones((2,))])
    before = path.read_bytes()
    with pytest.raises(TypeError, match="entry 'b' is a int"):
        nd.save(path, {"a": nd.ones((2,)), "b": 3})
    assert path.read_bytes() == before
    assert [each.name for each in tmp_path.iterdir()] == ["a.params"]


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="does not exist"):
        nd.save(tmp_path / "no" / "a.params", [nd.ones((2,))])


def sparse_file(kind: int, shape: tuple, stored: tuple, *positions: tuple[int, tuple]) -> bytes:
    """A file with one sparse array of zeros: storage type, shapes, and dtypes and shapes of positions."""

    def extents(each: tuple) -> bytes:
        return struct.pack(f"<i{len(each)}q", len(each), *each)

    parts = [struct.pack("<QQQIi", 0x112, 0, 1, 0xF993FAC9, kind), extents(stored), extents(shape)]
    parts.append(struct.pack("<iii", 1, 0, 0))
    parts += [struct.pack("<i", code) + extents(each) for code, each in positions]
    return b"".join([*parts, bytes(1000), struct.pack("<Q", 0)])


@each_record(
    "content",
    [
        sparse_file(2, (3,), (2,), (6, (4,)), (6, (2,))),
        sparse_file(2, (3, 4), (2,), (6, (2,)), (6, (2,))),
        sparse_file(2, (3, 4), (2,), (6, (4,)), (6, (3,))),
        sparse_file(2, (3, 4), (2,), (0, (4,)), (6, (2,))),
        sparse_file(2, (3, 4), (2,), (6, (4,)), (99, (2,))),
        sparse_file(2, (1 << 62, 4), (2,), (6, (4,)), (6, (2,))),
        sparse_file(1, (6, 3), (2, 4), (6, (2,))),
        sparse_file(1, (), (), (6, ())),
        sparse_file(1, (6, 3), (2, 3), (6, (3,))),
        sparse_file(1, (6, 3), (2, 3), (1, (2,))),
    ],
)
def test_sparse_arrays_with_inconsistent_parts_are_refused(content: bytes) -> None:
    with pytest.raises(
        mx.base.FileFormatError, match=r"array 0: (a|the positions of a) (csr|row_sparse)"
    ):
        nd.load_frombuffer(content)


def test_sizes_beyond_all_memory() -> None:
    head = struct.pack("<QQQIii", 0x112, 0, 1, 0xF993FACA, 0, 3)
    for shape in ((1 << 62, 1 << 62, 0), (1 << 62, 4, 4), (1 << 40, 1, 1)):
        content = head + struct.pack("<3q", *shape) + struct.pack("<iii", 1, 0, 0) + bytes(64)
        with (
            mx.util.np_shape(True),
            pytest.raises(mx.base.FileFormatError, match=r"truncated|corrupted"),
        ):
            nd.load_frombuffer(content)
