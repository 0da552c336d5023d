"""Programs are interpreted first and switch to compiled ones at a fixed run."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

import jax
import numpy as np
import pytest

import mixnet as mx
from mixnet import autograd, gluon, nd
from mixnet.ops.registry import find
from mixnet.ops.tracing import traced
from mixnet.runtime.compile import background, blas
from mixnet.runtime.interpret import interpreter, on_numpy, patience, runner
from mixnet.runtime.interpret.on_numpy import pieces
from mixnet.runtime.interpret.on_numpy.work import Cost
from mixnet.runtime.programs import executable_cache
from tests import processes, waiting
from tests.runtime.interpret.delays import delayed_compilation


@pytest.fixture(autouse=True)
def _anew() -> Iterator[None]:
    executable_cache.clear()
    mx.runtime.reset_counters()
    yield
    executable_cache.clear()


def counted(name: str) -> int:
    return mx.runtime.counters()[name]


def cell() -> list[np.ndarray]:
    a = nd.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    b = nd.ones((2, 3)) * 2
    c = nd.dot(a, b.T)
    d = nd.softmax(nd.exp(a))
    e = nd.sqrt(nd.concat(a, b, dim=0).sum(axis=0)).reshape((1, 3))
    f = nd.broadcast_add(a, e).mean()
    g = nd.where(d > 0.5, nd.relu(a - 3), nd.tanh(nd.sigmoid(b)))
    return [each.asnumpy() for each in (c, d, e, f, g)]


def test_a_cell_compiles_nothing() -> None:
    results = cell()
    assert counted("programs_compiled") == 0
    assert counted("interpreted") >= 12
    with patience.compiling_at_once():
        executable_cache.clear()
        for result, compiled in zip(results, cell(), strict=True):
            np.testing.assert_allclose(result, compiled, rtol=2e-6)
    assert counted("programs_compiled") >= 1


def step_of(hybridize: bool):
    mx.random.seed(3)
    net = gluon.nn.HybridSequential()
    net.add(gluon.nn.Dense(5, activation="tanh", in_units=3), gluon.nn.BatchNorm(in_channels=5))
    net.add(gluon.nn.Dropout(0.5), gluon.nn.Dense(2, in_units=5))
    net.initialize(mx.init.Xavier())
    if hybridize:
        net.hybridize()
    trainer = gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 0.05})
    x = nd.array(np.linspace(-1, 1, 12).reshape(4, 3))

    def step() -> float:
        with autograd.record():
            loss = (net(x) ** 2).mean()
        loss.backward()
        trainer.step(4)
        return loss.asscalar()

    return step


@pytest.mark.parametrize("hybridize", [False, True])
def test_interpreted_and_compiled_training_print_the_same(hybridize: bool) -> None:
    step = step_of(hybridize)
    interpreted = [step() for _ in range(4)]
    assert counted("programs_compiled") == 0
    with patience.compiling_at_once():
        executable_cache.clear()
        step = step_of(hybridize)
        compiled = [step() for _ in range(4)]
    # Adam divides by small numbers, so the order of sums is visible.
    np.testing.assert_allclose(interpreted, compiled, rtol=1e-4)


def test_the_switch_to_the_compiled_program_happens_at_a_fixed_run(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(patience, "interpreted_runs", lambda cost: 3)
    monkeypatch.setattr(patience, "runs_meanwhile", lambda cost: 4)
    x = nd.array([1.0, 2.0])
    x.wait_to_read()
    ways = []
    for _ in range(12):
        before = counted("interpreted")
        np.testing.assert_allclose((nd.exp(x) * 2).asnumpy(), 2 * np.exp([1, 2]), rtol=1e-6)
        ways.append(counted("interpreted") > before)
    assert ways == [True] * 7 + [False] * 5
    assert counted("programs_compiled") == 1


def test_a_compile_error_is_raised_at_the_switch_to_the_compiled_program(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(*_: object) -> None:
        raise RuntimeError("no compiler today")

    monkeypatch.setattr(patience, "interpreted_runs", lambda cost: 1)
    monkeypatch.setattr(patience, "runs_meanwhile", lambda cost: 1)
    monkeypatch.setattr(executable_cache, "_compiled", refuse)
    x = nd.array([1.0, 2.0])
    for _ in range(2):
        assert (x + 5).asnumpy().tolist() == [6, 7]
    with pytest.raises(RuntimeError, match="no compiler today"):
        (x + 5).asnumpy()


def test_an_interrupted_switch_is_made_by_the_next_run(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    real, calls = executable_cache.background.submit, []

    def submit(job):
        calls.append(job)
        if len(calls) == 1:
            raise KeyboardInterrupt
        return real(job)

    monkeypatch.setattr(patience, "interpreted_runs", lambda cost: 1)
    monkeypatch.setattr(patience, "runs_meanwhile", lambda cost: 1)
    monkeypatch.setattr(executable_cache.background, "submit", submit)
    x = nd.array([1.0, 2.0])
    (x - 5).asnumpy()
    with pytest.raises(KeyboardInterrupt):
        (x - 5).asnumpy()
    for _ in range(3):
        assert (x - 5).asnumpy().tolist() == [-4, -3]
    assert len([job for job in calls if job is not executable_cache.return_freed_memory]) == 2
    assert counted("programs_compiled") == 1


def test_operators_without_a_rule_are_compiled_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MIXNET_RANDOM", "threefry")  # otherwise the host draws
    drawn = nd._sample_unique_zipfian(range_max=5, shape=(1, 5))[0] * 2
    assert sorted(drawn.asnumpy()[0]) == [0, 2, 4, 6, 8]
    assert counted("programs_compiled") == 1
    assert counted("interpreted") == 2


def test_results_share_no_memory_with_their_inputs() -> None:
    x = nd.ones((4, 4))
    x.wait_to_read()
    copies = [
        x.reshape((16,)),
        x.T,
        nd.identity(x),
        nd.expand_dims(x, 0),
        x.copy(),
    ]
    for each in copies:
        each.wait_to_read()
    x[:] = 7
    nd.waitall()
    assert [float(each.asnumpy().max()) for each in copies[1:]] == [1.0] * 4


def test_shapes_that_grow_compile_and_trace_little() -> None:
    from mixnet.ops.tracing import traced

    xs = nd.array(np.linspace(-1, 1, 60))
    nd.sum(nd.exp(-nd.square(xs[:40] - 1))).asnumpy()
    before = len(traced._traces)
    sums = [nd.sum(nd.exp(-nd.square(xs[:i] - 1))) for i in range(2, 40)]
    expected = np.exp(-np.square(np.linspace(-1, 1, 60) - 1))
    for i, each in enumerate(sums, 2):
        np.testing.assert_allclose(each.asscalar(), expected[:i].sum(), rtol=1e-5)
    assert counted("programs_compiled") == 0
    assert len(traced._traces) - before < 50  # at most the sums, whose axes are attributes


def test_a_result_is_on_the_context_of_its_input() -> None:
    x = nd.array([1.0, 2.0], ctx=mx.cpu(0))
    assert (x * 3).context == mx.cpu(0)


def test_background_jobs_run_in_order_and_keep_their_errors() -> None:
    done: list[int] = []

    def job(number: int) -> int:
        done.append(number)
        if number == 1:
            raise ValueError("one")
        return number

    futures = [background.submit(lambda n=n: job(n)) for n in range(4)]
    assert [futures[i].result(60) for i in (0, 2, 3)] == [0, 2, 3]
    with pytest.raises(ValueError, match="one"):
        futures[1].result(60)
    assert done == [0, 1, 2, 3]


def test_a_process_waits_for_its_running_compilation_at_exit() -> None:
    program = """
