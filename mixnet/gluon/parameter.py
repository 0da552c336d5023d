"""Parameters: arrays that are learned, made when their shape is known."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np

from mixnet import initializer
from mixnet.autograd.scope import RecordingScope
from mixnet.base import MXNetError, ShapeError
from mixnet.context import Context, current_context
from mixnet.dtype import as_dtype
from mixnet.gluon.trace import current_trace, untraced
from mixnet.ndarray.create import array, zeros
from mixnet.ndarray.ndarray import NDArray
from mixnet.ndarray.params_file import load, save
from mixnet.numpy.creation import array as np_array
from mixnet.numpy.ndarray import ndarray as np_ndarray
from mixnet.passes.infer_shape import is_known, merged
from mixnet.symbol.symbol import Symbol, Variable
from mixnet.util import is_np_array, is_np_shape


class DeferredInitializationError(MXNetError):
    """A parameter waits for its shape, which follows from the first data."""


class Parameter:
    """A learned array: its value on every context, its gradient, how it starts.

    Args:
        name: unique in a network.
        grad_req: ``write``, ``add`` or ``null``.
        shape: 0 stands for an extent that follows from the first data.
        dtype: dtype.
        lr_mult: factor of the learning rate.
        wd_mult: factor of the weight decay.
        init: its initializer, by default that of ``initialize``.
        allow_deferred_init: an unknown shape may wait for the first data.
        differentiable: False for states, which have no gradient.
        stype: storage type of the value; dense.
        grad_stype: storage type of the gradient: ``default`` or ``row_sparse``.

    Raises:
        ValueError: an unknown storage type, or a sparse value.
    """

    def __init__(
        self,
        name: str,
        grad_req: str = "write",
        shape: Any = None,
        dtype: Any = np.float32,
        lr_mult: float = 1.0,
        wd_mult: float = 1.0,
        init: Any = None,
        allow_deferred_init: bool = False,
        differentiable: bool = True,
        stype: str = "default",
        grad_stype: str = "default",
    ):
        self.name = name
        if isinstance(shape, (int, np.integer)):
            shape = (shape,)
        self._shape = None if shape is None else tuple(int(extent) for extent in shape)
        self.dtype = as_dtype(dtype).type
        self.lr_mult, self.wd_mult = lr_mult, wd_mult
        self.init = init
        self.allow_deferred_init = allow_deferred_init
        if stype != "default":
            raise ValueError(
                f"Parameter {name}: stype={stype!r} is not kept; values are dense, gradients may be "
                f"row_sparse (grad_stype)."
            )
        if grad_stype not in ("default", "row_sparse"):
            raise ValueError(
                f"Parameter {name}: grad_stype={grad_stype!r} is no storage type of gradients."
            )
        self._grad_stype = grad_stype
        self._differentiable = differentiable
        self._grad_req = grad_req if differentiable else "null"
        self._data: dict[Context, NDArray] = {}
        self._deferred: tuple[Any, list[Context], Any] | None = None
        self._var: Symbol | None = None

    def __repr__(self) -> str:
        return f"Parameter {self.name} (shape={self.shape}, dtype={np.dtype(self.dtype).type})"

    # ---- shape and requests -------------------------------------------------------------------

    @property
    def shape(self) -> Any:
        """Shape; 0 for extents that are not known yet, by NumPy's rules -1."""
        if self._shape is not None and is_np_shape():
            return tuple(extent or -1 for extent in self._shape)
        return self._shape

    @shape.setter
    def shape(self, shape: tuple[int, ...]) -> None:
        now = merged(self._shape, tuple(shape))
        if now is None:
            raise ShapeError(
                f"Parameter {self.name} has shape {self._shape}, but the data needs {shape}. Give "
                f"the data the shape it had before, or make the layer with other sizes."
            )
        self._shape = now

    @property
    def grad_req(self) -> str:
        """What backward does with its gradient: ``write``, ``add``, ``null``."""
        return self._grad_req

    @grad_req.setter
    def grad_req(self, request: str) -> None:
        if request not in ("write", "add", "null"):
            raise MXNetError(f"grad_req={request!r} is not 'write', 'add' or 'null'.")
        self._grad_req = request if self._differentiable else "null"
        for each in self._data.values():
            self._mark(each)

    def _mark(self, data: NDArray) -> None:
        if self._grad_req == "null":
            data._link = None
        else:
            NDArray.attach_grad(data, self._grad_req, self._grad_stype)

    # ---- making -------------------------------------------------------------------------------

    def initialize(
        self,
        init: Any = None,
        ctx: Any = None,
        default_init: Any = None,
        force_reinit: bool = False,
    ) -> None:
        """Make the arrays on ``ctx``, now or, if the shape is unknown, with the first data.

        Args:
            init: initializer of this parameter, by default its own, then ``default_init``.
            ctx: a context or a list; the current one by default.
            default_init: initializer of parameters without one.
            force_reinit: start anew if it is made already.

        Raises:
            ShapeError: the shape is unknown and may not wait.
        """
        if self._data and not force_reinit:
            warnings.warn(
                f"Parameter {self.name!r} is initialized already, ignoring. Pass "
                f"force_reinit=True to start anew.",
                stacklevel=2,
            )
            return
        contexts = _contexts(ctx)
        chosen = init or self.init or default_init or initializer.Uniform()
        self._data = {}
        self._deferred = (chosen, contexts, init or self.init)
        if is_known(self._shape):
            self._finish()
        elif not self.allow_deferred_init:
            self._deferred = None
            raise ShapeError(
                f"Parameter {self.name} has the shape {self._shape}, which is not complete. Give "
                f"the layer its input size (in_units, in_channels)."
            )

    def _finish(self) -> None:
        """Make the arrays of a parameter whose shape is known now."""
        if self._deferred is None:
            return
        if not is_known(self._shape):
            raise DeferredInitializationError(
                f"Parameter {self.name} has no value yet: its shape {self._shape} follows from the "
                f"first data. Call the network once with data, or give the layer its input size "
                f"(in_units, in_channels)."
            )
        chosen, contexts, own = self._deferred
        self._deferred = None
        with untraced(), RecordingScope(False, None):
            assert self._shape is not None
            first = zeros(self._shape, contexts[0], self.dtype)
            desc = initializer.InitDesc(self.name)
            if own is not None:  # an initializer given for it fills it whatever its name
                made = initializer.create(own)
                fill = getattr(made, "_init_weight", made)
                fill(desc, first)
            else:
                initializer.create(chosen)(desc, first)
            if is_np_array():
                first = np_ndarray._wrap(first._read())
            for context in contexts:
                self._data[context] = first if context is contexts[0] else first.copyto(context)
                self._mark(self._data[context])

    def reset_ctx(self, ctx: Any) -> None:
        """Move the value to other contexts."""
        contexts = _contexts(ctx)
        if self._data:
            first = self.list_data()[0]
            moved = {each: first.copyto(each) for each in contexts}
            self._data = moved
            for each in moved.values():
                self._mark(each)
        elif self._deferred is not None:
            self._deferred = (self._deferred[0], contexts, self._deferred[2])

    def cast(self, dtype: Any) -> None:
        """Change the dtype of value and gradient."""
        self.dtype = as_dtype(dtype).type
        with RecordingScope(False, None):
            for context, data in self._data.items():
                self._data[context] = data.detach().astype(dtype)
                self._mark(self._data[context])

    # ---- reading ------------------------------------------------------------------------------

    def data(self, ctx: Context | None = None) -> NDArray:
        """The value on a context.

        Raises:
            DeferredInitializationError: it waits for the first data.
            MXNetError: it was not initialized, or is not on that context.
        """
        trace = current_trace()
        found = self._on(ctx)
        return found if trace is None else trace.parameter(self, found)

    def _on(self, ctx: Context | None) -> NDArray:
        self._check()
        if ctx is None:
            current = current_context()
            if len(self._data) == 1 or current not in self._data:
                return next(iter(self._data.values()))
            return self._data[current]
        if ctx not in self._data:
            raise MXNetError(
                f"Parameter {self.name} is on {list(self._data)}, not on {ctx}. Initialize it "
                f"there: net.initialize(ctx=[...])."
            )
        return self._data[ctx]

    def _check(self) -> None:
        if self._data:
            return
        if self._deferred is not None:
            raise DeferredInitializationError(
                f"Parameter {self.name} has no value yet: its shape {self._shape} follows from the "
                f"first data. Call the network once with data, or give the layer its input size "
                f"(in_units, in_channels)."
            )
        raise MXNetError(
            f"Parameter {self.name} was not initialized. Call net.initialize() first; do it again "
            f"for layers that you added afterwards."
        )

    def list_data(self) -> list[NDArray]:
        """The values, one per context."""
        self._check()
        return list(self._data.values())

    def grad(self, ctx: Context | None = None) -> NDArray:
        """The gradient on a context.

        Raises:
            MXNetError: it has none (``grad_req='null'``).
        """
        found = self._on(ctx).grad
        if found is None:
            raise MXNetError(f"Parameter {self.name} has no gradient: its grad_req is 'null'.")
        return found

    def list_grad(self) -> list[NDArray]:
        """The gradients, one per context."""
        return [self.grad(context) for context in self.list_ctx()]

    def list_ctx(self) -> list[Context]:
        """Contexts that hold it, or will."""
        if not self._data and self._deferred is not None:
            return self._deferred[1]
        self._check()
        return list(self._data)

    def set_data(self, data: Any) -> None:
        """Replace the value on all contexts.

        Raises:
            ShapeError: the shape differs.
        """
        data = data if isinstance(data, NDArray) else array(data, dtype=self.dtype)
        self.shape = data.shape
        if not self._data:
            if self._deferred is None:
                raise MXNetError(f"Parameter {self.name} was not initialized; call initialize().")
            chosen, contexts, _ = self._deferred
            self._deferred = (chosen, contexts, initializer.Constant(data))
            self._finish()
            return
        trace = current_trace()
        for context, own in self._data.items():
            target = own if trace is None else trace.parameter(self, own)
            with RecordingScope(False, None):
                target[:] = data.as_in_context(context)

    def zero_grad(self) -> None:
        """Set the gradients to 0."""
        if self._grad_req != "null":
            for each in self.list_grad():
                each[:] = 0

    def var(self) -> Symbol:
        """A symbol that stands for it."""
        if self._var is None:
            self._var = Variable(
                self.name,
                shape=self._shape if is_known(self._shape) else None,
                lr_mult=self.lr_mult if self.lr_mult != 1 else None,
                wd_mult=self.wd_mult if self.wd_mult != 1 else None,
            )
        return self._var


