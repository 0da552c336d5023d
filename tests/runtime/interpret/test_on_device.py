"""Programs of a GPU run in parts until they are compiled; here a CPU takes the GPU's place."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import mixnet as mx
from mixnet import autograd, gluon, nd
from mixnet.runtime.compile import options
from mixnet.runtime.interpret import interpreter, on_device, patience
from mixnet.runtime.interpret.on_numpy.work import Cost
from mixnet.runtime.programs import decision, executable_cache
from mixnet.runtime.record import record, segment
from tests import waiting
from tests.runtime.interpret.delays import delayed_compilation


@pytest.fixture(autouse=True)
def away(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Every program is that of a GPU and would take a minute on NumPy."""
    nd.waitall()
    executable_cache.clear()
    on_device.clear()
    monkeypatch.setattr(
        interpreter, "total", lambda costs: Cost(work=60, saving=60, compiling=20, is_away=True)
    )
    yield
    nd.waitall()
    executable_cache.clear()


def counted(name: str) -> int:
    return int(mx.runtime.counters().get(name, 0))


def _trained(steps: int) -> list[np.ndarray]:
    """Losses and weights of a small network with a convolution, normalization and dropout."""
    mx.random.seed(3)
    net = gluon.nn.HybridSequential()
    net.add(
        gluon.nn.Conv2D(4, 3, in_channels=2),
        gluon.nn.BatchNorm(in_channels=4),
        gluon.nn.Activation("relu"),
        gluon.nn.MaxPool2D(2),
        gluon.nn.Dropout(0.5),
        gluon.nn.Dense(3, in_units=36),
    )
    net.initialize(mx.init.Xavier())
    net.hybridize()
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.05, "momentum": 0.9})
    loss_of = gluon.loss.SoftmaxCrossEntropyLoss()
    rng = np.random.default_rng(0)
    x, y = nd.array(rng.normal(size=(6, 2, 8, 8))), nd.array([0, 1, 2, 0, 1, 2])
    losses = []
    for _ in range(steps):
        with autograd.record():
            loss = loss_of(net(x), y)
        loss.backward()
        trainer.step(6)
        losses.append(loss.asnumpy())
    return [*losses, *[each.data().asnumpy() for each in net.collect_params().values()]]


def test_training_in_parts_computes_what_compiled_programs_compute() -> None:
    before = counted("run_in_parts")
    in_parts = _trained(2)
    assert counted("run_in_parts") > before + 2
    with mx.runtime.compiling_at_once():
        compiled = _trained(2)
    for one, other in zip(in_parts, compiled, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5)