import time, mixnet as mx
from mixnet import nd
from mixnet.runtime.compile import background; from mixnet.runtime.interpret import patience
patience.interpreted_runs = lambda cost: 1
x = nd.ones((20, 20))
def run():
    y = x
    for _ in range(30):
        y = nd.dot(nd.tanh(y), x) * 0.1
    return y.asnumpy()
run(); run()
time.sleep(0.05)
print("end")
"""
    done = processes.run(
        [sys.executable, "-c", program],
        env={**os.environ, "MIXNET_CACHE_DIR": "off"},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert (done.returncode, done.stdout.strip(), done.stderr) == (0, "end", "")


@pytest.fixture
def blas_threads() -> tuple[Callable[[], int], Callable[[int], None]]:
    """Functions that read and set the number of BLAS's threads."""
    functions = blas._functions()
    if functions is None:
        pytest.skip("NumPy has another BLAS than the OpenBLAS of its wheels")
    return functions


def test_products_beside_the_compiler_run_on_one_thread(blas_threads: Any) -> None:
    count, _ = blas_threads
    before = count()
    assert background.submit(count).result(60) == 1
    background.submit(lambda: None).result(60)
    assert count() == before


def test_products_run_on_one_thread_of_blas_each(
    blas_threads: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from mixnet.runtime.interpret.on_numpy import product

    count, set_count = blas_threads
    before, threads = count(), []
    real = np.matmul

    def counted_matmul(x: np.ndarray, y: np.ndarray, **options: Any) -> np.ndarray:
        threads.append(count())
        result: np.ndarray = real(x, y, **options)
        return result

    monkeypatch.setattr(product.np, "matmul", counted_matmul)
    set_count(2)
    try:
        for size in (8, 100, 600):
            x = np.ones((size, size), np.float32)
            assert (product.matmul(x, x) == size).all()
    finally:
        set_count(before)
    assert threads[:2] == [2, 1]  # the first is too small to be shared by BLAS
    assert len(threads) > 3 and set(threads[2:]) == {1}


def test_scopes_of_one_thread_may_overlap(blas_threads: Any) -> None:
    count, _ = blas_threads
    before = count()
    first, second = blas.on_one_thread(), blas.on_one_thread()
    first.__enter__()
    second.__enter__()
    first.__exit__()
    assert count() == 1
    second.__exit__()
    assert count() == before


def test_a_scope_compiles_what_was_interpreted() -> None:
    x = nd.array([1.0, 2.0])

    def run() -> None:
        assert (x * 3 - 1).asnumpy().tolist() == [2, 5]

    run()
    assert counted("programs_compiled") == 0
    with mx.runtime.compiling_at_once():
        run()
        assert counted("programs_compiled") == 1
        before = counted("interpreted")
        run()
    run()
    assert counted("interpreted") == before


def test_an_interrupt_while_the_thread_starts_leaves_no_job_waiting(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def interrupted(thread: threading.Thread) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(background, "_thread", None)
    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", interrupted)
        with pytest.raises(KeyboardInterrupt):
            background.submit(lambda: 1)
    assert background._thread is None
    assert background.submit(lambda: 2).result(60) == 2


def test_operations_that_are_fused_cost_the_compiler_little() -> None:
    """A chain of them is compiled after a few hundred runs, a chain of products after many more."""
    context = mx.cpu().compute
    known = (((4, 4), np.dtype("float32")),) * 2
    add = runner.runner_of(find("elemwise_add"), (), known, 0, context).cost
    statics, _ = find("dot").bind({})
    product = runner.runner_of(find("dot"), statics, known, 0, context).cost
    assert add.compiling < product.compiling / 2
    assert 0 < add.saving <= add.work


def test_a_convolution_costs_the_compiler_more_than_a_hundred_times_its_run() -> None:
    """Compiling saves less than half of a run, since both use the same kind of kernels."""
    statics, _ = find("Convolution").bind({"kernel": (3, 3), "num_filter": 64, "no_bias": True})
    shapes = (((8, 64, 28, 28), np.dtype("float32")), ((64, 64, 3, 3), np.dtype("float32")))
    cost = runner.runner_of(find("Convolution"), statics, shapes, 0, mx.cpu().compute).cost
    product = 2 * 8 * 28 * 28 * 64 * 64 * 9
    assert product / 2e11 < cost.work < product / 1e10
    assert cost.compiling > 0.05
    assert patience.interpreted_runs(cost) > cost.compiling / cost.work


def test_the_estimate_of_a_loop_runs_its_body_each_round_and_compiles_it_once() -> None:
    def loop(rounds: int) -> Any:
        body = jax.make_jaxpr(
            lambda x: jax.lax.scan(lambda c, _: (c @ c, None), x, length=rounds)[0]
        )
        return on_numpy.cost(body(np.zeros((16, 16), "float32")))

    assert loop(40).work == pytest.approx(20 * loop(2).work)
    assert loop(40).compiling == loop(2).compiling


def test_large_arrays_are_updated_a_piece_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """The results are those of whole arrays, the last piece included."""
    monkeypatch.setattr(runner, "PIECE", 64)
    monkeypatch.setattr(pieces, "PIECE", 64)
    runner.clear()
    rng = np.random.default_rng(0)
    weight, gradient = (rng.random((13, 17), np.float32) for _ in range(2))
    array = mx.nd.array(weight)
    mx.nd.sgd_update(array, mx.nd.array(gradient), lr=0.5, wd=0.25, out=array)
    remaining = np.float32(1) - np.float32(0.5) * np.float32(0.25)
    expected = remaining * weight - np.float32(0.5) * gradient
    np.testing.assert_array_equal(array.asnumpy(), expected)
    runner.clear()


def test_drawing_weights_traces_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    traced_calls: list[object] = []
    monkeypatch.setattr(traced, "trace_function", lambda *args: traced_calls.append(args))
    mx.random.seed(5)
    uniform = mx.nd.random.uniform(-2, 2, shape=(3, 23, 29)).asnumpy()
    normal = mx.nd.random.normal(1, 3, shape=(2, 31, 37)).asnumpy()
    zeros = mx.nd.zeros((3, 41, 43), dtype="int32").asnumpy()
    assert not traced_calls and zeros.shape == (3, 41, 43) and not zeros.any()
    assert uniform.shape == (3, 23, 29) and abs(uniform.mean()) < 0.1
    assert normal.shape == (2, 31, 37) and abs(normal.mean() - 1) < 0.2
    with mx.runtime.compiling_at_once():
        monkeypatch.undo()
        mx.random.seed(5)
        again = mx.nd.random.uniform(-2, 2, shape=(3, 23, 29)).asnumpy()
        np.testing.assert_allclose(uniform, again, rtol=1e-6)


def test_a_program_of_a_gpu_is_replaced_when_the_other_is_ready(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    away = Cost(work=1e-3, saving=1e-3, compiling=0.008, is_away=True)
    monkeypatch.setattr(interpreter, "total", lambda costs: away)
    ready = delayed_compilation(monkeypatch)
    x = nd.array([1.0, 2.0])
    x.wait_to_read()

    def is_interpreted() -> bool:
        before = counted("interpreted")
        assert (x * 5).asnumpy().tolist() == [5, 10]
        return counted("interpreted") > before

    assert all(is_interpreted() for _ in range(30))
    ready.set()
    waiting.until(lambda: not is_interpreted())


def test_interpreted_operations_enter_no_scope_of_jax(monkeypatch: pytest.MonkeyPatch) -> None:
    a = nd.array([1.5, 2.5], dtype="float64")
    (a * 3).asnumpy()
    scope, entered = jax.enable_x64, []
    monkeypatch.setattr(jax, "enable_x64", lambda on: entered.append(on) or scope(on))
    result = (a * 3).asnumpy()
    assert (result.dtype, result.tolist()) == (np.float64, [4.5, 7.5])
    assert not entered
