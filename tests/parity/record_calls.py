"""Ask MXNet 1.9.1 about calls with unusual arguments, and store its answers.

Run it where mixnet runs, with an interpreter that has mxnet 1.9.1::

    python -m tests.parity.record_calls PYTHON

``fixtures/calls.json`` has calls as text: functions of ``mx.np`` and ``npx``, each with numbers, arrays
without axes or elements, booleans, whole numbers, float16, NaN and every option; random operators with
unusual shapes, dtypes and parameters; updates of several weights, ``RNN``, ``hawkesll`` and ``Custom``; and
operators in hybridized blocks and bound symbols. A call runs as it is, in a block (``hybridized``), or as a
symbol (``bound``). Its answer has what it gave, with gradients where it is recorded, or the classes of the
exception. A new call is a new row without an answer. What differs between two runs is left out.
"""

from __future__ import annotations

import contextlib
import json
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as onp

FOLDER = Path(__file__).parents[2]
FIXTURE = Path(__file__).parent / "fixtures" / "calls.json"
CLASSES = (
    "MXNetError", "ValueError", "TypeError", "IndexError", "AttributeError", "NotImplementedError",
    "AssertionError", "KeyError", "RuntimeError",
)  # fmt: skip
ANSWER = "said: "  # before an answer: MXNet prints as well
RAISES = "raises"
MOST = 12  # values of an array that are stored


def unusual_arrays() -> dict[str, onp.ndarray]:
    """The arrays that calls name: those of the functions of ``mx.np``, and unusual ones."""
    path = str(FOLDER / "tests" / "numpy")
    if path not in sys.path:
        sys.path.insert(0, path)
    from functions import ARRAYS  # type: ignore[import-not-found]

    arrays = dict(ARRAYS)
    arrays["odd_0"] = onp.asarray(1.5, "float32")
    arrays["odd_z"] = onp.zeros((0, 3), "float32")
    arrays["odd_e"] = onp.zeros((0,), "float32")
    for dtype in ("bool", "int8", "uint8", "int32", "int64", "float16", "float64"):
        arrays["odd_" + dtype] = onp.array([[1, 0, 2], [3, 1, 2]]).astype(dtype)
        arrays["odd1_" + dtype] = onp.array([1, 0, 2]).astype(dtype)
    arrays["odd_nan"] = onp.array([[onp.nan, onp.inf, -onp.inf], [-0.0, 1e30, 2]], "float32")
    arrays["odd1_nan"] = onp.array([onp.nan, onp.inf, -0.0], "float32")
    arrays["odd_1"] = onp.array([[2.0]], "float32")
    arrays["odd_3d"] = (onp.arange(24).reshape(2, 3, 4) / 7).astype("float32")
    return arrays


