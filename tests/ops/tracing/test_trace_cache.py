"""Traces in the cache folder: a second start finds them, and those of other sources are not used."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest

from mixnet.ops.registry import find
from mixnet.ops.tracing import stored, trace_cache, traced
from mixnet.ops.tracing.inlined import inlined
from mixnet.passes.differentiate import BackwardOp
from mixnet.private_jax import pickling
from tests import processes

F32 = np.dtype("float32")
pytestmark = pytest.mark.skipif(
    not pickling.can_write(), reason="this JAX has no traces that can be written"
)

PROGRAM = """
import json
import mixnet as mx
from mixnet import autograd, gluon, nd
from mixnet.ops.tracing import stored, traced
from mixnet.ops.tracing.inlined import inlined

names = []
trace = traced._traced
def noted(op, *call):
    names.append(str(op).partition("(")[0])
    return trace(op, *call)
traced._traced = noted
mx.random.seed(3)
cell = gluon.rnn.LSTM(7, bidirectional=True)
cell.initialize(mx.init.Xavier())
loss_of = gluon.loss.CTCLoss()
metric = mx.metric.CrossEntropy()
losses = []
for length in (6, 9, 11, 14):
    x = nd.random.uniform(shape=(3, length, 5))
    with autograd.record():
        loss = loss_of(cell(x.swapaxes(0, 1)).swapaxes(0, 1), nd.array([[1, 2], [3, 4], [5, 6]]))
    loss.backward()
    metric.update(nd.array([1, 0, 2]), nd.softmax(x[:, 0]))
    boxes = nd.contrib.box_nms(nd.random.uniform(shape=(length, 6)), overlap_thresh=0.3)
    losses += [loss.sum().asscalar(), cell.l0_i2h_weight.grad().sum().asscalar(), metric.get()[1]]
    losses.append(boxes.sum().asscalar())
different = [
    op.name
    for (op, *call), jaxpr in traced._traces.items()
    if str(inlined(jaxpr)) != str(inlined(trace(op, *call)))
]
print(json.dumps([[float(each) for each in losses], names, different]))
"""


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """The folder in use; nothing was traced before, and the package's traces are not read."""
    _start(tmp_path)
    yield tmp_path
    trace_cache.use(None)
    stored.use(None)
    traced.clear()


def _start(folder: Path | None) -> None:
    """What a new process begins with."""
    traced.clear()
    stored.use(stored.NONE)
    trace_cache.use(folder)


