"""Functions of ``mx.sym``: an operator applied to symbols makes a node."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from mixnet.attribute import HIDDEN, node_attributes
from mixnet.base import (
    AttributeTypeError,
    NotAnArrayError,
    OperatorTypeError,
    OperatorValueError,
    _Null,
)
from mixnet.graph.draws import note_call
from mixnet.graph.node import Entry, Node, keep_place
from mixnet.name import current as current_names
from mixnet.ops.op import Op
from mixnet.ops.registry import find
from mixnet.ops.schema.attributes import to_text
from mixnet.ops.schema.docstrings import with_arguments
from mixnet.passes.lower_precision import WIDEST, Precision
from mixnet.runtime.record.precision import current as precision
from mixnet.symbol.symbol import Symbol


def compose(
    op: Op,
    called: str,
    inputs: Mapping[str, Symbol] | Sequence[Symbol | None],
    attributes: dict[str, Any],
    name: str | None = None,
    attr: Mapping[str, object] | None = None,
) -> Symbol:
    """A symbol that applies an operator; parameters that are not given become variables.

    Args:
        op: the operator.
        called: the name it was called by: automatic names count by it.
        inputs: symbols by parameter, or in order for a variadic operator, None for one that becomes a
            variable.
        attributes: the operator's attributes.
        name: name of the node, automatic by default.
        attr: user attributes; values of any type become text.
    """
    declared, users = _divided(op, attributes)
    statics, scalars = op.bind(declared)
    if name is not None and not isinstance(name, str):
        raise AttributeTypeError(f"{op.name}: name must be text, not {name!r:.80}.")
    name = current_names().get(name, called.lower())
    if attr:
        _check_user_attributes(op, attr)
    stated = node_attributes({k: str(v) for k, v in (attr or {}).items()}, users)
    texts = {k: to_text(v) for k, v in declared.items() if k not in stated}
    # The order is MXNet's: variadic operators have the attributes of the user last.
    attrs = {**texts, **stated} if op.variadic else {**stated, **texts}
    own_variables: list[Node] = []

    def own_variable(parameter: str) -> Entry:
        own_variables.append(_own_variable(op, name, parameter, attrs))
        return Entry(own_variables[-1])

    if op.variadic:
        assert not isinstance(inputs, Mapping)
        entries = _counted_entries(op, inputs, op.argument_names(statics), attrs, own_variable)
    else:
        assert isinstance(inputs, Mapping)
        entries = _named_entries(
            op, inputs, _parameters(op, op.argument_names(statics), inputs, declared), own_variable
        )
    if precision.rule is not None:
        entries = _fitted(precision.rule.kind(op, statics), precision.rule, entries)
    node = Node(op, statics, scalars, tuple(entries), name, attrs)
    keep_place(node, 2)
    for variable in own_variables:
        variable.made_from(node)
    note_call(node)
    symbols = inputs.values() if isinstance(inputs, Mapping) else inputs
    # Operators on symbols of mx.np give symbols of mx.np.
    kinds = (type(each) for each in symbols if each is not None)
    kind = next((each for each in kinds if each is not Symbol), Symbol)
    return kind([Entry(node, i) for i in range(op.num_visible(statics, len(entries)))])


_OF_EVERY_CALL = {
    "name": "of the node; automatic by default.",
    "attr": "attributes of the user, text by name, such as ``{'__lr_mult__': '2'}``.",
    "out": "accepted as in MXNet; only arrays can be written to.",
    "kwargs": "attributes of the user by name, such as ``__lr_mult__``.",
}
"""The arguments of each function of the namespace besides the operator's own."""


def make_function(op: Op, name: str) -> Callable[..., Symbol]:
    """The function ``mx.sym.<name>`` of an operator."""
    order = tuple(op.attributes)

    def function(*args: Any, name: str | None = None, attr: Any = None, **kwargs: object) -> Symbol:
        kwargs.pop("out", None)
        symbols: Mapping[str, Symbol] | Sequence[Symbol | None]
        rest: Sequence[Any] = ()
        if op.variadic:
            symbols = _variadic_inputs(op, args, kwargs)
        else:
            rest = args[len(op.arrays) :]
            op.check_given_once((*op.arrays[: len(args)], *order[: len(rest)]), kwargs)
            symbols = _named_inputs(op, args, kwargs)
        kwargs.update(zip(order, rest, strict=False))
        kwargs.pop("ctx", None)
        if "dtype" in kwargs and kwargs["dtype"] is None:
            op.read_no_dtype(kwargs)
        name, attr = _name_by_position(op, rest[len(order) :], name, attr)
        return compose(op, called, symbols, kwargs, name, attr)

    called = name
    function.__name__ = function.__qualname__ = name
    function.__module__ = "mixnet.symbol"
    function.__doc__ = with_arguments(op.__doc__ or "", _OF_EVERY_CALL)
    function.__signature__ = op.signature(symbols=True)  # type: ignore[attr-defined]
    return function


