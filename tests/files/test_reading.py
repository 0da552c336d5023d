"""Files that other programs truncate or rewrite while they are read, and invalid text."""

from __future__ import annotations

import gzip
import io
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

import mixnet as mx
from mixnet.base import FileFormatError, MissingFileError, MXNetError
from mixnet.files.reading import FileBytes, MemoryBytes, content_of, lines_of, read_packed, text_of
from mixnet.image.record_source import Records
from mixnet.recordio import MXRecordIO
from tests import processes
from tests.image.files import write_records
from tests.waiting import join

ROOT = Path(__file__).parents[2]


def rewritten(path: str) -> None:
    """Rewrite a file as a notebook cell does that is run again: empty first, then shorter."""
    writer = MXRecordIO(path, "w")
    writer.write(b"x" * 10)
    writer.close()


def in_a_process(code: str, *args: str) -> str:
    """The output of a program; the test fails if a signal ends it."""
    command = [sys.executable, "-c", code, *args]
    done = processes.run(command, capture_output=True, text=True, cwd=ROOT, timeout=120)
    assert done.returncode == 0, (done.returncode, done.stderr[-2000:])
    return done.stdout


RECORDS = """
import sys
import mixnet as mx
from mixnet.recordio import MXRecordIO
from tests.files.test_reading import rewritten

path, shuffle = sys.argv[1], sys.argv[2] == "shuffle"
batches = mx.io.ImageRecordIter(path_imgrec=path, data_shape=(3, 8, 8), batch_size=2,
                                shuffle=shuffle, prefetch_buffer=1)
reader = MXRecordIO(path, "r")
reader.read()
next(batches)
rewritten(path)
for read in (batches.next, reader.read):
    try:
        while read() is not None:
            pass
        print("the end")
    except StopIteration:
        print("the end")
    except mx.base.FileFormatError as error:
        print(error)
"""


@pytest.mark.parametrize("order", ["plain", "shuffle"])
def test_rewriting_records_while_they_are_read_is_safe(tmp_path: Path, order: str) -> None:
    # Several pages each: what was read ahead is no part of the rest.
    writer = MXRecordIO(str(tmp_path / "a.rec"), "w")
    image = mx.recordio.pack_img((0, 1.0, 0, 0), np.zeros((9, 9, 3), np.uint8), 3, ".png")
    for _ in range(40):
        writer.write(image + bytes(100_000))
    writer.close()
    batches, _ = in_a_process(RECORDS, str(tmp_path / "a.rec"), order).splitlines()
    assert "written to while it was read" in batches
    assert "had 4004160" in batches and "has 20 now" in batches and "a.rec" in batches


PARAMETERS = """
import sys, threading
import mixnet as mx
from pathlib import Path

path = Path(sys.argv[1])
whole = path.read_bytes()
over = threading.Event()

def rewrite():
    while not over.is_set():
        with open(path, "r+b") as file:
            file.truncate(1000)
            file.truncate(0)
        path.write_bytes(whole)

thread = threading.Thread(target=rewrite)
thread.start()
found = set()
for _ in range(60):
    try:
        found.add(sorted(mx.nd.load(str(path)))[0])
    except mx.base.FileFormatError as error:
        found.add(type(error).__qualname__)
over.set()
thread.join()
print(sorted(found))
"""


def test_rewriting_parameters_while_they_are_read_is_an_error(tmp_path: Path) -> None:
    mx.nd.save(str(tmp_path / "a.params"), {f"w{i}": mx.nd.ones((500, 500)) for i in range(8)})
    assert "FileFormatError" in in_a_process(PARAMETERS, str(tmp_path / "a.params"))


def test_records_of_a_new_file_are_read_by_a_new_iterator(tmp_path: Path) -> None:
    path = write_records(tmp_path, 4)["path_imgrec"]
    records = Records(path, skip=True)
    records.begin(0)
    assert len(records.take(2)) == 2
    rewritten(path)
    assert records.take(4) == [] and records.skipped == 1
    records = Records(path)
    records.begin(0)
    assert records.take(4) == [b"x" * 10]


