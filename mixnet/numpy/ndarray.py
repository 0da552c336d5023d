"""``mx.np.ndarray``: arrays with NumPy semantics."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Self, TypeVar

import numpy as onp

from mixnet.array_like import has_dtype
from mixnet.base import (
    AttributeTypeError,
    AttributeValueError,
    OptionError,
    ShapeError,
    checked_shape,
)
from mixnet.context import Context, as_context
from mixnet.dtype import as_dtype, as_numbers
from mixnet.ndarray.invoke import check_face, invoke_any
from mixnet.ndarray.ndarray import NDArray
from mixnet.ndarray.operators import Binary
from mixnet.numpy.call import order_of_axes, set_default_face
from mixnet.ops.numpy.shape import filled_shape
from mixnet.ops.op import Op
from mixnet.runtime.value.value import from_host

if TYPE_CHECKING:
    from mixnet.dtype import DTypeLike
    from mixnet.numpy.call import Operand

Shared = TypeVar("Shared", bound=NDArray)


def _wanted_shape(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[int, ...]:
    """The shape in the arguments of ``reshape``: numbers, one tuple, or by name."""
    shape = kwargs.get("newshape", kwargs.get("shape", args))
    if len(args) == 1 and isinstance(args[0], (tuple, list)):
        shape = args[0]
    extents = (shape,) if isinstance(shape, (int, onp.integer)) else shape
    return checked_shape("reshape", extents)


class ndarray(NDArray):
    """An array with NumPy's rules: shapes without axes or elements, boolean comparisons, masks.

    Make one with ``mx.np.array``, ``mx.np.zeros`` and the like. It is computed when its value is
    needed, takes part in autograd, and NumPy's own functions accept it.
    """

    __slots__ = ()
    _holds_empty = True
    _is_numpys = True

    # ---- how functions reach the operators ----------------------------------------------------

    @classmethod
    def _operate(
        cls,
        op: Op,
        arrays: Sequence[Any],
        attributes: dict[str, Any],
        out: Any = None,
        called: str = "",
    ) -> Any:
        check_face(op, arrays, numpys=True)
        if isinstance(out, NDArray) and not out._is_numpys:
            check_face(op, [out], numpys=True)
        return invoke_any(op, arrays, attributes, out, cls)

    @classmethod
    def _from_source(cls, source: Any, context: Context | None = None, dtype: Any = None) -> Self:
        if dtype is None:
            # A column of pandas has a dtype, too, which may be one of Python objects.
            source_dtype = source.dtype if has_dtype(source) else None
            if not isinstance(source_dtype, onp.dtype) or source_dtype.kind == "O":
                dtype = onp.float32
        target_dtype = None if dtype is None else as_dtype(dtype)
        # NumPy 2 refuses numbers that an integer type does not hold; cast from an array they wrap.
        to_integers = target_dtype is not None and target_dtype.kind in "iu"
        try:
            if to_integers:
                data = as_numbers(source, target_dtype)
            else:
                with onp.errstate(over="ignore"):
                    data = onp.asarray(source, target_dtype)
        except (TypeError, ValueError):
            raise AttributeTypeError(
                f"mx.np.array takes numbers in nested lists of equal lengths, not {source!r:.80}."
            ) from None
        return cls._wrap(from_host(data.astype(as_dtype(data.dtype)), as_context(context)))

    # ---- facts --------------------------------------------------------------------------------

    @property
    def dtype(self) -> onp.dtype:
        """Data type, as NumPy's dtype."""
        return self._value.spec.dtype

    def __len__(self) -> int:
        if not self.shape:
            raise AttributeTypeError("len() of an array without axes")
        return self.shape[0]

    def __repr__(self) -> str:
        data = self.asnumpy()
        if data.size:
            text = onp.array2string(data, separator=", ", prefix="array(")
        else:  # brackets cannot say more than one axis
            text = "[]" if data.ndim == 1 else f"[], shape={data.shape}"
        # Elements show a bool; MXNet names every other dtype but its default.
        shown = data.dtype == onp.float32 or (data.dtype == onp.bool_ and data.size)
        dtype = "" if shown else f", dtype={data.dtype}"
        context = "" if self.context.device_type == "cpu" else f", ctx={self.context}"
        return f"array({text}{dtype}{context})"

    def __str__(self) -> str:
        on_device = self.ndim and self.context.device_type != "cpu"
        return f"{self.asnumpy()} @{self.context}" if on_device else str(self.asnumpy())

    def __format__(self, fmt: str) -> str:
        if self.shape == ():
            return format(self.item(), fmt)
        if fmt:
            raise AttributeTypeError(
                f"An array of shape {self.shape} takes no format {fmt!r}; format its elements, or "
                f"str(array)."
            )
        return str(self)

    def __bool__(self) -> bool:
        if self.size == 0:
            return False
        if self.size > 1:
            raise AttributeValueError(
                f"The truth value of an array of shape {self.shape} is ambiguous; use a.any() or "
                f"a.all()."
            )
        return bool(self.item())

    __nonzero__ = __bool__

    def __round__(self, n: int = 0) -> Any:
        return self.round(n)

    def __floor__(self) -> Any:
        return self._function("floor")(self)

    def __ceil__(self) -> Any:
        return self._function("ceil")(self)

    def __trunc__(self) -> Any:
        return self._function("trunc")(self)

    def item(self, *args: Any) -> Any:
        """An element as a Python number: the only one, or the one at an index.

        Args:
            args: a flat position, or one index for each axis; none for an array with one element.

        Raises:
            ValueError: no index and not one element.
            IndexError: out of bounds.
        """
        return self.asnumpy().item(*args)

    def tolist(self) -> Any:
        """Nested lists of Python numbers."""
        return self.asnumpy().tolist()

    def as_nd_ndarray(self) -> NDArray:
        """An ``mx.nd`` array on the same storage."""
        return share(self, NDArray)

    def as_np_ndarray(self) -> Self:
        """This array."""
        return self

    # ---- NumPy's protocols --------------------------------------------------------------------

    _dispatch: Any = None  # set by mixnet.numpy.dispatch

    def __array_ufunc__(
        self, ufunc: Callable[..., Any], method: str, *inputs: object, **kwargs: object
    ) -> Any:
        return self._dispatch.ufunc(ufunc, method, inputs, kwargs)

    def __array_function__(
        self, func: Callable[..., Any], types: object, args: object, kwargs: object
    ) -> Any:
        return self._dispatch.function(func, args, kwargs)

    @classmethod
    def _function(cls, name: str) -> Callable[..., Self]:
        """A function of ``mx.np`` whose result is an array."""
        function: Callable[..., Self] = cls._dispatch.namespace[name]
        return function

    # ---- methods ------------------------------------------------------------------------------

    def copy(self, order: str = "C") -> Self:
        """A new array with the same content.

        Args:
            order: of the elements in memory; only ``'C'`` is supported.
        """
        _check_c_order("copy", order)
        return NDArray.copy(self)

    def astype(  # type: ignore[override]
        self,
        dtype: DTypeLike,
        order: str = "K",
        casting: str = "unsafe",
        subok: bool = True,
        copy: bool = True,
    ) -> Self:
        """The array in another dtype; itself if ``copy`` is false and it has that dtype.

        Args:
            order: ``'K'`` or ``'C'``; others are not supported.
            casting: ``'unsafe'``; others are not supported.
            subok: True; False is not supported.
        """
        if order not in ("K", "C") or casting != "unsafe" or not subok:
            raise AttributeValueError(
                f"astype: order={order!r}, casting={casting!r}, subok={subok!r} are not supported; "
                f"leave them at 'K' or 'C', 'unsafe' and True."
            )
        return NDArray.astype(self, dtype, copy)

    def as_in_ctx(self, ctx: Context) -> Self:
        """This array if it is on ``ctx``, else a copy there."""
        return self.as_in_context(ctx)

    def expand_dims(self, *args: Operand, **kwargs: object) -> Self:
        """The array with a new axis of extent one.

        Args:
            args: the place of the axis.
            kwargs: ``axis``, instead of the argument by position.
        """
        (axis,) = args or kwargs.values()
        return self._function("expand_dims")(self, axis)

    def attach_grad(self, grad_req: str = "write") -> None:  # type: ignore[override]
        """Make this a variable: backward writes its gradient to ``grad``."""
        NDArray.attach_grad(self, grad_req)

    def reshape(self, *args: Any, **kwargs: Any) -> Self:
        """The elements in another shape, as a new array; one -1 takes what remains.

        Args:
            args: the extents, or one tuple of them.
            kwargs: ``newshape`` instead; ``order``, of which only ``'C'`` is supported.

        Raises:
            ShapeError: the number of elements differs.
        """
        order = kwargs.get("order", "C")
        _check_c_order("reshape", order)
        return self._function("reshape")(self, _wanted_shape(args, kwargs), order)

    def reshape_view(self, *args: Operand, **kwargs: object) -> Self:
        """The same storage in another shape; one -1 takes what remains.

        Args:
            args: the extents, or one tuple of them.
            kwargs: ``newshape``, instead of arguments by position.

        Raises:
            ShapeError: the number of elements differs.
        """
        target = _wanted_shape(args, kwargs)
        return self._view(0, filled_shape("reshape", self.shape, target))

    def transpose(self, *axes: object) -> Self:
        """Axes in another order, reversed by default; see ``mx.np.transpose``."""
        return self._function("transpose")(self, order_of_axes(axes))

    @property
    def T(self) -> Self:
        """Axes in reverse order."""
        return self.transpose()

    def flatten(self, order: str = "C") -> Self:
        """All elements in one axis, as a copy.

        Args:
            order: of the elements; only ``'C'`` is supported.
        """
        _check_c_order("flatten", order)
        return self.reshape(-1)

    def squeeze(self, axis: int | Sequence[int] | None = None) -> Self:
        """The array without axes of extent one; see ``mx.np.squeeze``."""
        return self._function("squeeze")(self, axis)

    def swapaxes(self, axis1: int, axis2: int) -> Self:
        """Two axes exchanged; see ``mx.np.swapaxes``.

        Args:
            axis1: an axis.
            axis2: another axis.
        """
        return self._function("swapaxes")(self, axis1, axis2)

    def broadcast_to(self, shape: int | Sequence[int]) -> Self:
        """The array repeated along axes of extent one, and new first ones, to ``shape``."""
        return self._function("broadcast_to")(self, shape)

    def broadcast_like(self, other: NDArray) -> Self:
        """The array repeated to the shape of ``other``."""
        return self.broadcast_to(other.shape)

    def take(
        self, indices: Operand, axis: int | Sequence[int] | None = None, mode: str = "raise"
    ) -> Self:
        """Elements at ``indices`` along ``axis``."""
        return self._function("take")(self, indices, axis, mode)

    def repeat(self, repeats: int | Sequence[int], axis: int | Sequence[int] | None = None) -> Self:
        """Every element ``repeats`` times; see ``mx.np.repeat``."""
        return self._function("repeat")(self, repeats, axis)

    def clip(
        self, min: Operand | None = None, max: Operand | None = None, out: NDArray | None = None
    ) -> Self:
        """Elements no less than ``min`` and no more than ``max``."""
        return self._function("clip")(self, min, max, out)

    def round(self, decimals: int = 0, out: NDArray | None = None, **kwargs: object) -> Self:
        """Rounded to ``decimals`` digits after the point; see ``mx.np.round``."""
        return self._function("round")(self, decimals, out)

    def dot(self, b: Operand, out: NDArray | None = None) -> Self:
        """Product with ``b``; see ``mx.np.dot``."""
        return self._function("dot")(self, b, out)

    def nonzero(self) -> tuple[Self, ...]:
        """The indices of the elements that are not 0, an array for each axis."""
        indices: tuple[Self, ...] = self._dispatch.namespace["nonzero"](self)
        return indices

    def sort(self, axis: int = -1, kind: str | None = None, order: str | None = None) -> Self:
        """Sorted in ascending order along ``axis``, as a new array; see ``mx.np.sort``."""
        return self._function("sort")(self, axis, kind, order)

    def argsort(self, axis: int = -1, kind: str | None = None, order: str | None = None) -> Self:
        """The positions that sort the array along ``axis``; see ``mx.np.argsort``."""
        return self._function("argsort")(self, axis, kind, order)

    def argmax(self, axis: int | Sequence[int] | None = None, out: NDArray | None = None) -> Self:
        """Position of the largest element; see ``mx.np.argmax``."""
        return self._function("argmax")(self, axis, out)

    def argmin(self, axis: int | Sequence[int] | None = None, out: NDArray | None = None) -> Self:
        """Position of the smallest element; see ``mx.np.argmin``."""
        return self._function("argmin")(self, axis, out)

    def all(
        self,
        axis: int | Sequence[int] | None = None,
        out: NDArray | None = None,
        keepdims: bool = False,
    ) -> Self:
        """Whether every element is true; see ``mx.np.all``."""
        return self._function("all")(self, axis, keepdims, out)

    def any(
        self,
        axis: int | Sequence[int] | None = None,
        out: NDArray | None = None,
        keepdims: bool = False,
    ) -> Self:
        """Whether any element is true; see ``mx.np.any``."""
        return self._function("any")(self, axis, keepdims, out)

    def max(
        self,
        axis: int | Sequence[int] | None = None,
        out: NDArray | None = None,
        keepdims: bool = False,
    ) -> Self:
        """Largest element; see ``mx.np.max``."""
        return self._function("max")(self, axis, keepdims, out)

    def min(
        self,
        axis: int | Sequence[int] | None = None,
        out: NDArray | None = None,
        keepdims: bool = False,
    ) -> Self:
        """Smallest element; see ``mx.np.min``."""
        return self._function("min")(self, axis, keepdims, out)

    def sum(
        self,
        axis: int | Sequence[int] | None = None,
        dtype: DTypeLike = None,
        out: NDArray | None = None,
        keepdims: bool = False,
    ) -> Self:
        """Sum of the elements; see ``mx.np.sum``."""
        return self._function("sum")(self, axis, dtype, keepdims, None, out)

    def prod(
        self,
        axis: int | Sequence[int] | None = None,
        dtype: DTypeLike = None,
        out: NDArray | None = None,
        keepdims: bool = False,
    ) -> Self:
        """Product of the elements; see ``mx.np.prod``."""
        return self._function("prod")(self, axis, dtype, out, keepdims)

    def mean(
        self,
        axis: int | Sequence[int] | None = None,
        dtype: DTypeLike = None,
        out: NDArray | None = None,
        keepdims: bool = False,
    ) -> Self:
        """Mean of the elements; see ``mx.np.mean``."""
        return self._function("mean")(self, axis, dtype, out, keepdims)

    def std(
        self,
        axis: int | Sequence[int] | None = None,
        dtype: DTypeLike = None,
        out: NDArray | None = None,
        ddof: int = 0,
        keepdims: bool = False,
    ) -> Self:
        """Standard deviation of the elements; see ``mx.np.std``."""
        return self._function("std")(self, axis, dtype, out, ddof, keepdims)

    def var(
        self,
        axis: int | Sequence[int] | None = None,
        dtype: DTypeLike = None,
        out: NDArray | None = None,
        ddof: int = 0,
        keepdims: bool = False,
    ) -> Self:
        """Variance of the elements; see ``mx.np.var``."""
        return self._function("var")(self, axis, dtype, out, ddof, keepdims)

    def cumsum(
        self,
        axis: int | Sequence[int] | None = None,
        dtype: DTypeLike = None,
        out: NDArray | None = None,
    ) -> Self:
        """Running sum along ``axis``, of the flattened array by default; see ``mx.np.cumsum``."""
        return self._function("cumsum")(self, axis, dtype, out)

    def diag(self, k: int = 0, **kwargs: object) -> Self:
        """A diagonal, or the matrix with this diagonal."""
        return self._function("diag")(self, k)


