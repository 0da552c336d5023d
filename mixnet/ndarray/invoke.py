"""Calling an operator on arrays: bind attributes, record the operation, wrap the results."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from mixnet.base import (
    DTypeError,
    NotAnArrayError,
    ObjectKindError,
    OperatorTypeError,
    OperatorValueError,
    OtherArrayError,
    ShapeError,
)
from mixnet.context import Context, as_context, current_context
from mixnet.ndarray.ndarray import NDArray, on_host
from mixnet.ops.op import Op
from mixnet.ops.operator import Statics
from mixnet.ops.parameters import kinds
from mixnet.ops.schema.docstrings import with_arguments
from mixnet.runtime.record.drawing import record_drawn
from mixnet.runtime.record.measure import measured_size
from mixnet.runtime.record.moving import move
from mixnet.runtime.record.precision import current as precision
from mixnet.runtime.record.precision import fitted
from mixnet.runtime.record.record import record, record_call
from mixnet.runtime.value.call import MOST_CALLS, Call
from mixnet.runtime.value.change import Change, change
from mixnet.runtime.value.state import state
from mixnet.runtime.value.value import Value
from mixnet.util import is_np_array

Results = NDArray | Sequence[NDArray]

# What runs an operator when an input is sparse; mixnet.ndarray.sparse_rules puts it here.
on_sparse: list[Callable[..., Results]] = []


class ResultKindError(NotAnArrayError, ObjectKindError, mxnet_name="AttributeError"):
    """An operator is to write its result to something other than an array."""


def invoke(
    op: Op,
    arrays: Sequence[NDArray],
    attributes: dict[str, Any],
    out: NDArray | None = None,
    cls: type[NDArray] = NDArray,
) -> NDArray:
    """Record an operator that has one output.

    The arguments are those of ``invoke_any``.
    """
    result = invoke_any(op, arrays, attributes, out, cls)
    assert isinstance(result, NDArray), f"{op.name} has {len(result)} outputs"
    return result


def invoke_any(
    op: Op,
    arrays: Sequence[NDArray],
    attributes: dict[str, Any],
    out: NDArray | Sequence[NDArray] | None = None,
    cls: type[NDArray] = NDArray,
) -> Results:
    """Record an operator; returns an array, or a list where it has several outputs.

    Args:
        op: the operator.
        arrays: its inputs; states among them are written.
        attributes: attributes by name; ``ctx`` says where an operator without inputs runs.
        out: an array, or a list, that the outputs are written to.
        cls: class of the results when there are no inputs.
    """
    try:
        for each in arrays:
            if each._is_sparse:
                return on_sparse[0](op, arrays, attributes, out)
    except AttributeError:
        _check_arrays(op, arrays)
        raise
    context = _context(attributes.pop("ctx", None)) if "ctx" in attributes else None
    if op.measure is not None:
        attributes["size"] = _measured(op, arrays, attributes)
    if isinstance(out, NDArray) and not arrays:
        check_face(op, (out,), cls._is_numpys)
        for name, value in (("shape", out.shape), ("dtype", out.dtype)):
            if name in op.attributes and attributes.get(name) is None:
                attributes[name] = value  # as the array that is to be filled
    statics, scalars = op.bind(attributes, bool(state.training))
    if op.counts_inputs:
        op.check_count(statics, len(arrays))
    if op.check_known is not None and op.checked_place < len(arrays):
        known = on_host(arrays[op.checked_place])
        if known is not None:
            op.check_known(known, arrays[0].shape, op.keywords(statics))
    if out is None and not op.states:
        return _run(op, arrays, statics, scalars, context, cls)[0]
    return change(partial(run_and_write, op, arrays, statics, scalars, context, out, cls))


def _run(
    op: Op,
    arrays: Sequence[NDArray],
    statics: Statics,
    scalars: tuple[float, ...],
    context: Context | None,
    cls: type[NDArray],
) -> tuple[Results, tuple[Value, ...], list[Value]]:
    """The results as arrays of their own, the values that were read, and those of all outputs."""
    listed = []
    for each in arrays:
        listed.append(each._value if each._link is None else each._read())
    values = tuple(listed)
    if precision.rule is not None:
        values = fitted(op, statics, values)
    if arrays:
        cls = type(arrays[0])
        context = None
    elif context is None:
        context = current_context()
    if op.takes_key:
        outputs, values = record_drawn(op, statics, scalars, values, context)
    else:
        outputs = record(op, statics, scalars, values, context)
    count = 1 if len(outputs) == 1 else op.num_visible(statics, len(arrays))
    if count == 1:
        return cls._wrap(outputs[0]), values, outputs
    return [cls._wrap(value) for value in outputs[:count]], values, outputs


def run_and_write(
    op: Op,
    arrays: Sequence[NDArray],
    statics: Statics,
    scalars: tuple[float, ...],
    context: Context | None,
    out: NDArray | Sequence[NDArray] | None,
    cls: type[NDArray],
    attempt: Change,
) -> Results:
    """``_run`` of an operator whose outputs go to ``out``, or that has states: all are written at once."""
    changed = op.changed(statics, len(arrays)) if op.states else {}
    targets = [] if out is None else [out] if isinstance(out, NDArray) else _targets(op, out)
    if not op.calls_python:  # a repeated attempt would call the function again
        for place in changed:
            if place < len(arrays):  # recording it names the missing one
                attempt.reads(arrays[place])
        for target in targets:
            for array in arrays:
                if target is array:
                    attempt.reads(target)
                    break
    results, values, outputs = _run(op, arrays, statics, scalars, context, cls)
    if changed:
        share = op.fraction_kept(statics)
        for place, index in changed.items():
            move(arrays[place], values[place], outputs[index], share, attempt)
    if out is None:
        return results
    if len(outputs) > 1:
        outputs = outputs[: op.num_visible(statics, len(arrays))]
    if len(targets) != len(outputs):
        raise ShapeError(
            f"{op.name}: out has {len(targets)} array(s), but the operator has {len(outputs)} output(s)."
        )
    for target, value in zip(targets, outputs, strict=True):
        if target._spec is not value.spec:
            value = fitted_target(op, target, value)
        attempt.write(target, value)
    return out


def _arrays_of(out: object) -> list[NDArray]:
    listed = out if isinstance(out, (list, tuple)) else [out]
    return [each for each in listed if isinstance(each, NDArray)]


def _targets(op: Op, out: object) -> list[NDArray]:
    """The arrays of an ``out`` that is not a single array."""
    targets: list[Any] = list(out) if isinstance(out, (list, tuple)) else [out]
    for target in targets:
        if not isinstance(target, NDArray):
            raise _not_an_array(op, "out", target)
    return targets


def fitted_target(op: Op, target: NDArray, value: Value) -> Value:
    """A result on the context of the array that it is written to.

    Raises:
        ShapeError: it has another shape than the array.
        DTypeError: it has another dtype.
    """
    if target.shape != value.spec.shape:
        raise ShapeError(
            f"{op.name}: out has shape {target.shape}, but the output is {value.spec.shape}."
        )
    if target.dtype != value.spec.dtype:
        raise DTypeError(
            f"{op.title}: out is {target._spec.dtype.name}, the output {value.spec.dtype.name}; "
            f"both must have the same dtype. Omit out= and cast the result with astype()."
        )
    return target._fitted(value)


def _measured(op: Op, arrays: Sequence[NDArray], attributes: dict[str, Any]) -> int:
    """How many elements the result has, read off the values of the inputs."""
    statics, _ = op.bind(attributes)
    return measured_size(op, statics, [each._read() for each in arrays])


def _context(ctx: object) -> Context | None:
    return None if ctx is None or ctx == "" else as_context(ctx)


def check_face(op: Op, arrays: Sequence[NDArray], numpys: bool) -> None:
    """Refuse arrays of the other face: ``mx.nd`` and ``mx.np`` have different rules for one name.

    After ``npx.set_np()`` layers get arrays of ``mx.np``, and functions of ``mx.nd`` accept them
    too, because layers are written with those functions. A call never mixes both.

    Args:
        op: the operator.
        arrays: its inputs, and the arrays that it is to write.
        numpys: whether it is called as a function of ``mx.np``.

    Raises:
        TypeError: one of them is an array of ``mx.nd`` where ``mx.np`` is called, or the reverse.
    """
    for each in arrays:  # not any(): every call comes here, and it takes four times as long
        if each._is_numpys is not numpys:
            break
    else:
        return
    mixed = any(each._is_numpys is numpys for each in arrays)
    if numpys or mixed or not is_np_array():
        raise _other_face(op, numpys)


def _other_face(op: Op, numpys: bool) -> OtherArrayError:
    if numpys:
        expected, other, way = "np", "nd", "as_np_ndarray()"
    else:
        expected, other, way = "nd", "np", "as_nd_ndarray()"
    return OtherArrayError(
        f"{op.title}: a function of mx.{expected} takes arrays of mx.{expected}, not of mx.{other}. "
        f"array.{way} is the same array with the rules of mx.{expected}."
    )


_OF_EVERY_CALL = {
    "out": "an array for the result, which is returned; a list of arrays for several results.",
    "name": "accepted as in MXNet; only symbols have names.",
    "kwargs": "``ctx``, the device of the result of an operator without arrays.",
}
"""The arguments of each function of the namespace besides the operator's own."""