def test_equal_parts_are_compiled_once(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled: list[tuple[str, ...]] = []
    lock = threading.Lock()
    real = on_device._compiled

    def noted(structure: on_device.Structure, *rest: Any) -> Any:
        with lock:
            compiled.append(tuple(applied.op.name for applied, _ in structure.operations))
        return real(structure, *rest)

    monkeypatch.setattr(on_device, "_compiled", noted)
    w = nd.array([[0.5, 1.0], [0.25, -1.0]])
    x = nd.array([[0.5, 1.5]])
    nd.waitall()

    def layers(number: int) -> tuple[np.ndarray, np.ndarray]:
        y, expected = x, np.array([[0.5, 1.5]])
        for _ in range(number):
            y = nd.sin(nd.exp(nd.dot(y, w)))
            expected = np.sin(np.exp(expected @ w.asnumpy()))
        return y.asnumpy(), expected

    np.testing.assert_allclose(*layers(5), rtol=1e-5)
    assert compiled == [("dot", "exp", "sin")]
    np.testing.assert_allclose(*layers(7), rtol=1e-5)
    assert compiled == [("dot", "exp", "sin")]  # the first program has compiled this part


def test_a_long_part_is_divided() -> None:
    x = nd.array([0.5, 1.5])
    x.wait_to_read()
    y = x
    for _ in range(3 * on_device.MOST_OPERATIONS + 1):
        y = y + 1
    np.testing.assert_array_equal(y.asnumpy(), np.array([0.5, 1.5]) + 97)
    (program,) = executable_cache._programs.values()
    assert isinstance(program.call, on_device.OnDevice)
    lengths = [len(part.structure.operations) for part in program.call.parts]
    assert lengths == [on_device.MOST_OPERATIONS] * 3 + [1]


def test_values_are_released_after_their_last_reader() -> None:
    x = nd.array([[0.5, 1.5], [1.0, 2.0]])
    x.wait_to_read()
    y = nd.dot(x, x)
    z = nd.dot(y, x)
    (z * 2).wait_to_read()
    z.wait_to_read()
    (program,) = executable_cache._programs.values()
    assert isinstance(program.call, on_device.OnDevice)
    first, second = program.call.parts
    assert set(first.last_read) <= set(first.inputs)
    assert first.outputs[0] in second.inputs
    alive = set(range(1)) | set(first.outputs) | set(second.outputs)
    heads = set(program.call._heads)
    assert alive - set(first.last_read) - set(second.last_read) == heads


def test_scalars_may_change_between_runs() -> None:
    x = nd.array([1.0, 2.0])
    x.wait_to_read()
    for rate in (2.0, 3.0, 5.0):
        np.testing.assert_allclose((x * rate + 1).asnumpy(), np.array([1, 2]) * rate + 1)
    for _ in range(2):
        np.testing.assert_array_equal(nd.clip(x, 1.5, 1.75).asnumpy(), [1.5, 1.75])


def test_another_thread_compiles_after_some_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    ready = delayed_compilation(monkeypatch)
    x = nd.array([1.0, 2.0])
    x.wait_to_read()

    def is_in_parts() -> bool:
        before = counted("run_in_parts")
        assert (x * 5 + 1).asnumpy().tolist() == [6, 11]
        return counted("run_in_parts") > before

    assert all(is_in_parts() for _ in range(patience.RUNS_ON_DEVICE + 5))
    (program,) = executable_cache._programs.values()
    assert program.decision is not None
    assert "while another thread compiled" in decision.sentence(program.decision)
    ready.set()
    waiting.until(lambda: not is_in_parts())
    assert program.decision.way == "compiled"
    assert "until then it ran on the GPU in parts" in decision.sentence(program.decision)


def test_a_failed_compilation_can_be_tried_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    x = nd.array([1.0, 2.0])
    x.wait_to_read()

    def refuse(*_: object) -> object:
        raise RuntimeError("RESOURCE_EXHAUSTED: Out of memory")

    with monkeypatch.context() as patch:
        patch.setattr(on_device, "_compiled", refuse)
        with pytest.raises(RuntimeError, match="memory"):
            nd.exp(x).asnumpy()
    np.testing.assert_allclose(nd.exp(x).asnumpy(), np.exp([1, 2]), rtol=1e-6)


def test_the_decision_says_that_a_program_runs_in_parts() -> None:
    x = nd.array([1.0, 2.0])
    x.wait_to_read()
    nd.cos(x).wait_to_read()
    (program,) = executable_cache._programs.values()
    assert program.decision is not None
    text = decision.sentence(program.decision)
    assert "in parts" in text and f"After {patience.RUNS_ON_DEVICE} runs" in text


def test_convolutions_alone_are_compiled_untimed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(options.QUICK, "cpu", {"xla_backend_optimization_level": "1"})
    monkeypatch.setitem(
        options.UNTIMED_CONVOLUTIONS, "cpu", {"xla_cpu_enable_fast_math": "False", "unknown": "1"}
    )
    quick = {"xla_backend_optimization_level": "1"}
    untimed = {**quick, "xla_cpu_enable_fast_math": "False"}
    assert options.part_options("cpu", {"dot_general", "add"}) == quick
    assert options.part_options("cpu", {"conv_general_dilated", "add"}) == untimed
    assert options.part_options("cpu", {"conv_general_dilated", "scatter-add"}) == quick


def test_waiting_segments_are_compiled_in_the_meantime(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    monkeypatch.setattr(patience, "MOST_WORK_AWAY", 0)
    monkeypatch.setattr(patience, "is_away", lambda context: True)
    monkeypatch.setattr(segment, "is_away", lambda context: True)
    x = nd.array([[0.5, 1.5], [1.0, 2.0]])
    x.wait_to_read()
    begun, go_on = threading.Event(), threading.Event()
    compiled: list[str] = []
    real = on_device._compiled

    def noted(structure: on_device.Structure, *rest: Any) -> Any:
        name = structure.operations[0][0].op.name
        if name == "cos":
            begun.set()
            assert go_on.wait(60)
        compiled.append(name)
        return real(structure, *rest)

    monkeypatch.setattr(on_device, "_compiled", noted)
    first = nd.cos(x)
    record.open_segment(x.context).finish("test", wait=False)
    assert begun.wait(60)  # the first segment has begun and is blocked
    second = nd.dot(first, x)
    record.open_segment(x.context).finish("test", wait=False)
    waiting.until(lambda: compiled == ["dot"])
    go_on.set()
    expected = np.cos([[0.5, 1.5], [1.0, 2.0]]) @ np.array([[0.5, 1.5], [1.0, 2.0]])
    np.testing.assert_allclose(second.asnumpy(), expected, rtol=1e-5)
    assert sorted(compiled) == ["cos", "dot"]