def _check_c_order(name: str, order: str) -> None:
    if order != "C":
        raise OptionError(f"{name}: order={order!r} is not supported; only 'C' is.")


def share(array: NDArray, cls: type[Shared]) -> Shared:
    """A handle of another class on the storage of ``array``, with its place on the tape."""
    view = array._view(0, array.shape)
    shared = cls.__new__(cls)
    shared._value, shared._link = view._value, view._link
    if array._link is not None and array._link.mark is not None:
        assert shared._link is not None  # a view has one
        shared._link.mark = array._link.mark
    return shared


def _np_binary(name: str, reflected: str | None = None, scalar: str | None = None) -> Binary:
    wide = f"_npi_{name}"
    return Binary(wide, wide, scalar or f"{wide}_scalar", reflected)


add = _np_binary("add")
subtract = _np_binary("subtract", "_npi_rsubtract_scalar")
multiply = _np_binary("multiply")
true_divide = _np_binary("true_divide", "_npi_rtrue_divide_scalar")
mod = _np_binary("mod", "_npi_rmod_scalar")
power = _np_binary("power", "_npi_rpower_scalar")
bitwise_and = _np_binary("bitwise_and")
bitwise_or = _np_binary("bitwise_or")
bitwise_xor = _np_binary("bitwise_xor")
equal = _np_binary("equal")
not_equal = _np_binary("not_equal")
greater = _np_binary("greater", "_npi_less_scalar")
greater_equal = _np_binary("greater_equal", "_npi_less_equal_scalar")
less = _np_binary("less", "_npi_greater_scalar")
less_equal = _np_binary("less_equal", "_npi_greater_equal_scalar")
maximum = _np_binary("maximum", scalar="_maximum_scalar")
minimum = _np_binary("minimum", scalar="_minimum_scalar")
hypot = _np_binary("hypot", scalar="_hypot_scalar")
arctan2 = _np_binary("arctan2", "_npi_rarctan2_scalar")
copysign = _np_binary("copysign", "_npi_rcopysign_scalar")
ldexp = _np_binary("ldexp", "_npi_rldexp_scalar")
lcm = _np_binary("lcm")

