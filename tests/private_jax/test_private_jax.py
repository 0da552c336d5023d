"""What mixnet uses of JAX beyond its promises. A failure here names what a new JAX has changed."""

from __future__ import annotations

import atexit
import inspect
import logging
import subprocess
import sys
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import SingleDeviceSharding

from mixnet.ops.tracing.step import as_step
from mixnet.private_jax import arrays, calls, ending, equations, jaxprs, jobs, programs, tracing
from mixnet.runtime.interpret import on_numpy


def test_parts_of_a_jaxpr_are_those_that_jax_traces() -> None:
    closed = jax.make_jaxpr(lambda x: x + 1.0)(jnp.zeros(2))
    assert type(closed) is jaxprs.ClosedJaxpr, "dataflow, shape_free and on_numpy look for it"
    assert type(closed.jaxpr) is jaxprs.Jaxpr
    assert jaxprs.opened(closed) is jaxprs.opened(closed.jaxpr) is closed.jaxpr
    (equation,) = closed.eqns
    assert {type(each) for each in equation.invars} == {jaxprs.Var, jaxprs.Literal}
    assert isinstance(equation.primitive, jaxprs.Primitive)


def test_a_program_that_an_equation_runs() -> None:
    closed = jax.make_jaxpr(jax.jit(lambda x: x + 1.0))(jnp.zeros(2))
    program = calls.called(closed.eqns[0])
    assert program is not None and program.eqns[0].primitive.name == "add"
    assert calls.called(program.eqns[0]) is None


def test_primitives_of_programs_within_programs_are_named() -> None:
    def function(x: jax.Array) -> jax.Array:
        y = jax.jit(jnp.sin)(x)
        z = jax.lax.cond(y[0] > 0, jnp.exp, jax.nn.relu, y)
        return jax.lax.scan(lambda a, b: (a * b, jnp.cos(a)), z[0], z)[1].at[0].add(1)

    names = calls.primitives(jax.make_jaxpr(function)(jnp.ones(3)))
    assert {"sin", "exp", "max", "mul", "cos", "scatter-add"} <= names
    assert "tan" not in names


@pytest.mark.parametrize(
    "function",
    [
        jnp.log2,
        jax.grad(lambda x: jnp.tanh(x).sum()),
        lambda x: jnp.polyval(jnp.array([2.0, 3.0, 5.0]), x),
        lambda x: jnp.searchsorted(jnp.array([0.1, 0.5, 0.8]), x),
        lambda x: jnp.histogram(x)[0],
    ],
    ids=["log2", "tanh", "polyval", "searchsorted", "histogram"],
)
def test_primitives_of_single_jax_versions_are_interpreted(function: Any) -> None:
    x = jnp.linspace(0.05, 0.95, 7, dtype=jnp.float32)
    (actual,) = on_numpy.closed(jax.make_jaxpr(function)(x))(np.asarray(x))
    np.testing.assert_allclose(actual, function(x), rtol=1e-6)


def test_parts_of_a_jaxpr_do_not_load_pallas() -> None:
    code = "import sys, mixnet.private_jax.jaxprs; print([m for m in sys.modules if 'pallas' in m][:1])"
    process = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=240
    )
    assert process.stdout.strip() == "[]", "mixnet loads Pallas: it starts slower"


def test_functions_are_traced_flat() -> None:
    trace = tracing.flat_tracer()
    assert trace is not None, "every operator is traced by jax.make_jaxpr: three times as slow"
    jaxpr, constants = trace(
        lambda x: [x * 2.0 + np.ones(3, np.float32)], [jax.core.ShapedArray((3,), np.dtype("f4"))]
    )
    (actual,) = jax.core.eval_jaxpr(jaxpr, constants, jnp.arange(3.0))
    np.testing.assert_array_equal(actual, [1, 3, 5])


def test_a_compiled_program_has_a_function_in_c() -> None:
    compiled = jax.jit(lambda x: (x + 1,)).lower(jnp.zeros(2)).compile()
    call = programs.bare_call(compiled)
    assert call is not compiled, (
        "calls go through Python: slower, and an interrupt may lose results"
    )
    assert programs.is_bare_call(call), "numbers of programs are transferred at every call"
    np.testing.assert_array_equal(call(jnp.zeros(2))[0], [1, 1])


def test_jax_asks_for_the_files_of_a_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    from jax._src import compilation_cache

    monkeypatch.setattr(compilation_cache, "get_file_cache", compilation_cache.get_file_cache)
    assert programs.keep_files_by("mine", lambda: "files"), "programs on disk are JAX's own files"
    assert compilation_cache.get_file_cache("mine") == ("files", "mine")
    source = inspect.getsource(compilation_cache._initialize_cache)
    assert "get_file_cache(" in source, "JAX makes its files elsewhere: the function is never asked"


