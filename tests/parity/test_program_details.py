"""Small things that programs of MXNet's time rely on; the answers are those of MXNet 1.9.1."""

from __future__ import annotations

import json
import sys
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as onp
import pytest

import mixnet as mx
from mixnet import autograd, gluon, nd
from tests import processes


@pytest.fixture
def numpy_rules() -> Any:
    mx.npx.set_np()
    yield
    mx.npx.reset_np()


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: gluon.nn.Dense(256), "Dense(-1 -> 256, linear)"),
        (
            lambda: gluon.nn.Conv2D(3, 4),
            "Conv2D(-1 -> 3, kernel_size=(4, 4), stride=(1, 1))",
        ),
        (
            lambda: gluon.nn.Conv2DTranspose(3, 4),
            "Conv2DTranspose(3 -> -1, kernel_size=(4, 4), stride=(1, 1))",
        ),
        (
            lambda: gluon.nn.BatchNorm(),
            "BatchNorm(axis=1, eps=1e-05, momentum=0.9, fix_gamma=False, use_global_stats=False, "
            "in_channels=-1)",
        ),
    ],
)
def test_unknown_extents_print_by_the_rules_of_shapes(
    make: Any, text: str, numpy_rules: Any
) -> None:
    assert repr(make()) == text


def test_unknown_extents_print_as_none_without_numpy_rules() -> None:
    assert repr(gluon.nn.Dense(256)) == "Dense(None -> 256, linear)"


@pytest.mark.parametrize("np", [nd, mx.np])
def test_head_gradient_of_another_shape_gives_its_elements(np: Any) -> None:
    x = np.ones((2, 3))
    x.attach_grad()
    with autograd.record():
        y = x * 2
    y.backward(np.arange(6))
    assert x.grad.asnumpy().tolist() == [[0, 2, 4], [6, 8, 10]]


def test_head_gradient_of_another_size_is_refused() -> None:
    # MXNet reads behind the end of the gradient.
    x = nd.ones((2, 3))
    x.attach_grad()
    with autograd.record():
        y = x * 2
    with pytest.raises(mx.MXNetError, match=r"shape \(5,\), its head \(2, 3\)"):
        y.backward(nd.arange(5))


@pytest.mark.parametrize(
    ("source", "values"),
    [
        (["38", "111"], [38, 111]),
        ([b"1"], [1]),
        (onp.array([1, "2.5"], dtype=object), [1, 2.5]),
        ([1.0, None], [1, onp.nan]),
        ([Decimal("1.5")], [1.5]),
        (onp.array(["2020-01-01"], dtype="datetime64[D]"), [18262]),
    ],
)
def test_arrays_are_made_of_what_numpy_makes_numbers_of(source: Any, values: list[float]) -> None:
    onp.testing.assert_array_equal(nd.array(source).asnumpy(), onp.float32(values))
    stored = nd.zeros(len(values))
    stored[:] = source
    onp.testing.assert_array_equal(stored.asnumpy(), onp.float32(values))


@pytest.mark.parametrize("source", [["x", "111"], [1j], [[1], [1, 2]], "x"])
def test_other_values_than_numbers_are_type_errors(source: Any) -> None:
    with pytest.raises(TypeError, match="takes numbers in nested lists"):
        nd.array(source)


def test_text_of_a_fraction_is_not_an_integer() -> None:
    assert nd.array(["3", "4"], dtype="int32").asnumpy().tolist() == [3, 4]
    with pytest.raises(TypeError, match="takes numbers"):
        nd.array(["3.5"], dtype="int32")


def test_an_array_passed_as_dtype_stands_for_its_own_dtype() -> None:
    whole = nd.array([1, 2], dtype="int32")
    for array in (
        nd.ones(2).astype(whole),
        nd.zeros(2, dtype=whole),
        nd.array([1.5], dtype=whole),
        nd.cast(nd.ones(2), dtype=whole),
        nd.arange(3, dtype=whole),
    ):
        assert array.dtype is onp.int32
    with pytest.raises(TypeError, match="is not a data type"):
        nd.ones(2).astype(onp.zeros(2, "int8"))


@pytest.mark.parametrize(("left", "right"), [((2, 3), (3,)), ((2, 1), (1, 3))])
def test_integers_of_other_shapes_are_divided_towards_zero(left: Any, right: Any) -> None:
    quotient = nd.full(left, -7, dtype="int32") / nd.full(right, 2, dtype="int32")
    assert quotient.dtype is onp.int32
    assert quotient.asnumpy().tolist() == [[-3] * 3] * 2


