"""Backends that compute parts of a graph."""

from __future__ import annotations

import gc
import os
import sys
import threading
import weakref
from typing import Any

import numpy as np
import pytest

import mixnet as mx
from mixnet.base import AttributeTypeError, MXNetError
from mixnet.gluon import nn
from mixnet.onnx.runtime import _threads
from mixnet.passes.partition import partition
from mixnet.runtime.devices import host_value
from mixnet.runtime.devices.host_value import HostValue
from mixnet.runtime.devices.to_device import to_device
from mixnet.symbol.backend import backend_of
from tests.encoder import Encoder
from tests.waiting import join

DATA = np.random.RandomState(0).randn(4, 6).astype("float32")


class OnNumPy(mx.library.Backend):
    """Computes relu, and counts how often."""

    def __init__(self) -> None:
        self.compiled: list[Any] = []

    def takes(self, node: Any) -> bool:
        return bool(node.op.name in ("relu", "_mul_scalar"))

    def compile(self, symbol: Any, arrays: Any, options: dict[str, Any]) -> Any:
        self.compiled.append((symbol, dict(arrays), options))
        graph = symbol.graph

        def call(*inputs: np.ndarray) -> list[np.ndarray]:
            known = {(v, 0): x for v, x in zip(graph.inputs, inputs, strict=True)}
            for node in graph.nodes:
                if node.is_variable:
                    continue
                (x,) = [known[e.node, e.index] for e in node.inputs]
                known[node, 0] = np.maximum(x, 0) if node.op.name == "relu" else x * 2
            return [known[e.node, e.index] for e in graph.heads]

        return call


@pytest.fixture
def backend() -> OnNumPy:
    result = OnNumPy()
    mx.library.register_backend("OnNumPy", result)
    return result


def two_parts() -> Any:
    x = mx.sym.var("data")
    return mx.sym.tanh(mx.sym.relu(x) * 2, name="t") + mx.sym.relu(mx.sym.tanh(mx.sym.relu(x)))


def run(sym: Any, **arrays: Any) -> np.ndarray:
    bound = sym.bind(mx.cpu(), {n: mx.nd.array(a) for n, a in arrays.items()}, grad_req="null")
    return np.asarray(bound.forward()[0].asnumpy())


def test_a_custom_backend_computes_its_parts(backend: OnNumPy) -> None:
    sym = two_parts()
    optimized = sym.optimize_for("OnNumPy", strict=True)
    parts = [node for node in optimized.graph.nodes if node.op and node.op.name == "_backend_part"]
    assert [node.name for node in parts] == ["onnumpy0", "onnumpy2"]
    np.testing.assert_allclose(run(optimized, data=DATA), run(sym, data=DATA), rtol=1e-6)
    assert len(backend.compiled) == 2
    assert backend.compiled[0][2] == {"strict": True}


def test_a_part_never_reads_itself() -> None:
    sym = two_parts()
    sizes = []

    def make(part: Any) -> Any:
        sizes.append(sum(not node.is_variable for node in part.graph.nodes))
        raise LookupError

    with pytest.raises(LookupError):
        partition(sym.graph, lambda node: node.op.name in ("relu", "_mul_scalar"), make)
    assert sizes == [3]  # both relus of the data and the product; not the relu behind tanh


def test_a_network_runs_on_a_backend(backend: OnNumPy) -> None:
    net = nn.HybridSequential()
    net.add(nn.Dense(5), nn.HybridLambda("relu"), nn.Dense(3))
    net.initialize(mx.init.Normal(0.5))
    x = mx.nd.array(DATA)
    expected = net(x).asnumpy()
    net.optimize_for(x, backend="OnNumPy")
    np.testing.assert_allclose(net(x).asnumpy(), expected, rtol=1e-5)
    assert len(backend.compiled) == 1
    with mx.autograd.record():  # training is XLA's
        net(x).backward()
    assert net[0].weight.grad().asnumpy().any()