def make_function(
    op: Op, name: str, array_class: type[NDArray] | None = NDArray
) -> Callable[..., Any]:
    """The function ``mx.nd.<name>`` of an operator.

    Args:
        op: the operator.
        name: of the function.
        array_class: what it takes and makes: arrays of ``mx.nd`` or of ``mx.np``; None for both.
    """
    arrays_first = len(op.arrays)
    most = arrays_first if op.variadic is None else MOST_IN_A_KEY
    names = frozenset(op.arrays)
    is_simple = _is_simple(op)
    known_calls: dict[Any, Call] = {}
    fewest = max((i + 1 for i, n in enumerate(op.arrays) if n not in op.optional_arrays), default=0)
    made_class = array_class or NDArray
    order = tuple(op.attributes)

    def function(
        *args: object, out: NDArray | Sequence[NDArray] | None = None, **attributes: object
    ) -> Any:
        attributes.pop("name", None)  # names are a symbol's
        key = None
        if is_simple and out is None and len(args) <= most:
            lookup = _look_up(known_calls, args, attributes, array_class)
            if lookup is not None:
                cls, key, values, call = lookup
                if call is not None:
                    return cls._wrap(record_call(call, (), values)[0])
        arrays: list[NDArray] = []
        if op.variadic is None:
            leading = args[:arrays_first]
            for each in leading:
                if not isinstance(each, NDArray):
                    break
                arrays.append(each)
            in_place = fewest <= len(arrays) == len(leading)
            if not in_place or not names.isdisjoint(attributes):
                arrays = _by_name(op, args, attributes)
            args = args[arrays_first:]
        else:
            arrays = _any_number(op, _flat(attributes.pop(op.variadic, args)), attributes)
            args = ()
        if args:
            out = _out_by_position(op, args[len(order) :], out)
            op.check_given_once(order[: len(args)], attributes)
            attributes.update(zip(order, args, strict=False))
        if array_class is not None:
            written = () if out is None else _arrays_of(out)
            check_face(op, [*arrays, *written] if written else arrays, array_class._is_numpys)
        if "dtype" in attributes and attributes["dtype"] is None:
            op.read_no_dtype(attributes, (type(arrays[0]) if arrays else made_class)._is_numpys)
        if key is None:
            return invoke_any(op, arrays, attributes, out, made_class)
        named = dict(attributes)
        result = invoke_any(op, arrays, attributes, out, made_class)
        if names.isdisjoint(named) and "ctx" not in named:
            _keep(known_calls, key, op, named, values)
        return result

    function.__name__ = function.__qualname__ = name
    function.__module__ = "mixnet.ndarray"
    function.__doc__ = with_arguments(op.__doc__ or "", _OF_EVERY_CALL)
    function.__signature__ = op.signature()  # type: ignore[attr-defined]
    return function


