"""Programs with open extents equal the traces for these extents."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import mixnet as mx
from mixnet import autograd
from mixnet.ops.nn.recurrent import rnn_shapes
from mixnet.ops.op import Op
from mixnet.ops.registry import find
from mixnet.ops.schema.stream import STREAM_SPEC
from mixnet.ops.tracing import stored, traced
from mixnet.ops.tracing.inlined import inlined
from mixnet.ops.tracing.result_shape import result_shapes
from mixnet.ops.tracing.template import Call, kind_of
from mixnet.passes.differentiate import BackwardOp
from mixnet.private_jax.jaxprs import ClosedJaxpr, Literal
from tests.ops.records import RECORDS

F32 = np.dtype("float32")

Known = tuple[tuple[int, ...], np.dtype]

ROWS = jax.lax.GatherDimensionNumbers((1,), (0,), (0,))
TO_ROWS = jax.lax.ScatterDimensionNumbers((1,), (0,), (0,))


@pytest.fixture(autouse=True)
def _without_traces(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(stored, "_loaded", stored.NONE)
    traced.clear()
    yield
    traced.clear()


def written(jaxpr: Any) -> Any:
    """A jaxpr without calls and without the identities of its variables."""
    jaxpr = inlined(jaxpr)
    number: dict[Any, int] = {each: i for i, each in enumerate(jaxpr.jaxpr.invars)}
    assert not jaxpr.consts

    def read(each: Any) -> Any:
        if type(each) is Literal:
            return (
                repr(np.asarray(each.val).item()),
                isinstance(each.val, np.ndarray),
                str(each.aval),
            )
        return number[each]

    def parameter(each: Any) -> Any:
        if isinstance(each, ClosedJaxpr):
            return written(each)
        return tuple(map(parameter, each)) if type(each) is tuple else each

    rows = []
    for equation in jaxpr.jaxpr.eqns:
        inputs = [read(each) for each in equation.invars]
        for each in equation.outvars:
            number[each] = len(number)
        results = [
            (each.aval.shape, each.aval.dtype, each.aval.weak_type) for each in equation.outvars
        ]
        params = repr([(name, parameter(each)) for name, each in sorted(equation.params.items())])
        params = re.sub(r"np\.int64\((-?\d+)\)", r"\1", params)
        rows.append((equation.primitive.name, params, inputs, results))
    return (
        [each.aval.shape for each in jaxpr.jaxpr.invars],
        rows,
        [read(e) for e in jaxpr.jaxpr.outvars],
    )


def template_for(op: Any, statics: Any, known: tuple[Known, ...], scalars: int) -> Any:
    """What is written for a call without a trace; None if nothing is."""
    call = Call(statics, known)
    family = traced._families.get((op, kind_of(call), scalars))
    return (
        None if family is None else family.at(call, lambda other: traced.trace(op, other, scalars))
    )


def compared(op: Any, statics: Any, shapes: list[list[Known]], scalars: int) -> int:
    """How many calls of these shapes were written without a trace; each is compared with its trace."""
    count = 0
    for inputs in shapes:
        known = tuple(inputs)
        template = template_for(op, statics, known, scalars)
        try:
            traced.traced(op, statics, known, scalars)
        except Exception:  # the operator does not take such extents: no template may say otherwise
            assert template is None, f"{op.name} of {known}"
            continue
        if template is not None:
            count += 1
            true = traced._traced(op, statics, known, scalars)
            assert written(template) == written(true) or computes_the_same(template, true), (
                f"{op.name} of {known}"
            )
    return count


def computes_the_same(one: Any, other: Any) -> bool:
    """Whether two programs give the same bits: JAX leaves out what equal extents make superfluous."""
    random = np.random.default_rng(0)
    inputs = [
        np.asarray(random.integers(0, 2, each.shape), each.dtype)
        if each.dtype.kind in "biu"
        else random.normal(size=each.shape).astype(each.dtype)
        for each in one.in_avals
    ]
    with jax.enable_x64(True):
        results = [jax.core.eval_jaxpr(each.jaxpr, each.consts, *inputs) for each in (one, other)]
    return all(np.array_equal(a, b, equal_nan=True) for a, b in zip(*results, strict=True))


def scaled(factor: int, added: int) -> Callable[[int], int]:
    return lambda extent: extent if extent <= 1 else factor * extent + added


_MAPS = [
    [scaled(1, 0), scaled(2, 0), scaled(3, 0), scaled(5, 0)],
    [scaled(1, 0), scaled(1, 4), scaled(1, 9), scaled(1, 1)],
    # Extents that differ in two calls may be equal in a third.
    [scaled(1, 0), scaled(2, 1), scaled(0, 6), scaled(0, 4)],
    # Between two calls, and in the order of networks whose extents grow layer by layer.
    [scaled(1, 0), scaled(7, 1), scaled(3, 2), scaled(5, 0)],
]


# Tracing gradients of all operators takes a minute: these are the ones that networks call with many shapes.
_LAYERS = frozenset([
    "BatchNorm", "Concat", "Convolution", "Deconvolution", "FullyConnected", "GroupNorm", "LRN",
    "LayerNorm", "Pooling", "SliceChannel", "batch_dot", "broadcast_add", "broadcast_mul", "dot",
    "mean", "slice_axis", "softmax", "sum", "transpose",
])  # fmt: skip


@pytest.mark.parametrize("maps", _MAPS, ids=["multiplied", "added", "equal", "between"])
def test_of_operators(maps: list[Callable[[int], int]]) -> None:
    count = 0
    for place, record in enumerate(RECORDS):
        if place % 4 and record.op not in _LAYERS:
            continue
        op = find(record.op)
        if op.takes_key or op.calls_python:
            continue
        try:
            statics, numbers = op.bind(record.attrs)
        except Exception:  # an attribute that the record gives in another way
            continue
        dtypes = [
            np.dtype(record.dtypes.get(i, "int32" if i in record.integers else "float32"))
            for i in range(len(record.shapes))
        ]
        shapes = [
            [
                (tuple(change(extent) for extent in shape), dtype)
                for shape, dtype in zip(record.shapes, dtypes, strict=True)
            ]
            for change in maps
        ]
        count += compared(op, statics, shapes, len(numbers))
        # The gradients of real inputs, from one of the first output.
        real = tuple(i for i, dtype in enumerate(dtypes) if dtype.kind == "f")
        if real and record.gradient and record.op in _LAYERS:
            heads = []
            for inputs in shapes:
                try:
                    (head, *_) = traced.traced(op, statics, tuple(inputs), len(numbers)).out_avals
                except Exception:
                    continue
                heads.append([(head.shape, np.dtype(head.dtype)), *inputs])
            backward = (statics, (0,), real)
            count += compared(BackwardOp(op), backward, heads, len(numbers))
    assert count > 150


def test_a_third_shape_is_not_traced(traces: list[str]) -> None:
    op = find("FullyConnected")
    for units, width in ((4, 6), (5, 7), (9, 2), (3, 8)):
        statics, scalars = op.bind({"num_hidden": units})
        inputs = (((16, width), F32), ((units, width), F32), ((units,), F32))
        (result,) = traced.traced(op, statics, inputs, len(scalars)).out_avals
        assert result.shape == (16, units)
    assert len(traces) == 2 + 1  # and one that proves it


def test_an_extent_that_never_changed_is_not_open(traces: list[str]) -> None:
    op = find("FullyConnected")
    for batch, units in ((16, 4), (16, 5), (32, 9), (64, 11)):
        statics, scalars = op.bind({"num_hidden": units})
        inputs = (((batch, 7), F32), ((units, 7), F32), ((units,), F32))
        traced.traced(op, statics, inputs, len(scalars))
    assert len(traces) == 3 + 1  # the batch changed only the third time; one proves it


def test_a_number_of_elements_that_never_changed_is_not_constant() -> None:
    op = find("mean")
    statics, scalars = op.bind({})
    shapes = [
        [((rows, columns), F32)] for rows, columns in ((3, 8), (4, 6), (2, 12), (4, 3), (5, 7))
    ]
    # Only the traces for other numbers of elements show what follows from them.
    assert compared(op, statics, shapes, len(scalars)) == 1


def test_numbers_that_agree_by_chance() -> None:
    """A table of the classes and others has as many rows as there are samples, less one."""

    def table(labels, *, classes: int):
        return jnp.zeros((classes + 1, classes + 1)) + labels.sum()

    op = Op("_table_of_classes", table)
    table.__module__ = "mixnet.ops"  # as one of mixnet's own
    for samples, classes in ((4, 2), (6, 4), (8, 6), (3, 2), (9, 2)):
        statics, _ = op.bind({"classes": classes})
        (result,) = traced.traced(op, statics, (((samples,), F32),), 0).out_avals
        assert result.shape == (classes + 1, classes + 1)


def recurrent(mode: str, bidirectional: bool, sizes: list[tuple[int, int]]) -> Any:
    """``RNN`` and inputs for these steps and batches."""
    op = find("RNN")
    attributes = {"state_size": 8, "num_layers": 2, "mode": mode, "bidirectional": bidirectional}
    statics, _ = op.bind({**attributes, "state_outputs": True})
    shapes = []
    for steps, batch in sizes:
        known = rnn_shapes((steps, batch, 5), 8, 2, bidirectional, mode, None)
        names = ["parameters", "state", "state_cell"][: 3 if mode == "lstm" else 2]
        arrays = [((steps, batch, 5), F32), *[(known[name], F32) for name in names]]
        shapes.append([*arrays, STREAM_SPEC])
    return op, statics, shapes


@pytest.mark.parametrize("mode", ["lstm", "gru", "rnn_relu"])
@pytest.mark.parametrize("bidirectional", [False, True])
def test_sequences_of_other_lengths_are_not_traced(
    traces: list[str], mode: str, bidirectional: bool
) -> None:
    sizes = [(7, 3), (11, 6), (20, 9), (35, 3), (9, 12), (13, 17)]
    op, statics, shapes = recurrent(mode, bidirectional, sizes)
    assert compared(op, statics, shapes, 1) == 4
    width = 16 if bidirectional else 8
    headed = [[((*inputs[0][0][:2], width), F32), *inputs] for inputs in shapes]
    assert compared(BackwardOp(op), (statics, (0,), (0, 1)), headed, 1) == 4


def test_the_state_of_the_generator_is_not_an_extent(traces: list[str]) -> None:
    """A length of 3 is as any other, although a stream has three words."""
    op, statics, shapes = recurrent("gru", False, [(7, 6), (6, 11), (3, 9), (9, 3)])
    assert compared(op, statics, shapes, 1) == 2


@pytest.mark.parametrize("lengths", [False, True])
def test_ctc_of_other_lengths_is_not_traced(lengths: bool) -> None:
    op = find("CTCLoss")
    statics, _ = op.bind({"use_data_lengths": lengths, "use_label_lengths": lengths})
    shapes = []
    for steps in (7, 12, 9, 10, 31, 25):
        arrays = [((steps, 3, 6), F32), ((3, 4), F32), *[((3,), F32)] * (2 * lengths)]
        shapes.append(arrays)
    assert compared(op, statics, shapes, 0) == 4
    headed = [[((3,), F32), *inputs] for inputs in shapes]
    assert compared(BackwardOp(op), (statics, (0,), (0,)), headed, 0) == 4


def test_a_number_that_stays_is_known_between_two_extents() -> None:
    def behind_a_tenth(data):
        return data[data.shape[0] // 10 :]

    op = Op("_behind_a_tenth", behind_a_tenth)
    behind_a_tenth.__module__ = "mixnet.ops"  # as one of mixnet's own
    shapes = [[((rows, 2), F32)] for rows in (100, 109, 104, 105, 106, 112, 130)]
    assert compared(op, (), shapes, 0) == 2  # 105 and 106, once 104 has agreed


def test_parts_that_equal_an_extent_by_chance_are_traced_once_more() -> None:
    op = find("_npi_dsplit")
    statics, scalars = op.bind({"indices": (), "sections": 2})
    shapes = [[(shape, F32)] for shape in ((2, 3, 4), (14, 9, 28), (5, 6, 8), (7, 2, 12))]
    assert compared(op, statics, shapes, len(scalars)) == 0
    family = next(iter(traced._families.values()))
    assert not any(template.is_sure for template in family._templates)


def test_values_written_to_indices_must_match_their_number() -> None:
    array = mx.np.zeros(4)
    for size in (4, 28, 14):
        array = mx.np.zeros(size)
        array[::2] = mx.np.ones(size // 2)
        assert array.asnumpy().tolist() == [1, 0] * (size // 2)
    with pytest.raises(mx.base.MXNetError):
        array[::2] = mx.np.ones(8)
    with pytest.raises(ValueError, match="broadcast"):
        np.zeros(14)[::2] = np.ones(8)


def test_the_smaller_of_two_extents_is_not_one_of_them() -> None:
    op = find("_np_diagonal")
    statics, scalars = op.bind({})
    shapes = [[(shape, F32)] for shape in ((2, 3), (5, 7), (9, 4), (6, 6), (4, 8))]
    assert compared(op, statics, shapes, len(scalars)) == 1  # (4, 8)


def test_extents_that_are_equal_by_chance_are_not_traced(traces: list[str]) -> None:
    """Two layers of a network show what a third does, although its batch is as large as its width."""
    op = find("FullyConnected")
    for batch, units, width in ((16, 4, 6), (24, 5, 7), (8, 8, 3), (9, 9, 9), (4, 6, 4)):
        statics, scalars = op.bind({"num_hidden": units})
        inputs = (((batch, width), F32), ((units, width), F32), ((units,), F32))
        (result,) = traced.traced(op, statics, inputs, len(scalars)).out_avals
        assert result.shape == (batch, units)
    assert len(traces) == 2 + 1  # and one that proves it


def test_a_recurrent_network_of_many_lengths_computes_what_it_should() -> None:
    """Every length in one process gives the bits that it gives in a process of its own."""
    random = np.random.default_rng(0)
    weight = mx.nd.array(random.normal(size=480).astype("float32") * 0.3)

    def gradients(steps: int) -> list[np.ndarray]:
        data = mx.nd.array(np.random.default_rng(steps).normal(size=(steps, 2, 5)))
        arrays = [data, weight.copy(), mx.nd.zeros((1, 2, 8)), mx.nd.zeros((1, 2, 8))]
        for each in arrays[:2]:
            each.attach_grad()
        with autograd.record():
            out = mx.nd.RNN(*arrays, state_size=8, num_layers=1, mode="lstm")
            (out * out).sum().backward()
        return [out.asnumpy(), *[each.grad.asnumpy() for each in arrays[:2]]]

    steps = [4, 6, 9, 3, 7, 11]
    one_after_the_other = [gradients(each) for each in steps]
    for each, results in zip(steps, one_after_the_other, strict=True):
        traced.clear()
        for result, expected in zip(results, gradients(each), strict=True):
            np.testing.assert_array_equal(result, expected)


def test_templates_refuse_what_the_operator_refuses() -> None:
    op = find("Convolution")
    for filters, features in ((4, 6), (8, 10), (6, 14)):
        statics, _ = op.bind({"kernel": (3, 3), "num_filter": filters})
        traced.traced(
            op,
            statics,
            (((2, features, 9, 9), F32), ((filters, features, 3, 3), F32), ((filters,), F32)),
            0,
        )
    with pytest.raises(mx.base.MXNetError, match="kernel"):
        traced.traced(op, statics, (((2, 14, 2, 2), F32), ((6, 14, 3, 3), F32), ((6,), F32)), 0)
    with pytest.raises(mx.base.MXNetError):
        traced.traced(op, statics, (((2, 14, 9, 9), F32), ((6, 15, 3, 3), F32), ((6,), F32)), 0)


def test_normalization_of_many_shapes_is_right(traces: list[str]) -> None:
    """Batch normalization and its gradient, also where the number of elements is in the program."""
    for channels, extent in ((4, 6), (5, 8), (7, 3), (10, 9), (3, 5)):
        data = np.random.default_rng(channels).normal(size=(2, channels, extent, extent))
        array = mx.nd.array(data.astype("float32"))
        array.attach_grad()
        gamma, beta, mean, var = (mx.nd.ones(channels), *[mx.nd.zeros(channels) for _ in range(3)])
        with autograd.record():
            out = mx.nd.BatchNorm(array, gamma, beta, mean, var, fix_gamma=False, eps=1e-5)
            (out * out * out).sum().backward()
        centred = data - data.mean((0, 2, 3), keepdims=True)
        scale = 1 / np.sqrt(data.var((0, 2, 3), keepdims=True) + 1e-5)
        np.testing.assert_allclose(out.asnumpy(), centred * scale, rtol=1e-4, atol=1e-5)
        head = 3 * (centred * scale) ** 2
        normal = centred * scale
        expected = scale * (
            head
            - head.mean((0, 2, 3), keepdims=True)
            - normal * (head * normal).mean((0, 2, 3), keepdims=True)
        )
        np.testing.assert_allclose(array.grad.asnumpy(), expected, rtol=1e-3, atol=1e-4)
    assert traces.count("BatchNorm") == traces.count("_backward_BatchNorm") == 2 + 1


@pytest.mark.parametrize(
    "name, params, shapes",
    [
        ("add", {}, [(2, 3), (3, 2)]),
        ("broadcast_in_dim", {"shape": (4, 3), "broadcast_dimensions": (0, 1)}, [(2, 3)]),
        ("reshape", {"new_sizes": (5,)}, [(2, 3)]),
        ("squeeze", {"dimensions": (0,)}, [(2, 3)]),
        ("concatenate", {"dimension": 0}, [(2, 3), (2, 4)]),
        ("split", {"axis": 0, "sizes": (1, 2)}, [(2, 3)]),
        ("slice", {"start_indices": (0,), "limit_indices": (5,), "strides": None}, [(4,)]),
        ("dot_general", {"dimension_numbers": (((1,), (0,)), ((), ()))}, [(2, 3), (4, 2)]),
        ("sort", {}, [(2, 3), (3, 2)]),
        ("stack", {"axis": 0}, [(2, 3), (3, 2)]),
        ("pad", {"padding_config": ((-2, -1, 0),)}, [(2,), ()]),
        ("dynamic_slice", {"slice_sizes": (3,)}, [(2,), ()]),
        ("dynamic_update_slice", {}, [(2,), (3,), ()]),
        ("gather", {"dimension_numbers": ROWS, "slice_sizes": (1, 4)}, [(2, 3), (5, 1)]),
        ("gather", {"dimension_numbers": ROWS, "slice_sizes": (1, 3)}, [(2, 3), (5, 2)]),
        ("scatter-add", {"dimension_numbers": TO_ROWS}, [(2, 3), (5, 1), (4, 3)]),
        ("scatter-add", {"dimension_numbers": TO_ROWS}, [(2, 3), (5, 1), (5, 4)]),
        ("fft", {}, [(2, 3)]),
    ],
)
def test_shapes_that_do_not_fit_have_no_result(
    name: str, params: dict[str, Any], shapes: list[tuple[int, ...]]
) -> None:
    assert result_shapes(name, params, shapes) is None


def test_functions_of_users_are_traced_for_every_shape() -> None:
    def twice_the_many(data):
        return data + data if data.shape[0] > 8 else data

    op = Op("_twice_the_many", twice_the_many)
    for rows, steps in ((3, 0), (5, 0), (7, 0), (9, 1)):
        jaxpr = traced.traced(op, (), (((rows, 2), F32),), 0)
        assert len(jaxpr.jaxpr.eqns) == steps


def test_a_product_of_extents_of_two_inputs_is_not_constant() -> None:
    def mean_of_product(left, right):
        return (left @ right).mean()

    op = Op("_mean_of_product", mean_of_product)
    mean_of_product.__module__ = "mixnet.ops"  # as one of mixnet's own
    shapes = [
        [((rows, inner), F32), ((inner, columns), F32)]
        for rows, inner, columns in (
            (3, 5, 8),
            (4, 5, 6),
            (2, 5, 12),
            (7, 5, 9),
            (6, 5, 10),
            (3, 5, 11),
        )
    ]
    assert compared(op, (), shapes, 0) >= 1


def test_parts_whose_ends_are_rounded_are_not_constant() -> None:
    op = find("_npi_hsplit")
    statics, scalars = op.bind({"indices": (), "axis": 1, "squeeze_axis": False, "sections": 3})
    shapes = [
        [((rows, columns), F32)] for rows, columns in ((2, 5), (4, 6), (3, 7), (2, 9), (4, 10))
    ]
    compared(op, statics, shapes, len(scalars))