class Constant(Parameter):
    """A parameter that is not learned.

    Args:
        name: its name.
        value: an array or numbers.
    """

    def __init__(self, name: str, value: Any):
        if not isinstance(value, NDArray):
            value = np_array(value) if is_np_array() else array(value)
        self.value = value
        super().__init__(
            name,
            "null",
            value.shape,
            value.dtype,
            init=initializer.Constant(value),
            differentiable=False,
        )


def _contexts(ctx: Any) -> list[Context]:
    if ctx is None:
        return [current_context()]
    return list(ctx) if isinstance(ctx, (list, tuple)) else [ctx]


class ParameterDict:
    """Parameters by name; ``get`` makes one whose name begins with ``prefix``.

    Args:
        prefix: text before the names.
        shared: where a parameter is looked for before it is made.
    """

    def __init__(self, prefix: str = "", shared: ParameterDict | None = None):
        self._prefix = prefix
        self._params: dict[str, Parameter] = {}
        self._shared = shared

    @property
    def prefix(self) -> str:
        """Text before the names."""
        return self._prefix

    def __getitem__(self, name: str) -> Parameter:
        if name not in self._params:
            raise KeyError(f"there is no parameter {name!r}; there are {', '.join(self._params)}")
        return self._params[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._params)

    def __len__(self) -> int:
        return len(self._params)

    def __contains__(self, name: str) -> bool:
        return name in self._params

    def keys(self) -> Any:
        """Names."""
        return self._params.keys()

    def values(self) -> Any:
        """Parameters."""
        return self._params.values()

    def items(self) -> Any:
        """Pairs of name and parameter."""
        return self._params.items()

    def __repr__(self) -> str:
        rows = "\n".join(f"  {each!r}" for each in self.values())
        return f"{self._prefix or ''}(\n{rows}\n)"

    def get(self, name: str, **kwargs: Any) -> Parameter:
        """The parameter ``prefix + name``, shared or made with ``kwargs``."""
        full = self._prefix + name
        found = self._params.get(full)
        if found is None and self._shared is not None and full in self._shared:
            found = self._params[full] = self._shared[full]
        if found is None:
            found = self._params[full] = Parameter(full, **kwargs)
        elif kwargs.get("shape") is not None:
            wanted = kwargs["shape"]
            found.shape = (wanted,) if isinstance(wanted, int) else wanted
        return found

    def get_constant(self, name: str, value: Any = None) -> Constant:
        """The constant ``prefix + name``, made of ``value`` if it is not there."""
        full = self._prefix + name
        if full not in self._params:
            if value is None:
                raise KeyError(f"there is no constant {full!r}; give its value")
            self._params[full] = Constant(full, value)
        return self._params[full]  # type: ignore[return-value]

    def update(self, other: ParameterDict) -> None:
        """Take in all parameters of another.

        Raises:
            MXNetError: two different parameters have one name.
        """
        for name, each in other.items():
            if self._params.get(name, each) is not each:
                raise MXNetError(f"Two different parameters are named {name!r}; rename one.")
            self._params[name] = each

    def initialize(
        self, init: Any = None, ctx: Any = None, verbose: bool = False, force_reinit: bool = False
    ) -> None:
        """Initialize all parameters."""
        default = initializer.create(init) if init is not None else initializer.Uniform()
        for each in self.values():
            each.initialize(None, ctx, default, force_reinit)

    def zero_grad(self) -> None:
        """Set all gradients to 0."""
        for each in self.values():
            each.zero_grad()

    def reset_ctx(self, ctx: Any) -> None:
        """Move all values to other contexts."""
        for each in self.values():
            each.reset_ctx(ctx)

    def setattr(self, name: str, value: Any) -> None:
        """Set an attribute of all parameters, as ``grad_req``."""
        for each in self.values():
            setattr(each, name, value)

    def save(self, filename: str, strip_prefix: str = "") -> None:
        """Write all values to a ``.params`` file."""
        save(
            filename,
            {name.removeprefix(strip_prefix): each.list_data()[0] for name, each in self.items()},
        )

    def load(
        self,
        filename: str,
        ctx: Any = None,
        allow_missing: bool = False,
        ignore_extra: bool = False,
        restore_prefix: str = "",
        cast_dtype: bool = False,
        dtype_source: str = "current",
    ) -> None:
        """Read values from a ``.params`` file."""
        loaded = {restore_prefix + _plain(name): value for name, value in load(filename).items()}
        fill(dict(self.items()), loaded, ctx, allow_missing, ignore_extra, cast_dtype, filename)