@pytest.mark.parametrize("name", ["ONNXRuntime", "OpenVINO"])
def test_libraries_compute_what_xla_computes(name: str) -> None:
    pytest.importorskip(name.lower(), reason=f"pip install 'mixnet[{name.lower()}]'")
    net = nn.HybridSequential()
    net.add(nn.Conv2D(4, 3), nn.BatchNorm(), nn.Activation("relu"), nn.Dense(3))
    net.initialize(mx.init.Normal(0.5))
    x = mx.nd.array(np.random.RandomState(1).randn(2, 3, 8, 8))
    expected = net(x).asnumpy()
    net.hybridize(backend=name)
    np.testing.assert_allclose(net(x).asnumpy(), expected, rtol=1e-4, atol=1e-5)
    sym = net(mx.sym.var("data"))
    arrays = {p.name: p.data() for p in net.collect_params().values()}
    optimized = sym.optimize_for(name, arrays)
    assert optimized.list_arguments() == ["data"]
    stored, _ = mx.contrib.tensorrt.init_tensorrt_params(optimized, arrays, {})
    assert stored == {}
    np.testing.assert_allclose(run(optimized, data=x.asnumpy()), expected, rtol=1e-4, atol=1e-5)


def test_openvino_several_threads_outputs_and_shapes() -> None:
    pytest.importorskip("openvino", reason="pip install 'mixnet[openvino]'")
    net = nn.HybridLambda(lambda F, x: [F.relu(x), F.sum(x * 2, axis=1)])
    net.hybridize(backend="OpenVINO")
    results: dict[int, bool] = {}

    def work(rows: int) -> None:
        x = np.random.RandomState(rows).randn(rows, 5).astype("float32")
        for _ in range(20):
            positive, doubled = net(mx.nd.array(x))
            close = np.allclose(doubled.asnumpy(), 2 * x.sum(1), atol=1e-5)
            results[rows] = close and bool((positive.asnumpy() == np.maximum(x, 0)).all())

    threads = [threading.Thread(target=work, args=(rows,)) for rows in (2, 2, 3)]
    for each in threads:
        each.start()
    join(*threads)
    assert results == {2: True, 3: True}


def test_openvino_holds_no_arrays_of_its_last_call_and_copies_none() -> None:
    pytest.importorskip("openvino", reason="pip install 'mixnet[openvino]'")
    net = nn.HybridLambda(lambda F, x: F.relu(x))
    net.hybridize(backend="OpenVINO")
    x = np.random.RandomState(0).randn(300, 500).astype("float32")
    net(mx.nd.array(x))
    ((at_once, *_),) = net._mx_backend_calls.values()
    runner = at_once._part.call
    (out,) = runner([x])
    np.testing.assert_array_equal(out, np.maximum(x, 0))
    spec = mx.nd.array(x)._spec
    address = out.ctypes.data
    stored = to_device(out, spec)
    assert np.asarray(stored).ctypes.data == address
    again = x.copy()
    (out,) = runner([again])
    alive = [weakref.ref(again), weakref.ref(out)]
    del again, out
    gc.collect()
    assert [each() for each in alive] == [None, None]


@pytest.mark.parametrize("size", [3, 40_000])  # copied, or written where it stays
def test_openvino_results_stay_what_they_are(size: int) -> None:
    pytest.importorskip("openvino", reason="pip install 'mixnet[openvino]'")
    net = nn.HybridLambda(lambda F, x: x * 2)
    net.hybridize(backend="OpenVINO")
    inputs = [np.full((2, size), i, "float32") for i in range(4)]
    results = [net(mx.nd.array(x)) for x in inputs]
    for x, result in zip(inputs, results, strict=True):
        np.testing.assert_array_equal(result.asnumpy(), 2 * x)


def test_openvino_sees_writes_to_its_shared_memory() -> None:
    pytest.importorskip("openvino", reason="pip install 'mixnet[openvino]'")
    net = nn.HybridLambda(lambda F, x: x + 1)
    net.hybridize(backend="OpenVINO")
    x = np.zeros((300, 400), "float32")
    net(mx.nd.array(x))
    ((at_once, *_),) = net._mx_backend_calls.values()
    for number in range(3):
        x[:] = number
        (out,) = at_once._part.call([x])
        np.testing.assert_array_equal(out, np.full(x.shape, number + 1))


def test_openvino_refuses_what_it_would_compute_in_float32() -> None:
    pytest.importorskip("openvino", reason="pip install 'mixnet[openvino]'")
    net = nn.HybridLambda("relu")
    net.hybridize(backend="OpenVINO")
    with pytest.raises(MXNetError, match=r"float64.*backend='ONNXRuntime'.*cast\('float32'\)"):
        net(mx.nd.ones((2, 2), dtype="float64")).asnumpy()


