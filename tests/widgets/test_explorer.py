"""OpExplorer: the page computes the results of mixnet's operators."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mixnet import nd
from mixnet.base import AttributeTypeError, AttributeValueError, ShapeError
from mixnet.widgets import OpExplorer, View
from mixnet.widgets.explorer import FILTERS, filter_of, limits
from tests.each_record import each_record

COMPUTE = Path(__file__).parents[2] / "widgets" / "src" / "explorer" / "compute.js"
RUN = """
import * as compute from %s;
const chunks = [];
for await (const chunk of process.stdin) chunks.push(chunk);
const cases = JSON.parse(Buffer.concat(chunks));
const text = (key, value) => (typeof value === "number" && !Number.isFinite(value) ? String(value) : value);
console.log(JSON.stringify(cases.map(([name, ...args]) => compute[name](...args)), text));
"""


def in_page(cases: list[list[Any]]) -> list[Any]:
    """Results of the page's functions; each case is the name of a function and its arguments."""
    code = RUN % json.dumps(COMPUTE.as_uri())
    run = subprocess.run(
        ["node", "--input-type=module", "-e", code],
        input=json.dumps(cases), capture_output=True, text=True, check=True, timeout=240
    )  # fmt: skip
    return json.loads(run.stdout)


needs_node = pytest.mark.skipif(
    shutil.which("node") is None, reason="needs Node 20 or newer (Debian: apt install nodejs)"
)


def numbers(rows: Any) -> np.ndarray:
    return np.array([[float(each) for each in row] for row in rows])


def close(mine: Any, truth: np.ndarray) -> None:
    np.testing.assert_allclose(numbers(mine), truth, rtol=1e-5, atol=1e-5)


@needs_node
def test_convolution_is_mixnets() -> None:
    random = np.random.RandomState(0)
    cases, truths = [], []
    for kernel, stride, pad, dilate in product((1, 2, 3), (1, 2, 3), (0, 1, 2), (1, 2)):
        x = random.normal(size=(2, 7, 9)).astype(np.float32)
        w = random.normal(size=(1, 2, kernel, kernel)).astype(np.float32)
        options = {"kernel": kernel, "stride": stride, "pad": pad, "dilate": dilate}
        cases.append(["convolution", x.tolist(), w[0].tolist(), options])
        truths.append(
            nd.Convolution(
                nd.array(x[None]), nd.array(w), kernel=(kernel,) * 2, stride=(stride,) * 2,
                pad=(pad,) * 2, dilate=(dilate,) * 2, num_filter=1, no_bias=True,
            )[0, 0]
        )  # fmt: skip
    for mine, truth in zip(in_page(cases), truths, strict=True):
        close(mine, truth.asnumpy())


@needs_node
@pytest.mark.parametrize("convention", ["valid", "full"])
def test_pooling_is_mixnets(convention: str) -> None:
    random = np.random.RandomState(1)
    cases, truths = [], []
    for kernel, stride, pad, kind, counted in product(
        (1, 2, 3), (1, 2, 3), (0, 1), ("max", "avg"), (True, False)
    ):
        if pad >= kernel:
            continue
        x = random.normal(size=(7, 8)).astype(np.float32)
        options = {
            "kernel": kernel, "stride": stride, "pad": pad, "type": kind, "convention": convention,
            "includePad": counted,
        }  # fmt: skip
        cases.append(["pooling", x.tolist(), options])
        truths.append(
            nd.Pooling(
                nd.array(x[None, None]), kernel=(kernel,) * 2, stride=(stride,) * 2, pad=(pad,) * 2,
                pool_type=kind, pooling_convention=convention, count_include_pad=counted,
            )[0, 0]
        )  # fmt: skip
    for mine, truth in zip(in_page(cases), truths, strict=True):
        close(mine, truth.asnumpy())


@needs_node
@pytest.mark.parametrize("mask", ["none", "causal", "length"])
def test_attention_is_mixnets(mask: str) -> None:
    """Against the operators for attention, all heads at once."""
    random = np.random.RandomState(2)
    heads, size, queries, time = 2, 4, 5, 6
    q = random.normal(size=(queries, heads * size)).astype(np.float32)
    k, v = (random.normal(size=(time, heads * size)).astype(np.float32) for _ in range(2))
    kv = np.stack([k.reshape(time, heads, size), v.reshape(time, heads, size)], 2)
    kv = nd.array(kv.reshape(time, 1, -1))
    scores = nd.contrib.interleaved_matmul_encdec_qk(nd.array(q[:, None]), kv, heads=heads)
    row, column = np.mgrid[:queries, :time]
    hidden = {"none": column < 0, "causal": column > row, "length": column >= 4}[mask]
    masked = nd.where(nd.array(np.stack([hidden] * heads)), nd.full(scores.shape, -np.inf), scores)
    weights = nd.softmax(masked)
    out = nd.contrib.interleaved_matmul_encdec_valatt(kv, weights, heads=heads).asnumpy()[:, 0]
    cases = []
    for head in range(heads):
        part = slice(head * size, (head + 1) * size)
        parts = [each[:, part].tolist() for each in (q, k, v)]
        cases.append(["attention", *parts, {"mask": mask, "length": 4}])
        cases.append(["headOf", q.tolist(), head, heads])
    actual = in_page(cases)
    for head in range(heads):
        part = slice(head * size, (head + 1) * size)
        close(actual[2 * head]["weights"], weights.asnumpy()[head])
        close(actual[2 * head]["out"], out[:, part])
        close(actual[2 * head + 1], q[:, part])