MOST_IN_A_KEY = 8
"""Arrays of a call that is found by all of their specs."""

Lookup = tuple[type[NDArray], Any, tuple[Value, ...], Call | None]


def _is_simple(op: Op) -> bool:
    """Whether attributes and specs of the arrays decide on everything that a call does."""
    return not (
        op.states
        or op.takes_key
        or op.dynamic
        or op.calls_python
        or op.over_devices
        or op.measure is not None
        or op.check_known is not None
    )


def _look_up(
    known: dict[Any, Call],
    arrays: Sequence[Any],
    attributes: dict[str, Any],
    array_class: type[NDArray] | None,
) -> Lookup | None:
    """The class of the result, the key of a call, its values, and the call if it was made before.

    None where the call has to be looked at more closely: its arguments are not dense arrays of one class,
    or a graph is being traced, or the precision is not that of the arrays.
    """
    local = state
    if not arrays or local.trace is not None or precision.rule is not None:
        return None
    cls = type(arrays[0])
    if cls is not array_class and not _accepts(cls, array_class):
        return None
    values = []
    key: list[Any] = [bool(local.training)]
    for each in arrays:
        if type(each) is not cls:
            return None
        value = each._value if each._link is None else each._read()
        values.append(value)
        key.append(value.spec)
    for name, argument in attributes.items():
        kind = type(argument)
        key += (name, argument, tuple(kinds((argument,))) if kind is tuple else kind)
    whole_key = tuple(key)
    try:
        return cls, whole_key, tuple(values), known.get(whole_key)
    except TypeError:  # a list as a value
        return None


