"""``mx.sym`` and the namespaces below it: every operator as a function on symbols."""

from __future__ import annotations

from mixnet.ops.namespace import PREFIXES, Namespace
from mixnet.symbol.compose import make_function

OPERATORS = Namespace("mx.sym", make_function)


def below(name: str) -> Namespace:
    """The namespace ``mx.sym.<name>``."""
    return Namespace(f"mx.sym.{name}", make_function, PREFIXES.get(name, ""))