def test_arrays_are_put_without_checks() -> None:
    put = arrays.batched_put()
    assert put is not None, "small arrays go through jax.device_put: ten times as slow"
    device, data = jax.devices()[0], np.arange(3, dtype=np.float32)
    aval = jax.core.ShapedArray((3,), data.dtype)
    actual = put(aval, SingleDeviceSharding(device), [data], [device])
    np.testing.assert_array_equal(actual, data)


def test_clients_are_known() -> None:
    client = jax.devices()[0].client
    assert client in (ending.clients() or []), "a forked child waits for its parent's threads"


def test_exit_handlers_are_those_that_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    unregistered: list = []
    monkeypatch.setattr(atexit, "unregister", unregistered.append)
    assert ending.leave_clients(), "a forked child waits for XLA's clients when it ends"
    assert len(unregistered) == 2 and all(map(callable, unregistered))


def test_errors_of_callbacks_are_logged_where_they_are_filtered() -> None:
    from jax._src import callback

    assert callback.logger.name == "jax._src.callback", (
        "errors of custom operators are reported twice"
    )

    def keep(record: logging.LogRecord) -> bool:
        return True

    ending.filter_callback_errors(keep)
    try:
        assert keep in callback.logger.filters
    finally:
        callback.logger.removeFilter(keep)


def test_failed_callbacks_can_be_forgotten() -> None:
    from jax._src.dispatch import runtime_tokens

    assert callable(runtime_tokens.clear), "errors of a custom operator are reported again at exit"
    ending.forget_failed_callback()


_ALONE = """
import os
from mixnet.distributed.addresses import free_port
from mixnet.private_jax import jobs
address = f"127.0.0.1:{free_port('127.0.0.1')}"
service = jobs.start_service(address, 1, 10, 30)
client = jobs.connected_client(address, 0, 1, "127.0.0.1", 10, 30)
print(len(client.devices()), flush=True)
os._exit(0)  # a client whose service ends before it ends the process
"""


def test_a_service_introduces_clients() -> None:
    process = subprocess.run(
        [sys.executable, "-c", _ALONE], capture_output=True, text=True, check=False, timeout=240
    )
    assert process.stdout.strip() == "1", (
        f"jobs of processes cannot start: {process.stderr[-2000:]}"
    )


def test_slurm_names_the_first_process(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {
        "SLURM_JOB_ID": "7", "SLURM_STEP_NODELIST": "first,second", "SLURM_NTASKS": "2",
        "SLURM_PROCID": "0", "SLURM_LOCALID": "0", "SLURM_STEP_NUM_NODES": "2",
    }.items():  # fmt: skip
        monkeypatch.setenv(name, value)
    assert jobs.coordinator().startswith("first:"), "jobs under Slurm do not find their root"


def test_an_equation_has_its_source_line() -> None:
    closed = jax.make_jaxpr(lambda x: x * 2.0)(jnp.zeros(2))
    actual = equations.line_of(closed.jaxpr.eqns[0], lambda file: file == __file__)
    assert actual is not None, "mx.look of a JAX function shows no lines"
    file, line, function = actual
    assert file == __file__ and "lambda" in function
    assert line == inspect.currentframe().f_lineno - 5  # type: ignore[union-attr]
    assert equations.line_of(closed.jaxpr.eqns[0], lambda file: False) is None
    assert equations.line_of(object(), lambda file: True) is None


def test_errors_in_a_trace_keep_their_full_traceback() -> None:
    def frames() -> int:
        with pytest.raises(TypeError) as error:
            jax.make_jaxpr(lambda x, y: x + y)(jnp.zeros(2), jnp.zeros(3))
        return len(error.traceback)

    filtered = frames()
    with tracing.whole_tracebacks():
        assert frames() > filtered, "each shape that does not fit costs milliseconds"


def test_a_step_of_mixnet_is_known_by_its_definition() -> None:
    @as_step("twice", lambda x: (x.shape, x.dtype))
    def twice(x: jax.Array) -> jax.Array:
        return x + x

    x = jnp.arange(3.0)
    (equation,) = jax.make_jaxpr(twice)(x).eqns
    program = calls.called(equation)
    assert program is not None and program.eqns[0].primitive.name == "add"
    np.testing.assert_array_equal(jax.jit(jax.vmap(twice))(x), 2 * x)
    np.testing.assert_array_equal(jax.grad(lambda x: (twice(x) * x).sum())(x), 4 * x)