@pytest.fixture
def count(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The calls that are traced."""
    calls: list[Any] = []
    trace = traced._traced

    def noted(*call: Any) -> Any:
        calls.append(call)
        return trace(*call)

    monkeypatch.setattr(traced, "_traced", noted)
    return calls


def _program(op: Any, statics: Any, *shapes: tuple[int, ...]) -> str:
    jaxpr = traced.traced(op, statics, tuple((shape, F32) for shape in shapes), 0)
    return str(inlined(jaxpr))


def _pad(*widths: int) -> tuple[Any, Any]:
    op = find("pad")
    return op, op.bind({"mode": "reflect", "pad_width": widths})[0]


def test_a_second_process_traces_nothing_and_computes_the_same(tmp_path: Path) -> None:
    """Recurrent layers, losses with loops, primitives of the package, operators that are not registered."""

    def run() -> Any:
        done = processes.run(
            [sys.executable, "-c", PROGRAM],
            env={**os.environ, "MIXNET_CACHE_DIR": str(tmp_path)},
            capture_output=True,
            text=True,
            timeout=200,
        )
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    losses, names, _ = run()
    assert len(names) > 20
    file = tmp_path / trace_cache.NAME
    written = file.read_bytes()
    again, few, different = run()
    assert again == losses and not different
    assert not [name for name in few if "Advance" not in name]
    assert file.read_bytes() == written, "there was nothing to add"


def test_what_was_learned_of_shapes_serves_others(folder: Path, count: list[Any]) -> None:
    op = find("dot")
    statics, _ = op.bind({})
    # Two traces, a template, and a call that proves it.
    for rows, inner, columns in ((5, 6, 8), (7, 11, 4), (9, 3, 12)):
        _program(op, statics, (rows, inner), (inner, columns))
    trace_cache.write()
    _start(folder)
    count.clear()
    recalled = _program(op, statics, (17, 31), (31, 13))
    assert not count
    _start(None)
    assert recalled == _program(op, statics, (17, 31), (31, 13)) and count


def test_a_call_without_extents_is_found(folder: Path, count: list[Any]) -> None:
    op = BackwardOp(find("_np_diag"))
    statics = (find("_np_diag").bind({})[0], (0,), (0,))
    expected = _program(op, statics, (1,), (1, 1))
    trace_cache.write()
    _start(folder)
    count.clear()
    assert _program(op, statics, (1,), (1, 1)) == expected and not count


def test_other_sources_or_settings_are_traced_again(
    folder: Path, count: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    op, statics = _pad(0, 0, 0, 0, 1, 1, 1, 1)
    _program(op, statics, (1, 2, 4, 9))
    trace_cache.write()
    _start(folder)
    with jax.default_matmul_precision("float32"):
        count.clear()
        _program(op, statics, (1, 2, 4, 9))
        assert count
    _start(folder)
    monkeypatch.setattr(trace_cache, "_stamps", [b"0123456789abcdef"])
    count.clear()
    _program(op, statics, (1, 2, 4, 9))
    assert count
    trace_cache.write()  # replaces the file
    _start(folder)
    count.clear()
    _program(op, statics, (1, 2, 4, 9))
    assert not count


def test_the_stamp_depends_on_sources(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in trace_cache._SOURCES:
        (tmp_path / name / "inner").mkdir(parents=True)
    source = tmp_path / "ops" / "inner" / "operator.py"
    source.write_text("a = 1")
    monkeypatch.setattr(stored, "SOURCES", tmp_path)
    stamps = []
    for text in ("a = 1", "a = 10"):
        source.write_text(text)
        monkeypatch.setattr(trace_cache, "_stamps", [])
        stamps.append(trace_cache.stamp())
    assert stamps[0] != stamps[1]


@pytest.mark.parametrize("damage", ["empty", "truncated", "other", "entries"])
def test_a_damaged_file_is_replaced(folder: Path, count: list[Any], damage: str) -> None:
    op, statics = _pad(0, 0, 0, 0, 2, 1, 1, 1)
    _program(op, statics, (1, 2, 4, 9))
    trace_cache.write()
    file = folder / trace_cache.NAME
    content = file.read_bytes()
    if damage == "entries":
        (key,) = trace_cache._Cache(folder).entries()
        trace_cache._Cache(folder).add({key: b"neither compressed nor pickled"})
    else:
        file.write_bytes(
            {"empty": b"", "truncated": content[:-9], "other": content[:16] + b"?" * 99}[damage]
        )
    for traces in (True, False):
        _start(folder)
        count.clear()
        _program(op, statics, (1, 2, 4, 9))
        assert bool(count) is traces
        trace_cache.write()


def test_entries_of_two_processes_are_both_found_and_few_remain(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    op = find("softmax")
    for axis in (-1, 0, 1):
        _start(folder)
        _program(op, op.bind({"axis": axis})[0], (7, 9))
        trace_cache.write()
    entries = trace_cache._Cache(folder).entries()
    assert len(entries) == 3
    monkeypatch.setattr(trace_cache, "MOST_BYTES", sum(map(len, entries.values())))
    _start(folder)
    _program(op, op.bind({"axis": 0})[0], (7, 9, 8))
    trace_cache.write()
    *older, newest = trace_cache._Cache(folder).entries()
    assert newest not in entries and older == list(entries)[-len(older) :] and len(older) < 3


def test_no_folder_and_folders_that_cannot_be_written(folder: Path) -> None:
    op, statics = _pad(0, 0, 0, 0, 1, 3, 1, 1)
    _start(None)
    _program(op, statics, (1, 2, 7, 9))
    trace_cache.write()
    assert not list(folder.iterdir())
    _start(folder / "missing")
    _program(op, statics, (1, 2, 7, 9))
    trace_cache.write()
    assert not list(folder.iterdir())


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no forks")
def test_a_fork_does_not_write(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _program(*_pad(0, 0, 0, 0, 1, 3, 2, 1), (1, 2, 7, 9))
    process = os.getpid()
    monkeypatch.setattr(os, "getpid", lambda: process + 1)
    trace_cache.write()
    assert not list(folder.iterdir())
    monkeypatch.setattr(os, "getpid", lambda: process)
    trace_cache.write()
    assert [each.name for each in folder.iterdir()] == [trace_cache.NAME]
