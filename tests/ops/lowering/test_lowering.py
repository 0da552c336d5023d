"""Lowerings against the operators that they stand for: values and gradients, on odd shapes."""

from __future__ import annotations

import json
from itertools import product

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from mixnet.ops.lowering import batch_norm, convolution, grouped, onednn, pooling
from mixnet.ops.lowering.activation import relu_gradient
from mixnet.ops.nn.pooling import window_widths
from mixnet.ops.registry import find
from mixnet.passes.choose_layout import cache_folder
from mixnet.runtime.compile import disk_cache
from tests.each_record import each_record

HAS_ONEDNN = onednn.available(cache_folder())
METHODS = ["xla", *(["onednn"] if HAS_ONEDNN else [])]


@pytest.fixture(autouse=True, scope="module")
def _not_on_disk():
    """Calls of oneDNN, made here outside of programs, cannot be written to disk."""
    with disk_cache.not_on_disk():
        yield


def normal(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def last(array: np.ndarray) -> np.ndarray:
    return np.transpose(array, (0, 2, 3, 1))


def first(array) -> np.ndarray:
    return np.transpose(np.asarray(array), (0, 3, 1, 2))


def close(actual, expected) -> None:
    scale = float(np.max(np.abs(expected), initial=1.0))
    np.testing.assert_allclose(actual, expected, rtol=1e-4, atol=2e-5 * scale)


def plain_convolution(stride, dilate, pad, kernel, filters, groups):
    op = find("Convolution")
    statics, _ = op.bind(
        {
            "kernel": kernel,
            "stride": stride,
            "dilate": dilate,
            "pad": pad,
            "num_filter": filters,
            "num_group": groups,
            "no_bias": True,
        }
    )
    return lambda x, w: op.apply(statics, [x, w])[0]


def compiled(function):
    """One program of all that a test compares, which LLVM need not make fast: each runs once."""
    quick = {"xla_backend_optimization_level": 0, "xla_llvm_disable_expensive_passes": True}
    return jax.jit(function, compiler_options=quick)


def with_gradients(function, *arrays, seed=2):
    """A function's result, numbers as its gradient, and the gradients of the arrays."""
    head = normal(*jax.eval_shape(function, *arrays).shape, seed=seed)

    def both(head, *arrays):
        result, pull = jax.vjp(function, *arrays)
        return result, pull(head)

    result, gradients = compiled(both)(head, *arrays)
    return result, head, gradients


def check_convolution(methods, batch, channels, filters, extents, kernel, stride, dilate, pad,
                      groups=1):  # fmt: skip
    """Results and gradients of some methods, all in one program, against the operator's."""
    data = normal(batch, channels * groups, *extents)
    weight = normal(filters * groups, channels, *kernel, seed=1)
    plain = plain_convolution(stride, dilate, pad, kernel, filters * groups, groups)
    expected, head, (expected_data, expected_weight) = with_gradients(plain, data, weight)
    same = {"stride": stride, "dilate": dilate, "pad": pad, "groups": groups}
    window = {**same, "kernel": kernel}
    backward = {convolution.data_gradient_method(each, window, extents) for each in methods}
    ways = ["dot", "xla"] if groups == 1 else ["dot", "grouped"]
    if "onednn" in methods and batch > 1:  # which it takes for channels
        ways.append("onednn")

    def lowered(data, weight, head):
        forward = [
            convolution.convolution(data, weight, method=method, **same) for method in methods
        ]
        by_data = [
            convolution.data_gradient(head, weight, extents=extents, method=method, **same)
            for method in sorted(backward)
        ]
        by_weight = [
            convolution.weight_gradient(head, data, kernel=kernel, method=way, **same)
            for way in ways
        ]
        return forward, by_data, by_weight, convolution.bias_gradient(head)

    forward, by_data, by_weight, by_bias = compiled(lowered)(last(data), weight, last(head))
    for each in forward:
        close(first(each), expected)
    for each in by_data:
        close(first(each), expected_data)
    for each in by_weight:
        close(each, expected_weight)
    close(by_bias, head.sum((0, 2, 3)))


@each_record(
    ("batch", "extents", "kernel", "stride", "dilate", "pad"),
    [
        (2, (7, 6), (3, 3), (1, 1), (1, 1), (1, 1)),
        (3, (14, 13), (7, 7), (2, 2), (1, 1), (3, 3)),
        (3, (8, 9), (1, 1), (2, 2), (1, 1), (0, 0)),
        (2, (9, 11), (3, 2), (2, 3), (1, 1), (1, 0)),
        (3, (12, 10), (3, 3), (1, 1), (2, 3), (2, 3)),
        (2, (11, 12), (3, 3), (2, 2), (2, 2), (2, 2)),  # stride and dilation: not by phases
        (3, (6, 6), (1, 1), (1, 1), (1, 1), (2, 2)),  # padding beyond the kernel's reach
        (2, (5, 5), (5, 5), (3, 3), (1, 1), (0, 0)),
        (3, (4, 4), (2, 2), (3, 3), (1, 1), (0, 0)),  # places of the data that no window reads
    ],
)
def test_convolutions_and_their_gradients_are_correct(
    batch, extents, kernel, stride, dilate, pad
) -> None:
    check_convolution(METHODS, batch, 4, 5, extents, kernel, stride, dilate, pad)


@pytest.mark.parametrize(
    ("extents", "kernel", "stride", "pad"),
    [((8, 7), (2, 3), (2, 3), (1, 0)), ((2, 4), (3, 2), (1, 2), (1, 1))],
)
def test_axes_that_xla_would_take_for_groups(extents, kernel, stride, pad) -> None:
    """XLA's simplifier ended the process over these: see ``ops/nn/convolve.py``."""
    check_convolution(METHODS, 2, 2, 3, extents, kernel, stride, (1, 1), pad)


@pytest.mark.parametrize(
    ("extents", "kernel", "stride", "pad", "adj"),
    [
        ((5, 2), (2, 3), (2, 3), (1, 0), (0, 0)),
        ((3, 1), (4, 3), (2, 1), (3, 0), (0, 0)),
        ((3, 2), (2, 4), (2, 3), (1, 3), (1, 2)),
    ],
)
def test_transposed_convolutions_are_sums_of_kernels(extents, kernel, stride, pad, adj) -> None:
    data, weight = normal(2, 2, *extents), normal(2, 3, *kernel, seed=1)
    op = find("Deconvolution")
    statics, _ = op.bind(
        {"kernel": kernel, "stride": stride, "pad": pad, "adj": adj, "num_filter": 3}
    )

    def spread(data, weight) -> np.ndarray:
        sizes = [(n - 1) * s + k for n, s, k in zip(extents, stride, kernel, strict=True)]
        out = np.zeros((2, 3, *[n + a for n, a in zip(sizes, adj, strict=True)]), np.float32)
        for i, j in product(*map(range, extents)):
            top, left = i * stride[0], j * stride[1]
            part = np.einsum("nc,cfhw->nfhw", data[:, :, i, j], weight)
            out[:, :, top : top + kernel[0], left : left + kernel[1]] += part
        down, across = (slice(p, n - p) for p, n in zip(pad, out.shape[2:], strict=True))
        return out[:, :, down, across]

    # Both are linear: the gradient is what a step of 1 gains.
    actual, head, (by_data, by_weight) = with_gradients(
        lambda *arrays: op.apply(statics, arrays)[0], data, weight
    )
    close(actual, spread(data, weight))
    step = normal(*data.shape, seed=3)
    close((by_data * step).sum(), (spread(step, weight) * head).sum())
    step = normal(*weight.shape, seed=3)
    close((by_weight * step).sum(), (spread(data, step) * head).sum())


@pytest.mark.parametrize("name", ["im2col", "col2im"])
def test_columns_of_axes_that_xla_would_take_for_groups(name) -> None:
    op = find(name)
    options = {"kernel": (2, 3), "stride": (2, 3), "pad": (1, 0)}
    extents = {"output_size": (8, 7)} if name == "col2im" else {}
    shapes = [(1, 1, 8, 7), (1, 6, 10)]
    data = normal(*(shapes if name == "im2col" else shapes[::-1])[0])
    statics, _ = op.bind({**options, **extents})
    actual, head, (gradient,) = with_gradients(lambda x: op.apply(statics, [x])[0], data)
    close((gradient * data).sum(), (actual * head).sum())


@pytest.mark.parametrize(
    ("channels", "filters", "groups", "stride", "dilate"),
    [
        (3, 2, 4, (2, 1), (1, 1)),
        (1, 1, 6, (1, 2), (1, 1)),  # depthwise
        (1, 3, 4, (1, 1), (2, 1)),  # depthwise, several filters for each channel
        (16, 16, 3, (2, 2), (1, 1)),  # a last block of fewer groups
    ],
)
def test_grouped_convolutions_are_correct(channels, filters, groups, stride, dilate) -> None:
    methods = ["grouped", *METHODS[1:]]
    check_convolution(
        methods, 2, channels, filters, (6, 7), (3, 3), stride, dilate, (1, 1), groups=groups
    )


@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize(
    ("extents", "kernel", "layout"),
    [((9,), (3,), "NCW"), ((4, 5, 6), (3, 2, 2), "NCDHW"), ((6, 5), (2, 3), "NHWC")],
)
def test_groups_in_other_dimensions_and_layouts(channels, extents, kernel, layout) -> None:
    groups, is_last, axes = 4, layout.endswith("C"), len(kernel)
    window = {"stride": (2, *(1,) * (axes - 1)), "dilate": (1,) * axes, "pad": (1,) * axes}
    op = find("Convolution")
    statics, _ = op.bind(
        {
            "kernel": kernel,
            "num_filter": 2 * groups,
            "num_group": groups,
            "layout": layout,
            **window,
        }
    )
    data, weight = normal(2, channels * groups, *extents), normal(8, channels, *kernel, seed=1)
    if is_last:
        data, weight = last(data), last(weight)
    bias = normal(8, seed=3)
    expected, head, expected_gradients = with_gradients(
        lambda *arrays: op.apply(statics, arrays)[0], data, weight, bias
    )
    same = {**window, "groups": groups, "channels_last": is_last}

    def lowered(head, data, weight, bias):
        forward = grouped.convolution_as_written(data, weight, bias, **same)
        return forward, grouped.gradients_as_written(head, data, weight, wrt=(0, 1, 2), **same)

    forward, gradients = compiled(lowered)(head, data, weight, bias)
    close(forward, expected)
    for actual, reference in zip(gradients, expected_gradients, strict=True):
        close(actual, reference)


def test_blocks_are_bounded_and_dense_kernels_hold_zeros() -> None:
    assert grouped._groups_of_block(64, 64, 32) == 16  # 32 channels
    assert grouped._groups_of_block(2048, 2048, 512) == 32  # 16 blocks of 128 channels
    assert grouped._groups_of_block(512, 1024, 2) == 1
    kernel = np.asarray(grouped._dense(normal(4, 3, 2), 2))
    assert kernel.shape == (4, 6, 2)
    assert not kernel[:2, 3:].any() and not kernel[2:, :3].any()


def test_products_for_kernels_of_one_element() -> None:
    for stride in ((1, 1), (2, 3)):
        check_convolution(["dot"], 2, 4, 5, (7, 8), (1, 1), stride, (1, 1), (0, 0))


@settings(max_examples=6, deadline=None)
@given(
    extents=st.tuples(st.integers(1, 9), st.integers(1, 9)),
    kernel=st.tuples(st.integers(1, 4), st.integers(1, 4)),
    stride=st.tuples(st.integers(1, 3), st.integers(1, 3)),
    pad=st.tuples(st.integers(0, 2), st.integers(0, 2)),
    channels=st.integers(1, 3),
    method=st.sampled_from(METHODS),
)
def test_convolutions_of_any_shape(extents, kernel, stride, pad, channels, method) -> None:
    assume(all(n + 2 * p >= k for n, p, k in zip(extents, pad, kernel, strict=True)))
    assume(method != "onednn" or onednn.computes(channels, stride))
    check_convolution([method], 2, channels, 3, extents, kernel, stride, (1, 1), pad)


@each_record("method", METHODS)
@each_record(
    "fusions", [("BIAS",), ("RELU",), ("BIAS", "RELU"), ("BINARY_ADD",), ("BIAS", "BINARY_ADD", "RELU")]
)  # fmt: skip
def test_what_is_fused_with_a_convolution(method, fusions) -> None:
    data, weight = normal(2, 4, 5, 8), normal(6, 8, 3, 3, seed=1)
    bias, other = normal(6, seed=2), normal(2, 4, 5, 6, seed=3)
    same = {"stride": (1, 1), "dilate": (1, 1), "pad": (1, 1)}
    expected = np.asarray(convolution.convolution(data, weight, method="xla", **same))
    operands = []
    for each in fusions:
        if each == "RELU":
            expected = np.maximum(expected, 0)
        else:
            operands.append(bias if each == "BIAS" else other)
            expected = expected + operands[-1]
    actual = convolution.convolution(
        data, weight, *operands, method=method, fusions=fusions, **same
    )
    close(actual, expected)


POOLS = [
    ((8, 6), (2, 2), (2, 2), (0, 0)),
    ((9, 7), (2, 2), (2, 2), (0, 0)),
    ((9, 8), (3, 3), (2, 2), (1, 1)),
    ((7, 7), (3, 2), (1, 2), (1, 0)),
    ((5, 5), (2, 2), (3, 3), (0, 0)),
    ((10, 11), (5, 5), (2, 2), (2, 2)),
    ((6, 5), (6, 5), (1, 1), (0, 0)),
    ((7, 6), (3, 3), (1, 1), (1, 1)),
    ((5, 7), (2, 3), (1, 1), (0, 1)),
]


# The conventions differ only where windows do not fill the data.
CONVENTIONS = [
    (*pool, convention)
    for pool in POOLS
    for convention in ("valid", "full")
    if convention == "valid" or window_widths(*pool, "full") != window_widths(*pool, "valid")
]


@each_record(("extents", "kernel", "stride", "pad", "convention"), CONVENTIONS)
def test_pooling_and_its_gradient_are_correct(extents, kernel, stride, pad, convention) -> None:
    """Every type of pooling: in one program as the operator computes it, in another as lowered."""
    # Few values, so that windows have ties: the gradient goes to the first of the largest.
    data = np.random.default_rng(0).integers(-1, 3, (2, 3, *extents)).astype(np.float32)
    op, types = find("Pooling"), (("max", True), ("avg", True), ("avg", False), ("sum", True))
    widths = window_widths(extents, kernel, stride, pad, convention)

    window = {"kernel": kernel, "stride": stride, "pad": pad, "pooling_convention": convention}

    def plain(pool_type, include):
        statics, _ = op.bind({**window, "pool_type": pool_type, "count_include_pad": include})
        return lambda x: op.apply(statics, [x])[0]

    def as_the_operator(data, head):
        results = []
        for each in types:
            result, pull = jax.vjp(plain(*each), data)
            results.append((result, *pull(head)))
        return results

    def lowered(data, head):
        results = []
        for pool_type, include in types:
            same = {"kernel": kernel, "stride": stride, "widths": widths, "pool_type": pool_type}
            if pool_type == "avg":
                same["counts"] = pooling.window_counts(
                    extents, kernel, stride, pad, widths, include
                )
            read = [data] if pool_type == "max" else []
            gradient = pooling.pooling_gradient(head, *read, extents=extents, **same)
            results.append((pooling.pooling(data, **same), gradient))
        return results

    head = normal(*jax.eval_shape(plain(*types[0]), data).shape, seed=0)
    expected = compiled(as_the_operator)(data, head)
    results = compiled(lowered)(last(data), last(head))
    for each, of_the_operator in zip(results, expected, strict=True):
        for array, truth in zip(each, of_the_operator, strict=True):
            close(first(array), truth)


def test_counts_are_one_number_where_they_are_equal() -> None:
    widths = ((0, 0), (0, 0))
    assert pooling.window_counts((4, 4), (2, 2), (2, 2), (0, 0), widths, True) == 4
    counts = pooling.window_counts((3, 3), (2, 2), (2, 2), (1, 1), ((1, 1), (1, 1)), False)
    assert counts == ((1, 2), (2, 4))


@pytest.mark.parametrize("fix_gamma", [True, False])
@pytest.mark.parametrize("axis", [1, 3])
def test_the_gradient_of_batch_norm_is_correct(fix_gamma, axis) -> None:
    data = normal(4, 5, 6, 7)
    channels = data.shape[axis]
    gamma, beta = normal(channels, seed=2), normal(channels, seed=3)
    moving = [np.zeros(channels, np.float32), np.ones(channels, np.float32)]
    op = find("BatchNorm")
    statics, _ = op.bind({"fix_gamma": fix_gamma, "axis": axis, "eps": 1e-3}, training=True)
    _, head, expected = with_gradients(
        lambda *a: op.apply(statics, [*a, *moving])[0], data, gamma, beta, seed=1
    )
    same = {"axis": axis, "eps": 1e-3, "fix_gamma": fix_gamma, "wide": "float32"}
    choices = ((0, 1, 2), (2, 0), (1,))
    lowered = compiled(
        lambda *arrays: [
            batch_norm.batch_norm_gradient(*arrays, **same, wrt=wrt) for wrt in choices
        ]
    )
    for choice, gradients in zip(choices, lowered(head, data, gamma), strict=True):
        for i, each in zip(choice, gradients, strict=True):
            close(each, expected[i])


def test_folding_scales_weight_and_bias() -> None:
    weight, bias = normal(4, 3, 2, 2), normal(4, seed=1)
    gamma, beta, mean = normal(4, seed=2), normal(4, seed=3), normal(4, seed=4)
    var = np.square(normal(4, seed=5)) + 0.1
    data = last(normal(2, 3, 5, 5, seed=6))
    same = {"stride": (1, 1), "dilate": (1, 1), "pad": (0, 0)}
    plain = convolution.convolution(data, weight, bias, fusions=("BIAS",), **same)
    expected = (plain - mean) / np.sqrt(var + 1e-3) * gamma + beta
    new_weight, new_bias = batch_norm.fold(
        weight, gamma, beta, mean, var, bias, eps=1e-3, fix_gamma=False
    )
    actual = convolution.convolution(data, new_weight, new_bias, fusions=("BIAS",), **same)
    close(actual, expected)
    unit, _ = batch_norm.fold(weight, gamma, beta, mean, var, eps=1e-3, fix_gamma=True)
    close(unit, weight / np.sqrt(var + 1e-3)[:, None, None, None])


def test_relu_gradient_from_the_result() -> None:
    data, head = jnp.array([-1.0, 0.0, 2.0]), jnp.array([3.0, 4.0, 5.0])
    _, pull = jax.vjp(jax.nn.relu, data)
    np.testing.assert_array_equal(relu_gradient(head, jax.nn.relu(data)), pull(head)[0])


def test_every_residue_of_a_stride_is_a_phase() -> None:
    """Each element of the kernel belongs to one phase, for all small kernels and strides."""
    for kernel, stride, pad in product(range(1, 6), range(2, 4), range(3)):
        if pad > kernel - 1:
            continue
        extent = 7
        out = (extent + 2 * pad - kernel) // stride + 1
        phases = convolution.phases(extent, out, kernel, stride, 1, pad)
        positions = sorted(i for taps, _, _ in phases for i in range(kernel)[taps])
        assert positions == list(range(kernel))


def test_the_result_of_a_trial_is_remembered(tmp_path, monkeypatch) -> None:
    calls = []
    monkeypatch.setattr(onednn, "works_in_own_process", lambda: calls.append(1) or True)
    monkeypatch.setattr(onednn.platform, "machine", lambda: "x86_64")
    for _ in range(2):
        monkeypatch.setattr(onednn, "_known", {})
        assert onednn.available(tmp_path)
    assert len(calls) == 1
    (file,) = tmp_path.glob("onednn-*.json")
    assert json.loads(file.read_text()) == {"available": True}
    file.write_text("no json")
    monkeypatch.setattr(onednn, "_known", {})
    assert onednn.available(tmp_path)
    assert len(calls) == 2


def test_other_machines_are_not_tried(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(onednn, "_known", {})
    monkeypatch.setattr(onednn.platform, "machine", lambda: "aarch64")
    monkeypatch.setattr(onednn, "works_in_own_process", lambda: pytest.fail("tried"))
    assert not onednn.available(tmp_path)


def test_grouped_gradients_with_a_stride_use_onednn_with_channels_first() -> None:
    """Elsewhere XLA's own way was measured to be as fast, or the data would be copied twice."""

    def method(groups: int, stride: int, lies_last: bool = True, batch: int = 2) -> str:
        weight = (32, 32 // groups, 3, 3)
        window = {"stride": (stride, stride), "dilate": (1, 1), "groups": groups}
        return convolution.weight_gradient_method("onednn", window, weight, batch, lies_last)

    assert method(2, 2) == "onednn"
    others = [method(2, 1), method(2, 2, False), method(2, 2, batch=1), method(8, 2), method(32, 2)]
    assert others == ["grouped"] * 5
    assert method(1, 2) == "xla"
    # tap by tap, a kernel of 32x32 took a minute to compile
    assert [method(32, 4), method(2, 4, False), method(2, 4)] == ["columns", "columns", "onednn"]
    window = {"stride": (1, 1), "dilate": (1, 1), "groups": 2}
    assert convolution.weight_gradient_method("onednn", window, (8, 4, 1, 1), 2) == "dot"


def test_long_strides_take_columns() -> None:
    """Phases of a stride of 32 would be 1,024 convolutions, which took minutes to compile."""

    def method(stride: tuple[int, int], dilate: tuple[int, int] = (1, 1)) -> str:
        window = {"kernel": (64, 64), "stride": stride, "dilate": dilate, "pad": (16, 16)}
        return convolution.data_gradient_method("onednn", {**window, "groups": 1}, (320, 480))

    assert method((32, 32)) == method((1, 4)) == "columns"
    assert method((2, 2)) == "onednn"
    assert method((4, 4), (2, 2)) == "xla"


@each_record("groups", [1, 3])
@each_record(
    ("extents", "kernel", "stride", "pad"),
    [
        ((11, 13), (5, 4), (4, 4), (2, 0)),
        ((12, 9), (3, 9), (4, 5), (0, 4)),  # a kernel below the stride, one far above
        ((17, 6), (4, 1), (4, 7), (3, 2)),
        ((10, 9), (2, 3), (1, 4), (1, 1)),
    ],
)
def test_convolutions_by_columns_are_correct(extents, kernel, stride, pad, groups) -> None:
    plain = plain_convolution(stride, (1, 1), pad, kernel, 2 * groups, groups)
    data = normal(2, 4 * groups, *extents)
    weight = normal(2 * groups, 4, *kernel, seed=1)
    expected, head, (by_data, by_weight) = with_gradients(plain, data, weight)
    same = {"stride": stride, "dilate": (1, 1), "pad": pad, "groups": groups, "method": "columns"}

    def lowered(data, weight, head):
        return (
            convolution.convolution(data, weight, **same),
            convolution.data_gradient(head, weight, extents=extents, **same),
            convolution.weight_gradient(head, data, kernel=kernel, **same),
        )

    forward, data_gradient, weight_gradient = compiled(lowered)(last(data), weight, last(head))
    close(first(forward), expected)
    close(first(data_gradient), by_data)
    close(weight_gradient, by_weight)