def _plain(name: str) -> str:
    return name.removeprefix("arg:").removeprefix("aux:")


def fill(
    params: dict[str, Parameter],
    loaded: dict[str, NDArray],
    ctx: Any,
    allow_missing: bool,
    ignore_extra: bool,
    cast_dtype: bool,
    filename: str,
) -> None:
    """Give parameters their loaded values; nothing changes unless all fit.

    Raises:
        MXNetError: names are missing or unknown.
        ShapeError: a shape differs.
    """
    missing = [name for name in params if name not in loaded]
    if missing and not allow_missing:
        raise MXNetError(
            f"{filename} has no value for {', '.join(missing[:6])}; it has "
            f"{', '.join(list(loaded)[:6])}. Pass allow_missing=True to leave them as they are."
        )
    extra = [name for name in loaded if name not in params]
    if extra and not ignore_extra:
        raise MXNetError(
            f"{filename} has {', '.join(extra[:6])}, which the network does not; it has "
            f"{', '.join(list(params)[:6])}. Pass ignore_extra=True to leave them out."
        )
    fitting = {name: value for name, value in loaded.items() if name in params}
    for name, value in fitting.items():
        if merged(params[name].shape, value.shape) is None:
            raise ShapeError(
                f"{filename}: {name} has shape {value.shape}, the network's has "
                f"{params[name].shape}. Load a file of the same network."
            )
    for name, value in fitting.items():
        each = params[name]
        value = value.astype(each.dtype, copy=False) if cast_dtype else value
        if not each._data and each._deferred is None:
            each.shape = value.shape
            each.initialize(initializer.Constant(value), ctx)
        else:
            each.set_data(value)