_ARITHMETIC = {
    "add": add,
    "sub": subtract,
    "mul": multiply,
    "truediv": true_divide,
    "div": true_divide,
    "mod": mod,
    "pow": power,
    "and": bitwise_and,
    "or": bitwise_or,
    "xor": bitwise_xor,
}
_COMPARISONS = {
    "eq": equal,
    "ne": not_equal,
    "gt": greater,
    "ge": greater_equal,
    "lt": less,
    "le": less_equal,
}


def _compared(method: Callable[..., Any]) -> Any:
    def compare(self: Any, other: Operand) -> Any:
        if other is None or isinstance(other, (str, list, tuple, complex)):
            # a plain False would be mistaken for a result
            raise AttributeTypeError(
                f"An mx.np array compares with arrays and numbers, not {type(other).__name__}. Make "
                f"an array with mx.np.array(...)."
            )
        return method(self, other)

    return compare


# Methods of mx.nd arrays whose function in mx.np has other rules for shapes, or other arguments.
_METHODS_OF_FUNCTIONS = ("flip", "nanprod", "pad", "ravel", "split", "tile")


def _method(name: str, module: str) -> Any:
    def method(self: Any, *args: Operand, **kwargs: object) -> Any:
        if module:
            return getattr(self._function(module), name)(self, *args, **kwargs)
        return self._function(name)(self, *args, **kwargs)

    method.__name__ = method.__qualname__ = name
    method.__doc__ = f"The function ``mx.np.{module + '.' if module else ''}{name}`` of this array."
    return method