@pytest.mark.parametrize(
    ("target", "keep", "shape"),
    [
        ((2, 0), False, (2, 12)),
        ((0, 12), False, (2, 12)),
        ((0,), False, (24,)),
        ((4, 6), False, (4, 6)),
        ((0, 0), True, (2, 12)),
        ((5, 4, 0), True, (2, 4, 3)),
    ],
)
def test_target_shape_of_old_files(target: Any, keep: bool, shape: Any) -> None:
    options = {"target_shape": target, "keep_highest": keep}
    assert nd.Reshape(nd.ones((2, 3, 4)), **options).shape == shape
    symbol = mx.sym.Reshape(mx.sym.var("x"), **options)
    assert symbol.infer_shape(x=(2, 3, 4))[1] == [shape]


@pytest.mark.parametrize(("target", "keep"), [((0,), True), ((0, 0), False), ((2, 0, 5), False)])
def test_target_shape_that_does_not_hold_the_elements(target: Any, keep: bool) -> None:
    # MXNet writes behind the end of the result.
    with pytest.raises(mx.MXNetError, match="cannot become target_shape="):
        nd.Reshape(nd.ones((2, 3, 4)), target_shape=target, keep_highest=keep)


def test_buckets_without_sentences_are_left_out(capsys: Any) -> None:
    sentences = [[1, 2], [3, 4], [1, 2, 3, 4, 5, 6, 7]]
    batches = mx.rnn.BucketSentenceIter(sentences, 1, buckets=[2, 3, 5], invalid_label=0)
    assert "discarded 1 sentences" in capsys.readouterr().out
    assert (batches.buckets, batches.default_bucket_key) == ([2], 2)
    assert [(each.bucket_key, each.data[0].shape) for each in batches] == [(2, (1, 2))] * 2
    with pytest.raises(ValueError, match="longer than the largest bucket"):
        mx.rnn.BucketSentenceIter([[1, 2, 3]], 1, buckets=[2])


@pytest.mark.parametrize("state", ["run", "stop"])
def test_a_profile_is_written_at_exit_without_dump(state: str, tmp_path: Path) -> None:
    code = f"""
import mixnet as mx
mx.profiler.set_config(profile_all=True, filename={str(tmp_path / "trace.json")!r})
mx.profiler.set_state("run")
(mx.nd.ones(3) + 1).wait_to_read()
mx.profiler.set_state({state!r})
"""
    processes.run([sys.executable, "-c", code], check=True, timeout=240)
    assert json.loads((tmp_path / "trace.json").read_text())["traceEvents"]


def test_errors_of_the_profiler() -> None:
    with pytest.raises(KeyError, match="expected 'run' or 'stop'"):
        mx.profiler.set_state("go")
    for wrong in ({"format": "xml"}, {"sort_by": "name"}):
        with pytest.raises(AssertionError, match="expected one of"):
            mx.profiler.dumps(**wrong)


def test_functions_of_symbols_take_two_numbers() -> None:
    sym = mx.sym
    numbers = [sym.pow(2, 3), sym.maximum(2, 3), sym.minimum(2, 3), sym.hypot(3, 4)]
    assert numbers == [8, 3, 2, 5]
    with pytest.raises(TypeError, match="Give symbols or numbers, not str and int"):
        sym.pow("a", 3)


def test_an_operator_without_attributes_accepts_any_user_attribute() -> None:
    assert mx.sym.exp(mx.sym.var("x"), name="e", attr={"a": "b"}).attr_dict() == {"e": {"a": "b"}}
    with pytest.raises(mx.MXNetError, match="must be named as '__a__'"):
        mx.sym.FullyConnected(mx.sym.var("x"), num_hidden=2, attr={"a": "b"})


def test_loops_raise_an_assertion_error_for_other_things_than_arrays() -> None:
    data, state = nd.ones((2, 2)), nd.ones(2)
    for run in (
        lambda: nd.contrib.foreach(lambda d, s: (d, s), 3, state),
        lambda: nd.contrib.foreach(lambda d, s: (d, s), data, 3),
        lambda: nd.contrib.foreach(lambda d, s: (3, s), data, state),
    ):
        with pytest.raises(AssertionError, match="must be an array or a list of arrays, not 3"):
            run()
    with pytest.raises(ValueError, match="func returned a"):
        nd.contrib.while_loop(lambda i: i < 3, lambda i: i, (state[:1],), max_iterations=2)


