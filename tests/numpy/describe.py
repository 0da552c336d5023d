"""A value as plain data, and whether two of them agree."""

from __future__ import annotations

import numpy as onp


def evaluate(text, scope):
    """The value of the last of several statements, which is an expression."""
    *statements, expression = text.split("; ")
    for each in statements:
        exec(each, scope)
    return eval(expression, scope)


def describe(value, array_class):
    """Class, dtype, shape and values of a result, as what JSON can hold.

    Arrays of NumPy are ``host`` where the library under test has arrays of its own.
    """
    if isinstance(value, (array_class, onp.ndarray, onp.generic)):
        kind = "array" if isinstance(value, array_class) else "host"
        if array_class is onp.ndarray:
            kind = "array"
        data = value.asnumpy() if hasattr(value, "asnumpy") else onp.asarray(value)
        if data.dtype.kind not in "fiub":
            return ["value", str(data.tolist())]
        numbers = [_short(n) for n in data.astype("float64").reshape(-1).tolist()]
        return [kind, str(data.dtype), list(data.shape), numbers]
    if isinstance(value, (list, tuple)):
        kind = "list" if isinstance(value, list) else "tuple"
        return [kind, [describe(each, array_class) for each in value]]
    if isinstance(value, (type, onp.dtype)):
        return ["value", str(onp.dtype(value))]
    if isinstance(value, float):
        return ["value", repr(_short(value))]
    return ["value", repr(value)]


def _short(number):
    return float(f"{number:.7g}")


def same(left, right):
    """Whether the values agree; classes and dtypes are left out."""
    if "raises" in (left[0], right[0]):
        return left[0] == right[0]
    if left[0] in ("list", "tuple") and right[0] in ("list", "tuple"):
        pairs = list(zip(left[1], right[1], strict=False))
        return len(left[1]) == len(right[1]) and all(same(a, b) for a, b in pairs)
    if left[0] in ("array", "host") and right[0] in ("array", "host"):
        if left[2] != right[2]:
            return False
        coarse = "float16" in (left[1], right[1])
        tolerance = 4e-3 if coarse else 2e-5
        return onp.allclose(left[3], right[3], rtol=tolerance, atol=tolerance, equal_nan=True)
    return left == right


def without_values(fact):
    """Class, dtype and shape alone."""
    if fact[0] in ("list", "tuple"):
        return [fact[0], [without_values(each) for each in fact[1]]]
    return fact[:3] if fact[0] in ("array", "host") else fact


def has_values(fact):
    """Whether a stored fact has them."""
    if fact[0] in ("list", "tuple"):
        return all(has_values(each) for each in fact[1])
    return len(fact) == 4 or fact[0] not in ("array", "host")
