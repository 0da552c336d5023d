"""Docstrings of ``mx.np``: each parameter is named."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator
from typing import Any

import mixnet as mx
from tests.each_record import each_record

NAMESPACES = {"np": mx.np, "np.linalg": mx.np.linalg, "np.random": mx.np.random}


def functions() -> Iterator[tuple[str, Callable[..., Any]]]:
    """Names and functions, without those of NumPy's parameters and those that only raise."""
    for title, namespace in NAMESPACES.items():
        for name in dir(namespace):
            function = getattr(namespace, name)
            home = "mixnet.numpy" if namespace is mx.np else namespace.__name__
            if name.startswith("_") or inspect.isclass(function) or not callable(function):
                continue
            text = function.__doc__ or ""
            is_described = "computed by NumPy" not in text and not text.startswith("Raises:")
            if is_described and (getattr(function, "__module__", None) or "").startswith(home):
                yield f"{title}.{name}", function


FUNCTIONS = dict(functions())


@each_record("name", FUNCTIONS)
def test_parameters_are_named(name: str) -> None:
    text = inspect.getdoc(FUNCTIONS[name]) or ""
    parameters = inspect.signature(FUNCTIONS[name]).parameters
    assert [each for each in parameters if not re.search(rf"\b{each}\b", text)] == []
