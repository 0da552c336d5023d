"""Programs are compiled ahead of their first call and only once, as XLA counts compilations."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import jax
import numpy as np
import pytest

import mixnet as mx
from mixnet import autograd, gluon, nd
from mixnet.context import Context
from mixnet.ops.lowering import onednn
from mixnet.passes.choose_layout import cache_folder
from mixnet.runtime.compile import ahead
from mixnet.runtime.compile.ahead import compile_for
from mixnet.runtime.programs import executable_cache
from mixnet.runtime.value.value import Spec

pytestmark = pytest.mark.usefixtures("compiling_at_once")

Count = Callable[[], int]


@pytest.fixture
def compilations() -> Iterator[Count]:
    """How many programs XLA has compiled, or read from its cache, since the test began."""
    events = []

    def listen(event: str, seconds: float, **details: object) -> None:
        if event == "/jax/core/compile/backend_compile_duration":
            events.append(details)

    jax.monitoring.register_event_duration_secs_listener(listen)
    yield lambda: len(events)
    jax.monitoring.unregister_event_duration_listener(listen)


def test_the_origin_of_arrays_causes_no_compilation(compilations: Count) -> None:
    def compute(x: nd.NDArray) -> np.ndarray:
        return (x * 3 + 0.125).asnumpy()

    computed = nd.ones((5,))  # by a program without inputs
    computed.wait_to_read()
    lent = nd.zeros((5,))
    lent[:] = jax.numpy.ones(5, "float32")  # JAX has not bound it to a device
    copied = nd.array([1.0] * 5)  # from the host
    nd.waitall()
    np.testing.assert_array_equal(compute(computed), [3.125] * 5)
    before = compilations()
    np.testing.assert_array_equal(compute(copied), [3.125] * 5)
    np.testing.assert_array_equal(compute(lent), [3.125] * 5)
    assert compilations() == before


def test_a_training_loop_compiles_nothing_after_two_steps(compilations: Count) -> None:
    net = gluon.nn.HybridSequential()
    net.add(gluon.nn.Dense(7, activation="relu"), gluon.nn.BatchNorm(), gluon.nn.Dense(2))
    net.initialize(mx.init.One())  # weights by programs without inputs
    net.hybridize()
    trainer = gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 0.0})
    x = nd.array(np.random.default_rng(0).normal(size=(6, 3)))
    counts = []
    for _ in range(5):
        before = compilations(), mx.runtime.counters()["programs_compiled"]
        with autograd.record():
            loss = (net(x) ** 2).sum()
        loss.backward()
        trainer.step(6)
        loss.wait_to_read()
        nd.waitall()
        after = compilations(), mx.runtime.counters()["programs_compiled"]
        counts.append(tuple(b - a for a, b in zip(before, after, strict=True)))
    assert counts[2:] == [(0, 0)] * 3, counts


def test_results_of_a_program_without_inputs_are_bound_to_the_device() -> None:
    context = mx.cpu(1)
    program = compile_for(lambda scalars: [scalars + 1], 2, [], context)
    with jax.enable_x64(True):
        (actual,) = program(np.array([1.0, 2.0]))
    assert actual.committed and actual.devices() == {context.device}
    np.testing.assert_array_equal(actual, [2, 3])


def test_a_program_accepts_unbound_arrays_but_no_other_shapes() -> None:
    context = Context("cpu", 0)
    spec = Spec.of((3,), np.dtype("float32"), context)
    program = compile_for(lambda scalars, x: [x * 2], 0, [spec], context)
    with jax.enable_x64(True):
        (actual,) = program(np.zeros(0), jax.numpy.ones(3, "float32"))
        np.testing.assert_array_equal(actual, [2, 2, 2])
        with pytest.raises(TypeError, match="compiled"):
            program(np.zeros(0), jax.numpy.ones(4, "float32"))


def test_an_array_of_jax_is_moved_to_the_device_where_it_is_stored() -> None:
    elsewhere = jax.device_put(np.arange(3.0, dtype="float32"), mx.cpu(1).device)
    x = nd.zeros((3,), ctx=mx.cpu(0))
    x[:] = elsewhere
    assert (x + 1).__jax_array__().devices() == {mx.cpu(0).device}
    np.testing.assert_array_equal((x + 1).asnumpy(), [1, 2, 3])
    np.testing.assert_array_equal(elsewhere, [0, 1, 2])


@pytest.mark.filterwarnings("error:Error writing persistent compilation cache")
def test_a_program_that_cannot_be_stored_is_never_written(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if not onednn.available(cache_folder()):
        pytest.skip("there is no oneDNN in this XLA")
    monkeypatch.setattr("mixnet.passes.choose_layout.ONEDNN_LEAST", 0)
    executable_cache.clear()
    graphs = []
    written = executable_cache.can_be_written
    monkeypatch.setattr(
        executable_cache, "can_be_written", lambda graph: graphs.append(graph) or written(graph)
    )
    net = gluon.nn.Conv2D(8, 3, in_channels=4)
    net.initialize(mx.init.One())
    first = nd.ones((2, 4, 9, 11))  # not bound to its device by JAX
    first.wait_to_read()
    for x in (first, nd.array(np.ones((2, 4, 9, 11)))):
        np.testing.assert_allclose(net(x).asnumpy(), np.full((2, 8, 7, 9), 36.0))
    assert not all(written(graph) for graph in graphs), "there was no such program"


def test_programs_are_forgotten_before_memory_maps_run_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    forgotten: list[str] = []
    counts = iter([60_000, 51_000, 60_000, 100, 100])
    monkeypatch.setattr(ahead, "_memory_maps", lambda: next(counts))
    monkeypatch.setattr(ahead, "forgetters", [lambda: forgotten.append("ours")])
    monkeypatch.setattr(ahead.jax, "clear_caches", lambda: forgotten.append("JAX's"))
    ahead.make_room()
    assert forgotten == ["ours", "JAX's"]
    ahead.make_room()
    assert forgotten == ["ours", "JAX's", "ours"]
    ahead.make_room()
    assert len(forgotten) == 3
