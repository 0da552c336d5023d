"""Record the results of MXNet 1.9.1's operators at the edges of numbers, shapes and dtypes.

Run it where mixnet runs, with an interpreter that has mxnet 1.9.1::

    python -m tests.parity.record_edges PYTHON [FAMILY ...]

With families named, it asks for those alone and leaves the other answers as they are.

It takes the calls of ``tests/ops/records`` and gives each operator NaN, infinities, zeros of both signs,
very large and small numbers, every dtype, two dtypes at once, arrays without elements and without axes,
one array alone without elements, weights of half precision beside copies of float32, and each of its
attributes that may be None as None. ``fixtures/edges.json`` has a question and what MXNet said: dtype,
shape and values of every output and gradient, or that it raised. What differs between two runs (memory
that nobody wrote) or ends the process is left out, and operators that MXNet always refuses.
"""

from __future__ import annotations

import ctypes
import functools
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

FIXTURE = Path(__file__).parent / "fixtures" / "edges.json"
FAMILIES = (
    "array.array_list", "array.create", "array.indexing", "array.join", "array.rearrange",
    "array.shape", "array.slicing", "math.broadcast", "math.checks", "math.elementwise",
    "math.gradient", "math.hawkes", "math.histogram", "math.linalg", "math.linalg_factor",
    "math.linalg_product", "math.linalg_triangle", "math.reduce", "math.unary", "nn.activation",
    "nn.attention", "nn.batch_norm", "nn.columns", "nn.convolution", "nn.ctc", "nn.deformable",
    "nn.dense", "nn.loss_head", "nn.normalization", "nn.pooling", "nn.recurrent", "nn.resample",
    "nn.sequence", "nn.softmax", "numpy.arithmetic", "numpy.create", "numpy.join", "numpy.linalg",
    "numpy.products", "numpy.reduce", "numpy.selection", "numpy.shape", "quantized.arithmetic",
    "quantized.calibrate", "quantized.layers", "quantized.quantize", "quantized.recurrent",
    "random.density", "sparse.stored_values", "update.adaptive", "update.variants",
    "update.gradient_descent", "update.layerwise",
    "vision.boxes", "vision.correlation", "vision.crop", "vision.image", "vision.image_color",
    "vision.multibox", "vision.position_sensitive", "vision.proposal", "vision.region",
    "vision.spatial_transform", "vision.suppression",
)  # fmt: skip
ALONE = ("vision.multibox", "vision.position_sensitive", "vision.proposal", "vision.region",
         "vision.suppression")  # fmt: skip
"""Families whose arrays are asked without elements one at a time, too."""
DTYPES = ("float16", "float64", "uint8", "int8", "int32", "int64", "bool")
SPECIAL = (
    "nan", "inf", "-inf", "0.0", "-0.0", "1.5", "-2.5", "1e30", "-1e-30", "3", "0.5", "-1", "nan", "2",
)  # fmt: skip
ANSWER = "said: "  # before an answer: MXNet prints as well
MOST = 12  # values of an array that are stored


def questions(families: Sequence[str] = FAMILIES) -> list[dict[str, Any]]:
    """Calls at the edges, of every operator of these families that computes the same each time."""
    from mixnet.ops import OPERATORS
    from tests.ops.records import RANDOM, RECORDS

    rows = []
    for record in RECORDS:
        op = OPERATORS[record.op]
        family = op.function.__module__.removeprefix("mixnet.ops.")
        if family not in families or record.op in RANDOM or op.takes_key:
            continue
        inputs = [
            input_of(record, place, tuple(shape)) for place, shape in enumerate(record.shapes)
        ]
        common = {
            "op": record.op, "attributes": dict(record.attrs),
            "variadic": bool(op.variadic) and op.num_args == "num_args",
            "gradient": bool(op.differentiable and record.gradient),
        }  # fmt: skip

        def ask(kind: str, source: list[Any], common: Any = common, **more: Any) -> None:
            attributes = {**common["attributes"], **more}
            rows.append({**common, "kind": kind, "inputs": source, "attributes": attributes})

        if not inputs:
            continue
        free = [i for i, each in enumerate(inputs) if each["fill"] == "uniform"]
        ask("plain", inputs)
        if free:
            ask("special", _with(inputs, free, fill="special"))
            ask("special first", _with(inputs, free[:1], fill="special"))
            for dtype in DTYPES:
                ask(dtype, _with(inputs, free, dtype=dtype))
            if len(free) > 1:
                ask("mixed", _with(inputs, free[:1], dtype="float64"))
        shapes = [(0, *each["shape"][1:]) for each in inputs]
        ask("empty", [{**e, "shape": s} for e, s in zip(inputs, shapes, strict=True)])
        if family in ALONE and len(inputs) > 1:
            for place, shape in enumerate(shapes):
                ask(f"empty {place}", _with(inputs, [place], shape=shape))
        if "weight32" in op.arrays:
            half = [i for i, name in enumerate(op.arrays) if name in ("weight", "grad")]
            ask("half", _with(inputs, half, dtype="float16"))
            ask("half special", _with(inputs, half, dtype="float16", fill="special"))
        ask("no axes", [{**each, "shape": ()} for each in inputs])
        for each in op.attributes.values():
            if (each.optional and record.attrs.get(each.name) is not None) or (
                each.optional and each.default is not None
            ):
                ask(f"{each.name}=None", inputs, **{each.name: None})
            if each.axis is not None:
                ndim = len(record.shapes[0])
                for axis in (-1, -ndim, ndim - 1, ndim, -ndim - 1):
                    several = "shape" in each.kind
                    ask(f"{each.name}={axis}", inputs, **{each.name: (axis,) if several else axis})
    return json.loads(json.dumps(rows, default=lambda value: value.item()))


