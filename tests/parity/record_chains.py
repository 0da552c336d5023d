"""Record chains of three to six operators with their gradients in MXNet 1.9.1.

Run it with an interpreter that has mxnet 1.9.1; it needs nothing of mixnet::

    PYTHON tests/parity/record_chains.py

Operators are drawn at random, each for the shape that the one before it has. ``fixtures/chains.json`` has the
statements of each chain, the shape and the dtype of its data, and what MXNet gives where all its three ways
agree: operators called on arrays, a bound symbol that adds to one of its gradients, and a hybridized block.
"""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import numpy as np

FIXTURE = Path(__file__).parent / "fixtures" / "chains.json"
COUNT = 150
LARGEST = 300  # elements of a result
SHAPES = [(2, 3), (3, 4), (4,), (2, 3, 4), (2, 2, 3, 3), (1, 4), (2, 4, 2), (3, 1, 2)]
LIMITS = {
    "float32": (2e-3, 5e-5),
    "float64": (2e-5, 1e-6),
}  # erf of MXNet has the precision of float32
Shape = tuple[int, ...]

# Those of one array that keep its shape; {h} is the array, w a second one with one element.
KEEPING = (
    "F.tanh({h})", "F.sigmoid({h})", "F.relu({h})", "F.softsign({h})", "F.exp({h} * 0.3)",
    "F.log(F.abs({h}) + 1)", "F.sqrt(F.abs({h}) + 0.5)", "F.square({h})", "F.cbrt({h} + 3)",
    "F.rsqrt(F.square({h}) + 1)", "F.sin({h})", "F.arctan({h})", "F.erf({h})", "F.expm1({h} * 0.2)",
    "F.smooth_l1({h}, scalar=1.3)", "F.hard_sigmoid({h})", "F.LeakyReLU({h}, act_type='gelu')",
    "F.LeakyReLU({h}, act_type='elu', slope=0.7)", "F.LeakyReLU({h}, act_type='leaky', slope=0.2)",
    "F.Activation({h}, act_type='softrelu')", "1.5 - {h}", "2.0 / (F.abs({h}) + 1)", "{h} ** 2",
    "F.maximum({h}, 0.1)", "F.BlockGrad({h}) * {h}", "F.round({h}) + {h}", "F.sign({h}) * {h}",
    "F.where({h} > 0, {h}, {h} * 0.1)", "{h} * ({h} > 0.1)", "F.broadcast_mul({h}, w)",
    "F.broadcast_add({h}, w)", "F.broadcast_sub(w, {h})", "F.add_n({h}, {h} * 2, {h})",
    "F.contrib.quadratic({h}, a=0.5, b=1, c=2)", "F.contrib.gradientmultiplier({h}, scalar=0.5)",
    "F.L2Normalization({h})", "({h} + 1) * ({h} - 1)", "F.elemwise_add({h}, {h})",
)  # fmt: skip