def _sum_of_numbers(
    self: ndarray, axis: int | Sequence[int] | None = None, keepdims: bool = False
) -> ndarray:
    """Sum along axes, all by default, of the elements that are numbers."""
    numbers = self._function("where")(self._function("isnan")(self), 0, self)
    return numbers.sum(axis, keepdims=keepdims)


def _install(cls: Any) -> None:
    for name, operation in _ARITHMETIC.items():
        setattr(cls, f"__{name}__", operation.method())
        setattr(cls, f"__r{name}__", operation.reflected_method())
        if name != "pow":
            setattr(cls, f"__i{name}__", operation.inplace_method())
    for name, operation in _COMPARISONS.items():
        setattr(cls, f"__{name}__", operation.method())
    cls.__eq__ = _compared(cls.__eq__)
    cls.__ne__ = _compared(cls.__ne__)
    cls.__hash__ = object.__hash__

    def matmul(self: Any, other: Operand) -> Any:
        return self._function("matmul")(self, other)

    def reflected_matmul(self: Any, other: Operand) -> Any:
        return self._function("matmul")(other, self)

    def inplace_matmul(self: Any, other: Operand) -> Any:
        product = matmul(self, other)
        if product.shape != self.shape:
            raise ShapeError(
                f"a @= b: the product has shape {product.shape}, but a has {self.shape}; write a = a @ b."
            )
        self._store(product._read())
        return self

    for name in _METHODS_OF_FUNCTIONS:
        setattr(cls, name, _method(name, ""))
    cls.norm = _method("norm", "linalg")
    cls.nansum = _sum_of_numbers

    cls.__matmul__, cls.__rmatmul__, cls.__imatmul__ = matmul, reflected_matmul, inplace_matmul
    # The negative of a truth is a number.
    cls.__neg__ = lambda self: (
        self * -1 if self.dtype == onp.bool_ else self._function("negative")(self)
    )
    cls.__abs__ = lambda self: self._function("abs")(self)
    cls.__invert__ = lambda self: self._function("invert")(self)


def _as_np_ndarray(self: NDArray) -> ndarray:
    """An ``mx.np`` array on the same storage, with its place on the tape."""
    return share(self, ndarray)


_install(ndarray)
ndarray.__module__ = "mixnet.numpy"  # where users find it
set_default_face(ndarray)
NDArray.as_np_ndarray = _as_np_ndarray  # type: ignore[method-assign]
