"""``mx.sym.Custom``: an operator registered with ``mx.operator``, on symbols."""

from __future__ import annotations

from typing import Any

from mixnet.name import current as current_names
from mixnet.ops.custom import runner_of
from mixnet.ops.registry import find
from mixnet.symbol.symbol import Symbol, Variable, compose


def Custom(*data: Symbol, op_type: str, name: str | None = None, **kwargs: Any) -> Symbol:
    """Compose an operator written in Python; arguments left out become variables.

    Args:
        data: its arguments in order; or by name.
        op_type: name it was registered under.
        name: name of the node.
        kwargs: its parameters, which reach it as strings.

    Raises:
        MXNetError: nothing is registered under that name.
    """
    named = {k: kwargs.pop(k) for k in list(kwargs) if isinstance(kwargs[k], Symbol)}
    parameters = tuple(sorted((k, str(v)) for k, v in kwargs.items()))
    name = current_names().get(name, "custom")
    inputs = list(data)
    for each in runner_of(op_type, parameters).arguments[len(data) :]:
        inputs.append(named[each] if each in named else Variable(f"{name}_{each}"))
    attributes = {"op_type": op_type, "parameters": parameters}
    made = compose(find("Custom"), "custom", inputs, attributes, name)
    # A file has the parameters as attributes of the node, as MXNet writes them.
    attrs: Any = made._heads[0].node.attrs
    for each in ("parameters", "num_args_"):
        attrs.pop(each, None)
    attrs.update(parameters)
    return made
