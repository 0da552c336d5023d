"""Parameter: a learned array on every context, allocated when its shape is known."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from mixnet import initializer
from mixnet.autograd.scope import RecordingScope
from mixnet.autograd.tape import mark_variables
from mixnet.base import (
    AttributeValueError,
    CheckError,
    MXNetError,
    ObjectKindError,
    StateError,
    UninitializedError,
    checked_shape,
)
from mixnet.context import Context, as_context, cpu, current_context
from mixnet.gluon.parameter.replaceable import ReplaceableArrays, ReplaceableGradients, gradient_of
from mixnet.gluon.trace import placed
from mixnet.initializer.initializer import draws_numbers
from mixnet.ndarray.create import array, zeros
from mixnet.ndarray.ndarray import NDArray
from mixnet.numpy.ndarray import ndarray as np_ndarray
from mixnet.passes.infer_shape import is_known
from mixnet.process import locks
from mixnet.process.source import user_source, warn_user
from mixnet.runtime.record.keys import Reserved, drawing_from
from mixnet.runtime.record.record import flush
from mixnet.runtime.value.state import untraced
from mixnet.runtime.value.undo import all_or_nothing
from mixnet.symbol.symbol import Symbol, Variable
from mixnet.util import is_np_array, is_np_shape, set_module

if TYPE_CHECKING:
    from mixnet.dtype import DTypeLike
    from mixnet.initializer.initializer import Initializer

tensor_types = (Symbol, NDArray)

_REQUESTS = ("write", "add", "null")
_STORAGE = ("default", "row_sparse", "csr")


@set_module("mixnet.gluon.parameter")
class DeferredInitializationError(MXNetError):
    """A parameter is not initialized yet: its shape follows from the first data."""


@set_module("mixnet.gluon.parameter")
class Parameter:
    """A learned array: its value on every context, its gradient, and its initializer.

    Args:
        name: unique in a network.
        grad_req: ``write``, ``add`` or ``null``.
        shape: 0 for a dimension that is inferred from the first data.
        dtype: dtype.
        lr_mult: factor of the learning rate.
        wd_mult: factor of the weight decay.
        init: its initializer; by default that of ``initialize``.
        allow_deferred_init: allow an unknown shape until the first data.
        differentiable: False for states, which have no gradient.
        stype: storage type of the value: ``default``, or ``row_sparse`` if a Trainer
            pulls its rows.
        grad_stype: storage type of the gradient: ``default`` or ``row_sparse``.

    Raises:
        CheckError: an unknown request or storage type; also an AssertionError.
    """

    # Held while its arrays are created, by an initializer that may wait for threads which create others.
    _creating = locks.renewed(threading.RLock())

    def __init__(
        self,
        name: str,
        grad_req: str = "write",
        shape: int | Sequence[int] | None = None,
        dtype: DTypeLike = np.float32,
        lr_mult: float = 1.0,
        wd_mult: float = 1.0,
        init: Initializer | str | None = None,
        allow_deferred_init: bool = False,
        differentiable: bool = True,
        stype: str = "default",
        grad_stype: str = "default",
    ):
        self._creating = locks.renewed(threading.RLock())
        self.name = name
        self._mx_made_at = user_source()
        self._shape: tuple[int, ...] | None = None
        if shape is not None:
            extents = (shape,) if isinstance(shape, (int, np.integer)) else shape
            self._shape = checked_shape(f"Parameter {name!r}", extents)
        self._dtype = dtype
        self.lr_mult = lr_mult
        self.wd_mult = wd_mult
        self.init = init
        for label, storage in (("stype", stype), ("grad_stype", grad_stype)):
            if storage not in _STORAGE:
                raise CheckError(
                    f"Parameter {name}: {label}={storage!r} is not one of the storage types "
                    f"{', '.join(_STORAGE)}."
                )
        self._stype = stype
        self._grad_stype = grad_stype
        self._allow_deferred_init = allow_deferred_init
        self._differentiable = differentiable
        self._arrays: dict[Context, NDArray] = {}
        self._replaced_gradients: dict[Context, NDArray] = {}
        # initializer, contexts, initializer of the network, and the value, if there is one
        self._deferred_init: tuple[Any, ...] = ()
        # its place in the random stream, while its shape is unknown
        self._reserved: Reserved | None = None
        self._var: Symbol | None = None
        self._trainer: Any = None
        self._grad_req = "null"
        self.grad_req = grad_req

    def __repr__(self) -> str:
        return f"Parameter {self.name} (shape={self.shape}, dtype={self.dtype})"

    def __getstate__(self) -> dict[str, Any]:
        of_this_process = ("_var", "_trainer", "_reserved", "_creating")
        return {**self.__dict__, **dict.fromkeys(of_this_process)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._creating = locks.renewed(threading.RLock())
        for each in self._arrays.values():
            self._mark(each)  # copies of arrays are not variables yet

    # ---- shape, dtype and requests ------------------------------------------------------------

    @property
    def shape(self) -> Any:
        """Shape; 0 for unknown dimensions, or -1 under NumPy's rules.

        Raises:
            CheckError: on setting, it contradicts the known shape.
        """
        if self._shape is not None and is_np_shape():
            return tuple(extent or -1 for extent in self._shape)
        return self._shape

    @shape.setter
    def shape(self, new_shape: Sequence[int]) -> None:
        needed = checked_shape(f"Parameter {self.name!r}", new_shape)
        known = self._shape
        if known is not None and (
            len(known) != len(needed)
            or any(old not in (-1, 0, new) for old, new in zip(known, needed, strict=True))
        ):
            raise CheckError(
                f"Parameter {self.name} has shape {known}, but {needed} is needed. Give the data "
                f"the shape it had before, or make the layer with other sizes."
            )
        self._shape = needed

    @property
    def dtype(self) -> Any:
        """The dtype; setting it casts value and gradient."""
        return self._dtype

    @dtype.setter
    def dtype(self, dtype: DTypeLike) -> None:
        self.cast(dtype)

    @property
    def grad_req(self) -> str:
        """How backward stores its gradient: ``write``, ``add``, ``null``."""
        return self._grad_req

    @grad_req.setter
    def grad_req(self, req: str) -> None:
        if req not in _REQUESTS:
            raise CheckError(
                f"Parameter {self.name}: grad_req={req!r} is not 'write', 'add' or 'null'."
            )
        req = req if self._differentiable else "null"
        if self._grad_req != req:
            self._grad_req = req
            self._init_grad()

    def _init_grad(self) -> None:
        """Create the gradients anew, filled with zeros; none if ``grad_req`` is ``null``."""
        for each in self._arrays.values():
            self._mark(each)

    def _mark(self, data: NDArray) -> None:
        self._replaced_gradients.pop(data.context, None)
        if self._grad_req == "null":
            if data._link is not None:
                data._link.mark = None
        else:
            NDArray.attach_grad(data, self._grad_req, self._grad_stype)

    def _set_trainer(self, trainer: object) -> None:
        if self._stype != "default" and self._trainer and trainer and self._trainer is not trainer:
            raise StateError(
                f"Parameter '{self.name}' is {self._stype} and already has a Trainer, which "
                f"holds its rows; it cannot have two."
            )
        self._trainer = trainer

    # ---- making -------------------------------------------------------------------------------

    def initialize(
        self,
        init: Initializer | str | None = None,
        ctx: Context | Sequence[Context] | None = None,
        default_init: Initializer | str | None = initializer.Uniform(),
        force_reinit: bool = False,
    ) -> None:
        """Create the arrays on ``ctx``: now or, if the shape is unknown, with the first data.

        Args:
            init: initializer of this parameter, by default its own, then ``default_init``.
            ctx: a context or a list; the current one by default.
            default_init: initializer of parameters without one.
            force_reinit: initialize again if it has a value.

        Raises:
            ValueError: the shape is unknown and cannot be deferred.
            CheckError: an extent is below 0.
        """
        if self._arrays and not force_reinit:
            warn_user(
                f"Parameter '{self.name}' is already initialized, ignoring: it is left unchanged; "
                f"force_reinit=True initializes it again."
            )
            return
        contexts = _contexts(ctx)
        self._arrays = {}
        if init is None:
            init = default_init if self.init is None else self.init
        if not is_np_shape() and min(self._shape or (), default=0) < 0:
            raise CheckError(
                f"Parameter '{self.name}' cannot be initialized: an extent of its shape {self.shape} is "
                f"below 0. Give 0 for an unknown one, or -1 within mx.util.np_shape()."
            )
        if not self._is_shape_known() and not self._allow_deferred_init:
            raise AttributeValueError(
                f"Parameter '{self.name}' cannot be initialized: its shape {self.shape} is not "
                f"complete. Give the layer its input size (in_units, in_channels)."
            )
        self._deferred_init = (init, contexts, default_init, None)
        self._reserved = None
        if self._is_shape_known():
            self._finish_deferred_init()
        elif draws_numbers(init):
            # The numbers are the same whether they are drawn now or later, hybridized or not.
            self._reserved = Reserved(contexts[0])

    def _is_shape_known(self) -> bool:
        return is_known(self._shape)

    def _complete_shape(self, shape: tuple[int, ...] | None) -> None:
        """Set an inferred shape, if it is known and the parameter's is not."""
        if shape is not None and is_known(shape) and not self._is_shape_known():
            self.shape = shape

    def _finish_deferred_init(self) -> None:
        """Create the arrays of a deferred parameter, whose shape is now known."""
        if not self._deferred_init:
            return
        if not self._is_shape_known():
            raise DeferredInitializationError(self._waits())
        # Held while it waits, unlike those of ``locks.ORDER``: an initializer may read arrays.
        with self._creating:
            if self._deferred_init:  # no other thread has created them meanwhile
                all_or_nothing(self._create_arrays, [self])

    def _mx_changing(self) -> list[dict[Any, Any]]:
        return [vars(self), self._arrays, self._replaced_gradients]

    def _create_arrays(self) -> None:
        init, contexts, default_init, initial = self._deferred_init
        data = initial
        reserved, self._reserved = self._reserved, None
        with untraced(), RecordingScope(False, None), drawing_from(reserved):
            if data is None:
                assert self._shape is not None
                data = zeros(self._shape, contexts[0], self.dtype)
                if is_np_array():
                    data = np_ndarray._wrap(data._read())
                if isinstance(initializer.create(init), initializer.Initializer):
                    desc = initializer.InitDesc(self.name, {"__init__": init})
                    initializer.create(default_init)(desc, data)
                else:  # it depends on names, like Mixed and Load
                    initializer.create(init)(initializer.InitDesc(self.name), data)
            self._init_impl(data, contexts, fresh=initial is None)
        self._deferred_init = ()

    def _init_impl(self, data: NDArray, contexts: list[Context], fresh: bool = False) -> None:
        """Create the arrays from a value."""
        self.shape = data.shape
        if data.stype != self._stype:
            data, fresh = data.tostype(self._stype), True
        arrays: dict[Context, NDArray] = {}
        for context in contexts:
            # A copy on the same device would share its buffer, which no step could reuse, and the second
            # step would need another program than the first.
            reuse = fresh and context is contexts[0]
            arrays[context] = data if reuse else data.copyto(context)
            self._mark(arrays[context])
        # Together: for other threads it has its arrays, or waits for its first data.
        self._arrays, self._deferred_init = arrays, ()
        flush("initialize")  # so that the first step is the same program as the second

    def _load_init(
        self,
        data: NDArray,
        ctx: Context | Sequence[Context] | None = None,
        cast_dtype: bool = False,
        dtype_source: str = "current",
    ) -> None:
        """Load a value from a file.

        Raises:
            CheckError: shape, dtype or contexts do not match.
        """
        self._check_loaded(data, ctx, cast_dtype, dtype_source)
        if cast_dtype and np.dtype(self.dtype) != np.dtype(data.dtype):
            if dtype_source == "current":
                data = data.astype(self.dtype)
            else:
                self.dtype = data.dtype
        if self._arrays:
            self.set_data(data)
        else:
            contexts = self._deferred_init[1] if self._deferred_init else None
            contexts = contexts or ([cpu()] if ctx is None else _contexts(ctx))
            if is_np_array() and not isinstance(data, np_ndarray):
                data = np_ndarray._wrap(data._read())
            with untraced(), RecordingScope(False, None):
                self._init_impl(data, contexts)
        self._deferred_init = ()

    def _check_loaded(
        self,
        data: NDArray,
        ctx: Context | Sequence[Context] | None,
        cast_dtype: bool,
        dtype_source: str,
    ) -> None:
        begin = f"Parameter '{self.name}' cannot take the value from the file: "
        if cast_dtype and dtype_source not in ("current", "saved"):
            raise CheckError(f"dtype_source={dtype_source!r} is not 'current' or 'saved'.")
        if self._shape is not None and (
            len(self._shape) != len(data.shape)
            or any(
                old not in (-1, 0, new) for old, new in zip(self._shape, data.shape, strict=True)
            )
        ):
            raise CheckError(
                f"{begin}its shape is {data.shape} there, but "
                f"{self.shape} in the network. Load a file of the same network."
            )
        if not cast_dtype and np.dtype(self.dtype) != np.dtype(data.dtype):
            raise CheckError(
                f"{begin}its dtype is {np.dtype(data.dtype)} there, but "
                f"{np.dtype(self.dtype)} in the network. Pass cast_dtype=True to cast it."
            )
        have = self.list_ctx() if self._arrays or self._deferred_init else None
        if ctx is not None and have is not None and set(_contexts(ctx)) != set(have):
            raise CheckError(
                f"Parameter '{self.name}' was initialized on {have}, not on {_contexts(ctx)}: leave "
                f"ctx out, or move it with reset_ctx."
            )

    def reset_ctx(self, ctx: Context | Sequence[Context] | None) -> None:
        """Move the value to other contexts.

        Args:
            ctx: a context or a list of them; the current one by default.

        Raises:
            ValueError: it is not initialized, not even deferred.
        """
        contexts = _contexts(ctx)
        if self._arrays:
            with untraced(), RecordingScope(False, None):
                self._init_impl(self._reduce(), contexts)
        elif self._deferred_init:
            init, _, default_init, data = self._deferred_init
            self._deferred_init = (init, contexts, default_init, data)
        else:
            raise AttributeValueError(
                f"Parameter '{self.name}' has no value to move: call initialize() first."
            )

    def cast(self, dtype: DTypeLike) -> None:
        """Change the dtype of value and gradient."""
        all_or_nothing(partial(self._cast, dtype), [self])

    def _cast(self, dtype: DTypeLike) -> None:
        self._dtype = dtype
        with RecordingScope(False, None):
            for context, data in self._arrays.items():
                before = self.grad(context) if self._grad_req != "null" else None
                self._arrays[context] = data.detach().astype(dtype)
                self._mark(self._arrays[context])
                if before is not None:
                    self._arrays[context].grad[:] = before.astype(dtype)

    # ---- reading ------------------------------------------------------------------------------

    # Subclasses that wrap another parameter copy these four attributes from it. Arrays have their gradients
    # and contexts, so only the arrays are stored.

    @property
    def _data(self) -> list[NDArray] | None:
        return ReplaceableArrays(self._arrays) if self._arrays else None

    @_data.setter
    def _data(self, arrays: Sequence[NDArray] | None) -> None:
        self._arrays = {each.context: each for each in arrays or ()}

    @property
    def _grad(self) -> list[NDArray] | None:
        if self._grad_req == "null" or not self._arrays:
            return None
        return ReplaceableGradients(self._arrays, self._replaced_gradients)

    @_grad.setter
    def _grad(self, gradients: Sequence[NDArray] | None) -> None:
        self._replaced_gradients.clear()
        for value, gradient in zip(self._arrays.values(), gradients or (), strict=False):
            if value.grad is not gradient:
                mark_variables([value], [gradient], self._grad_req)

    @property
    def _ctx_list(self) -> list[Context] | None:
        return list(self._arrays) or None

    @_ctx_list.setter
    def _ctx_list(self, contexts: Sequence[Context] | None) -> None:
        pass

    @property
    def _ctx_map(self) -> list[list[int | None]] | None:
        """Position among the arrays by kind of device (CPUs at 1) and number of the device."""
        if not self._arrays:
            return None
        positions: list[list[int | None]] = [[], []]
        for i, context in enumerate(self._arrays):
            row = positions[context.device_typeid & 1]
            row.extend([None] * (context.device_id + 1 - len(row)))
            row[context.device_id] = i
        return positions

    @_ctx_map.setter
    def _ctx_map(self, positions: Sequence[Sequence[int | None]] | None) -> None:
        pass

    def _check_and_get(self, arrays: list[NDArray] | None, ctx: Any) -> Any:
        """All of ``_data`` or ``_grad`` if ``ctx`` is ``list``, or the one on a context.

        Raises:
            DeferredInitializationError: it waits for the first data.
            UninitializedError: it was not initialized, or is not on that context.
        """
        self._check()
        if ctx is list:
            return arrays
        stored = self._on(ctx)
        position = next(i for i, each in enumerate(self._arrays.values()) if each is stored)
        array = (arrays or [stored])[position]
        return placed(self, stored) if array is stored else array

    def _by_rows_only(self, method: str) -> StateError:
        return StateError(
            f"Parameter '{self.name}' is {self._stype}: {method}() would return all of it; call "
            f"{method.replace('data', 'row_sparse_data')}(rows)."
        )

    def data(self, ctx: Context | None = None) -> NDArray:
        """The value on a context.

        Args:
            ctx: one of the parameter's contexts; by default its only one, or the current one.

        Raises:
            DeferredInitializationError: it waits for the first data.
            UninitializedError: it was not initialized, or is not on that context.
        """
        if self._stype != "default":
            raise self._by_rows_only("data")
        array = self._arrays.get(ctx) if type(ctx) is Context else None
        if array is None:
            array = self._on(ctx)
        return placed(self, array)

    def list_data(self) -> list[NDArray]:
        """The values, one per context."""
        if self._stype != "default":
            raise self._by_rows_only("list_data")
        self._check()
        return ReplaceableArrays(self._arrays)

    def row_sparse_data(self, row_id: NDArray) -> NDArray:
        """The value with the rows ``row_id``, pulled by the Trainer, on the context of ``row_id``.

        Raises:
            StateError: the storage type is not ``row_sparse``, or there is no Trainer.
        """
        self._check_row_sparse("row_sparse_data", row_id)
        return self._fetched([self._on(row_id.context)], row_id)[0]

    def list_row_sparse_data(self, row_id: NDArray) -> list[NDArray]:
        """The values with the rows ``row_id`` on all contexts; see :meth:`row_sparse_data`."""
        self._check_row_sparse("list_row_sparse_data", row_id)
        self._check()
        return self._fetched(list(self._arrays.values()), row_id)

    def _check_row_sparse(self, name: str, row_id: object) -> None:
        if not isinstance(row_id, NDArray):
            raise ObjectKindError(f"The row numbers must be an NDArray, not {type(row_id)}.")
        if self._stype != "row_sparse":
            raise StateError(
                f"Parameter '{self.name}' is stored as {self._stype!r}, not by rows: call "
                f"{name.replace('row_sparse_', '')}() rather than {name}()."
            )

    def _fetched(self, arrays: list[NDArray], row_id: NDArray) -> list[NDArray]:
        if not self._trainer:
            raise StateError(
                f"Parameter '{self.name}' is row_sparse and has no Trainer, which fetches its rows. "
                f"Make gluon.Trainer(net.collect_params(), ...) first."
            )
        self._trainer._row_sparse_pull(self, arrays, row_id)
        return arrays

    def _on(self, ctx: Context | None) -> NDArray:
        """The array on a context, even while tracing."""
        self._check()
        if ctx is None:
            if len(self._arrays) == 1:
                return next(iter(self._arrays.values()))
            ctx = current_context()
        ctx = as_context(ctx)
        array = self._arrays.get(ctx)
        if array is None and ctx.device_type.startswith("cpu"):
            # pinned and shared memory belong to the host
            array = self._arrays.get(cpu(ctx.device_id))
        if array is None:
            raise UninitializedError(
                f"Parameter '{self.name}' is on {list(self._arrays)}, not on {ctx}. Give "
                f"initialize(ctx=[...]) all contexts that the data is on."
            )
        return array

    def __init_subclass__(cls, **kwargs: object) -> None:
        super().__init_subclass__(**kwargs)
        if "data" in cls.__dict__:
            cls._input = cls.data

    _input = _on  # the input of a composed graph; a subclass may compute it from the array

    def _check(self) -> None:
        if self._arrays:
            return
        if self._deferred_init:
            raise DeferredInitializationError(self._waits())
        raise UninitializedError(
            f"Parameter '{self.name}' has not been initialized. Call net.initialize() first, again for "
            f"layers added since; net.params has no parameters of children, net.collect_params() has."
        )

    def _waits(self) -> str:
        return (
            f"Parameter '{self.name}' has not been initialized yet: its shape {self._shape} follows "
            f"from the first data, so its initialization was deferred. Call the network once with data, or "
            f"give the layer its input size (in_units, in_channels). If the network has been called, it "
            f"does not use this layer: call it in forward, or do not make it."
        )

    def grad(self, ctx: Context | None = None) -> NDArray:
        """The gradient on a context.

        Args:
            ctx: one of the parameter's contexts; by default its only one, or the current one.

        Raises:
            StateError: it has none (``grad_req='null'``).
        """
        self._check_grad()
        return gradient_of(self._on(ctx), self._replaced_gradients)

    def list_grad(self) -> list[NDArray]:
        """The gradients, one per context."""
        self._check_grad()
        self._check()
        return self._grad or []

    def _check_grad(self) -> None:
        if self._arrays and self._grad_req == "null":
            raise StateError(f"Parameter '{self.name}' has no gradient: its grad_req is 'null'.")

    def list_ctx(self) -> list[Context]:
        """The contexts that hold it, or will hold it once it is initialized."""
        if not self._arrays and self._deferred_init:
            contexts: list[Context] = self._deferred_init[1]
            return contexts
        self._check()
        return list(self._arrays)

    def _reduce(self) -> NDArray:
        """The mean of the values over the contexts, on the host, as saved in files."""
        self._check()
        if self._stype != "default":
            rows = array(np.arange((self._shape or (0,))[0]), dtype="int64")
            table: NDArray = next(iter(self._arrays.values())).copyto(cpu())
            if self._trainer:
                self._trainer._row_sparse_pull(self, table, rows, full_idx=True)
            return table
        with RecordingScope(False, None):
            values = list(self._arrays.values())
            if len(values) == 1:
                value: NDArray = values[0].copyto(cpu())
                return value
            total = sum((each.copyto(cpu()) for each in values[1:]), values[0].copyto(cpu()))
            mean: NDArray = total / len(values)
            return mean

    def set_data(self, data: NDArray | np.ndarray) -> None:
        """Replace the value on all contexts; this also sets a shape that was unknown.

        Inside ``autograd.record()``, gradients flow to the arrays from which the value was computed.

        Args:
            data: the value, in the shape of the parameter; it is cast to the parameter's dtype.

        Raises:
            CheckError: the shape differs, or it was not initialized.
            GradientError: it has a gradient of its own, and ``autograd.record()`` is on.
        """
        if not isinstance(data, NDArray):
            data = array(data, dtype=self.dtype)
        self.shape = data.shape
        if not self._arrays and not self._deferred_init:
            raise CheckError(
                f"Parameter '{self.name}' has not been initialized: call initialize() first."
            )
        if not self._arrays:
            if data.dtype != np.dtype(self.dtype):
                data = data.astype(self.dtype)
            if is_np_array() and not isinstance(data, np_ndarray):
                data = np_ndarray._wrap(data._read())
            self._deferred_init = (*self._deferred_init[:3], data)
            return
        trainer = self._trainer
        if trainer is not None and trainer._updates_in_store(self):
            trainer._reset_kvstore()
        all_or_nothing(partial(self._write_all, data), [self])

    def _write_all(self, data: NDArray) -> None:
        for context, value in self._arrays.items():
            placed(self, value)._write_all(data.as_in_context(context))

    def zero_grad(self) -> None:
        """Set the gradients to 0."""
        for each in self._grad or ():
            if each is not None:  # an array that has replaced the parameter's has no gradient
                each[:] = 0

    def var(self) -> Symbol:
        """A symbol variable for the parameter."""
        if self._var is None:
            self._var = Variable(
                self.name,
                shape=self.shape,
                lr_mult=self.lr_mult,
                wd_mult=self.wd_mult,
                dtype=self.dtype,
                init=self.init,
                stype=self._stype,
            )
            if self._mx_made_at is not None:
                self._var._entry().node.source = self._mx_made_at
            if is_np_array():
                self._var = self._var.as_np_ndarray()
        return self._var


def _contexts(ctx: Context | Sequence[Context] | None) -> list[Context]:
    if ctx is None:
        return [current_context()]
    contexts = [as_context(each) for each in (ctx if isinstance(ctx, (list, tuple)) else [ctx])]
    if not contexts:
        raise AttributeValueError("ctx is empty: name one context, or leave ctx out.")
    return contexts