@needs_node
def test_filters_are_the_same_in_the_page() -> None:
    cases = [["filterOf", name, size] for name in FILTERS for size in range(1, 8)]
    for (_, name, size), mine in zip(cases, in_page(cases), strict=True):
        close(mine, filter_of(name, size))


@needs_node
@pytest.mark.parametrize(
    "make",
    [
        lambda: OpExplorer("convolution", channels=2, filter=3, stride=2),
        lambda: OpExplorer("convolution", np.eye(6), weight=np.ones((2, 1, 2, 2)), filter=1),
        lambda: OpExplorer("pooling", kernel=3, pad=1, convention="full", type="avg"),
        lambda: OpExplorer("attention", heads=4, head=2, mask="causal", keys=5),
    ],
)  # fmt: skip
def test_the_picture_agrees_with_the_page(make: Callable[[], OpExplorer]) -> None:
    view = make()
    settings = Path(COMPUTE.parent / "scene.js").as_uri()
    code = f"""
import {{ sceneOf }} from {json.dumps(settings)};
const [payload, state] = {json.dumps([view.payload, view.state])};
console.log(JSON.stringify(sceneOf(payload, state).out));
"""
    run = subprocess.run(
        ["node", "--input-type=module", "-e", code],
        capture_output=True,
        text=True,
        check=True,
        timeout=240,
    )
    close(json.loads(run.stdout), view.result())


def test_result_follows_the_sliders() -> None:
    view = OpExplorer("convolution", nd.ones((5, 6)), kernel=3)
    assert view.result().shape == (3, 4)
    view.choose(filter=FILTERS.index("blur"), pad=1)
    blurred = view.result()
    assert blurred.shape == (5, 6)
    np.testing.assert_allclose([blurred[2, 2], blurred[0, 0]], [1, 4 / 9], rtol=1e-6)
    assert "pad=(1, 1)" in view.summary() and view.summary().endswith("5×6")


def test_a_stored_view_is_drawn_again() -> None:
    view = OpExplorer("attention", mask="length", length=3)
    again = View.of(json.loads(view.to_json()), view.state)
    assert again.svg() == view.svg()
    assert len(view.to_json()) < 5_000


@each_record(
    ("make", "error", "words"),
    [
        (
            lambda: OpExplorer("sorting"),
            AttributeValueError,
            "expected one of convolution, pooling",
        ),
        (
            lambda: OpExplorer("pooling", dilate=2),
            AttributeValueError,
            "pooling has no dilate; it has kernel",
        ),
        (
            lambda: OpExplorer("pooling", kernel=9),
            AttributeValueError,
            "kernel: expected 1 to 7, got 9",
        ),
        (
            lambda: OpExplorer("pooling", kernel=2, pad=2),
            AttributeValueError,
            "pad: expected 0 to 1, got 2",
        ),
        (
            lambda: OpExplorer("pooling", type="sum"),
            AttributeValueError,
            "type: expected max or avg",
        ),
        (
            lambda: OpExplorer("pooling", weight=[1]),
            AttributeValueError,
            "weight: pooling has no weight",
        ),
        (
            lambda: OpExplorer("attention", heads=3),
            AttributeValueError,
            "3 does not divide the size 8",
        ),
        (lambda: OpExplorer("convolution", np.ones((99, 3))), ShapeError, "at most 24 × 24"),
        (lambda: OpExplorer("convolution", ["a"]), AttributeTypeError, "expected numbers"),
        (
            lambda: OpExplorer("convolution", weight=np.ones((1, 1, 2, 3))),
            ShapeError,
            "weight: expected",
        ),
        (
            lambda: OpExplorer("attention", (np.ones((2, 3)),) * 2),
            ShapeError,
            "queries, keys and values",
        ),
        (
            lambda: OpExplorer("attention", np.ones((2, 3)), words=["a"]),
            ShapeError,
            "words: expected 2",
        ),
        (
            lambda: OpExplorer("attention", (np.ones((2, 3)), np.ones((2, 4)), np.ones((2, 4)))),
            ShapeError,
            "do not match",
        ),
    ],
)
def test_bad_input_says_what_was_expected(make: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        make()


def test_spread_kernels_still_fit() -> None:
    view = OpExplorer("convolution", np.ones((5, 5)), kernel=5)
    assert limits(view.payload, view.state)["dilate"] == (1, 1)
    with pytest.raises(AttributeValueError, match=r"dilate: expected 1 to 1, got 2"):
        OpExplorer("convolution", np.ones((5, 5)), kernel=5, dilate=2)


@pytest.mark.parametrize("bad", [np.nan, np.inf, 1e300])
def test_numbers_that_are_not_finite_are_refused(bad: float) -> None:
    data = np.ones((3, 3))
    data[1, 2] = bad
    with pytest.raises(AttributeValueError, match=r"data: expected finite .* at \[1, 2\]"):
        OpExplorer("convolution", data=data)


@pytest.mark.parametrize("operator", ["convolution", "pooling"])
def test_no_default_kernel_is_larger_than_the_data(operator: str) -> None:
    view = OpExplorer(operator, data=np.full((1, 1), 3.0))
    assert view.state["kernel"] == 1
    assert view.result().shape == (1, 1)
