"""Facts derived from the programs of operators hold for their results."""

from __future__ import annotations

import jax
import numpy as np
import pytest

from mixnet.ops import find
from mixnet.ops.tracing.dataflow import Program, program
from tests.each_record import each_record

F32 = np.dtype("float32")


def program_of(name: str, attributes: dict, *shapes: tuple[int, ...]) -> tuple[Program, tuple]:
    op = find(name)
    statics, scalars = op.bind(attributes)
    specs = [(shape, F32) for shape in shapes]
    return program(op, statics, specs, len(scalars)), scalars


ONE = {
    "relu": {}, "Activation": {"act_type": "softrelu"}, "exp": {}, "tanh": {}, "erf": {},
    "_plus_scalar": {"scalar": 2.0}, "_power_scalar": {"scalar": 2.0}, "clip": {"a_min": 0, "a_max": 1},
    "softsign": {}, "Cast": {"dtype": "int32"}, "smooth_l1": {"scalar": 1.0},
    "Flatten": {}, "_copy": {}, "BlockGrad": {},
}  # fmt: skip
WHOLE = {
    "softmax": {},
    "transpose": {},
    "cumsum": {"axis": 0},
    "reverse": {"axis": "0"},
    "sort": {},
}


@each_record("name", ONE)
def test_elementwise_operators_may_be_computed_in_place(name: str) -> None:
    actual, scalars = program_of(name, ONE[name], (4, 5))
    assert actual.elementwise == [{0}]
    x = np.random.uniform(0.1, 0.9, (4, 5)).astype(F32)
    other = np.random.uniform(0.1, 0.9, (4, 5)).astype(F32)
    other[2, 3] = x[2, 3]
    numbers = [np.float64(each) for each in scalars]
    with jax.enable_x64(True):
        first, second = actual.run([x, *numbers])[0], actual.run([other, *numbers])[0]
    assert np.asarray(first).flat[13] == np.asarray(second).flat[13]


@pytest.mark.parametrize("name", WHOLE)
def test_others_may_not(name: str) -> None:
    actual, _ = program_of(name, WHOLE[name], (4, 4))
    assert actual.elementwise == [frozenset()]


@pytest.mark.parametrize(
    ("name", "shapes", "places"),
    [
        ("elemwise_add", [(4, 5), (4, 5)], {0, 1}),
        ("broadcast_mul", [(4, 5), (1, 5)], {0}),
        ("broadcast_mul", [(1, 5), (4, 5)], {1}),
        ("add_n", [(3,), (3,), (3,)], {0, 1, 2}),
        ("dot", [(4, 4), (4, 4)], set()),
        ("Concat", [(4, 4), (4, 4)], set()),
    ],
)
def test_operators_of_several_arrays(name: str, shapes: list, places: set[int]) -> None:
    actual, _ = program_of(name, {}, *shapes)
    assert actual.elementwise == [places]
    assert actual.reads == set(range(len(shapes)))


def test_a_cast_to_another_width_is_not_in_place() -> None:
    assert program_of("Cast", {"dtype": "float16"}, (4, 5))[0].elementwise == [frozenset()]


def test_the_same_elements() -> None:
    assert program_of("Flatten", {}, (2, 3, 4))[0].same_elements == {0: 0}
    assert program_of("expand_dims", {"axis": 0}, (2, 3))[0].same_elements == {0: 0}
    assert program_of("transpose", {}, (2, 3))[0].same_elements == {}
    assert program_of("Cast", {"dtype": "float32"}, (2, 3))[0].same_elements == {0: 0}


def test_values_that_are_not_read() -> None:
    assert program_of("zeros_like", {}, (2, 3))[0].reads == frozenset()
    assert program_of("SoftmaxOutput", {}, (2, 3), (2,))[0].reads == {0}


def test_workspace_is_what_no_compiler_fuses() -> None:
    assert program_of("tanh", {}, (64, 64))[0].workspace == 0
    # the bias is added where the product is written
    fc, _ = program_of("FullyConnected", {"num_hidden": 8}, (4, 8), (8, 8), (8,))
    assert fc.workspace == 0
    assert program_of("argsort", {}, (4, 8))[0].workspace > 0


def test_a_program_runs_as_its_function() -> None:
    actual, _ = program_of("softmax", {"axis": 0}, (4, 5))
    x = np.random.normal(size=(4, 5)).astype(F32)
    expected = np.exp(x) / np.exp(x).sum(0)
    np.testing.assert_allclose(actual.run([x])[0], expected, rtol=1e-5)
