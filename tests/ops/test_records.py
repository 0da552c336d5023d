"""Every operator: forward against NumPy, gradient against finite differences, nd against sym."""

from __future__ import annotations

import numpy as np
import pytest

import mixnet as mx
from mixnet import nd
from mixnet.ops import OPERATORS
from tests.each_record import each_record
from tests.ops.record import Record
from tests.ops.records import RANDOM, RECORDS, family_of

IDS = [record.op for record in RECORDS]


def inputs_of(record: Record, dtype: str) -> list[np.ndarray]:
    rng = np.random.default_rng(1)
    arrays = []
    for i, shape in enumerate(record.shapes):
        if i in record.dtypes and i in record.integers:
            arrays.append(rng.integers(0, record.integers[i], shape).astype(record.dtypes[i]))
        elif i in record.dtypes:
            own = np.dtype(record.dtypes[i])
            ends = np.iinfo(own)
            arrays.append(rng.integers(ends.min, ends.max, shape, own, endpoint=True))
        elif i in record.integers:
            arrays.append(rng.integers(0, record.integers[i], shape).astype(dtype))
        else:
            arrays.append(rng.uniform(record.low, record.high, shape).astype(dtype))
    return arrays


def _in_float64(record: Record, data: list[np.ndarray]) -> list[mx.nd.NDArray]:
    return [nd.array(d, dtype=record.dtypes.get(i, "float64")) for i, d in enumerate(data)]


def run(record: Record, arrays: list[mx.nd.NDArray]) -> list[mx.nd.NDArray]:
    result = getattr(nd, record.op)(*arrays, **record.attrs)
    return result if isinstance(result, list) else [result]


def test_every_operator_has_a_record() -> None:
    library = {op.name for op in OPERATORS.values() if op.function.__module__.startswith("mixnet.")}
    assert library - set(IDS) - RANDOM == set()


@each_record("record", RECORDS, ids=IDS, by=family_of)
def test_forward_is_numpys(record: Record) -> None:
    if record.reference is None:
        assert record.stored, "a record without a reference needs stored results"
        return
    data = inputs_of(record, "float32")
    outputs = run(record, [nd.array(d, dtype=d.dtype) for d in data])
    expected = record.reference(*[d.astype("float64") for d in data])
    expected = expected if isinstance(expected, tuple) else (expected,)
    for output, reference in zip(outputs, expected, strict=False):
        assert output.shape == np.shape(reference)
        # float32 against a float64 reference: a few units in the last place of O(10) results
        np.testing.assert_allclose(output.asnumpy(), reference, rtol=2e-5, atol=2e-6)


GRADIENTS = [r for r in RECORDS if r.gradient and r.shapes]


@each_record("record", GRADIENTS, ids=lambda record: record.op, by=family_of)
def test_gradient_is_the_difference_quotient(record: Record) -> None:
    data = inputs_of(record, "float64")
    arrays = _in_float64(record, data)
    varied = [i for i in range(len(data)) if i not in record.integers]
    states = OPERATORS[record.op].states
    varied = [i for i in varied if OPERATORS[record.op].variadic or not states or i < 3]
    for i in varied:
        arrays[i].attach_grad()
    heads = [np.random.default_rng(2).uniform(0.5, 1, o.shape) for o in run(record, arrays)]

    def value() -> float:
        outputs = run(record, _in_float64(record, data))
        return sum((o.asnumpy() * h).sum() for o, h in zip(outputs, heads, strict=True))

    def training_value() -> float:
        with mx.autograd.train_mode():
            return value()

    with mx.autograd.record():
        outputs = run(record, arrays)
    mx.autograd.backward(outputs, [nd.array(h, dtype="float64") for h in heads])
    step = 1e-6
    for i in varied:
        flat = data[i].reshape(-1)
        for j in range(0, flat.size, max(1, flat.size // 4)):
            before = flat[j]
            flat[j] = before + step
            up = training_value()
            flat[j] = before - step
            down = training_value()
            flat[j] = before
            actual = arrays[i].grad.asnumpy().reshape(-1)[j]
            assert actual == pytest.approx((up - down) / (2 * step), rel=1e-4, abs=1e-6), (i, j)


SYMBOLIC = [r for r in RECORDS if r.shapes]


@each_record("record", SYMBOLIC, ids=lambda record: record.op, by=family_of)
def test_symbols_and_arrays_give_the_same_results(record: Record) -> None:
    arrays = [nd.array(d, dtype=d.dtype) for d in inputs_of(record, "float32")]
    variables = [mx.sym.Variable(f"x{i}") for i in range(len(arrays))]
    symbol = getattr(mx.sym, record.op)(*variables, **record.attrs)
    bound = {f"x{i}": a for i, a in enumerate(arrays)}
    states = {n: bound.pop(n).copy() for n in symbol.list_auxiliary_states()}
    executor = symbol.bind(mx.cpu(), bound, grad_req="null", aux_states=states)
    # The same operator function in two programs; XLA may fuse them differently.
    for ours, theirs in zip(executor.forward(), run(record, arrays), strict=True):
        np.testing.assert_allclose(ours.asnumpy(), theirs.asnumpy(), rtol=1e-6, atol=1e-7)