def test_randn_has_the_shape_of_its_parameters() -> None:
    random = nd.random
    assert random.randn(loc=nd.zeros(2), scale=nd.ones(2)).shape == (2,)
    assert random.randn(3, loc=nd.zeros(2), scale=nd.ones(2)).shape == (2, 3)
    assert random.randn(2, 3, loc=1.0).shape == (2, 3)


def test_gather_nd_has_an_index_for_each_axis_at_most() -> None:
    with pytest.raises(mx.MXNetError, match="give an index for each axis at most"):
        nd.gather_nd(nd.ones((2, 3)), nd.ones((3, 1)))


@pytest.mark.parametrize("name", ["elemwise_add", "broadcast_equal", "broadcast_maximum"])
def test_operators_of_nd_take_no_booleans(name: str) -> None:
    mask = nd.array([1, 0], dtype="bool")
    with pytest.raises(
        TypeError, match=r"takes numbers, not booleans; cast with astype\('float32'\)"
    ):
        getattr(nd, name)(mask, mask)
    both = mx.np.array([True, False], dtype="bool")
    assert (both + both).asnumpy().tolist() == [True, False]


@pytest.mark.parametrize(
    ("count", "quantiles"), [(2, [1, 0, 1, 0]), (6, [3, 1, 4, 1]), (12, [6, 3, 8, 1])]
)
def test_the_nearest_of_two_that_are_as_near_is_the_upper_one(
    numpy_rules: None, count: int, quantiles: list[float]
) -> None:
    """Values: MXNet 1.9.1."""
    numbers = mx.np.arange(count)
    expected = mx.np.array([0.5, 0.25, 0.75, 0.1])
    actual = mx.np.quantile(numbers, expected, interpolation="nearest")
    assert actual.asnumpy().tolist() == quantiles
    rows = mx.np.stack([numbers, numbers + 1])
    assert mx.np.percentile(rows, 50, axis=1, interpolation="nearest").asnumpy().tolist() == [
        quantiles[0],
        quantiles[0] + 1,
    ]


@pytest.mark.parametrize("shape", [(1,), (1, 1), (1, 1, 1)])
def test_asscalar_of_more_axes_keeps_them(shape: tuple[int, ...]) -> None:
    actual = nd.ones(shape).asscalar()
    assert onp.shape(actual) == (() if len(shape) == 1 else shape)
    assert isinstance(nd.ones(shape).item(), onp.float32)


def test_arrays_of_one_face_are_not_assigned_to_those_of_the_other() -> None:
    ours, theirs = mx.np.zeros((2, 3)), nd.zeros((2, 3))
    for key in (slice(None), 0, (slice(None), 1), (0, 1)):
        part = ours[key]
        with pytest.raises(TypeError, match=r"value\.as_np_ndarray\(\)"):
            ours[key] = part.as_nd_ndarray()
        with pytest.raises(TypeError, match=r"value\.as_nd_ndarray\(\)"):
            theirs[key] = part
    with pytest.raises(TypeError, match=r"value\.as_np_ndarray\(\)"):
        ours[ours < 1] = nd.ones(1)
    ours[0] = nd.array([1, 2, 3]).as_np_ndarray()
    assert ours.asnumpy().tolist() == [[1, 2, 3], [0, 0, 0]]


def test_parameters_take_arrays_of_both_faces(numpy_rules: None) -> None:
    parameter = gluon.Parameter("w", shape=(2,))
    parameter.initialize(mx.init.Constant(nd.array([1, 2])))
    assert parameter.data().asnumpy().tolist() == [1, 2]
    parameter.set_data(nd.array([3, 4]))
    assert parameter.data().asnumpy().tolist() == [3, 4]


def test_composition_takes_symbols_by_position_or_by_name() -> None:
    net = mx.sym.exp(mx.sym.var("a"))
    with pytest.raises(TypeError, match="by name, not both"):
        net(mx.sym.var("x"), a=mx.sym.var("x"))


def test_dtypes_of_variables_that_are_not_there() -> None:
    net = mx.sym.exp(mx.sym.var("a"))
    for infer in (net.infer_type, net.infer_type_partial):
        with pytest.raises(mx.MXNetError, match="there is no variable 'b'"):
            infer(b="float32")


