"""``mx.sym.random``: symbols of random numbers, drawn anew in every run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mixnet.ndarray.distributions import Face, functions
from mixnet.ops.registry import find
from mixnet.symbol.symbol import Symbol, compose, make_function


def _call(op: str, symbols: Sequence[Symbol], attributes: dict[str, Any]) -> Symbol:
    attributes.pop("out", None)
    attributes.pop("ctx", None)  # a symbol runs where it is bound
    name, attr = attributes.pop("name", None), attributes.pop("attr", None)
    found = find(op)
    return compose(found, op, dict(zip(found.arrays, symbols, strict=True)), attributes, name, attr)


_made = functions(
    Face(
        Symbol,
        _call,
        extra=(),
        shape=None,
        get_prob=True,
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