def _accepts(cls: type, array_class: type[NDArray] | None) -> bool:
    """Whether functions that take ``array_class`` take dense arrays of this class without another look."""
    if not issubclass(cls, NDArray) or cls._is_sparse:
        return False
    return (
        array_class is None
        or cls._is_numpys is array_class._is_numpys
        or (not array_class._is_numpys and is_np_array())
    )


def _keep(
    known: dict[Any, Call], key: object, op: Op, attributes: dict[str, Any], values: Sequence[Value]
) -> None:
    """Keep a call that was just made, if its values alone decide on it and it has one result."""
    statics, scalars = op.bind(attributes, bool(state.training))
    call = op.calls.get((statics, tuple([value.spec for value in values]), None))
    if call is None or scalars or call.visible != 1 or call.parties is not None:
        return
    if len(known) >= MOST_CALLS:
        known.clear()
    known[key] = call


def _by_name(op: Op, args: tuple[Any, ...], attributes: dict[str, Any]) -> list[NDArray]:
    """The arrays of a call that passes some by name or omits some."""
    arrays = []
    op.check_given_once(op.arrays[: len(args)], attributes)
    named = dict(zip(op.arrays, args, strict=False))
    for key in op.arrays:
        if key in attributes:
            named[key] = attributes.pop(key)
    for key, value in named.items():
        if isinstance(value, NDArray):
            arrays.append(value)
        elif value is not None:
            raise _not_an_array(op, key, value)
        elif key not in op.optional_arrays and not _left_out(op, key, attributes):
            raise _missing(op, key)
    for key in op.arrays[len(named) :]:
        if key not in named and key not in op.optional_arrays:
            raise _missing(op, key)
    return arrays


def _any_number(op: Op, args: tuple[Any, ...], attributes: dict[str, Any]) -> list[NDArray]:
    """The arrays of a call that takes any number of them; its attributes are given by name."""
    count = op.number_of_inputs(attributes)
    arrays = list(args)
    for place, each in enumerate(arrays):
        if not isinstance(each, NDArray):
            raise _not_an_array(op, f"input {place}", each)
    if count is not None and count != len(arrays):
        raise OperatorValueError(
            f"{op.title}: there are {len(arrays)} arrays, but {op.num_args}={count}. Leave "
            f"{op.num_args} out."
        )
    return arrays


def _out_by_position(op: Op, args: Sequence[Any], out: object) -> Any:
    """The array to write to, from what follows the attributes: ``out``, then a name for symbols.

    Raises:
        ResultKindError: there is more, or something else.
    """
    if not args:
        return out
    first = args[0] if isinstance(args[0], (list, tuple)) else [args[0]]
    arrays = all(each is None or isinstance(each, NDArray) for each in first)
    if len(args) > 2 or not arrays or out is not None:
        raise ResultKindError(str(op.wrong_positional(args, "an array for the result")))
    return args[0]


def _flat(args: Any) -> tuple[Any, ...]:
    if len(args) == 1 and isinstance(args[0], (list, tuple)):
        return tuple(args[0])
    return tuple(args)


def _left_out(op: Op, name: str, attributes: dict[str, Any]) -> bool:
    statics, _ = op.bind({k: v for k, v in attributes.items() if k != "ctx"}, bool(state.training))
    return name not in op.argument_names(statics)


def _missing(op: Op, name: str) -> OperatorTypeError:
    return OperatorTypeError(f"{op.title}: array {name!r} was not given. Call it as {op.usage()}.")


def _check_arrays(op: Op, arrays: Sequence[NDArray]) -> None:
    for i, each in enumerate(arrays):
        if not isinstance(each, NDArray):
            name = op.arrays[i] if i < len(op.arrays) else f"input {i}"
            raise _not_an_array(op, name, each) from None


def _not_an_array(op: Op, name: str, value: object) -> NotAnArrayError:
    if isinstance(value, (list, tuple)) and any(isinstance(each, NDArray) for each in value):
        hint = "Take one of its arrays, or join them with mx.nd.stack or mx.nd.concat"
    else:
        hint = "Make one with mx.nd.array(...)"
    if hasattr(value, "list_arguments"):
        hint = f"mx.sym.{op.name} takes symbols; bind them to arrays for numbers"
    kind = ResultKindError if name == "out" else NotAnArrayError
    return kind(f"{op.title}: {name} must be an NDArray, not {type(value).__name__}. {hint}.")