def test_arguments_of_a_loop_are_named_as_in_its_bodies() -> None:
    """MXNet 1.9.1 lists them so."""
    weight = mx.sym.var("w")
    rows, values = mx.sym.contrib.while_loop(
        lambda i, s: mx.sym.sum(i) < 5,
        lambda i, s: (i * weight, [i + 1, s + i * weight]),
        [mx.sym.var("i"), mx.sym.var("s")],
        max_iterations=4,
    )
    loop = mx.sym.Group([rows, *values])
    assert loop.list_arguments() == ["i", "w", "s"]
    arrays = {"i": nd.array([2.0]), "s": nd.array([1.0]), "w": nd.array([3.0])}
    gradients = {name: nd.zeros(1) for name in arrays}
    executor = loop.bind(mx.cpu(), arrays, gradients)
    outputs = executor.forward(is_train=True)
    assert [each.asnumpy().ravel()[:3].tolist() for each in outputs] == [[6, 9, 12], [5], [28]]
    executor.backward([nd.ones_like(each) for each in outputs])
    assert {name: each.asscalar() for name, each in gradients.items()} == {"i": 19, "w": 18, "s": 1}


def test_products_of_sparse_arrays_have_one_dtype() -> None:
    csr = nd.array([[1, 0], [0, 2]], dtype="float64").tostype("csr")
    for left, right in ((csr, nd.ones((2, 2))), (nd.ones((2, 2)), csr)):
        with pytest.raises(mx.MXNetError, match="both must have the same dtype"):
            nd.dot(left, right)
    assert nd.dot(csr, nd.ones((2, 2), dtype="float64")).asnumpy().tolist() == [[1, 1], [2, 2]]


def test_lamb_on_a_sparse_weight() -> None:
    """Values: MXNet 1.9.1, which runs on dense copies."""
    updater = mx.optimizer.get_updater(mx.optimizer.create("lamb", learning_rate=0.1, wd=0.01))
    weight = nd.ones((4, 2)).tostype("row_sparse")
    gradient = nd.sparse.row_sparse_array(([[1.0, 2], [3, 4]], [0, 2]), shape=(4, 2))
    for _ in range(2):
        updater(0, gradient, weight)
    assert weight.stype == "row_sparse"
    row, other = [0.7269] * 2, [0.9973] * 2
    onp.testing.assert_allclose(weight.asnumpy(), [row, other, row, other], atol=1e-4)


def test_sign_and_logarithm_of_a_determinant_are_a_list() -> None:
    actual = mx.np.linalg.slogdet(mx.np.eye(2))
    assert isinstance(actual, list) and [float(each) for each in actual] == [1, 0]


def test_positions_of_sparse_values_have_types() -> None:
    assert nd.sparse.zeros("csr", (2, 2))._aux_types == [onp.int64, onp.int64]
    assert nd.sparse.zeros("row_sparse", (2, 2))._aux_types == [onp.int64]


def test_random_symbols_have_the_requested_shape_and_dtype() -> None:
    random, a, b = mx.sym.random, mx.sym.var("a"), mx.sym.var("b")
    assert random.uniform(shape=(2, 3)).list_attr() == {"low": "0", "high": "1", "shape": "(2, 3)"}
    assert random.normal(0, 1, shape=2, dtype="float64").list_attr()["dtype"] == "float64"
    assert random.uniform(a, b).list_attr() == {}
    assert random.multinomial(a).list_attr() == {"dtype": "int32", "get_prob": "True"}


def test_bool_of_np_is_that_of_python() -> None:
    assert mx.np.bool is bool and mx.np.bool_ is onp.bool_


def test_custom_operators_say_their_dtypes() -> None:
    class Prop(mx.operator.CustomOpProp):
        def list_arguments(self) -> list[str]:
            return ["a", "b"]

        def list_outputs(self) -> list[str]:
            return ["u", "v"]

        def list_auxiliary_states(self) -> list[str]:
            return ["c"]

        def infer_type(self, in_type: list[Any]) -> tuple[Any, ...]:
            return [in_type[0], onp.int32], [in_type[0], onp.int8], [onp.float64]

    mx.operator.register("says_dtypes")(Prop)
    both = mx.sym.Custom(a=mx.sym.var("p"), b=mx.sym.var("q"), op_type="says_dtypes")
    double, states = onp.float64, [onp.float64]
    assert both.infer_type(p="float64") == ([double, onp.int32], [double, onp.int8], states)
    assert (both[1] + 1).infer_type(p="float16")[1] == [onp.int8]
    with pytest.warns(UserWarning, match="cannot be inferred"):
        assert both.infer_type(q="int32") == (None, None, None)
    assert both.infer_type_partial(q="int32") == ([None, onp.int32], [None, onp.int8], states)
