"""``mx.nd.random``: arrays of random numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mixnet.ndarray.distributions import Face, functions
from mixnet.ndarray.invoke import invoke, make_function
from mixnet.ndarray.ndarray import NDArray
from mixnet.ops.registry import find


def _call(op: str, arrays: Sequence[NDArray], attributes: dict[str, Any]) -> Any:
    attributes.pop("name", None)  # names are a symbol's
    return invoke(find(op), arrays, attributes, attributes.pop("out", None))


_made = functions(
    Face(
        NDArray,
        _call,
        extra=("ctx", "out"),
        shape=(1,),
        get_prob=False,
        like=lambda op, name: make_function(find(op), name),
    )
)

exponential = _made["exponential"]
exponential_like = _made["exponential_like"]
gamma = _made["gamma"]
gamma_like = _made["gamma_like"]
generalized_negative_binomial = _made["generalized_negative_binomial"]
generalized_negative_binomial_like = _made["generalized_negative_binomial_like"]
multinomial = _made["multinomial"]
negative_binomial = _made["negative_binomial"]
negative_binomial_like = _made["negative_binomial_like"]
normal = _made["normal"]
normal_like = _made["normal_like"]
poisson = _made["poisson"]
poisson_like = _made["poisson_like"]
randint = _made["randint"]
randn = _made["randn"]
shuffle = _made["shuffle"]
uniform = _made["uniform"]
uniform_like = _made["uniform_like"]

__all__ = [
    "exponential",
    "exponential_like",
    "gamma",
    "gamma_like",
    "generalized_negative_binomial",
    "generalized_negative_binomial_like",
    "multinomial",
    "negative_binomial",
    "negative_binomial_like",
    "normal",
    "normal_like",
    "poisson",
    "poisson_like",
    "randint",
    "randn",
    "shuffle",
    "uniform",
    "uniform_like",
]
