"""Calling an operator on arrays: attributes are bound, the operation recorded, results wrapped."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from mixnet.base import AttributeTypeError, ContextError, ShapeError, TraceError
from mixnet.context import Context, current_context
from mixnet.ndarray.ndarray import NDArray
from mixnet.ops.registry import Op
from mixnet.runtime.keys import next_draw
from mixnet.runtime.moving import move
from mixnet.runtime.precision import current as precision
from mixnet.runtime.precision import fitted
from mixnet.runtime.record import record
from mixnet.runtime.state import is_tracing, state, updating
from mixnet.runtime.value import Value

# What runs an operator when an input is sparse; mixnet.ndarray.sparse_rules puts it here.
on_sparse: list[Callable[..., Any]] = []


def invoke(
    op: Op,
    arrays: Sequence[NDArray],
    attributes: dict[str, Any],
    out: Any = None,
    cls: type[NDArray] = NDArray,
) -> Any:
    """Record one operator; returns an array, or a list where it has several outputs.

    Args:
        op: the operator.
        arrays: its inputs; states among them are written.
        attributes: attributes by name; ``ctx`` says where an operator without inputs runs.
        out: an array, or a list, that the outputs are written to.
        cls: class of the results when there are no inputs.
    """
    for each in arrays:
        if each._is_sparse:
            return on_sparse[0](op, arrays, attributes, out)
    context = _context(attributes.pop("ctx", None)) if "ctx" in attributes else None
    if op.measure is not None:
        attributes["size"] = _measured(op, arrays, attributes)
    if out is not None and not arrays and not isinstance(out, (list, tuple)):
        for name, value in (("shape", out.shape), ("dtype", out.dtype)):
            if name in op.attributes and attributes.get(name) is None:
                attributes[name] = value  # as the array that is to be filled
    statics, scalars = op.bind(attributes, state.training)
    if (out is not None or op.states) and not op.calls_python:
        with updating:
            return _run(op, arrays, statics, scalars, context, out, cls)
    return _run(op, arrays, statics, scalars, context, out, cls)


def _run(
    op: Op,
    arrays: Sequence[NDArray],
    statics: Any,
    scalars: tuple[float, ...],
    context: Context | None,
    out: Any,
    cls: type[NDArray],
) -> Any:
    values = tuple([each._read() for each in arrays])
    if precision.rule is not None:
        values = fitted(op, statics, values)
    if arrays:
        cls = type(arrays[0])
        context = None
    elif context is None:
        context = current_context()
    if op.takes_key:
        key, draw = next_draw(context or values[0].spec.context)
        values, scalars = (*values, key), (*scalars, draw)
    if op.takes_key and not arrays:
        context = None
    outputs = record(op, statics, scalars, values, context)
    if op.states:
        _write_states(op, statics, arrays, values, outputs)
    count = op.num_visible(statics, len(arrays))
    if out is not None:
        return _write_out(op, out, outputs[:count])
    if count == 1:
        return cls._wrap(outputs[0])
    return [cls._wrap(value) for value in outputs[:count]]


def _measured(op: Op, arrays: Sequence[NDArray], attributes: dict[str, Any]) -> int:
    """How many elements the result has, read off the values of the inputs.

    Raises:
        TraceError: a graph is being traced, where there are no values.
    """
    if is_tracing():
        raise TraceError(
            f"{op.name}: the shape of the result depends on values, which a graph that is being "
            f"traced does not have. Compute it outside of the hybridized block, or take an "
            f"operator whose shape is known, such as where()."
        )
    statics, _ = op.bind(attributes)
    names = op.argument_names(statics)
    assert op.measure is not None
    return op.measure(
        dict(zip(names, arrays, strict=False)), {**op.keywords(statics), **attributes}
    )


def _context(given: Any) -> Context | None:
    if given is None or isinstance(given, Context):
        return given
    if isinstance(given, str):
        if not given:
            return None
        name, _, number = given.rstrip(")").partition("(")
        return Context(name, int(number or 0))
    raise ContextError(f"ctx={given!r} is not a context; take mx.cpu(), mx.gpu(0), ...")


def _write_states(
    op: Op, statics: Any, arrays: Sequence[NDArray], values: Sequence[Value], outputs: list[Any]
) -> None:
    kept = op.kept(statics)
    for place, index in op.changed(statics, len(arrays)).items():
        move(arrays[place], values[place], outputs[index], kept)


def _write_out(op: Op, out: Any, outputs: list[Any]) -> Any:
    targets = list(out) if isinstance(out, (list, tuple)) else [out]
    if len(targets) != len(outputs):
        raise ShapeError(f"{op.name}: out has {len(targets)} array(s), outputs are {len(outputs)}.")
    for target, value in zip(targets, outputs, strict=True):
        if target.shape != value.spec.shape:
            raise ShapeError(
                f"{op.name}: out has shape {target.shape}, the output is {value.spec.shape}."
            )
        target._store(value)
    return out


def make_function(op: Op, name: str, array_class: type[NDArray] = NDArray) -> Callable[..., Any]:
    """The function ``mx.nd.<name>`` of an operator."""
    arrays_first = len(op.arrays)
    order = tuple(op.attributes)

    def function(*args: Any, out: Any = None, **attributes: Any) -> Any:
        attributes.pop("name", None)  # names are a symbol's
        arrays: list[NDArray] = []
        if op.variadic is None:
            given = dict(zip(op.arrays, args, strict=False))
            for key in op.arrays:
                if key in attributes:
                    given[key] = attributes.pop(key)
            for key, value in given.items():
                if isinstance(value, NDArray):
                    arrays.append(value)
                elif value is not None:
                    raise _not_an_array(op, key, value)
                elif key not in op.optional_arrays and not _left_out(op, key, attributes):
                    raise _missing(op, key)
            for key in op.arrays[len(given) :]:
                if key not in given and key not in op.optional_arrays:
                    raise _missing(op, key)
            args = args[arrays_first:]
        else:
            attributes.pop(op.num_args or "", None)
            args = _flat(attributes.pop(op.variadic, args))
            while args and isinstance(args[0], NDArray):
                arrays.append(args[0])
                args = args[1:]
        if args:
            if len(args) > len(order):
                raise AttributeTypeError(
                    f"{op.name} got {len(args)} positional attributes; call it as "
                    f"{op.signature_text()}."
                )
            attributes.update(zip(order, args, strict=False))
        return invoke(op, arrays, attributes, out, array_class)

    function.__name__ = function.__qualname__ = name
    function.__module__ = "mixnet.ndarray"
    function.__doc__ = op.__doc__
    function.__signature__ = op.signature()  # type: ignore[attr-defined]
    return function


def _flat(args: Any) -> tuple[Any, ...]:
    if len(args) == 1 and isinstance(args[0], (list, tuple)):
        return tuple(args[0])
    return tuple(args)


def _left_out(op: Op, name: str, attributes: dict[str, Any]) -> bool:
    statics, _ = op.bind({k: v for k, v in attributes.items() if k != "ctx"}, state.training)
    return name not in op.argument_names(statics)


def _missing(op: Op, name: str) -> AttributeTypeError:
    return AttributeTypeError(
        f"{op.name}: array {name!r} was not given. Call it as {op.signature_text()}."
    )


def _not_an_array(op: Op, name: str, value: Any) -> AttributeTypeError:
    return AttributeTypeError(
        f"{op.name}: {name} must be an NDArray, not {type(value).__name__}. Make one with "
        f"mx.nd.array(...)."
    )