def test_openvino_says_which_operator_it_lacks() -> None:
    pytest.importorskip("openvino", reason="pip install 'mixnet[openvino]'")
    onnx = pytest.importorskip("onnx")
    node = onnx.helper.make_node("NoSuchOperator", ["x"], ["y"])
    ends = [onnx.helper.make_tensor_value_info(each, 1, [2]) for each in "xy"]
    graph = onnx.helper.make_graph([node], "g", ends[:1], ends[1:])
    with pytest.raises(MXNetError, match=r"NoSuchOperator.*Use backend='ONNXRuntime'"):
        backend_of("OpenVINO").runner(onnx.helper.make_model(graph), ["x"], {})  # type: ignore[attr-defined]


def test_parameters_that_no_model_in_memory_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mixnet.onnx.backend.outside", lambda arrays: frozenset(arrays))
    net = nn.Dense(3, in_units=4)
    net.initialize()
    with pytest.raises(MXNetError, match=r"more than 2 GB.*without backend="):
        net.optimize_for(mx.nd.ones((2, 4)), backend="ONNXRuntime").asnumpy()


@pytest.mark.parametrize("name", ["onnxruntime", "openvino"])
def test_a_library_that_is_not_installed_is_an_error(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, name, None)
    expected = {"onnxruntime": "ONNXRuntime", "openvino": "OpenVINO"}[name]
    with pytest.raises(MXNetError, match=rf"pip install 'mixnet\[{name}\]'"):
        two_parts().optimize_for(expected)


def test_a_network_of_one_part_is_called_directly_unless_it_is_monitored() -> None:
    class Tripled(mx.library.Backend):
        is_thread_safe = True
        fails = False

        def compile(self, symbol: Any, arrays: Any, options: Any) -> Any:
            def call(x: np.ndarray) -> list[np.ndarray]:
                if self.fails:
                    raise ValueError("the library is gone")
                return [3 * x]

            return call

    backend = Tripled()
    mx.library.register_backend("Tripled", backend)
    net = nn.HybridLambda("relu")
    net.hybridize(backend="Tripled")
    for dtype in ("float32", "int64"):
        x = mx.nd.array(np.array([[1, 2]]), dtype=dtype)
        interpreted = mx.runtime.counters()["interpreted"]
        out = net(x)
        assert mx.runtime.counters()["interpreted"] == interpreted
        assert out.dtype == np.dtype(dtype)
        np.testing.assert_array_equal(out.asnumpy(), [[3, 6]])
    with mx.runtime.memory():
        net(x)
    assert mx.runtime.counters()["interpreted"] == interpreted + 1
    backend.fails = True
    with pytest.raises(Exception, match="the library is gone"):
        net(x).asnumpy()


def test_a_directly_called_network_can_train_and_take_other_arguments() -> None:
    pytest.importorskip("onnxruntime", reason="pip install 'mixnet[onnxruntime]'")
    net = nn.HybridSequential()
    net.add(nn.Dense(3, activation="relu"), nn.Dropout(0.5))
    net.initialize(mx.init.One())
    x = mx.nd.array(DATA)
    net.optimize_for(x, backend="ONNXRuntime")
    predicted = np.maximum(DATA.sum(1, keepdims=True), 0).repeat(3, 1)
    for _ in range(2):
        np.testing.assert_allclose(net(x).asnumpy(), predicted, rtol=1e-5)
    x.attach_grad()
    with mx.autograd.record():
        trained = net(x)
    trained.backward()
    dropped = trained.asnumpy()
    assert ((dropped == 0) | np.isclose(dropped, 2 * predicted)).all()
    assert x.grad.shape == x.shape
    numpy_array = mx.np.array(DATA)
    assert type(net(x)) is mx.nd.NDArray
    assert isinstance(net(numpy_array), mx.np.ndarray)
    (symbol,) = [net(mx.sym.Variable("data"))]
    assert symbol.list_outputs()[0].endswith("_output")
    net.hybridize(False)
    np.testing.assert_allclose(net(x).asnumpy(), predicted, rtol=1e-5)


def test_another_backend_replaces_the_first(backend: OnNumPy) -> None:
    net = nn.HybridLambda(lambda F, x: F.relu(x) * 2)
    x = mx.nd.array(DATA)
    other = OnNumPy()
    mx.library.register_backend("Other", other)
    for name, computes in (("OnNumPy", backend), ("Other", other)):
        net.optimize_for(x, backend=name)
        np.testing.assert_array_equal(net(x).asnumpy(), 2 * np.maximum(DATA, 0))
        assert len(computes.compiled) == 1


