"""Ask MXNet 1.9.1 which numbers the attributes of its operators take, and store its answers.

Run it where mixnet runs, with an interpreter that has mxnet 1.9.1::

    python -m tests.parity.record_ranges PYTHON

It takes the calls of ``tests/ops/records`` and ``CALLS``, gives each attribute that has a range, or is an
axis, numbers within and outside of it, one at a time, and writes ``fixtures/ranges.json``: for each operator
the call, and for each attribute and number whether MXNet "accepts" it, "refuses" it with an error, or
"crashes" or hangs. Operators with parameters whose shapes follow from the data are asked through
``infer_shape`` from the shape of the data alone, the others are computed.
"""

from __future__ import annotations

import ctypes
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

FIXTURE = Path(__file__).parent / "fixtures" / "ranges.json"
PATIENCE = 20  # seconds without an answer that count as hanging
NUMBERS = {
    "a whole number": [-3, -1, 0, 1, 7, 2**40],
    "a number": [-1.0, 0.0, 1.0, 3.0, float("nan")],
}

# operators without a record: shapes of the inputs, and attributes
CALLS: dict[str, tuple[list[tuple[int, ...]], dict[str, Any]]] = {
    "_random_uniform": ([], {"shape": (2,)}),
    "_random_normal": ([], {"shape": (2,)}),
    "_random_gamma": ([], {"shape": (2,)}),
    "_random_exponential": ([], {"shape": (2,)}),
    "_random_poisson": ([], {"shape": (2,)}),
    "_random_negative_binomial": ([], {"k": 2, "p": 0.5, "shape": (2,)}),
    "_random_generalized_negative_binomial": ([], {"shape": (2,)}),
    "_random_randint": ([], {"low": 0, "high": 5, "shape": (2,)}),
    "_random_normal_like": ([(2, 3)], {}),
    "_sample_normal": ([(2,), (2,)], {"shape": (2,)}),
    "_sample_multinomial": ([(2, 3)], {}),
    "_npi_uniform": ([], {"low": 0.0, "high": 1.0, "size": (2,)}),
    "_npi_normal": ([], {"loc": 0.0, "scale": 1.0, "size": (2,)}),
    "_npi_gamma": ([], {"shape": 1.0, "scale": 1.0, "size": (2,)}),
    "_npi_exponential": ([], {"scale": 1.0, "size": (2,)}),
    "_npi_pareto": ([], {"a": 1.0, "size": (2,)}),
    "_npi_choice": ([], {"a": 5, "size": (2,), "replace": True, "weighted": False}),
    "_npi_multinomial": ([], {"n": 3, "pvals": (0.5, 0.5), "size": (2,)}),
}


def questions() -> list[dict[str, Any]]:
    """A call of every operator that has ranges, and numbers for the attributes that have one."""
    from mixnet.ops import OPERATORS
    from tests.ops.records import RECORDS

    calls = [(each.op, each.shapes, each.attrs, each) for each in RECORDS]
    calls += [(name, *call, None) for name, call in CALLS.items()]
    rows = []
    for name, shapes, attributes, record in calls:
        op = OPERATORS[name]
        requests = {
            each.name: values
            for each in op.attributes.values()
            if each.range and (values := _numbers(each, attributes.get(each.name, each.default)))
        }
        if requests:
            rows.append({
                "op": name, "shapes": shapes, "attributes": attributes, "asked": requests,
                "symbolic": op._infer_inputs is not None, "variadic": bool(op.variadic),
                "ends": [record.low, record.high] if record else [0.2, 0.9],
                "integers": record.integers if record else {},
                "dtypes": record.dtypes if record else {},
            })  # fmt: skip
    return json.loads(json.dumps(rows, default=lambda value: value.item()))


def _numbers(attribute: Any, current: Any) -> list[Any]:
    if attribute.kind in NUMBERS:
        return [each for each in NUMBERS[attribute.kind] if each != current]
    if not attribute.kind.startswith(("a shape", "a tuple")):
        return []
    whole = attribute.kind == "a shape"
    count = len(current) if isinstance(current, (tuple, list)) and current else 2
    return [[each] * count for each in ([-3, -1, 0, 1] if whole else [-1.0, 0.0, 1.0, 3.0])]


def text(value: Any) -> str:
    """An attribute as MXNet reads it."""
    if isinstance(value, (list, tuple)):
        return "(" + ", ".join(map(text, value)) + ("," if len(value) == 1 else "") + ")"
    return str(value)


def arrays_of(question: dict[str, Any]) -> list[np.ndarray]:
    """The inputs of a call: the same numbers each time."""
    rng, arrays = np.random.default_rng(1), []
    for i, shape in enumerate(question["shapes"]):
        if str(i) in question["dtypes"]:
            ends = np.iinfo(question["dtypes"][str(i)])
            arrays.append(rng.integers(ends.min, ends.max, shape, ends.dtype, endpoint=True))
        elif str(i) in question["integers"]:
            most = question["integers"][str(i)]
            arrays.append(rng.integers(0, most, shape).astype("float32"))
        else:
            arrays.append(rng.uniform(*question["ends"], shape).astype("float32"))
    return arrays


