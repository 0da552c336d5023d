"""Record files: equal to MXNet's byte for byte, and errors for damaged ones."""

from __future__ import annotations

import json
import os
import pickle
import signal
import struct
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mixnet as mx
from mixnet import recordio
from mixnet.recordio import IRHeader, MXIndexedRecordIO, MXRecordIO
from tests.traced_memory import peak

FIXTURES = Path(__file__).parent / "parity" / "fixtures"
MAGIC = struct.pack("<I", 0xCED7230A)


def records(path: Path) -> list[bytes]:
    reader = MXRecordIO(str(path), "r")
    actual = list(iter(reader.read, None))
    reader.close()
    return actual


def write(path: Path, contents: list[bytes]) -> Path:
    writer = MXRecordIO(str(path), "w")
    for each in contents:
        assert writer.write(each) is None
    writer.close()
    return path


def test_plain_files_byte_for_byte(tmp_path: Path) -> None:
    facts = json.loads((FIXTURES / "plain.json").read_text())
    contents = [bytes.fromhex(each) for each in facts["records_hex"]]
    path = write(tmp_path / "plain.rec", contents)
    assert path.read_bytes() == (FIXTURES / "plain.rec").read_bytes()
    assert records(FIXTURES / "plain.rec") == contents
    assert [bytes.fromhex(each) for each in facts["read_back_hex"]] == contents


def test_indexed_files_byte_for_byte(tmp_path: Path) -> None:
    facts = json.loads((FIXTURES / "indexed.json").read_text())
    paths = str(tmp_path / "a.idx"), str(tmp_path / "a.rec")
    with_keys = {int(key): bytes.fromhex(each) for key, each in facts["records_hex"].items()}
    writer = MXIndexedRecordIO(*paths, "w")
    assert writer.tell() == 0
    for key in facts["keys"]:
        writer.write_idx(key, with_keys[key])
    writer.close()
    for path, name in zip(paths, ("indexed.idx", "indexed.rec"), strict=True):
        assert Path(path).read_bytes() == (FIXTURES / name).read_bytes()
    reader = MXIndexedRecordIO(*paths, "r")
    assert reader.keys == facts["keys"]
    assert {key: reader.read_idx(key) for key in reader.keys} == with_keys
    reader.seek(10)
    assert [reader.read(), reader.read()] == [with_keys[10], with_keys[3]]
    reader.reset()
    assert reader.read() == with_keys[10]
    with pytest.raises(KeyError):
        reader.read_idx(99)


def test_image_records_byte_for_byte() -> None:
    facts = json.loads((FIXTURES / "images.json").read_text())
    pixels = np.load(FIXTURES / "images.npz")
    reader = MXIndexedRecordIO(str(FIXTURES / "images.idx"), str(FIXTURES / "images.rec"), "r")
    for fact in facts:
        key = fact["key"]
        record = reader.read_idx(key)
        assert len(record) == fact["record_len"]
        assert record.hex().startswith(fact["header_bytes_hex"])
        header, image = recordio.unpack_img(record)
        assert (header.flag, header.id, header.id2) == (
            fact["flag_after_unpack"], fact["id"], fact["id2"])  # fmt: skip
        np.testing.assert_array_equal(header.label, fact["label"])
        np.testing.assert_array_equal(image, pixels[f"unpack_img_bgr:{key}"])
        assert recordio.pack(header, recordio.unpack(record)[1]) == record
        source = pixels[f"source_bgr:{key}"]
        again = recordio.pack_img(header, source, 95 if fact["fmt"] == ".jpg" else 3, fact["fmt"])
        decoded = recordio.unpack_img(again)[1]
        np.testing.assert_array_equal(decoded, pixels[f"unpack_img_bgr:{key}"])


@settings(max_examples=30, deadline=None)
@given(
    st.lists(st.lists(st.sampled_from([b"a", b"bcde", MAGIC, MAGIC[:2]]), max_size=8), max_size=4)
)
def test_written_records_can_be_read(
    tmp_path_factory: pytest.TempPathFactory, pieces: list
) -> None:
    contents = [b"".join(each) for each in pieces]
    path = write(tmp_path_factory.mktemp("records") / "a.rec", contents)
    assert records(path) == contents


