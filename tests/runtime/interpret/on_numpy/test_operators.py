"""Every operator and its gradient has the same results on NumPy as on a device."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import mixnet as mx
from mixnet.ops.backward import gradients
from mixnet.runtime.interpret import on_numpy
from mixnet.runtime.record.host import HostRun, on_host
from mixnet.runtime.value.state import state
from tests.each_record import each_record
from tests.ops.record import Record
from tests.ops.records import RECORDS, family_of
from tests.ops.test_records import inputs_of, run
from tests.runtime.interpret.on_numpy.test_rules import close

REFERENCES = [record for record in RECORDS if record.reference is not None]


@each_record("record", REFERENCES, ids=lambda record: record.op, by=family_of)
def test_forward_is_numpys(record: Record) -> None:
    data = inputs_of(record, "float32")
    with on_host(alone=True):  # an operator without rules is an error there
        outputs = run(record, [mx.nd.array(d, dtype=d.dtype) for d in data])
        results = [output.asnumpy() for output in outputs]
    assert record.reference is not None
    expected = record.reference(*[d.astype("float64") for d in data])
    expected = expected if isinstance(expected, tuple) else (expected,)
    for output, reference in zip(results, expected, strict=False):
        assert output.shape == np.shape(reference)
        np.testing.assert_allclose(output, reference, rtol=2e-5, atol=2e-6)


class Noting(HostRun):
    """Records the operators that run, with their arguments."""

    def __init__(self) -> None:
        super().__init__(alone=True)
        self.calls: list[tuple[Any, ...]] = []

    def run(self, op: Any, statics: Any, scalars: Any, values: Any, context: Any) -> Any:
        self.calls.append((op, statics, scalars, [self.array(value) for value in values]))
        return super().run(op, statics, scalars, values, context)


def gradient_of(record: Record) -> tuple[Callable[..., Any], list[np.ndarray]] | None:
    """The gradient of the operator by all its real inputs, for heads that differ."""
    state.trace = noting = Noting()
    try:
        with mx.autograd.train_mode():
            run(record, [mx.nd.array(d, dtype=d.dtype) for d in inputs_of(record, "float32")])
    finally:
        state.trace = None
    op, statics, scalars, arrays = next(c for c in noting.calls if c[0].name == record.op)
    expected = [i for i, each in enumerate(arrays) if each.dtype == "float32"]

    def function(*inputs: Any) -> Any:
        numbers = [np.float64(each) for each in scalars]
        outputs = op.apply(statics, list(inputs), numbers)
        real = [i for i, each in enumerate(outputs) if each.dtype == jnp.float32]
        heads = [1 + jnp.cos(jnp.arange(outputs[i].size, dtype="float32")) for i in real]
        heads = [h.reshape(outputs[i].shape) for h, i in zip(heads, real, strict=True)]
        return gradients(op, statics, numbers, heads, real, inputs, expected) if real else ()

    return (function, arrays) if expected else None


SOME = [r for r in RECORDS if r.gradient and r.shapes][::4]


def test_gradients_are_the_devices() -> None:
    actual = {record.op: gradient_of(record) for record in SOME}
    known = {name: each for name, each in actual.items() if each is not None}

    def everything(inputs: Any) -> Any:
        return {name: known[name][0](*arrays) for name, arrays in inputs.items()}

    options: Any = {"xla_backend_optimization_level": 0}
    with jax.enable_x64(True):
        expected = jax.jit(everything, compiler_options=options)(
            {name: arrays for name, (_, arrays) in known.items()}
        )
    for name, (function, arrays) in known.items():
        interpreted = on_numpy.compiled(function, *arrays)(*arrays)
        for one, other in zip(interpreted, expected[name], strict=True):
            close(one, np.asarray(other), name)
    assert len(known) > 0.8 * len(SOME)


def test_factors_of_matrices_without_elements() -> None:
    with mx.util.np_shape(), mx.util.np_array():
        for shape in ((0, 0), (2, 0, 0), (0, 2, 2)):
            empty = mx.np.zeros(shape)
            assert mx.np.linalg.det(empty).asnumpy().shape == shape[:-2]
            assert mx.np.linalg.inv(empty).asnumpy().shape == shape
            assert mx.np.linalg.cholesky(empty).asnumpy().shape == shape
