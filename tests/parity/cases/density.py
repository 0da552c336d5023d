"""Densities of samples, plain and in logarithm, with gradients; several samples for a parameter."""

import numpy as np

_RNG = np.random.RandomState(5)


def _array(*shape, low=0.2, high=2.0, dtype="float32"):
    return _RNG.uniform(low, high, shape).astype(dtype)


def _counts(*shape):
    return _RNG.randint(0, 7, shape).astype("float32")


def _share(*shape):
    return _array(*shape, low=0.1, high=0.9)


# distribution: sample, parameters
_CASES = {
    "uniform": (_array, {"low": lambda *s: -_array(*s), "high": lambda *s: 2 + _array(*s)}),
    "normal": (lambda *s: _array(*s, low=-2), {"mu": _share, "sigma": _array}),
    "gamma": (_array, {"alpha": _array, "beta": _array}),
    "exponential": (_array, {"lam": _array}),
    "poisson": (_counts, {"lam": _array}),
    "negative_binomial": (_counts, {"k": lambda *s: 1 + _counts(*s), "p": _share}),
    "generalized_negative_binomial": (_counts, {"mu": _array, "alpha": _share}),
}


def _simplex(*shape):
    result = _array(*shape)
    return (result / result.sum(-1, keepdims=True)).astype("float32")


def _cases():
    for name, (sample, parameters) in _CASES.items():
        for is_log in (False, True):
            for extra in ((), (3,)):
                inputs = {"sample": sample(2, 2, *extra)}
                inputs.update({key: draw(2, 2) for key, draw in parameters.items()})
                yield {"case": f"pdf_{name}_{'log_' * is_log}{len(extra)}",
                       "op": f"random_pdf_{name}", "inputs": inputs, "attrs": {"is_log": is_log},
                       "grads": list(inputs)}  # fmt: skip
    for is_log in (False, True):
        for shape, of in (((2, 3), (2, 3)), ((2, 4, 3), (2, 3)), ((4, 3), (3,)), ((3,), (3,))):
            inputs = {"sample": _simplex(*shape), "alpha": _array(*of)}
            yield {"case": f"pdf_dirichlet_{'log_' * is_log}{len(shape)}{len(of)}",
                   "op": "random_pdf_dirichlet", "inputs": inputs, "attrs": {"is_log": is_log},
                   "grads": list(inputs)}  # fmt: skip
    for dtype in ("float16", "float64"):
        inputs = {"sample": _array(3), "mu": _array(3), "sigma": _array(3)}
        inputs = {key: value.astype(dtype) for key, value in inputs.items()}
        yield {"case": f"pdf_normal_{dtype}", "op": "random_pdf_normal", "inputs": inputs,
               "attrs": {}}  # fmt: skip


CASES = list(_cases())
