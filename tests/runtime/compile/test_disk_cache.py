"""Compiled programs on disk: where and when they are stored, and how many."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from mixnet.runtime.compile import disk_cache
from mixnet.runtime.compile.program_files import ProgramFiles
from tests import processes

PROGRAM = """
import jax
import mixnet as mx
x = mx.nd.ones((3, 4)) * 2 + 1
assert x.sum().asscalar() == 36
print(jax.config.values["jax_compilation_cache_dir"])
"""


def process(**variables: str) -> subprocess.CompletedProcess[str]:
    return processes.run(
        [sys.executable, "-c", PROGRAM],
        env={**os.environ, "MIXNET_INTERPRET": "0", **variables},
        capture_output=True,
        text=True,
        check=True,
        timeout=240,
    )


def run(**variables: str) -> str:
    return process(**variables).stdout.strip()


def test_programs_are_stored_in_the_configured_folder(tmp_path: Path) -> None:
    folder = tmp_path / "programs"
    assert run(MIXNET_CACHE_DIR=str(folder)) == str(folder)
    first = {each.name: each.stat().st_mtime_ns for each in folder.iterdir()}
    assert any(name.endswith("-cache") for name in first)
    if os.name == "posix":
        assert folder.stat().st_mode & 0o077 == 0, "others can read the folder"
    run(MIXNET_CACHE_DIR=str(folder))
    second = {each.name for each in folder.iterdir() if each.name.endswith("-cache")}
    assert second == {name for name in first if name.endswith("-cache")}, "compiled again"


def test_the_cache_of_the_user_is_respected(tmp_path: Path) -> None:
    own = str(tmp_path / "own")
    assert run(JAX_COMPILATION_CACHE_DIR=own, MIXNET_CACHE_DIR=str(tmp_path / "ours")) == own
    assert not (tmp_path / "ours").exists()


def test_no_folder_is_used_when_off_or_not_writable(tmp_path: Path) -> None:
    assert run(MIXNET_CACHE_DIR="off") == "None"
    file = tmp_path / "file"
    file.write_text("")
    assert run(MIXNET_CACHE_DIR=str(file / "below")) == "None"


def damaged(content: bytes) -> list[bytes]:
    middle = len(content) // 2
    changed = content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :]
    return [content[:middle], b"", b"no program", changed, content + b"x"]


def test_damaged_programs_are_replaced(tmp_path: Path) -> None:
    run(MIXNET_CACHE_DIR=str(tmp_path))
    whole = {each: each.read_bytes() for each in tmp_path.glob("*-cache")}
    assert whole
    for i, path in enumerate(whole):
        path.write_bytes(damaged(whole[path])[i % 5])
    actual = process(MIXNET_CACHE_DIR=str(tmp_path), PYTHONWARNINGS="always")
    assert "compilation cache" not in actual.stderr
    files = ProgramFiles(tmp_path)
    for path in whole:
        assert files.get(path.name.removesuffix("-cache"))
    assert {each.name for each in tmp_path.iterdir()} >= {each.name for each in whole}
    times = {each: each.stat().st_mtime_ns for each in whole}
    run(MIXNET_CACHE_DIR=str(tmp_path))
    assert {each: each.stat().st_mtime_ns for each in whole} == times, "compiled again"


def test_only_complete_programs_are_loaded(tmp_path: Path) -> None:
    files = ProgramFiles(tmp_path)
    assert files.get("a") is None
    files.put("a", b"program")
    assert files.get("a") == b"program"
    content = (tmp_path / "a-cache").read_bytes()
    for each in damaged(content):
        (tmp_path / "a-cache").write_bytes(each)
        assert files.get("a") is None
        assert list(tmp_path.iterdir()) == []
    (tmp_path / "b-cache").write_bytes(content)  # of another key
    assert files.get("b") is None
    files.put("a", b"1")
    files.put("a", b"2")  # JAX could not read the first
    assert files.get("a") == b"2"


@pytest.mark.skipif(os.name != "posix", reason="POSIX permissions")
@pytest.mark.parametrize(
    ("folder", "parent", "reason"),
    [
        (0o770, 0o700, "others may write to it (mode 770)"),
        (0o707, 0o700, "others may write to it (mode 707)"),
        (0o700, 0o707, "everybody may replace it (mode 707"),
        (0o755, 0o1777, ""),
        (0o700, 0o770, ""),
    ],
)
def test_a_folder_that_others_may_write_to_is_not_used(
    tmp_path: Path, folder: int, parent: int, reason: str
) -> None:
    path = tmp_path / "parent" / "programs"
    path.mkdir(parents=True)
    path.chmod(folder)
    path.parent.chmod(parent)
    actual = process(MIXNET_CACHE_DIR=str(path))
    assert actual.stdout.strip() == ("None" if reason else str(path))
    assert reason in actual.stderr
    assert actual.stderr.count("Compiled programs are not stored") == bool(reason)
    assert ("MIXNET_CACHE_DIR" in actual.stderr) == bool(reason)
    assert bool(list(path.iterdir())) != bool(reason)


@pytest.mark.skipif(
    os.name != "posix" or os.getuid() != 0, reason="only root can change the owner of a folder"
)
def test_a_folder_of_another_user_is_not_used(tmp_path: Path) -> None:
    path = tmp_path / "programs"
    path.mkdir(mode=0o700)
    os.chown(path, 12345, -1)
    actual = process(MIXNET_CACHE_DIR=str(path))
    assert actual.stdout.strip() == "None"
    assert "belongs to another user (number 12345)" in actual.stderr


def test_files_of_a_killed_process_are_removed(tmp_path: Path) -> None:
    old, new = tmp_path / "1.partial", tmp_path / "2.partial"
    for each in (old, new):
        each.write_bytes(b"")
    os.utime(old, (1000, 1000))
    disk_cache.trim(tmp_path)
    assert not old.exists()
    assert new.exists()


def test_the_oldest_programs_are_removed_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(disk_cache, "MOST_BYTES", 250)
    for i in range(5):
        each = tmp_path / f"p{i}-cache"
        each.write_bytes(bytes(100))
        os.utime(each, (1000 + i, 1000 + i))
    disk_cache.trim(tmp_path)
    assert sorted(p.name for p in tmp_path.glob("*-cache")) == ["p3-cache", "p4-cache"]
    (tmp_path / "p9-cache").write_bytes(bytes(1000))
    disk_cache.trim(tmp_path)  # runs once a day at most
    assert (tmp_path / "p9-cache").exists()
