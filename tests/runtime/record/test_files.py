"""Reads and writes of one file are ordered, and errors are reported once."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

import mixnet as mx
from mixnet.base import FileError
from mixnet.engine import Var
from mixnet.files import whole_file
from mixnet.runtime.record import files
from tests.waiting import join


def test_after_a_save_that_failed_the_file_is_what_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "f.params"
    mx.nd.save(path, mx.nd.ones(3))

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(whole_file, "_write", full)
        with pytest.raises(FileError, match="No space left"):
            mx.nd.save(path, mx.nd.zeros(3))
        assert mx.nd.load(path)[0].asnumpy().tolist() == [1, 1, 1]
        saving = mx.nd.save(path, mx.nd.zeros(3), wait=False)
        with pytest.raises(FileError, match="No space left"):
            mx.nd.load(path)  # raises the error of the save
        assert mx.nd.load(path)[0].asnumpy().tolist() == [1, 1, 1]
        assert saving is not None and saving.done
    mx.nd.save(path, mx.nd.zeros(3))
    assert mx.nd.load(path)[0].asnumpy().tolist() == [0, 0, 0]


def test_threads_use_one_variable_of_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    variables: list[Var] = []
    threads: list[threading.Thread] = []

    class Slow(files._FileVar):
        __slots__ = ()

        def __init__(self, name: str):
            if not threads:
                threads.append(threading.Thread(target=find))
                threads[0].start()
                threads[0].join(0.2)
            super().__init__(name)

    def find() -> None:
        variables.append(files.variable(tmp_path / "file"))

    monkeypatch.setattr(files, "_FileVar", Slow)
    find()
    join(*threads)
    first, second = variables
    assert first is second