def _counted_entries(
    op: Op,
    inputs: Sequence[Symbol | None],
    names: Sequence[str],
    attrs: dict[str, str],
    own_variable: Callable[[str], Entry],
) -> list[Entry]:
    """The inputs of a variadic operator in order; notes their number in `attrs`, as MXNet's files do."""
    count = sum(1 if each is None else len(each._heads) for each in inputs)
    if op.num_args == "num_args" and not count:
        raise OperatorValueError(f"{op.name} takes at least one symbol; none was given.")
    if op.num_args:
        attrs.setdefault(op.num_args, str(count))
    entries: list[Entry] = []
    for symbol in inputs:
        if symbol is None:
            place = len(entries)
            entries.append(
                own_variable(names[place] if place < len(names) else f"{_VARIADIC}{place}")
            )
        else:
            for parameter, entry in zip(names[len(entries) :], symbol._heads, strict=False):
                _set_initializer(op, parameter, entry.node)
            entries += symbol._heads
    return entries + [own_variable(each) for each in names[len(entries) :]]


def _named_entries(
    op: Op,
    inputs: Mapping[str, Symbol],
    parameters: Sequence[str],
    own_variable: Callable[[str], Entry],
) -> list[Entry]:
    """The inputs of an operator by parameter; a parameter that was left out becomes a variable."""
    entries = []
    for parameter in parameters:
        if parameter in inputs:
            entries.append(inputs[parameter]._entry())
            _set_initializer(op, parameter, entries[-1].node)
        else:
            entries.append(own_variable(parameter))
    return entries


def _parameters(
    op: Op, names: Sequence[str], inputs: Mapping[str, Symbol], attributes: Mapping[str, Any]
) -> Sequence[str]:
    """The names of an operator's inputs with its attributes.

    Raises:
        OperatorValueError: there are inputs of other names.
    """
    surplus = [each for each in inputs if each not in names]
    if surplus:
        text = ", ".join(f"{k}={v!r}" for k, v in attributes.items())
        raise OperatorValueError(
            f"{op.name} has no {' and no '.join(surplus)} with {text or 'these attributes'}; it has "
            f"{', '.join(names)}. Leave out {' and '.join(surplus)}, or change the attributes."
        )
    return names


def _fitted(kind: str | None, rule: Precision, entries: list[Entry]) -> list[Entry]:
    """Inputs, with casts if the operator needs another dtype than they may have."""
    if kind is None or (kind == WIDEST and len(entries) < 2):
        return entries
    if kind == WIDEST:
        name = current_names().get(None, "amp_multicast")
        op = find("amp_multicast")
        statics, scalars = op.bind({})
        attrs = {"num_outputs": str(len(entries)), **node_attributes()}
        node = Node(op, statics, scalars, tuple(entries), name, attrs)
        return [Entry(node, i) for i in range(len(entries))]
    op, dtype = find("amp_cast"), rule.target(kind, ()).name
    statics, scalars = op.bind({"dtype": dtype})
    fitted = []
    for entry in entries:
        name = current_names().get(None, "amp_cast")
        attrs = {"dtype": dtype, **node_attributes()}
        fitted.append(Entry(Node(op, statics, scalars, (entry,), name, attrs)))
    return fitted


def _own_variable(op: Op, name: str, parameter: str, attrs: Mapping[str, str]) -> Node:
    """The variable of a parameter that was not given: it has all that its node has, as MXNet has it."""
    variable = Node(None, name=f"{name}_{parameter}", attrs=dict(attrs))
    _set_initializer(op, parameter, variable)
    return variable


def _set_initializer(op: Op, parameter: str, node: Node) -> None:
    """Give a variable the initializer of the parameter it is used for, unless it has its own."""
    if parameter in op.initializers and node.is_variable and "__init__" not in node.attrs:
        # Behind the others: dicts of attributes are printed in MXNet's order.
        node.attrs = {**node.attrs, "__init__": op.initializers[parameter]}