def symbol_text(name: str, count: int, attributes: dict[str, Any]) -> str:
    """A symbol file of one operator on variables x0, x1, ..."""
    nodes: list[Any] = [{"op": "null", "name": f"x{i}", "inputs": []} for i in range(count)]
    attrs = {key: text(value) for key, value in attributes.items()}
    inputs = [[i, 0, 0] for i in range(count)]
    nodes.append({"op": name, "name": "y", "attrs": attrs, "inputs": inputs})
    return json.dumps({"nodes": nodes, "arg_nodes": list(range(count)), "heads": [[count, 0, 0]],
                       "attrs": {"mxnet_version": ["int", 10901]}})  # fmt: skip


def is_numpys(name: str) -> bool:
    """Whether shapes have NumPy's meaning in an operator."""
    return name.startswith(("_np_", "_npi_", "_npx_"))


def flat(requests: list[dict[str, Any]]) -> list[tuple[dict[str, Any], str | None, Any]]:
    """Question, attribute and number of every call; a call as it is stands first."""
    return [
        (each, name, value)
        for each in requests
        for name, values in [(None, [None]), *each["asked"].items()]
        for value in values
    ]


def answer(source: str, start: str) -> None:
    """Print MXNet's answers from a place on, a line each; runs where mxnet is."""
    import mxnet as mx
    from mxnet._ctypes.ndarray import _imperative_invoke
    from mxnet.base import _LIB, c_str, check_call

    for question, name, value in flat(json.loads(Path(source).read_text()))[int(start) :]:
        attributes = dict(question["attributes"], **({} if name is None else {name: value}))
        if question["variadic"]:
            attributes["num_args"] = len(question["shapes"])
        before = mx.util.set_np_shape(is_numpys(question["op"]))
        try:
            if question["symbolic"]:
                symbol = mx.sym.load_json(
                    symbol_text(question["op"], len(question["shapes"]), attributes)
                )
                symbol.infer_shape_partial(x0=tuple(question["shapes"][0]))
            else:
                inputs = [mx.nd.array(each, dtype=each.dtype) for each in arrays_of(question)]
                if is_numpys(question["op"]):
                    inputs = [each.as_np_ndarray() for each in inputs]
                handle = ctypes.c_void_p()
                check_call(_LIB.NNGetOpHandle(c_str(question["op"]), ctypes.byref(handle)))
                keys, values = list(attributes), [text(each) for each in attributes.values()]
                result = _imperative_invoke(
                    handle.value, inputs, keys, values, None, is_numpys(question["op"]), True
                )
                for each in result:
                    each.asnumpy()
            print("accepts", flush=True)
        except Exception:
            print("refuses", flush=True)
        finally:
            mx.util.set_np_shape(before)


def ask(python: str, requests: list[dict[str, Any]]) -> list[str]:
    """MXNet's answers; a process that crashes or hangs is followed by another."""
    answers: list[str] = []
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder, "questions.json")
        source.write_text(json.dumps(requests))
        total = len(flat(requests))
        while len(answers) < total:
            answers += run_once(python, __file__, source, len(answers))
            if len(answers) < total:
                answers.append("crashes")
    return answers


def answers_of(python: str, script: str, questions: object, count: int, prefix: str) -> list[Any]:
    """The answers of a script, each behind a prefix; a process that crashes or hangs is followed by another.

    Args:
        python: an interpreter with mxnet.
        script: prints answers as JSON with ``--answer``.
        questions: are written to the file that the script reads.
        count: the number of answers.
        prefix: stands before an answer: MXNet prints as well.
    """
    answers: list[Any] = []
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder, "questions.json")
        source.write_text(json.dumps(questions))
        while len(answers) < count:
            lines = run_once(python, script, source, len(answers))
            answers += [
                json.loads(each.removeprefix(prefix)) for each in lines if each.startswith(prefix)
            ]
            if len(answers) < count:
                answers.append("crashes")
    return answers


def run_once(python: str, script: str, source: Path, start: int) -> list[str]:
    """The lines that a script prints with ``--answer`` until it ends, crashes or hangs."""
    command = [python, script, "--answer", str(source), str(start)]
    with tempfile.TemporaryFile("w+") as out:
        process = subprocess.Popen(command, stdout=out, stderr=subprocess.DEVNULL)
        size = -1
        while True:
            try:
                process.wait(PATIENCE)
                break
            except subprocess.TimeoutExpired:
                if (now := out.seek(0, 2)) == size:
                    process.kill()
                size = now
        out.seek(0)
        return out.read().splitlines()


def main(python: str) -> None:
    """Write the fixture."""
    requests = questions()
    stored: list[dict[str, Any]] = []
    for (question, name, value), answer in zip(flat(requests), ask(python, requests), strict=True):
        if name is None:
            stored.append({**question, "works": answer == "accepts", "facts": {}})
        else:
            stored[-1]["facts"].setdefault(name, []).append([value, answer])
    retained = [{k: v for k, v in each.items() if k != "asked"} for each in stored if each["works"]]
    FIXTURE.write_text("[\n" + ",\n".join(json.dumps(each) for each in retained) + "\n]\n")
    print(f"{len(retained)} operators in {FIXTURE}")


if __name__ == "__main__":
    if sys.argv[1] == "--answer":
        answer(*sys.argv[2:])
    else:
        main(sys.argv[1])
