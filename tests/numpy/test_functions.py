"""Every function of ``mx.np`` and ``npx`` against NumPy, and against MXNet 1.9.1 where they differ.

The rules, for each expression of ``functions.py``: where MXNet gave what NumPy gives, so must
mixnet, in class, dtype, shape and values. Where MXNet gave something else, that is stored and
holds. Where MXNet refused what NumPy computes, mixnet may refuse as well or give NumPy's values.
"""

from __future__ import annotations

import json
import re
import warnings
from pathlib import Path
from typing import Any

import numpy as onp
import pytest

import mixnet as mx
from tests.each_record import each_record
from tests.numpy.describe import describe, evaluate, has_values, same, without_values
from tests.numpy.functions import ARRAYS, CASES

STORED = json.loads(
    (Path(__file__).parent.parent / "parity" / "fixtures" / "np_functions.json").read_text()
)
FACTS = STORED["facts"]
FORMS = [(name, text) for name, forms in CASES.items() for text in forms]
# Where mixnet differs, and why.
_MASKS = "MXNet makes a number of it; not a number stays that, as in NumPy"
_OVERFLOWS = "MXNet computes the mean of whole numbers in their own dtype"
_EMPTY = "MXNet gives 0 where there is nothing to take the mean or the product of"
_IGNORES = "MXNet leaves the argument out of account; this is what NumPy computes with it"
_REFUSES = "MXNet computes something; this is refused, as NumPy does"
_TAKES = "MXNet refuses this; here it has a meaning"
DEVIATIONS: dict[str, str] = {
    "np.sign(x1)": _MASKS,
    "np.arctanh(pi)": "no whole number stands for infinity",
    **{
        f"np.{name}(az{axis})": _EMPTY
        for name in ("prod", "product", "mean")
        for axis in ("", ", axis=0")
    },
    **{
        f"np.{name}({each})": _OVERFLOWS
        for name in ("std", "var")
        for each in ("au", "ai, dtype='float32'")
    },
    "np.rad2deg(ai)": "the same as degrees(), which MXNet has for integers",
    "np.deg2rad(ai)": "the same as radians(), which MXNet has for integers",
    "np.histogram(gi, 3, (0, 4))": "the counts are NumPy's; the edges are whole numbers, as in MXNet",
    "np.linalg.svd(m2)": "the thin decomposition, also of matrices with more rows than columns",
    "np.linalg.eigh(s2, UPLO='X')": _REFUSES,
    "np.linalg.multi_dot([a1, c2, g2[:, 0]])": "an array without axes, as all such results",
    **{
        f"a2 {sign} {other}": "Python asks for identity"
        for sign in ("==", "!=")
        for other in ("None", "'x'")
    },
    "s2 @= s2; s2": "MXNet leaves zeros",
    "a2[[True, False]] = 7; a2": "booleans are a mask, as in NumPy",
    "a2[onp.array([True, False])] = 7; a2": "booleans are a mask, as in NumPy",
    "v = a2.reshape((3, 2)); v[0] = 1; a2": "reshape gives a view, as in NumPy",
    "a2 is a2[:]": "another handle on the same storage, as in NumPy",
    "(lambda v: (v.shape, str(v.dtype)))(np.random.randint(5, 5))": _REFUSES,
    "np.diff(a1, prepend=0)": _IGNORES,
    "np.pad(a2, ((1, 1), (1, 1)), mode='constant', constant_values=3)": _IGNORES,
    "np.linspace(0, 5, 4, retstep=True, endpoint=False)": _IGNORES,
    "np.delete(r1, np.array([-1], dtype='int64'))": _IGNORES,
    "np.reshape(a2, (3, 2), order='F')": "MXNet takes the order for 'C'; this is refused",
    "np.unravel_index(al[:1], (4, 4))": "positions are not read, so not checked",
    "np.sort(n1)": "MXNet leaves an array with NaN unsorted",
    "np.linalg.norm(a2, ord=3, axis=(0, 1))": _REFUSES,
    "(lambda v: (v.shape, str(v.dtype)))(np.random.choice(3, 5, replace=False))": _REFUSES,
    "(lambda v: (v.shape, str(v.dtype)))(np.random.multinomial(5, [0.9, 0.9, 0.1]))": _REFUSES,
    "npx.batch_norm(nchw, np.ones(2), np.zeros(2), np.zeros(2), np.ones(2), "
    "use_global_stats=True, axis=1)": _TAKES,
    "npx.embedding(a1 * 0 + 1, m2, 4, 3)": _TAKES,
    "npx.gather_nd(a2, np.array([0, 1], dtype='int64'))": _TAKES,
    "npx.constraint_check(np.array([True, True]), 'msg')": _TAKES,
}
# NumPy computes these, and the dtype of the result depends on its version.
OF_NUMPY = ("nanpercentile", "nanquantile", "histogram2d", "histogramdd")


