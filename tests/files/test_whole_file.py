"""A save happens completely or not at all, even if killed or interrupted, and leaves no other files."""

from __future__ import annotations

import errno
import multiprocessing
import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import mixnet as mx
from mixnet.base import FileError, MissingFileError, MXNetError
from mixnet.files import whole_file
from mixnet.files.whole_file import read_whole, write_whole
from tests import processes
from tests.interrupts import press
from tests.waiting import next_line, until

fcntl = pytest.importorskip("fcntl", reason="files are locked by POSIX systems")


def _names(folder: Path) -> list[str]:
    return sorted(each.name for each in folder.iterdir())


def test_a_file_is_replaced_atomically_with_its_permissions(tmp_path: Path) -> None:
    path = tmp_path / "f.params"
    write_whole(path, b"first")
    path.chmod(0o640)
    write_whole(path, iter([b"sec", memoryview(b"ond")]))  # type: ignore[list-item]
    assert read_whole(path) == b"second"
    assert path.stat().st_mode & 0o777 == 0o640
    assert _names(tmp_path) == ["f.params"]


def test_links_are_followed_and_devices_stay_devices(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    link = tmp_path / "latest.params"
    link.symlink_to(tmp_path / "real" / "f.params")
    for content in (b"1", b"2"):
        write_whole(link, content)
        assert link.is_symlink()
        assert (tmp_path / "real" / "f.params").read_bytes() == content
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    write_whole(pipe, b"through")
    assert os.read(reader, 100) == b"through"
    os.close(reader)
    assert pipe.is_fifo()


def test_the_content_is_synced_before_the_file_is_renamed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    order: list[str] = []
    sync, replace = os.fsync, os.replace

    def noted_sync(file: int) -> None:
        order.append("folder" if os.path.isdir(f"/proc/self/fd/{file}") else "file")
        sync(file)

    monkeypatch.setattr(os, "fsync", noted_sync)
    monkeypatch.setattr(os, "replace", lambda *paths: (order.append("rename"), replace(*paths))[1])
    write_whole(tmp_path / "f", b"x")
    assert order == ["file", "rename", "folder"]


@pytest.mark.parametrize("size", [10, 3_000_000])
def test_a_full_disk_is_reported_with_the_name_of_the_file(tmp_path: Path, size: int) -> None:
    """A limit on the size of files has the same effect: the write fails in the same place."""
    path = tmp_path / "f.params"
    write_whole(path, b"old")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (5, before[1]))
    try:
        with pytest.raises(FileError, match=r"f\.params.*not written: File too large") as caught:
            write_whole(path, bytes(size))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert isinstance(caught.value, OSError)
    assert (caught.value.errno, caught.value.filename) == (errno.EFBIG, str(path))
    assert path.read_bytes() == b"old"
    assert _names(tmp_path) == ["f.params"]


def test_a_full_file_system(tmp_path: Path) -> None:
    folder = tmp_path / "small"
    folder.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(folder)],
        capture_output=True,
        check=False,
        timeout=60,
    )
    if mounted.returncode:
        pytest.skip("only root may mount a small file system")
    try:
        path = folder / "f.params"
        mx.nd.save(path, mx.nd.ones(1000))
        with pytest.raises(FileError, match=r"f\.params.*No space left on device"):
            mx.nd.save(path, mx.nd.ones(1_000_000))
        assert mx.nd.load(path)[0].sum().asscalar() == 1000
        assert _names(folder) == ["f.params"]
    finally:
        subprocess.run(["umount", str(folder)], check=True, timeout=60)


@pytest.mark.parametrize("number", [errno.EACCES, errno.EROFS, errno.EIO])
def test_errors_of_the_operating_system_name_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    def refuse(temporary: Path) -> None:
        raise OSError(number, os.strerror(number), str(temporary))

    monkeypatch.setattr(whole_file, "_begin", refuse)
    with pytest.raises(MXNetError, match=os.strerror(number)) as caught:
        write_whole(tmp_path / "f.params", b"x")
    assert caught.value.filename == str(tmp_path / "f.params")  # type: ignore[attr-defined]
    assert isinstance(caught.value, PermissionError) == (number == errno.EACCES)


def test_unreadable_files_are_errors(tmp_path: Path) -> None:
    with pytest.raises(MissingFileError, match="no such file"):
        read_whole(tmp_path / "nothing")
    with pytest.raises(FileError, match="cannot be read: Is a directory"):
        read_whole(tmp_path)
    with pytest.raises(FileError, match="not written: Is a directory"):
        write_whole(tmp_path, b"")


def test_an_error_of_the_content_is_not_wrapped(tmp_path: Path) -> None:
    def pieces() -> Iterator[bytes]:
        yield b"x"
        raise ConnectionResetError("the array could not be computed")

    with pytest.raises(ConnectionResetError, match="could not be computed"):
        write_whole(tmp_path / "f", pieces())
    assert _names(tmp_path) == []


def _write_slowly(path: Path, begun: object) -> None:
    def pieces() -> Iterator[bytes]:
        yield b"half"
        begun.set()  # type: ignore[attr-defined]
        time.sleep(60)

    write_whole(path, pieces())


def test_the_next_save_removes_temporary_files_of_killed_processes(tmp_path: Path) -> None:
    path = tmp_path / ("f.params" + "long" * 50)
    kind = multiprocessing.get_context("fork")
    begun = [kind.Event(), kind.Event()]
    processes = [kind.Process(target=_write_slowly, args=(path, each)) for each in begun]
    for process, event in zip(processes, begun, strict=True):
        process.start()
        assert event.wait(30)
    assert len(_names(tmp_path)) == 2
    foreign = tmp_path / ".f.paramsX.0123456789abcdef"  # of another file, or of none
    foreign.write_bytes(b"")
    try:
        os.kill(processes[0].pid, signal.SIGKILL)  # type: ignore[arg-type]
        processes[0].join(60)
        write_whole(path, b"whole")
        # The other one is still at it.
        left = set(_names(tmp_path)) - {path.name, foreign.name}
        assert len(left) == 1
    finally:
        for process in processes:
            process.kill()
            process.join(60)
    write_whole(path, b"whole")
    assert _names(tmp_path) == sorted([foreign.name, path.name])


SAVES = """
import sys
import mixnet as mx
path = sys.argv[1]
array = mx.nd.ones((2_000_000,))
print("ready", flush=True)
while True:
    for number in range(10):
        mx.nd.save(path, {"a": array * number})
"""


@pytest.mark.parametrize("is_killed", [True, False])
def test_killed_and_interrupted_saves_leave_the_old_file(tmp_path: Path, is_killed: bool) -> None:
    path = tmp_path / "f.params"
    mx.nd.save(path, {"a": mx.nd.zeros((2_000_000,))})
    for _ in range(3):
        process = processes.Popen(
            [sys.executable, "-c", SAVES, str(path)],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        assert next_line(process) == "ready\n"
        until(lambda: len(_names(tmp_path)) > 1)  # it is writing
        if is_killed:
            process.kill()
            process.communicate(timeout=60)
        else:
            press(process)
            assert _names(tmp_path) == ["f.params"]
        actual = mx.nd.load(path)["a"].asnumpy()
        assert actual.min() == actual.max()
        mx.nd.save(path, {"a": mx.nd.zeros((2_000_000,))})
        assert _names(tmp_path) == ["f.params"]
