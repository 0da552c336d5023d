"""Tracing operators, and the parts of traces that hold for every extent."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np
import pytest

import mixnet as mx
from mixnet.ops.registry import find
from mixnet.ops.tracing import shape_free, traced
from mixnet.ops.tracing.template import Call
from mixnet.private_jax.calls import called
from mixnet.runtime.interpret import on_numpy
from tests.each_record import each_record
from tests.ops.records import RECORDS

F32 = np.dtype("float32")


def bound(name: str, **attributes: Any) -> tuple[Any, Any, int]:
    op = find(name)
    statics, scalars = op.bind(attributes)
    return op, statics, len(scalars)


def names(jaxpr: Any) -> list[str]:
    return [equation.primitive.name for equation in jaxpr.eqns]


def test_nested_functions_are_written_out() -> None:
    op, statics, scalars = bound("where")
    jaxpr = traced.traced(op, statics, (((2, 3), F32),) * 3, scalars)
    assert "select_n" in names(jaxpr)
    assert not {"jit", "pjit"} & set(names(jaxpr))


def test_loops_stay_loops() -> None:
    op, statics, scalars = bound("CTCLoss")
    jaxpr = traced.trace(op, Call(statics, (((9, 2, 4), F32), ((2, 3), F32))), scalars)
    (loss,) = [each for each in jaxpr.eqns if each.primitive.name == "custom_vjp_call"]
    assert "scan" in names(called(loss))


def test_another_jax_traces_in_the_usual_way(monkeypatch: pytest.MonkeyPatch) -> None:
    op, statics, scalars = bound("softmax", axis=1)
    inputs = (((5, 7), F32),)
    quick = traced.traced(op, statics, inputs, scalars)
    traced.clear()
    monkeypatch.setattr(traced, "_trace", None)
    usual = traced.traced(op, statics, inputs, scalars)
    traced.clear()
    data = np.linspace(-1, 1, 35, dtype="float32").reshape(5, 7)
    for one, other in zip(
        jax.core.eval_jaxpr(quick.jaxpr, quick.consts, data),
        jax.core.eval_jaxpr(usual.jaxpr, usual.consts, data),
        strict=True,
    ):
        np.testing.assert_array_equal(one, other)


def test_an_error_of_the_operator_is_raised_unchanged() -> None:
    op, statics, scalars = bound("elemwise_add")
    with pytest.raises(mx.base.ShapeError, match=r"\(2, 3\) and \(3, 2\) differ"):
        traced.traced(op, statics, (((2, 3), F32), ((3, 2), F32)), scalars)


@each_record(
    "name, attributes, arrays, free",
    [
        ("exp", {}, 1, True),
        ("relu", {}, 1, True),
        ("elemwise_mul", {}, 2, True),
        ("_mul_scalar", {"scalar": 3}, 1, True),
        ("sgd_mom_update", {"lr": 0.1, "momentum": 0.9}, 3, True),
        ("adam_update", {"lr": 0.1}, 4, True),
        ("clip", {"a_min": 0, "a_max": 1}, 1, True),
        ("softmax", {}, 1, False),
        ("mean", {}, 1, False),
        ("reshape", {"shape": (-1,)}, 1, False),
        ("zeros_like", {}, 1, False),
        ("shape_array", {}, 1, False),
    ],
)
def test_shape_free_operators_are_detected(
    name: str, attributes: dict[str, Any], arrays: int, free: bool
) -> None:
    shape_free._families.clear()
    op, statics, scalars = bound(name, **attributes)
    form = shape_free.form_of(op, statics, (((3, 4), F32),) * arrays, scalars)
    assert (form is not None) is free


def test_numbers_that_are_made_of_extents_are_seen() -> None:
    op, statics, scalars = bound("_contrib_div_sqrt_dim")
    shape_free._families.clear()  # another test may have seen it first in another shape
    first = shape_free.form_of(op, statics, (((3, 4), F32),), scalars)
    assert first is not None  # for this very shape
    for shape in ((5, 4), (5, 6), (3, 4)):
        form = shape_free.form_of(op, statics, ((shape, F32),), scalars)
        assert form is None or (shape == (3, 4) and form is first)
    data = np.ones((5, 16), "float32")
    np.testing.assert_allclose(mx.nd.contrib.div_sqrt_dim(mx.nd.array(data)).asnumpy(), data / 4)


def test_axes_of_extent_1_are_the_same_in_a_family() -> None:
    shape_free._families.clear()
    op, statics, scalars = bound("sgd_update", lr=0.1)
    forms = []
    for shape in ((8, 1, 3), (5, 1, 7), (9, 1, 2), (5, 1, 1), (4, 1, 1), (6, 1, 1)):
        forms.append(shape_free.form_of(op, statics, ((shape, F32),) * 2, scalars))
    assert None not in forms
    assert forms[0] is forms[1] is forms[2] is not forms[3] is forms[4] is forms[5]


def test_extents_of_0_are_never_guessed() -> None:
    assert shape_free.common_shape((((3, 1), F32), ((3, 1), F32))) == (3, 1)
    assert shape_free.common_shape((((3, 1), F32), ((3, 2), F32))) is None
    assert shape_free.common_shape((((0,), F32),)) is None
    assert shape_free.common_shape((((2, 3), F32), ((3, 2), F32))) is None
    assert shape_free.common_shape((((2, 3), F32), ((), F32))) == (2, 3)


def test_forms_say_what_a_trace_would() -> None:
    """Of every operator on its record's inputs, with all extents doubled."""
    free, rng = 0, np.random.default_rng(0)
    for record in RECORDS:
        try:
            op, statics, scalars = bound(record.op, **record.attrs)
        except Exception:
            continue
        shapes = [s for s in record.shapes if isinstance(s, tuple)]
        if op.takes_key or len(shapes) != len(record.shapes) or len(shapes) != len(op.arrays):
            continue
        known = tuple((shape, F32) for shape in shapes)
        larger = tuple((tuple(2 * extent for extent in shape), F32) for shape in shapes)
        try:
            form = shape_free.form_of(op, statics, known, scalars)
            expected = traced.traced(op, statics, larger, scalars).out_avals
        except Exception:
            continue
        shape = shape_free.common_shape(larger)
        if form is not None and shape is not None:
            free += 1
            assert form.outputs(shape) == [(a.shape, a.dtype) for a in expected], record.op
            arrays = [rng.uniform(0.1, 0.9, each).astype("float32") for each, _ in larger]
            for numbers in ([0.0] * scalars, [2.0] * scalars):
                inputs = [*arrays, *map(np.float64, numbers)]
                results = on_numpy.quietly(on_numpy.closed(form.jaxpr), *inputs)
                assert [np.shape(r) for r in results] == [a.shape for a in expected], record.op
    assert free > 60