def input_of(record: Any, place: int, shape: tuple[int, ...]) -> dict[str, Any]:
    """How an input of a call is filled."""
    if place in record.dtypes and place not in record.integers:
        return {"shape": shape, "dtype": record.dtypes[place], "fill": "all"}
    if place in record.integers:
        return {
            "shape": shape,
            "dtype": record.dtypes.get(place, "float32"),
            "fill": "whole",
            "most": record.integers[place],
        }
    return {
        "shape": shape,
        "dtype": "float32",
        "fill": "uniform",
        "ends": [record.low, record.high],
    }


def _with(inputs: list[Any], places: list[int], **changes: Any) -> list[Any]:
    return [{**each, **changes} if i in places else each for i, each in enumerate(inputs)]


def arrays_of(question: dict[str, Any]) -> list[np.ndarray]:
    """The inputs of a call: the same numbers each time."""
    return [
        _array(place, json.dumps(each, sort_keys=True)).copy()
        for place, each in enumerate(question["inputs"])
    ]


@functools.cache
def _array(place: int, description: str) -> np.ndarray:
    """The array of an input, from its description; about ten calls share each."""
    described = json.loads(description)
    rng = np.random.RandomState(place + 1)
    shape, dtype, fill = tuple(described["shape"]), described["dtype"], described["fill"]
    if fill == "all":
        ends = np.iinfo(dtype)
        array = rng.randint(ends.min, ends.max, shape).astype(dtype)
    elif fill == "whole":
        array = rng.randint(0, described["most"] + 1, shape).astype(dtype)
    elif fill == "special":
        count = int(np.prod(shape, dtype=int))
        cycle = np.array(SPECIAL, dtype="float64")
        steps = (np.arange(count) * (2 * place + 1) + 3 * place) % len(cycle)
        with np.errstate(over="ignore"):
            array = cycle[steps].astype(dtype).reshape(shape)
    elif dtype.startswith("float"):
        array = np.asarray(rng.uniform(*described["ends"], size=shape)).astype(dtype)
    else:
        low, _high = described["ends"]
        low = 0 if dtype in ("uint8", "bool") or low >= 0 else -4
        array = rng.randint(low, 2 if dtype == "bool" else 5, shape).astype(dtype)
    return np.asarray(array)


def head_of(place: int, shape: tuple[int, ...], dtype: str) -> np.ndarray:
    """The gradient of an output."""
    return np.asarray(np.random.RandomState(90 + place).uniform(0.5, 1.5, shape)).astype(dtype)