def test_bytes_of_a_file_are_read_and_searched(tmp_path: Path) -> None:
    path = tmp_path / "a"
    content = bytes(range(256)) * 5000
    path.write_bytes(content)
    with FileBytes(path) as file:
        assert file.size == len(content) and file.read(5, 3) == b"\5\6\7"
        room = np.empty((2, 3), np.int16)
        file.read_into(256, room)
        assert room.tobytes() == content[256:268]
        assert file.find(b"\xff\0", 0, file.size) == 255
        # Across all borders of what is searched at once, and not beyond an end.
        path.write_bytes(b"a" * ((1 << 20) - 1) + b"bc")
        for start in range(0, 1 << 20, 997):
            assert file.find(b"bc", start, 1 << 21) == (1 << 20) - 1
        assert file.find(b"bc", 0, 1 << 20) == -1
        with pytest.raises(FileFormatError, match=r"ends before byte 1048577.*written to while"):
            file.read((1 << 20) - 5, 100)
        assert file.read(file.size, 0) == b""
    memory = MemoryBytes(memoryview(content), "memory")
    room = np.empty(3, np.uint8)
    memory.read_into(7, room)
    assert room.tolist() == [7, 8, 9] and memory.read(1, 2) == b"\1\2" and not memory.change()


def test_files_that_cannot_be_opened_are_errors(tmp_path: Path) -> None:
    with pytest.raises(MissingFileError, match="couldn't open file: No such file"):
        content_of(tmp_path / "no")
    with pytest.raises(MXNetError, match="directory"):
        content_of(tmp_path)
    with pytest.raises(MXNetError, match="null"):
        content_of("a\0b")


def test_invalid_text_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes("ä\r\nb\n".encode() + b"c\xffd\n")
    with pytest.raises(FileFormatError, match=r"a.txt: byte 7 is 0xff"):
        text_of(path)
    lines = lines_of(path.open("rb"), path)
    assert [next(lines), next(lines)] == [(1, "ä\n"), (2, "b\n")]
    with pytest.raises(FileFormatError, match=r"a.txt, line 3: this is not text in utf-8"):
        next(lines)
    assert list(lines_of(io.BytesIO(b"\xe4"), "x", "latin-1")) == [(1, "ä")]


def test_damaged_compressed_files_are_errors(tmp_path: Path) -> None:
    packed = gzip.compress(b"a line\n" * 1000, mtime=0)
    for broken in (packed[:-9], packed[:20] + b"\xff" * 8 + packed[28:], packed[:-5] + b"12345"):
        with pytest.raises(FileFormatError, match=r"a.gz: the compressed content is damaged"):
            list(lines_of(gzip.GzipFile(fileobj=io.BytesIO(broken)), "a.gz"))
        with pytest.raises(FileFormatError, match=r"a.gz: the compressed content is damaged"):
            read_packed(gzip.GzipFile(fileobj=io.BytesIO(broken)), 1 << 40, "a.gz")
    whole = gzip.GzipFile(fileobj=io.BytesIO(packed))
    assert read_packed(whole, 8, "a.gz") == b"a line\na"
    # The declared size allocates no memory.
    assert len(read_packed(whole, 1 << 60, "a.gz")) == 6992


def test_many_threads_read_one_file(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"".join(bytes([i]) * 1000 for i in range(200)))
    wrong = []
    with FileBytes(tmp_path / "a") as file:

        def read(first: int) -> None:
            for i in range(first, 200, 4):
                if file.read(1000 * i, 1000) != bytes([i]) * 1000:
                    wrong.append(i)

        threads = [threading.Thread(target=read, args=(i,)) for i in range(4)]
        for each in threads:
            each.start()
        join(*threads)
    assert not wrong