@pytest.fixture(autouse=True)
def _numpy_semantics():
    mx.npx.set_np()
    yield
    mx.npx.reset_np()


def _named(text: str) -> dict[str, Any]:
    """The arrays that an expression uses: creating all of them takes longer than most expressions."""
    words = set(re.findall(r"\w+", text))
    return {name: array for name, array in ARRAYS.items() if name in words}


def _result_and_error(text: str, path: Any) -> tuple[Any, Exception | None]:
    arrays = {k: mx.np.array(v, dtype=v.dtype) for k, v in _named(text).items()}
    scope = {"np": mx.np, "npx": mx.npx, "onp": onp, "PATH": str(path / "arrays.params"), **arrays}
    with warnings.catch_warnings(), onp.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            return describe(evaluate(text, scope), mx.np.ndarray), None
        except Exception as error:
            return ["raises", type(error).__name__], error


def _reference(text: str) -> Any:
    scope = {"np": onp, "onp": onp, **{k: v.copy() for k, v in _named(text).items()}}
    with warnings.catch_warnings(), onp.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            return describe(evaluate(text, scope), onp.ndarray)
        except Exception as error:
            return ["raises", type(error).__name__]


@each_record("name", CASES, by=lambda name: name.rpartition(".")[0] or "np")
def test_function(name: str, tmp_path: Path) -> None:
    wrong = []
    for text in CASES[name]:
        if text not in DEVIATIONS:
            actual, error = _result_and_error(text, tmp_path)
            problem = _problem(text, actual, error)
            if problem:
                wrong.append(f"{text}: {problem}")
    assert not wrong, "\n" + "\n".join(wrong)


def _problem(text: str, actual: Any, error: Exception | None) -> str | None:
    reference, fact = _reference(text), FACTS.get(text)
    if error is None and text.removeprefix("np.").startswith(OF_NUMPY):
        return None if same(actual, reference) else f"NumPy has {reference}, found {actual}"
    if fact is None:
        fact = reference
    elif fact[0] == "raises" and len(fact) == 3:
        reference = fact[2]  # of a NumPy that still had it
    if fact[0] == "raises":
        if error is not None:
            return None
        if reference[0] == "raises":
            return f"{fact[1]} was raised, now {actual}"
        return None if same(actual, reference) else f"NumPy has {reference}, found {actual}"
    if error is not None:
        return f"{type(error).__name__}: {error}; should be {fact}"
    if without_values(actual) != without_values(fact):
        return f"{without_values(actual)}, should be {without_values(fact)}"
    expected = fact if has_values(fact) else reference
    return None if same(actual, expected) else f"{actual}, should be {expected}"


@each_record("name", STORED["names"])
def test_every_name_has_a_row(name: str) -> None:
    assert CASES.get(name)
    actual: Any = mx
    for part in (name if name.startswith("npx.") else f"np.{name}").split("."):
        actual = getattr(actual, part)