def test_a_part_runs_in_the_thread_that_calls_and_is_never_compiled() -> None:
    threads = []

    class Doubled(mx.library.Backend):
        def compile(self, symbol: Any, arrays: Any, options: Any) -> Any:
            def call(x: np.ndarray) -> list[np.ndarray]:
                threads.append(threading.current_thread())
                return [2 * x]

            return call

    mx.library.register_backend("Doubled", Doubled())
    net = nn.HybridLambda(lambda F, x: F.tanh(x) * 3)
    x = mx.nd.array(DATA)
    net.optimize_for(x, backend="Doubled")
    compiled = mx.runtime.counters()["programs_compiled"]
    with mx.runtime.compiling_at_once():
        for _ in range(2):
            np.testing.assert_array_equal(net(x).asnumpy(), 2 * DATA)
    assert set(threads) == {threading.main_thread()}
    assert mx.runtime.counters()["programs_compiled"] == compiled


def test_an_encoder_is_one_part_although_its_activation_may_draw() -> None:
    pytest.importorskip("onnxruntime")
    net = Encoder(words=20, units=8, layers=1, heads=2, longest=6, classes=2)
    net.initialize(mx.init.Normal(0.3))
    inputs = [mx.nd.array(np.arange(12).reshape(2, 6)), mx.nd.ones((2, 6))]
    expected = net(*inputs).asnumpy()
    arrays = {p.name: p.data() for p in net.collect_params().values()}
    symbol = net(mx.sym.var("data0"), mx.sym.var("data1"))
    optimized = symbol.optimize_for("ONNXRuntime", arrays)
    kinds = [node.op.name for node in optimized.graph.nodes if node.op]
    assert kinds == ["_backend_part"]
    options = {n: x.asnumpy() for n, x in zip(("data0", "data1"), inputs, strict=True)}
    np.testing.assert_allclose(run(optimized, **options), expected, rtol=1e-4, atol=1e-5)


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="Linux alone")
def test_onnx_runtime_has_a_thread_for_each_core_that_it_may_use(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: 8)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 3})
    assert _threads() == 2
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(8)))
    assert _threads() == 0  # ONNX Runtime's own choice


def test_impossible_backends_are_refused() -> None:
    sym = two_parts()
    assert sym.get_backend_symbol("MKLDNN") is sym
    with pytest.raises(MXNetError, match="Did you mean"):
        sym.optimize_for("ONNXRuntim")
    with pytest.raises(AttributeTypeError, match="register_backend"):
        mx.library.register_backend("x", object())  # type: ignore[arg-type]
    with pytest.raises(MXNetError, match="TensorRT"):
        sym.optimize_for("TensorRT")
    with pytest.raises(AttributeTypeError, match="args and aux"):
        sym.optimize_for("ONNXRuntime", {"w": 3})


def test_tensorrt_computes_in_float16_on_request(monkeypatch: pytest.MonkeyPatch) -> None:
    assert mx.contrib.tensorrt.get_use_fp16()
    monkeypatch.setenv("MXNET_TENSORRT_USE_FP16", "1")  # what is set here does not outlast the test
    mx.contrib.tensorrt.set_use_fp16(False)
    assert not mx.contrib.tensorrt.get_use_fp16()
    mx.contrib.tensorrt.set_use_fp16(True)
    assert mx.contrib.tensorrt.get_use_fp16()


class Reusing(mx.library.Backend):
    """A backend that returns its results in the same memory at every call."""

    is_thread_safe = True

    def compile(self, symbol: Any, arrays: Any, options: dict[str, Any]) -> Any:
        memory = np.empty(DATA.shape, np.float32)

        def call(x: np.ndarray) -> list[np.ndarray]:
            np.multiply(x, 2, out=memory)
            return [memory]

        return call


def doubling(backend: str, of_a_library: bool) -> Any:
    """A network that doubles, computed by a backend."""
    net = nn.HybridLambda(lambda F, x: x * 2)
    net.initialize()
    options = {"threads": 1} if of_a_library else {}
    net.hybridize(backend=backend, **options)
    return net


@pytest.fixture(params=["Reusing", "ONNXRuntime", "OpenVINO"])
def twice(request: pytest.FixtureRequest) -> Any:
    if request.param != "Reusing":
        pytest.importorskip(request.param.lower(), reason="pip install 'mixnet[dev]'")
    mx.library.register_backend("Reusing", Reusing())
    return doubling(request.param, request.param != "Reusing")