def test_headers() -> None:
    header = IRHeader(0, 4.0, 2574, 0)
    assert repr(header) == "HEADER(flag=0, label=4.0, id=2574, id2=0)"
    assert recordio.unpack(recordio.pack(header, b"xyz")) == (header, b"xyz")
    for label in ([1, 2.5], (1, 2.5), np.array([1, 2.5]), mx.nd.array([1, 2.5])):
        packed = recordio.pack(IRHeader(7, label, 1, 0), b"x")
        assert packed[:8] == struct.pack("<If", 2, 0)
        actual, content = recordio.unpack(packed)
        assert (actual.flag, actual.label.dtype, actual.label.tolist()) == (2, np.float32, [1, 2.5])
        assert content == b"x"
    assert recordio.unpack(recordio.pack((7, 1.0, 1, 0), b"x"))[0].flag == 0
    with pytest.raises(ValueError, match="could not convert"):
        recordio.pack(IRHeader(0, "a", 1, 0), b"")
    with pytest.raises(mx.base.FileFormatError, match="24 bytes"):
        recordio.unpack(b"abc")
    with pytest.raises(mx.base.FileFormatError, match="1000 labels"):
        recordio.unpack(struct.pack("IfQQ", 1000, 0, 0, 0))


def test_broken_images_are_errors() -> None:
    header = IRHeader(0, 1.0, 1, 0)
    assert recordio.unpack_img(recordio.pack(header, b"junk"))[1] is None
    with pytest.raises(mx.base.FileFormatError, match="no image"):
        recordio.unpack_img(recordio.pack(header, b""))
    image = np.zeros((4, 5, 3), np.uint8)
    assert recordio.unpack_img(recordio.pack_img(header, image), 0)[1].shape == (4, 5)


def test_pickled_readers_begin_again(tmp_path: Path) -> None:
    path = str(write(tmp_path / "a.rec", [b"1", b"2"]))
    reader = MXRecordIO(path, "r")
    assert reader.read() == b"1"
    assert pickle.loads(pickle.dumps(reader)).read() == b"1"
    assert reader.read() == b"2"
    writer = MXRecordIO(str(tmp_path / "b.rec"), "w")
    writer.write(b"kept")
    data = pickle.dumps(writer)
    with pytest.raises(mx.MXNetError, match="would empty"):
        pickle.loads(data)
    writer.close()
    assert records(tmp_path / "b.rec") == [b"kept"]
    indexed = MXIndexedRecordIO(str(FIXTURES / "indexed.idx"), str(FIXTURES / "indexed.rec"), "r")
    assert pickle.loads(pickle.dumps(indexed)).read_idx(10) == b"hello world"


@pytest.mark.filterwarnings("ignore:.*fork.*")
def test_forked_processes_read_independently(tmp_path: Path) -> None:
    indexed = MXIndexedRecordIO(str(FIXTURES / "indexed.idx"), str(FIXTURES / "indexed.rec"), "r")
    writer = MXRecordIO(str(tmp_path / "a.rec"), "w")
    writer.write(b"of the parent")
    child = os.fork()
    if not child:  # what fails here is seen by its exit status
        status = 1
        try:
            for forbidden in (indexed.read, lambda: writer.write(b"2")):
                with pytest.raises(RuntimeError, match="Forbidden operation in multiple processes"):
                    forbidden()
            assert indexed.read_idx(10) == b"hello world"
            writer.close()
            status = 0
        finally:
            os._exit(status)
    assert os.waitpid(child, 0)[1] == 0
    assert indexed.read_idx(10) == b"hello world"
    writer.close()
    assert records(tmp_path / "a.rec") == [b"of the parent"]


@pytest.mark.parametrize("cut", [3, 13, 19])
def test_truncated_files_are_errors(tmp_path: Path, cut: int) -> None:
    path = write(tmp_path / "a.rec", [b"whole", b"cut off"])
    path.write_bytes(path.read_bytes()[:-cut] if cut != 19 else path.read_bytes()[:20])
    reader = MXRecordIO(str(path), "r")
    assert reader.read() == b"whole"
    with pytest.raises(mx.base.FileFormatError, match=r"a.rec: the last record is cut off at byte"):
        reader.read()


def test_corrupted_files_are_errors(tmp_path: Path) -> None:
    path = write(tmp_path / "a.rec", [b"whole", b"corrupted"])
    content = bytearray(path.read_bytes())
    content[16] ^= 1
    path.write_bytes(content)
    reader = MXRecordIO(str(path), "r")
    assert reader.read() == b"whole"
    with pytest.raises(mx.base.FileFormatError, match="there is no record at byte 16"):
        reader.read()
    index = tmp_path / "a.idx"
    index.write_text("1\t0\nnonsense\n")
    with pytest.raises(mx.base.FileFormatError, match=r"a.idx, line 2"):
        MXIndexedRecordIO(str(index), str(path), "r")