def plain(value: Any) -> Any:
    """A result as JSON has it: class, dtype, shape and some values of arrays."""
    if isinstance(value, (list, tuple)):
        return [type(value).__name__, [plain(each) for each in value]]
    if hasattr(value, "asnumpy") or isinstance(value, (onp.ndarray, onp.generic)):
        host = value.asnumpy() if hasattr(value, "asnumpy") else onp.asarray(value)
        if host.dtype.kind not in "fiub":
            return ["value", str(host.tolist())]
        flat = host.reshape(-1)
        some = [float(f"{float(each):.6g}") for each in flat[:: max(1, -(-flat.size // MOST))]]
        kind = type(value).__name__ if hasattr(value, "asnumpy") else "host"
        return [kind, host.dtype.name, list(host.shape), some]
    if isinstance(value, float):
        return ["value", float(f"{value:.6g}")]
    return ["value", repr(value).replace("mixnet", "mxnet")]


def answer_of(mx: Any, row: dict[str, Any], before: list[str]) -> Any:
    """What a library gives for a call, or ``[RAISES, classes]``."""
    (mx.npx.set_np if row["np"] else mx.npx.reset_np)()
    former = mx.util.set_np_shape(row["np"] or row.get("shapes_of_numpy", False))
    mx.random.seed(5)
    onp.random.seed(7)
    scope = {
        "mx": mx, "nd": mx.nd, "np": mx.np, "npx": mx.npx, "onp": onp, "sym": mx.sym,
        "gluon": mx.gluon, "autograd": mx.autograd,
    }  # fmt: skip
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if before:
                exec("\n".join(before), scope)
            return _RUNS[row["mode"]](mx, row, scope, _arrays(mx, row))
    except Exception as error:
        names = [each.__name__ for each in type(error).__mro__ if each.__name__ in CLASSES]
        return [RAISES, " ".join(names)]
    finally:
        # An unread error would be raised in the next call.
        with contextlib.suppress(Exception):
            mx.nd.waitall()
        mx.util.set_np_shape(former)
        mx.npx.reset_np()


def _arrays(mx: Any, row: dict[str, Any]) -> dict[str, Any]:
    if "inputs" in row:
        from tests.parity.record_edges import arrays_of

        values = {f"x{i}": each for i, each in enumerate(arrays_of(row))}
    else:
        every = unusual_arrays()
        values = {name: every[name] for name in row["arrays"]}
    make = mx.np.array if row["np"] else mx.nd.array
    return {name: make(each, dtype=each.dtype) for name, each in values.items()}


def _imperative(mx: Any, row: dict[str, Any], scope: dict[str, Any], arrays: dict[str, Any]) -> Any:
    return plain(eval(row["text"], {**scope, **arrays}))


def _hybridized(mx: Any, row: dict[str, Any], scope: dict[str, Any], arrays: dict[str, Any]) -> Any:
    class Net(mx.gluon.HybridBlock):
        def hybrid_forward(self, F: Any, *inputs: Any) -> Any:
            result = eval(row["text"], {**scope, "nd": F, **dict(zip(arrays, inputs, strict=True))})
            several = isinstance(result, mx.sym.Symbol) and len(result.list_outputs()) > 1
            return list(result) if several else result

    learns = [each for each in arrays.values() if onp.dtype(each.dtype).kind == "f"]
    for each in learns:
        each.attach_grad()
    net = Net()
    net.hybridize()
    with mx.autograd.record():
        out = net(*arrays.values())
    values = plain(out)
    outputs = out if isinstance(out, (list, tuple)) else [out]
    outputs = [each for each in outputs if onp.dtype(each.dtype).kind == "f"]
    if not learns or not outputs:
        return ["both", values, None]
    mx.autograd.backward(outputs, [mx.nd.ones(each.shape, dtype=each.dtype) for each in outputs])
    return ["both", values, plain([each.grad for each in learns])]


def _bound(mx: Any, row: dict[str, Any], scope: dict[str, Any], arrays: dict[str, Any]) -> Any:
    symbol = eval(row["text"], {**scope, "nd": mx.sym, **{n: mx.sym.Variable(n) for n in arrays}})
    learns = [n for n, each in arrays.items() if onp.dtype(each.dtype).kind == "f"]
    gradients = {name: mx.nd.ones(arrays[name].shape, dtype=arrays[name].dtype) for name in learns}
    requests = {name: row["req"] if name in gradients else "null" for name in arrays}
    executor = symbol.bind(mx.cpu(), dict(arrays), args_grad=gradients, grad_req=requests)
    out = executor.forward(is_train=True)
    values = plain(list(out))
    executor.backward([mx.nd.ones(each.shape, dtype=each.dtype) for each in out])
    return ["both", values, plain(list(gradients.values()))]


_RUNS = {"imperative": _imperative, "hybridized": _hybridized, "bound": _bound}


def answer(source: str, start: str) -> None:
    """Print MXNet's answers from a place on, a line each; runs where mxnet is."""
    import mxnet as mx

    stored = json.loads(Path(source).read_text())
    for row in stored["rows"][int(start) :]:
        result = answer_of(mx, row, stored["before"].get(row.get("before"), []))
        print(ANSWER + json.dumps(result), flush=True)


def ask(python: str, stored: dict[str, Any]) -> list[Any]:
    """MXNet's answers; a process that crashes or hangs is followed by another."""
    from tests.parity.record_ranges import answers_of

    return answers_of(python, __file__, stored, len(stored["rows"]), ANSWER)


def main(python: str) -> None:
    """Write the fixture."""
    stored = json.loads(FIXTURE.read_text())
    first, second = ask(python, stored), ask(python, stored)
    stored["rows"] = [
        {**row, "says": one}
        for row, one, other in zip(stored["rows"], first, second, strict=True)
        if json.dumps(one) == json.dumps(other) and one != "crashes"
    ]
    write(stored)
    print(f"{len(stored['rows'])} answers in {FIXTURE}")


def write(stored: dict[str, Any]) -> None:
    """Store calls, one in a line."""
    rows = ",\n".join(json.dumps(each) for each in stored["rows"])
    FIXTURE.write_text(f'{{"before": {json.dumps(stored["before"])},\n"rows": [\n{rows}\n]}}\n')


if __name__ == "__main__":
    sys.path.insert(0, str(FOLDER))
    if sys.argv[1] == "--answer":
        answer(*sys.argv[2:])
    else:
        main(*sys.argv[1:])
