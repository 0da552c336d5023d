"""Record the results of MXNet 1.9.1's ``mx.np`` and ``npx`` where NumPy's differ.

Run it with an interpreter that has mxnet 1.9.1 (Python 3.10, NumPy 1.23)::

    python tests/parity/record_numpy.py [PYTHON ...]

It evaluates the expressions of ``tests/numpy/functions.py`` and writes
``tests/parity/fixtures/np_functions.json``: ``names`` lists the functions that MXNet has,
``members`` what its class of arrays has, and ``facts`` has an entry for each expression on which
MXNet and NumPy do not agree in class, dtype, shape and values. Where only values agree they are
left out of the entry, so NumPy still is their reference. An expression that ends the process is
recorded as ``crashes``. NumPy is asked in this interpreter
and in every PYTHON that is named: where their versions differ, MXNet's result is stored in full, and
behind an error what the first NumPy gave.
"""

import json
import os
import subprocess
import sys
import tempfile
import types
import warnings
from pathlib import Path

import numpy as onp

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "numpy"))

from describe import describe, evaluate, same, without_values  # noqa: E402
from functions import ARRAYS, CASES  # noqa: E402

AT_ONCE = 200  # expressions that one process evaluates


def _with_numpy(text):
    scope = {"np": onp, "onp": onp, **{k: v.copy() for k, v in ARRAYS.items()}}
    with onp.errstate(all="ignore"):
        try:
            return describe(evaluate(text, scope), onp.ndarray)
        except Exception as error:
            return ["raises", type(error).__name__]


def _references(python):
    """What NumPy gives for each expression, in another interpreter."""
    run = [python, __file__, "numpy"]
    return json.loads(subprocess.run(run, stdout=subprocess.PIPE, check=True).stdout)


def _work(start, path):
    """Evaluate the expressions from one on; a line of JSON for each."""
    from mxnet import np, npx

    warnings.simplefilter("ignore")
    expressions = [text for forms in CASES.values() for text in forms]
    with open(path, "a") as out:
        for text in expressions[start : start + AT_ONCE]:
            out.write(json.dumps([text]) + "\n")  # what was begun, should the process end
            out.flush()
            npx.set_np()
            arrays = {k: np.array(v, dtype=v.dtype) for k, v in ARRAYS.items()}
            scope = {"np": np, "npx": npx, "onp": onp, "PATH": path + ".params", **arrays}
            try:
                fact = describe(evaluate(text, scope), np.ndarray)
            except Exception as error:
                fact = ["raises", type(error).__name__]
            out.write(json.dumps([text, fact]) + "\n")
            out.flush()
        out.write("[]\n")


def _names():
    """The public functions and classes, by namespace."""
    from mxnet import np, npx

    spaces = {"": np, "linalg.": np.linalg, "random.": np.random, "npx.": npx,
              "npx.random.": npx.random}  # fmt: skip
    results = []
    for prefix, space in spaces.items():
        for name in dir(space):
            value = getattr(space, name)
            module = getattr(value, "__module__", "") or ""
            helper = module.startswith(("mxnet.base", "mxnet.ndarray.numpy.fallback"))
            if not name.startswith("_") and not isinstance(value, types.ModuleType) and not helper:
                results.append(prefix + name)
    return results + ["npx.image." + name for name in npx.image.__all__]


def _agree(left, right):
    if left[0] == "raises" or right[0] == "raises":
        return left[0] == right[0]
    return same(left, right) and without_values(left) == without_values(right)


def _members():
    """The public members of the class of arrays, and the methods that are operators of Python."""
    from mxnet import np

    own = [each for each in dir(np.ndarray) if each not in dir(object)]
    return [each for each in own if not each.startswith("_") or each.endswith("__")]


def main():
    expressions = [text for forms in CASES.values() for text in forms]
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "facts")
        facts = {}
        start = 0
        while start < len(expressions):
            if os.path.exists(path):
                os.remove(path)
            subprocess.run(
                [sys.executable, __file__, "work", str(start), path], stderr=subprocess.DEVNULL
            )
            rows = [json.loads(line) for line in Path(path).read_text().splitlines()]
            for row in rows:
                if len(row) == 2:
                    facts[row[0]] = row[1]
            begun = sum(len(row) == 1 for row in rows)
            start += begun
            if rows[-1] and begun > 1:
                start -= 1  # an earlier one may have spoilt the memory: once more, as the first
            elif rows[-1]:
                facts[rows[-1][0]] = ["raises", "crashes"]
                print("crashes:", rows[-1][0])
    stored = {}
    references = [_references(python) for python in [sys.executable, *sys.argv[1:]]]
    for text in expressions:
        fact, reference = facts[text], references[0][text]
        settled = all(_agree(each[text], reference) for each in references)
        if fact[0] == "raises":
            if not settled and reference[0] != "raises":
                stored[text] = [*fact, reference]
            elif reference[0] != "raises" or not settled:
                stored[text] = fact
        elif not settled or not same(fact, reference):
            stored[text] = fact
        elif without_values(fact) != without_values(reference):
            stored[text] = without_values(fact)
    rows = ",\n".join(f" {json.dumps(k)}: {json.dumps(v)}" for k, v in stored.items())
    text = (
        f'{{"names": {json.dumps(_names())},\n"members": {json.dumps(_members())},\n"facts": '
        f"{{\n{rows}\n}}}}\n"
    )
    (HERE / "fixtures" / "np_functions.json").write_text(text)
    print(len(expressions), "expressions,", len(stored), "facts")


if __name__ == "__main__":
    if sys.argv[1:2] == ["work"]:
        _work(int(sys.argv[2]), sys.argv[3])
    elif sys.argv[1:2] == ["numpy"]:
        warnings.simplefilter("ignore")
        print(json.dumps({t: _with_numpy(t) for forms in CASES.values() for t in forms}))
    else:
        main()
