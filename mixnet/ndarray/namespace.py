"""``mx.nd`` and the namespaces below it: every operator as a function on arrays."""

from __future__ import annotations

from mixnet.ndarray.invoke import make_function
from mixnet.ops.namespace import PREFIXES, Namespace

OPERATORS = Namespace("mx.nd", make_function)


def below(name: str) -> Namespace:
    """The namespace ``mx.nd.<name>``."""
    return Namespace(f"mx.nd.{name}", make_function, PREFIXES.get(name, ""))