def test_wrong_use_is_an_error(tmp_path: Path) -> None:
    path = str(tmp_path / "a.rec")
    with pytest.raises(mx.MXNetError, match="No such file"):
        MXRecordIO(path, "r")
    with pytest.raises(ValueError, match="Invalid flag x"):
        MXRecordIO(path, "x")
    writer = MXRecordIO(path, "w")
    with pytest.raises(AssertionError):
        writer.read()
    with pytest.raises(TypeError, match="bytes"):
        writer.write("text")
    writer.close()
    writer.close()
    with pytest.raises(RuntimeError, match="closed"):
        writer.write(b"1")
    reader = MXRecordIO(path, "r")
    with pytest.raises(AssertionError):
        reader.write(b"1")
    assert reader.read() is None
    with pytest.raises(FileNotFoundError):
        MXIndexedRecordIO(path + ".idx", path, "r")


def test_keys_of_another_type(tmp_path: Path) -> None:
    paths = str(tmp_path / "a.idx"), str(tmp_path / "a.rec")
    writer = MXIndexedRecordIO(*paths, "w", key_type=str)
    writer.write_idx("a", b"1")
    writer.write_idx("b", b"2")
    writer.close()
    assert MXIndexedRecordIO(*paths, "r", str).read_idx("b") == b"2"
    with pytest.raises(ValueError, match="line 1"):
        MXIndexedRecordIO(*paths, "r")


@pytest.mark.parametrize(
    "line", [b"1\t-4", b"1\t9223372036854775808", b"1\t1.5", b"1", b"1\tx", b"\xff\t0"]
)
def test_invalid_lines_of_an_index_are_errors(tmp_path: Path, line: bytes) -> None:
    path = write(tmp_path / "a.rec", [b"1"])
    index = tmp_path / "a.idx"
    index.write_bytes(b"0\t0\n" + line + b"\n")
    with pytest.raises(mx.base.FileFormatError, match=r"a.idx, line 2"):
        MXIndexedRecordIO(str(index), str(path), "r")


def test_an_index_of_another_file(tmp_path: Path) -> None:
    path = write(tmp_path / "a.rec", [b"1"])
    index = tmp_path / "a.idx"
    index.write_text(f"0\t0\n5\t1000\n6\t{(1 << 63) - 1}\n")
    reader = MXIndexedRecordIO(str(index), str(path), "r")
    with pytest.raises(
        mx.base.FileFormatError, match=r"a.idx has record 5 at byte 1000, where .*a.rec"
    ):
        reader.read_idx(5)
    with pytest.raises(mx.base.FileFormatError, match=r"a.idx has record 6"):
        reader.read_idx(6)


def test_a_declared_length_beyond_the_file_allocates_no_memory(tmp_path: Path) -> None:
    path = tmp_path / "a.rec"
    path.write_bytes(MAGIC + struct.pack("<I", (1 << 29) - 8) + b"short")

    def read() -> None:
        reader = MXRecordIO(str(path), "r")
        with pytest.raises(mx.base.FileFormatError, match="cut off"):
            reader.read()
        reader.close()

    assert peak(read) < 4 << 20


def test_png_takes_the_quality_of_jpeg_without_a_warning(capfd: pytest.CaptureFixture[str]) -> None:
    header = recordio.IRHeader(0, 1.0, 0, 0)
    image = np.arange(48, dtype="uint8").reshape(4, 4, 3)
    packed = recordio.pack_img(header, image, img_fmt=".png")
    assert packed == recordio.pack_img(header, image, 9, ".png")
    assert "PNG_COMPRESSION" not in capfd.readouterr().err
    np.testing.assert_array_equal(recordio.unpack_img(packed)[1], image)


def test_a_record_shorter_than_a_header_is_an_error_of_struct() -> None:
    with pytest.raises(struct.error, match="a header has 24 bytes, but the record only 3"):
        recordio.unpack(b"abc")


def test_an_interrupt_leaves_a_reader_open_that_goes_to_the_start(tmp_path: Path) -> None:
    path = str(tmp_path / "a.rec")
    writer = MXRecordIO(path, "w")
    writer.write(b"first")
    writer.close()

    class Interrupted(MXRecordIO):
        def close(self) -> None:
            super().close()
            if interrupts:
                signal.raise_signal(interrupts.pop())

    interrupts: list[signal.Signals] = []
    reader = Interrupted(path, "r")
    assert reader.read() == b"first"
    interrupts.append(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        reader.reset()
    assert reader.read() == b"first"
