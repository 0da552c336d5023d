"""``bind`` and ``simple_bind``: arrays for the arguments of a symbol make an executor."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, MutableMapping, Sequence
from typing import Any

import numpy as np

from mixnet.base import (
    AttributeTypeError,
    AttributeValueError,
    BindingError,
    ContextError,
    ObjectKindError,
    OperatorValueError,
    ShapeError,
    UnknownValueError,
    did_you_mean,
)
from mixnet.context import Context, as_context
from mixnet.dtype import as_dtype
from mixnet.graph.node import Entry
from mixnet.ndarray import sparse
from mixnet.ndarray.ndarray import NDArray
from mixnet.ndarray.params_file import STORAGE
from mixnet.passes.infer_shape import infer
from mixnet.passes.infer_storage import infer_gradient_storage, infer_storage
from mixnet.passes.place_devices import group_of
from mixnet.symbol.executor import Bound, Executor, same_memory
from mixnet.symbol.inference_arguments import is_whole
from mixnet.symbol.symbol import Symbol
from mixnet.util import is_np_shape


def bind(
    self: Symbol,
    ctx: Context | None = None,
    args: Sequence[NDArray] | Mapping[str, NDArray] | None = None,
    args_grad: Sequence[NDArray] | Mapping[str, NDArray] | None = None,
    grad_req: str | Sequence[str] | Mapping[str, str] = "write",
    aux_states: Sequence[NDArray] | Mapping[str, NDArray] | None = None,
    group2ctx: Mapping[str, Context] | None = None,
    shared_exec: Executor | None = None,
) -> Executor:
    """Create an executor over the given arrays.

    Args:
        ctx: device.
        args: arrays of the arguments, a list in order or a dict by name.
        args_grad: arrays for gradients, a list or a dict; those left out get no gradient.
        grad_req: ``write``, ``add`` or ``null``; for all, a list in order, or a dict by name. Entries
            of a list beyond the arguments are not used.
        aux_states: arrays of the auxiliary states, a list or a dict.
        group2ctx: device of each group of nodes (``mx.AttrScope(ctx_group=...)``): the graph is cut
            into parts that run there, with copies in between.
        shared_exec: has no effect: buffers are reused without it.

    Raises:
        MXNetError: an array is missing, or a group has no device.
        ShapeError: shapes do not fit; names the node.
    """
    context = as_context(ctx)
    names, aux_names = _names_of("bind", self)
    arguments = _named(names, args if args is not None or names else {}, "args", True)
    gradients = None if args_grad is None else _named(names, args_grad, "args_grad", False)
    states = _named(aux_names, aux_states or {}, "aux_states", True)
    arrays = {**arguments, **states}
    if not group2ctx:
        _check_contexts(context, arguments, gradients or {}, states)
    infer(
        self.graph,
        {name: array.shape for name, array in arrays.items()},
        {name: array._spec.dtype for name, array in arrays.items()},
    )
    requests = requests_by_name(names, grad_req, may_be_longer=True)
    groups = _groups("bind", group2ctx)
    return Executor(Bound(arguments, gradients, states), self, context, requests, groups, grad_req)


def _is_like(
    array: NDArray, shape: tuple[int, ...], context: Context, dtype: np.dtype, stype: str
) -> bool:
    same = array.shape == shape and array._spec.dtype == dtype
    return same and array.context is context and array.stype == stype


def simple_bind(
    self: Symbol,
    ctx: Context | None = None,
    grad_req: str | Sequence[str] | Mapping[str, str] = "write",
    type_dict: Mapping[str, Any] | None = None,
    stype_dict: Any = None,
    group2ctx: Mapping[str, Context] | None = None,
    shared_arg_names: Any = None,
    shared_exec: Any = None,
    shared_buffer: Any = None,
    **kwargs: object,
) -> Executor:
    """Create an executor over zero arrays, with shapes inferred from ``kwargs``.

    Args:
        ctx: device.
        grad_req: as for ``bind``, but a list has one entry for each argument.
        type_dict: dtypes by name.
        stype_dict: storage types by name, over those that variables were made with.
        group2ctx: as for ``bind``; the arrays of variables made in a group are on its device.
        shared_arg_names: arguments whose memory, and that of their gradients, is that of ``shared_exec``.
        shared_exec: an executor to share these with, and auxiliary states; read only with a
            ``shared_buffer``, as in MXNet.
        shared_buffer: a dict from names to arrays: arguments that are not in ``shared_arg_names``,
            and their gradients as ``grad of NAME``, are taken from it where shape and dtype fit,
            and put into it where they do not; of two arrays the larger one stays there.
        kwargs: shapes by name; names that the symbol does not have are not read.

    Raises:
        BindingError: the shapes given do not determine all arguments, or do not fit, or shared arguments have
            other shapes or dtypes.
    """
    context = as_context(ctx)
    names, aux_names = _names_of("simple_bind", self)
    # Programs give the label's shape to symbols that end before the loss.
    unread = {n: shape for n, shape in kwargs.items() if n not in {*names, *aux_names}}
    kwargs = {name: shape for name, shape in kwargs.items() if name not in unread}
    specs = _specs_to_bind(self, kwargs, type_dict or {})
    if specs is None:
        raise _unknown_shapes(self, names, kwargs, unread)
    requests = requests_by_name(names, grad_req)
    groups = _groups("simple_bind", group2ctx)
    group = {node.name: group_of(node) for node in self.graph.nodes if node.is_variable}

    storage = _storage_types(self, stype_dict)
    of_gradients = infer_gradient_storage(self.graph, infer_storage(self.graph, storage))

    def array_for(name: str, known: Mapping[str, Any], storage: Mapping[str, str]) -> NDArray:
        where = groups.get(group[name] or "", context)
        shape, dtype = specs[name]
        array: NDArray | None = known.get(name)
        stype = storage.get(name, "default")
        if array is not None and _is_like(array, shape, where, dtype, stype):
            return same_memory(array)
        if array is not None and name in shared_names:
            raise BindingError(
                f"simple_bind: {name} is in shared_arg_names, but shared_exec has it as {array.shape} of "
                f"{array.dtype.__name__} not {shape} of {dtype.name}. Leave it out of shared_arg_names."
            )
        zeros: NDArray = sparse.zeros(stype, shape, where, dtype)
        return zeros

    buffer = {} if shared_buffer is None else _as_buffer(shared_buffer)
    if shared_buffer is None:
        shared_exec = None
    shared_names = () if shared_exec is None else tuple(shared_arg_names or ())
    arguments, gradients = {}, {}
    for name in names:
        is_shared = name in (shared_arg_names or ())
        known, of_known = _arrays_to_share(name, is_shared, shared_exec, buffer)
        arguments[name] = array_for(name, known, storage)
        if requests[name] != "null":
            gradients[name] = array_for(name, of_known, of_gradients)
        if not is_shared:
            _share(buffer, name, arguments[name])
            if name in gradients:
                _share(buffer, f"grad of {name}", gradients[name])
    others = {} if shared_exec is None else shared_exec.aux_dict
    states = {name: array_for(name, others, storage) for name in aux_names}
    return Executor(Bound(arguments, gradients, states), self, context, requests, groups, grad_req)


def evaluate(self: Symbol, ctx: Context | None = None, **kwargs: NDArray) -> list[NDArray]:
    """Outputs for arrays given by name.

    Args:
        ctx: device; the current context by default.
        kwargs: an array for each argument.
    """
    return bind(self, ctx, kwargs, grad_req="null").forward()


def _names_of(called: str, symbol: Symbol) -> tuple[list[str], list[str]]:
    """Names of the arguments and of the auxiliary states."""
    names, aux_names = symbol.list_arguments(), symbol.list_auxiliary_states()
    repeated = [name for name, count in Counter([*names, *aux_names]).items() if count > 1]
    if repeated:
        error = BindingError if called == "simple_bind" else OperatorValueError
        raise error(
            f"{called}: several variables are named {', '.join(map(repr, repeated))}, and an executor "
            f"finds its arrays by name. Make the variable once and use it wherever its array is "
            f"meant, or give the others names of their own."
        )
    return names, aux_names


def _named(names: Sequence[str], arrays: object, role: str, complete: bool) -> dict[str, NDArray]:
    if isinstance(arrays, (list, tuple)):
        if len(arrays) != len(names):
            raise AttributeValueError(
                f"bind: {role} has {len(arrays)} arrays, the symbol {len(names)}."
            )
        arrays = {
            name: array
            for name, array in zip(names, arrays, strict=True)
            if array is not None or complete
        }
    if not isinstance(arrays, Mapping):
        raise AttributeTypeError(
            f"bind: {role} must be a list of arrays or a dict of arrays by name, not "
            f"{type(arrays).__name__}."
        )
    for name in names:
        if name in arrays and not isinstance(arrays[name], NDArray):
            raise AttributeTypeError(
                f"bind: {role}: {name} must be an NDArray, not {_kind(arrays[name])}. Make one "
                f"with mx.nd.array(...)."
            )
        if name not in arrays and complete:
            missing = [each for each in names if each not in arrays]
            raise AttributeValueError(f"bind: {role} has no array for {', '.join(missing)}.")
    return {name: arrays[name] for name in names if name in arrays}


def _kind(value: object) -> str:
    return "None" if value is None else type(value).__name__


def _check_contexts(context: Context, *groups: Mapping[str, NDArray]) -> None:
    """Refuse arrays on another device than the executor's, if nothing says that it runs on several.

    Raises:
        ContextError: names the array and both devices.
    """
    for arrays in groups:
        for name, array in arrays.items():
            if array.context is not context:
                raise ContextError(
                    f"bind: {name} is on {array.context}, the executor on {context}. Move it with "
                    f"as_in_context({context}), or give group2ctx to run on several devices."
                )


def _groups(called: str, group2ctx: object) -> dict[str, Context]:
    if group2ctx is None:
        return {}
    if not isinstance(group2ctx, Mapping) or not all(
        isinstance(c, Context) for c in group2ctx.values()
    ):
        raise ObjectKindError(
            f"{called}: group2ctx={group2ctx!r} must be a dict from names of groups to contexts, as in "
            f"{{'stage1': mx.cpu(1)}}."
        )
    return dict(group2ctx)


_REQUESTS = ("write", "add", "null")


def requests_by_name(
    names: Sequence[str], grad_req: Any, *, may_be_longer: bool = False
) -> dict[str, str]:
    """``write``, ``add`` or ``null`` of every argument, from one for all, a list or a dict.

    Args:
        names: the arguments in order.
        grad_req: the requests.
        may_be_longer: a list may have more entries than there are arguments; the first ones count.

    Raises:
        AttributeValueError: a list does not have one entry for each argument.
        UnknownValueError: a request is not 'write', 'add' or 'null'.
        AttributeTypeError: ``grad_req`` is none of these.
    """
    if not isinstance(grad_req, str | list | tuple | Mapping):
        raise AttributeTypeError(
            f"grad_req={grad_req!r}: give one of {', '.join(map(repr, _REQUESTS))}, a list of them, or a "
            f"dict by name."
        )
    requests = [grad_req] if isinstance(grad_req, str) else grad_req
    for each in requests.values() if isinstance(requests, Mapping) else requests:
        if each not in _REQUESTS:
            raise UnknownValueError(
                f"grad_req={each!r} is not one of {', '.join(map(repr, _REQUESTS))}."
            )
    if isinstance(grad_req, str):
        return dict.fromkeys(names, grad_req)
    if isinstance(grad_req, (list, tuple)):
        if len(grad_req) < len(names) or (len(grad_req) > len(names) and not may_be_longer):
            raise AttributeValueError(
                f"grad_req has {len(grad_req)} entries for the {len(names)} arguments "
                f"{', '.join(names)}; give one for each in this order, or a dict by name."
            )
        return dict(zip(names, grad_req, strict=False))
    return {name: grad_req.get(name, "null") for name in names}


def _unknown_shapes(
    symbol: Symbol, names: Sequence[str], known: Mapping[str, Any], unread: Mapping[str, Any]
) -> BindingError:
    partial, _, _ = symbol._inferred_shapes((), known)[0]
    unknown = [n for n, s in zip(names, partial, strict=True) if not s or 0 in s]
    return BindingError(
        f"simple_bind: the shapes of {', '.join(unknown) or 'some outputs'} cannot be inferred from "
        f"{', '.join(known) or 'nothing'}; give them by name."
        + "".join(
            f" {name}={shape!r} was not read: the symbol has no such variable."
            + did_you_mean(name, unknown)
            for name, shape in unread.items()
        )
    )


def _as_buffer(shared: object) -> MutableMapping[str, Any]:
    if not isinstance(shared, MutableMapping):
        raise AttributeValueError(
            f"simple_bind: shared_buffer must be a dict of arrays by name, not {shared!r}."
        )
    return shared


def _share(buffer: MutableMapping[str, Any], name: str, array: NDArray) -> None:
    """Put an array where later executors look for it, unless a larger one is there."""
    earlier = buffer.get(name)
    if earlier is None or earlier.size <= array.size:
        buffer[name] = same_memory(array)


def _arrays_to_share(
    name: str, is_shared: bool, executor: Executor | None, buffer: Mapping[str, Any]
) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    """Arrays by name among which an argument and its gradient may be: an executor's, or the buffer's."""
    if not is_shared:
        return buffer, {name: buffer.get(f"grad of {name}")}
    if executor is None:
        return {}, {}
    return executor.arg_dict, executor.grad_dict


def _specs_to_bind(
    symbol: Symbol, shapes: Mapping[str, Any], dtypes: Mapping[str, Any]
) -> dict[str, tuple[tuple[int, ...], np.dtype]] | None:
    """Shape and dtype of every variable; None if a shape stays unknown.

    Raises:
        BindingError: shapes contradict each other; names the node.
    """
    graph = symbol.graph
    if not is_np_shape():
        shapes = {n: s for n, s in shapes.items() if not isinstance(s, tuple) or s}
    known = {name: as_dtype(dtype) for name, dtype in dtypes.items()}
    try:
        inferred = infer(graph, shapes, known, zero_is_known=is_np_shape())
    except ShapeError as error:
        raise BindingError(str(error)) from None
    unknown = None if is_np_shape() else ()
    for entry in [*map(Entry, graph.arguments), *graph.heads]:
        if not is_whole(inferred.shapes.get(entry, unknown)):
            return None
    single = np.dtype(np.float32)
    return {
        node.name: (inferred.shapes.get(Entry(node), ()), inferred.dtypes.get(Entry(node), single))
        for node in [*graph.arguments, *graph.written_variables]
    }


def _storage_types(symbol: Symbol, stype_dict: Mapping[str, str] | None) -> dict[str, str]:
    """Storage types of variables that are not dense: as given, or as the variables say."""
    codes = {str(code): stype for stype, code in STORAGE.items()}
    declared = {
        node.name: codes[node.attrs["__storage_type__"]]
        for node in symbol.graph.nodes
        if node.is_variable and node.attrs.get("__storage_type__") in codes
    }
    return {**declared, **(stype_dict or {})}


def install(cls: Any) -> None:
    """Give symbols the methods that make executors."""
    cls.bind = bind
    cls.simple_bind = simple_bind
    cls.eval = evaluate
