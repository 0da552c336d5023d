"""Compiled programs on disk: where, when not, and how much."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from mixnet.runtime import disk_cache

PROGRAM = """
import jax
import mixnet as mx
x = mx.nd.ones((3, 4)) * 2 + 1
assert x.sum().asscalar() == 36
print(jax.config.values["jax_compilation_cache_dir"])
"""


def run(**variables: str) -> str:
    found = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        check=True,
    )
    return found.stdout.strip()


def test_programs_are_kept_where_the_setting_says(tmp_path: Path) -> None:
    folder = tmp_path / "programs"
    assert run(MIXNET_CACHE_DIR=str(folder)) == str(folder)
    first = {each.name: each.stat().st_mtime_ns for each in folder.iterdir()}
    assert any(name.endswith("-cache") for name in first)
    if os.name == "posix":
        assert folder.stat().st_mode & 0o077 == 0, "for the owner alone"
    run(MIXNET_CACHE_DIR=str(folder))
    second = {each.name for each in folder.iterdir() if each.name.endswith("-cache")}
    assert second == {name for name in first if name.endswith("-cache")}, "compiled again"


def test_the_users_own_cache_stays(tmp_path: Path) -> None:
    own = str(tmp_path / "own")
    assert run(JAX_COMPILATION_CACHE_DIR=own, MIXNET_CACHE_DIR=str(tmp_path / "ours")) == own
    assert not (tmp_path / "ours").exists()


def test_off_and_folders_that_cannot_be_written(tmp_path: Path) -> None:
    assert run(MIXNET_CACHE_DIR="off") == "None"
    file = tmp_path / "file"
    file.write_text("")
    assert run(MIXNET_CACHE_DIR=str(file / "below")) == "None"


def test_the_oldest_programs_go_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(disk_cache, "MOST_BYTES", 250)
    for i in range(5):
        each = tmp_path / f"p{i}-cache"
        each.write_bytes(bytes(100))
        os.utime(each, (1000 + i, 1000 + i))
    disk_cache.trim(tmp_path)
    assert sorted(p.name for p in tmp_path.glob("*-cache")) == ["p3-cache", "p4-cache"]
    (tmp_path / "p9-cache").write_bytes(bytes(1000))
    disk_cache.trim(tmp_path)  # not twice a day
    assert (tmp_path / "p9-cache").exists()