def along(shape: Shape, axis: int, keeps: bool) -> list[tuple[str, Shape]]:
    """Operators along an axis, with the shapes of their results."""
    one = tuple(1 if i == axis else n for i, n in enumerate(shape))
    reduced = one if keeps else shape[:axis] + shape[axis + 1 :]
    drawn = [
        (f"F.softmax({{h}}, axis={axis}, temperature=1.5)", shape),
        (f"F.log_softmax({{h}}, axis={axis})", shape),
        (f"F.broadcast_div({{h}}, F.sum(F.abs({{h}}), axis={axis}, keepdims=True) + 1)", shape),
    ]
    for name in ("sum", "mean", "max", "norm"):
        by_itself = f"F.{name}({{h}}, axis={axis}, keepdims=True)"
        drawn.append((f"F.broadcast_sub({{h}}, {by_itself})", shape))
        if reduced:
            drawn.append((f"F.{name}({{h}}, axis={axis}, keepdims={keeps})", reduced))
    twice = tuple(2 * n if i == axis else n for i, n in enumerate(shape))
    drawn += [
        (f"F.concat({{h}}, {{h}} * 2, dim={axis})", twice),
        (f"F.repeat({{h}}, repeats=2, axis={axis})", twice),
        (f"F.expand_dims({{h}}, axis={axis})", (*shape[:axis], 1, *shape[axis:])),
    ]
    if shape[axis] > 1:
        shorter = tuple(n - (i == axis) for i, n in enumerate(shape))
        drawn += [
            (f"F.slice_axis({{h}}, axis={axis}, begin=1, end=None)", shorter),
            (f"F.reverse({{h}}, axis={axis}) * 1.5", shape),
            (f"F.topk({{h}}, axis={axis}, k=1, ret_typ='value')", one),
            (f"F.pick({{h}}, F.argmax({{h}}, axis={axis}), axis={axis}, keepdims=True)", one),
        ]
    if shape[axis] % 2 == 0:
        half = tuple(n // 2 if i == axis else n for i, n in enumerate(shape))
        parts = f"F.split({{h}}, num_outputs=2, axis={axis})"
        drawn.append((f"(lambda parts: parts[0] * parts[1])({parts})", half))
    return drawn


def of_rank(shape: Shape) -> list[tuple[str, Shape]]:
    """Operators for arrays with this number of axes."""
    first, *others = shape
    if len(shape) == 1:
        return []
    ones = "F.ones_like(F.sum({h}, axis=-1, exclude=True))"
    drawn = [
        ("F.transpose({h})", shape[::-1]),
        ("F.Flatten({h})", (first, int(np.prod(others)))),
        ("F.reshape({h}, shape=(-1,))", (int(np.prod(shape)),)),
        (f"F.LayerNorm({{h}}, {ones}, {ones})", shape),
    ]
    if len(shape) == 2:
        drawn += [
            ("F.dot({h}, {h}, transpose_b=True)", (first, first)),
            ("F.linalg.gemm2({h}, {h}, transpose_a=True, alpha=0.3)", (others[0], others[0])),
            (f"F.FullyConnected({{h}}, {{h}}, no_bias=True, num_hidden={first})", (first, first)),
        ]
    if len(shape) == 3:
        drawn += [
            ("F.batch_dot({h}, {h}, transpose_b=True)", (first, others[0], others[0])),
            ("F.SequenceReverse({h}) * 2", shape),
        ]
    if len(shape) == 4 and min(others[1:]) > 1:
        smaller = (first, others[0], others[1] - 1, others[2] - 1)
        drawn += [
            (f"F.Pooling({{h}}, kernel=(2, 2), pool_type='{kind}')", smaller)
            for kind in ("max", "avg", "sum")
        ]
    return drawn


def draw(numbers: random.Random) -> dict[str, Any]:
    """A chain: its statements, the shape and dtype of its data, and the gradient that is added to."""
    shape = begin = numbers.choice(SHAPES)
    statements: list[str] = []
    length = numbers.randint(3, 6)
    before = "x"
    while len(statements) < length:
        if numbers.random() < 0.45:
            expression, after = numbers.choice(KEEPING), shape
        else:
            axis = numbers.randrange(len(shape))
            choices = along(shape, axis, numbers.random() < 0.7) + 2 * of_rank(shape)
            expression, after = numbers.choice(choices)
        if np.prod(after) > LARGEST or len(after) > 4:
            continue
        name = f"h{len(statements)}"
        statements.append(f"{name} = {expression.replace('{h}', before)}")
        before, shape = name, after
    return {
        "statements": statements, "shape": list(begin), "dtype": numbers.choice(list(LIMITS)),
        "added": numbers.choice("xw"),
    }  # fmt: skip


def answers(mx: Any, chain: dict[str, Any]) -> dict[str, Any]:
    """Result and gradients of each way to run a chain: ``called``, ``bound`` and ``hybridized``."""
    body = "\n".join(f"    {each}" for each in chain["statements"])
    scope: dict[str, Any] = {}
    exec(f"def compute(F, x, w):\n{body}\n    return h{len(chain['statements']) - 1}", scope)
    compute, dtype = scope["compute"], chain["dtype"]
    data = np.random.RandomState(1).uniform(-1.5, 1.5, chain["shape"])
    x, w = mx.nd.array(data, dtype=dtype), mx.nd.array([0.7], dtype=dtype)

    class Block(mx.gluon.HybridBlock):
        def hybrid_forward(self, F: Any, x: Any, w: Any) -> Any:
            return compute(F, x, w)

    block = Block()
    block.hybridize()
    results = {}
    ways: dict[str, Any] = {"called": lambda x, w: compute(mx.nd, x, w), "hybridized": block}
    for name, way in ways.items():
        x.attach_grad()
        w.attach_grad()
        with mx.autograd.record():
            result = way(x, w)
        result.backward(_head(mx, result))
        results[name] = [_stored(each) for each in (result, x.grad, w.grad)]
    results["bound"] = _bound(mx, compute(mx.sym, *map(mx.sym.Variable, "xw")), chain, x, w)
    return results


def _bound(mx: Any, symbol: Any, chain: dict[str, Any], x: Any, w: Any) -> list[Any]:
    arrays = {"x": x, "w": w}
    names = symbol.list_arguments()
    gradients = {name: mx.nd.ones_like(each) for name, each in arrays.items()}
    requests = {name: "add" if name == chain["added"] else "write" for name in names}
    executor = symbol.bind(
        mx.cpu(),
        {name: arrays[name] for name in names},
        {name: gradients[name] for name in names},
        requests,
    )
    (result,) = executor.forward(is_train=True)
    executor.backward([_head(mx, result)])
    for name in arrays:
        gradients[name] -= 1 if name == chain["added"] or name not in names else 0
    return [_stored(each) for each in (result, gradients["x"], gradients["w"])]


def _head(mx: Any, result: Any) -> Any:
    values = np.random.RandomState(5).uniform(0.5, 1.5, result.shape)
    return mx.nd.array(values, dtype=result.dtype)


def _stored(array: Any) -> list[Any]:
    values = array.asnumpy()
    return [values.dtype.name, list(values.shape), [float(f"{each:.7g}") for each in values.flat]]


def agree(first: list[Any], second: list[Any]) -> bool:
    """Whether two answers are equal up to rounding."""
    for (dtype, shape, values), (other_dtype, other_shape, others) in zip(
        first, second, strict=True
    ):
        relative, absolute = LIMITS[dtype]
        if (dtype, shape) != (other_dtype, other_shape):
            return False
        if not np.allclose(values, others, relative, absolute, equal_nan=True):
            return False
    return True


def main() -> None:
    """Write the fixture."""
    import mxnet as mx

    numbers = random.Random(0)
    rows: list[dict[str, Any]] = []
    counts: dict[str, int] = {}
    while len(rows) < COUNT:
        chain = draw(numbers)
        used = [each.partition("(")[0].partition(" = ")[2] for each in chain["statements"]]
        if all(counts.get(each, 0) > COUNT // 15 for each in used):
            continue  # none of its operators is rare
        try:
            results = answers(mx, chain)
        except mx.MXNetError:
            continue
        called = results["called"]
        finite = all(np.isfinite(values).all() for _, _, values in called)
        if finite and agree(called, results["bound"]) and agree(called, results["hybridized"]):
            rows.append({**chain, "answer": called})
            for each in used:
                counts[each] = counts.get(each, 0) + 1
    FIXTURE.write_text("[\n" + ",\n".join(json.dumps(each) for each in rows) + "\n]\n")


if __name__ == "__main__":
    main()