def test_a_result_outlives_the_next_call(twice: Any) -> None:
    first = twice(mx.nd.array(DATA))
    view, moved = first[0], twice(mx.nd.array(DATA + 1)) + 0
    twice(mx.nd.array(DATA * 0)).wait_to_read()
    np.testing.assert_array_equal(first.asnumpy(), DATA * 2)
    np.testing.assert_array_equal(view.asnumpy(), DATA[0] * 2)
    np.testing.assert_allclose(moved.asnumpy(), DATA * 2 + 2, rtol=1e-6)


def test_a_result_stays_on_the_host_until_a_program_reads_it(twice: Any) -> None:
    out = twice(mx.nd.array(DATA))
    out.wait_to_read()
    copied = out.asnumpy()
    copied[:] = 0
    assert type(out._value) is HostValue and out._value.host_array is not None
    np.testing.assert_array_equal(twice(out).asnumpy(), DATA * 4)  # a backend reads it there
    assert out._value.host_array is not None
    np.testing.assert_allclose((-out).asnumpy(), DATA * -2, rtol=1e-6)
    assert out._value.host_array is not None  # as does what is interpreted
    with mx.runtime.compiling_at_once():
        np.testing.assert_allclose((out + 1).asnumpy(), DATA * 2 + 1, rtol=1e-6)
    assert out._value.host_array is None
    np.testing.assert_array_equal(out.asnumpy(), DATA * 2)


def test_an_array_that_a_backend_has_read_is_written_to(twice: Any) -> None:
    x = mx.nd.array(DATA)
    for number in range(4):
        np.testing.assert_allclose(twice(x).asnumpy(), (DATA + number) * 2, rtol=1e-5)
        view = x._value.view
        with mx.runtime.compiling_at_once():  # compiled programs may reuse memory
            x += 1
            x.wait_to_read()
        np.testing.assert_allclose(view, DATA + number, rtol=1e-5)
    x[0] = 5
    np.testing.assert_array_equal(twice(x).asnumpy()[0], np.full(DATA.shape[1], 10))


def test_shared_memory_of_a_backend_lives_as_long_as_its_array(twice: Any) -> None:
    x = mx.nd.array(DATA)
    twice(x).wait_to_read()
    alive = weakref.ref(x._value.view)
    assert alive() is not None
    del x
    gc.collect()
    assert alive() is None


def test_a_result_can_be_written_to(twice: Any) -> None:
    out = twice(mx.nd.array(DATA))
    copied = out.copy()
    out[:] = 7
    out += 1
    assert (out.asnumpy() == 8).all()
    np.testing.assert_array_equal(copied.asnumpy(), DATA * 2)


def test_a_result_can_have_a_gradient(twice: Any) -> None:
    out = twice(mx.nd.array(DATA))
    out.attach_grad()
    with mx.autograd.record():
        loss = (out * out).sum()
    loss.backward()
    np.testing.assert_allclose(out.grad.asnumpy(), DATA * 4, rtol=1e-6)


def test_threads_that_read_the_same_results(twice: Any) -> None:
    inputs = [DATA + i for i in range(20)]
    results: list[Any] = [None] * len(inputs)
    problems: list[str] = []

    def predict(offset: int) -> None:
        for i in range(offset, len(inputs), 2):
            results[i] = twice(mx.nd.array(inputs[i]))

    def read() -> None:
        for each, data in zip(results, inputs, strict=True):
            for value in ((each + 1).asnumpy() - 1, each.asnumpy()):
                if not np.allclose(value, data * 2, rtol=1e-5, atol=1e-5):
                    problems.append("another content")

    for work in ([(predict, (0,)), (predict, (1,))], [(read, ())] * 4):
        threads = [threading.Thread(target=target, args=args) for target, args in work]
        for each in threads:
            each.start()
        join(*threads)
    assert not problems


def test_an_interrupt_during_the_conversion_of_a_result_is_safe(
    twice: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = twice(mx.nd.array(DATA))

    def interrupted(data: np.ndarray, spec: Any) -> Any:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch, mx.runtime.compiling_at_once():
        patch.setattr(host_value, "to_device", interrupted)
        with pytest.raises(KeyboardInterrupt):
            (out + 1).asnumpy()
    np.testing.assert_array_equal(out.asnumpy(), DATA * 2)
    np.testing.assert_allclose((out + 1).asnumpy(), DATA * 2 + 1, rtol=1e-6)