def _divided(op: Op, attributes: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, str]]:
    """Attributes of the operator that are set, and those of the user as text.

    Raises:
        AttributeTypeError: one is neither.
    """
    # Dicts of attributes are printed in MXNet's order, in which the dtype comes last.
    in_order = sorted(op.attributes.items(), key=lambda item: item[0] == "dtype")
    own_attributes = {
        k: v
        for k, declared in in_order
        if (v := attributes.get(k, _Null)) is not _Null
        and (v is not None or declared.optional or declared.kind != "a dtype")
    }
    users = {k: v for k, v in attributes.items() if k not in op.attributes}
    for k, v in users.items():
        if not _is_user(k) and (op.attributes or isinstance(v, Symbol)):
            raise op.no_argument(k)
        users[k] = str(v)
    return own_attributes, users


def _check_user_attributes(op: Op, attr: Mapping[str, object]) -> None:
    for key in attr:
        if op.attributes and not _is_user(key):
            raise OperatorTypeError(
                f"{op.name}: attribute {key!r} of the user must be named as '__{key}__', so that it "
                f"is not taken for one of the operator's."
            )


def _is_user(key: str) -> bool:
    return key in HIDDEN or (key.startswith("__") and key.endswith("__"))


def _named_inputs(op: Op, args: Sequence[Any], kwargs: dict[str, Any]) -> dict[str, Symbol]:
    """The symbols of a call by parameter; those passed by name are removed from ``kwargs``.

    Raises:
        NotAnArrayError: something else is among the symbols.
    """
    symbols = {key: value for key, value in zip(op.arrays, args, strict=False) if value is not None}
    for key in op.arrays:
        named = kwargs.pop(key, None)
        if named is not None:
            symbols[key] = named
    for key, value in symbols.items():
        if not isinstance(value, Symbol):
            raise NotAnArrayError(
                f"{op.name}: {key} must be a Symbol, not {type(value).__name__}. Make one "
                f"with mx.sym.Variable(name)."
            )
    return symbols


# The inputs of a variadic operator are called arg0, arg1, ...
_VARIADIC = "arg"


def _variadic_inputs(op: Op, args: Sequence[Any], kwargs: dict[str, Any]) -> list[Symbol | None]:
    """The symbols of a call of a variadic operator, None for each that is missing. What says the inputs
    is removed from ``kwargs``.

    Raises:
        NotAnArrayError: something else is among the symbols.
        AttributeTypeError: some symbols are named and some are not.
        OperatorValueError: there are more symbols than inputs.
    """
    assert op.variadic is not None
    count = op.number_of_inputs(kwargs)
    operands = kwargs.pop(op.variadic, args)
    if isinstance(operands, Symbol):
        operands = [operands]
    if len(operands) == 1 and isinstance(operands[0], (list, tuple)):
        operands = operands[0]
    for each in operands:
        if not isinstance(each, Symbol):
            raise NotAnArrayError(
                f"{op.title}: inputs must be Symbols, not {type(each).__name__}. Make a variable "
                f"with mx.sym.Variable(name), and bind an array to it; pass attributes by name."
            )
    symbols: list[Symbol | None] = list(operands)
    names = [key for key in kwargs if re.fullmatch(rf"{_VARIADIC}\d+", key)]
    named = {int(key[len(_VARIADIC) :]): kwargs.pop(key) for key in names}
    if named and symbols:
        raise AttributeTypeError(
            f"{op.name}: pass all symbols in order or all by name, not {len(symbols)} in order and "
            f"{', '.join(names)} by name."
        )
    if named:
        symbols = [named.get(place) for place in range(max(named) + 1)]
    if op.num_args != "num_args" or count is None:
        return symbols
    heads = sum(1 if each is None else len(each._heads) for each in symbols)
    if heads > count:
        raise OperatorValueError(
            f"{op.name}: there are {heads} symbols, but num_args={count}. Leave num_args out."
        )
    return [*symbols, *[None] * (count - heads)]


def _name_by_position(op: Op, args: Sequence[Any], name: object, attr: object) -> tuple[Any, Any]:
    """The name and the attributes of a node, from what follows the operator's attributes.

    Raises:
        AttributeTypeError: there is more, or something else.
    """
    if not args:
        return name, attr
    first, second = (*args, None, None)[:2]
    is_name = first is None or (isinstance(first, str) and name is None)
    is_attr = second is None or (isinstance(second, dict) and attr is None)
    if len(args) > 3 or not (is_name and is_attr):
        raise op.wrong_positional(args, "a name, and then attr,")
    return name if first is None else first, attr if second is None else second