def described(value: np.ndarray) -> list[Any]:
    """Dtype, shape and values of an array as JSON has them."""
    flat = np.asarray(value).reshape(-1)
    step = max(1, -(-flat.size // MOST))
    return [
        value.dtype.name,
        list(value.shape),
        [float(f"{float(each):.6g}") for each in flat[::step]],
    ]


def text(value: Any) -> str:
    """An attribute as MXNet reads it."""
    if isinstance(value, (list, tuple)):
        return "(" + ", ".join(map(text, value)) + ("," if len(value) == 1 else "") + ")"
    return str(value)


def is_numpys(name: str) -> bool:
    """Whether arrays of an operator are those of mx.np."""
    return name.startswith(("_np_", "_npi_", "_npx_"))


def answer_of(mx: Any, call: Any, question: dict[str, Any], gradient: bool = True) -> Any:
    """What a library says: outputs and gradients, or ``"raises"``.

    Args:
        mx: the library.
        call: function of the operator's name, arrays and attributes that gives its outputs as a list.
        question: one of :func:`questions`.
        gradient: whether gradients are asked for too.
    """
    numpys = is_numpys(question["op"])
    attributes = dict(question["attributes"])
    if question["variadic"]:
        attributes["num_args"] = len(question["inputs"])
    before = mx.util.set_np_shape(numpys or question["kind"] in ("empty", "no axes"))
    try:
        inputs = [mx.nd.array(each, dtype=each.dtype) for each in arrays_of(question)]
        if numpys:
            inputs = [each.as_np_ndarray() for each in inputs]
        learns = []
        if gradient and question["gradient"]:
            learns = [each for each in inputs if np.dtype(each.dtype).kind == "f"]
            for each in learns:
                each.attach_grad()
        with mx.autograd.record(train_mode=True) if learns else mx.autograd.train_mode():
            outputs = call(question["op"], inputs, attributes)
        answer = {"outputs": [described(each.asnumpy()) for each in outputs]}
        if learns:
            heads = [
                mx.nd.array(head_of(i, o.shape, o.dtype), dtype=o.dtype)
                for i, o in enumerate(outputs)
            ]
            if numpys:
                heads = [each.as_np_ndarray() for each in heads]
            try:
                mx.autograd.backward(outputs, heads)
                answer["gradients"] = [described(each.grad.asnumpy()) for each in learns]
            except mx.MXNetError:
                answer["gradients"] = "raises"
        return answer
    except (mx.MXNetError, ValueError, TypeError, IndexError) as error:
        return ["raises", type(error).__name__, str(error).strip().splitlines()[-1][:160]]
    finally:
        mx.util.set_np_shape(before)


def answer(source: str, start: str) -> None:
    """Print MXNet's answers from a place on, a line each; runs where mxnet is."""
    import mxnet as mx
    from mxnet._ctypes.ndarray import _imperative_invoke
    from mxnet.base import _LIB, c_str, check_call

    def call(name: str, arrays: list[Any], attributes: dict[str, Any]) -> list[Any]:
        handle = ctypes.c_void_p()
        check_call(_LIB.NNGetOpHandle(c_str(name), ctypes.byref(handle)))
        keys, values = list(attributes), [text(each) for each in attributes.values()]
        result = _imperative_invoke(handle.value, arrays, keys, values, None, is_numpys(name), True)
        return list(result) if isinstance(result, (list, tuple)) else [result]

    for question in json.loads(Path(source).read_text())[int(start) :]:
        print(ANSWER + json.dumps(answer_of(mx, call, question)), flush=True)


def ask(python: str, requests: list[dict[str, Any]]) -> list[Any]:
    """MXNet's answers; a process that crashes or hangs is followed by another."""
    from tests.parity.record_ranges import answers_of

    return answers_of(python, __file__, requests, len(requests), ANSWER)


def in_mxnet_on_cpus(says: Any) -> bool:
    """Whether an answer is about the call: not that MXNet has no such operator, or none for CPUs."""
    elsewhere = ("is not registered", "only available for GPU", "dev_mask")
    return not (isinstance(says, list) and any(each in says[2] for each in elsewhere))


def that_work(stored: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Without operators that MXNet refuses whatever it is asked: they need more than their inputs."""
    works = {each["op"] for each in stored if isinstance(each["says"], dict)}
    return [each for each in stored if each["op"] in works]


def main(python: str, *families: str) -> None:
    """Write the fixture."""
    requests = questions(families or FAMILIES)
    first, second = ask(python, requests), ask(python, requests)
    stored = [
        {**question, "says": one}
        for question, one, other in zip(requests, first, second, strict=True)
        if json.dumps(one) == json.dumps(other) and one != "crashes" and in_mxnet_on_cpus(one)
    ]
    stored = that_work(stored)
    names = {each["op"] for each in requests}
    before = json.loads(FIXTURE.read_text()) if families else []
    print(f"{len(stored)} of {len(requests)} answers in {FIXTURE}")
    stored = [each for each in before if each["op"] not in names] + stored
    FIXTURE.write_text("[\n" + ",\n".join(json.dumps(each) for each in stored) + "\n]\n")


if __name__ == "__main__":
    if sys.argv[1] == "--answer":
        answer(*sys.argv[2:])
    else:
        main(*sys.argv[1:])
