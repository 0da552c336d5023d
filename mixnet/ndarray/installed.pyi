"""What `install` gives arrays beside the body of `NDArray`.

Written by `python -m mixnet.ndarray.build_installed`.
"""

from typing import Any, Self

from mixnet.context import Context
from mixnet.ndarray.ndarray import NDArray

class Installed:
    def Pad(self, *args: Any, **kwargs: Any) -> NDArray:
        """The array with elements added around it: ``pad_width`` has two counts, before and after, for each axis."""
    def SwapAxis(self, *args: Any, **kwargs: Any) -> NDArray:
        """The array with axes ``dim1`` and ``dim2`` exchanged."""
    @property
    def T(self) -> NDArray: ...
    def __abs__(self) -> Self: ...
    def __add__(self, other: Any) -> Self: ...
    def __copy__(self) -> Self: ...
    def __div__(self, other: Any) -> Self: ...
    def __eq__(self, other: object) -> Any: ...
    def __ge__(self, other: Any) -> Self: ...
    def __getitem__(self, key: Any) -> Self: ...
    def __gt__(self, other: Any) -> Self: ...
    def __hash__(self) -> int: ...
    def __iadd__(self, other: Any) -> Self: ...
    def __idiv__(self, other: Any) -> Self: ...
    def __imod__(self, other: Any) -> Self: ...
    def __imul__(self, other: Any) -> Self: ...
    def __isub__(self, other: Any) -> Self: ...
    def __itruediv__(self, other: Any) -> Self: ...
    def __le__(self, other: Any) -> Self: ...
    def __lt__(self, other: Any) -> Self: ...
    def __mod__(self, other: Any) -> Self: ...
    def __mul__(self, other: Any) -> Self: ...
    def __ne__(self, other: object) -> Any: ...
    def __neg__(self) -> Self: ...
    def __nonzero__(self) -> bool: ...
    def __pow__(self, other: Any) -> Self: ...
    def __radd__(self, other: Any) -> Self: ...
    def __rdiv__(self, other: Any) -> Self: ...
    def __repr__(self) -> str: ...
    def __rmod__(self, other: Any) -> Self: ...
    def __rmul__(self, other: Any) -> Self: ...
    def __rpow__(self, other: Any) -> Self: ...
    def __rsub__(self, other: Any) -> Self: ...
    def __rtruediv__(self, other: Any) -> Self: ...
    def __setitem__(self, key: Any, value: Any) -> None: ...
    def __str__(self) -> str: ...
    def __sub__(self, other: Any) -> Self: ...
    def __truediv__(self, other: Any) -> Self: ...
    def _basic_indexing_slice_is_contiguous(self, *args: Any, **kwargs: Any) -> bool:
        """Whether slices, one for each axis, cut one piece of the storage out of an array of this shape."""
    def _index_shape(self, *args: Any, **kwargs: Any) -> Any:
        """Shape of what indexing selects: a single element has an axis unless NumPy shapes are on."""
    @classmethod
    def _operate(cls, *args: Any, **kwargs: Any) -> Any: ...
    def _repr_html_(self, *args: Any, **kwargs: Any) -> str:
        """A small card: shape, dtype, context, pending or ready; once it is ready also a heat map, and the"""
    def _repr_mimebundle_(self, *args: Any, **kwargs: Any) -> Any:
        """The representations that a notebook shows. A pending array stays pending: reading it would run it."""
    def _write_all(self, *args: Any, **kwargs: Any) -> Any: ...
    def abs(self, *args: Any, **kwargs: Any) -> NDArray:
        """Absolute value. Element by element."""
    def arccos(self, *args: Any, **kwargs: Any) -> NDArray:
        """Inverse cosine, in radians. Element by element."""
    def arccosh(self, *args: Any, **kwargs: Any) -> NDArray:
        """Inverse hyperbolic cosine. Element by element."""
    def arcsin(self, *args: Any, **kwargs: Any) -> NDArray:
        """Inverse sine, in radians. Element by element."""
    def arcsinh(self, *args: Any, **kwargs: Any) -> NDArray:
        """Inverse hyperbolic sine. Element by element."""
    def arctan(self, *args: Any, **kwargs: Any) -> NDArray:
        """Inverse tangent, in radians. Element by element."""
    def arctanh(self, *args: Any, **kwargs: Any) -> NDArray:
        """Inverse hyperbolic tangent. Element by element."""
    def argmax(self, *args: Any, **kwargs: Any) -> NDArray:
        """Position of the largest element along ``axis``."""
    def argmax_channel(self, *args: Any, **kwargs: Any) -> NDArray:
        """Position of the largest element along axis 1."""
    def argmin(self, *args: Any, **kwargs: Any) -> NDArray:
        """Position of the smallest element along ``axis``."""
    def argsort(self, *args: Any, **kwargs: Any) -> NDArray:
        """Positions of the elements in ascending or descending order along ``axis``, of ``dtype``."""
    def as_in_ctx(self, *args: Any, **kwargs: Any) -> Self:
        """This array if it is on ``context``, else a copy there."""
    def broadcast_axes(self, *args: Any, **kwargs: Any) -> NDArray:
        """The array repeated ``size[i]`` times along each ``axis[i]``, which has extent one."""
    def broadcast_axis(self, *args: Any, **kwargs: Any) -> NDArray:
        """The array repeated ``size[i]`` times along each ``axis[i]``, which has extent one."""
    def broadcast_like(self, *args: Any, **kwargs: Any) -> NDArray:
        """The array repeated along axes of extent one to the shape of ``other``."""
    def broadcast_to(self, *args: Any, **kwargs: Any) -> NDArray:
        """The array repeated along axes of extent one to ``shape``; 0 keeps an axis as it is."""
    def cbrt(self, *args: Any, **kwargs: Any) -> NDArray:
        """Cube root. Element by element."""
    def ceil(self, *args: Any, **kwargs: Any) -> NDArray:
        """Rounded up to a whole number. Element by element."""
    def choose_element_0index(self, *args: Any, **kwargs: Any) -> NDArray:
        """One element along ``axis`` for each position on the other axes."""
    def clip(self, *args: Any, **kwargs: Any) -> NDArray:
        """The array with values below ``a_min`` raised to it, and those above ``a_max`` lowered to that."""
    def cos(self, *args: Any, **kwargs: Any) -> NDArray:
        """Cosine of radians. Element by element."""
    def cosh(self, *args: Any, **kwargs: Any) -> NDArray:
        """Hyperbolic cosine. Element by element."""
    def crop(self, *args: Any, **kwargs: Any) -> NDArray:
        """``data[begin[0]:end[0]:step[0], ...]``; None is the beginning or the end of the axis."""
    @property
    def ctx(self) -> Context: ...
    def degrees(self, *args: Any, **kwargs: Any) -> NDArray:
        """Radians to degrees. Element by element."""
    def depth_to_space(self, *args: Any, **kwargs: Any) -> NDArray:
        """Blocks of channels moved into the spatial axes; the opposite of ``space_to_depth``."""
    @property
    def device(self) -> Context: ...
    def diag(self, *args: Any, **kwargs: Any) -> NDArray:
        """A diagonal of a matrix, or the matrix with this diagonal."""
    def dot(self, *args: Any, **kwargs: Any) -> NDArray:
        """Sum of products over the last axis of the left and the first axis of the right array."""
    def erf(self, *args: Any, **kwargs: Any) -> NDArray:
        """Error function. Element by element."""
    def erfinv(self, *args: Any, **kwargs: Any) -> NDArray:
        """Inverse of the error function. Element by element."""
    def exp(self, *args: Any, **kwargs: Any) -> NDArray:
        """Exponential. Element by element."""
    def expand_dims(self, *args: Any, **kwargs: Any) -> NDArray:
        """The array with a new axis of extent one; with ``inplace`` on the same storage."""
    def expm1(self, *args: Any, **kwargs: Any) -> NDArray:
        """Exponential minus one. Element by element."""
    def fix(self, *args: Any, **kwargs: Any) -> NDArray:
        """Nearest whole number towards zero. Element by element."""
    def flatten(self, *args: Any, **kwargs: Any) -> NDArray:
        """All axes but the first joined; with ``inplace`` on the same storage."""
    def flip(self, *args: Any, **kwargs: Any) -> NDArray:
        """The array with its elements in reverse order along ``axis``."""
    def floor(self, *args: Any, **kwargs: Any) -> NDArray:
        """Rounded down to a whole number. Element by element."""
    def gamma(self, *args: Any, **kwargs: Any) -> NDArray:
        """Gamma function. Element by element."""
    def gammaln(self, *args: Any, **kwargs: Any) -> NDArray:
        """Logarithm of the gamma function. Element by element."""
    def log(self, *args: Any, **kwargs: Any) -> NDArray:
        """Natural logarithm. Element by element."""
    def log10(self, *args: Any, **kwargs: Any) -> NDArray:
        """Logarithm to base 10. Element by element."""
    def log1p(self, *args: Any, **kwargs: Any) -> NDArray:
        """Natural logarithm of one plus the number. Element by element."""
    def log2(self, *args: Any, **kwargs: Any) -> NDArray:
        """Logarithm to base 2. Element by element."""
    def log_softmax(self, *args: Any, **kwargs: Any) -> NDArray:
        """Logarithm of ``softmax``, without overflow."""
    def logical_not(self, *args: Any, **kwargs: Any) -> NDArray:
        """1 where 0, else 0. Element by element."""
    def max(self, *args: Any, **kwargs: Any) -> NDArray:
        """Largest element. Along ``axis``, all axes by default; ``exclude`` takes the other axes."""
    def max_axis(self, *args: Any, **kwargs: Any) -> NDArray:
        """Largest element. Along ``axis``, all axes by default; ``exclude`` takes the other axes."""
    def mean(self, *args: Any, **kwargs: Any) -> NDArray:
        """Mean. Along ``axis``, all axes by default; ``exclude`` takes the other axes."""
    def min(self, *args: Any, **kwargs: Any) -> NDArray:
        """Smallest element. Along ``axis``, all axes by default; ``exclude`` takes the other axes."""
    def min_axis(self, *args: Any, **kwargs: Any) -> NDArray:
        """Smallest element. Along ``axis``, all axes by default; ``exclude`` takes the other axes."""
    def nanprod(self, *args: Any, **kwargs: Any) -> NDArray:
        """Product, NaN counted as 1. Along ``axis``, all axes by default; ``exclude`` takes the other axes."""
    def nansum(self, *args: Any, **kwargs: Any) -> NDArray:
        """Sum, NaN counted as 0. Along ``axis``, all axes by default; ``exclude`` takes the other axes."""
    def negative(self, *args: Any, **kwargs: Any) -> NDArray:
        """Opposite sign. Element by element."""
    def norm(self, *args: Any, **kwargs: Any) -> NDArray:
        """Sum of absolute values (``ord`` 1) or Euclidean length (2) along ``axis``; of the whole array if None."""
    def one_hot(self, *args: Any, **kwargs: Any) -> NDArray:
        """One-hot vectors: ``on_value`` at each index, ``off_value`` elsewhere."""
    def ones_like(self, *args: Any, **kwargs: Any) -> NDArray:
        """Ones in the shape and dtype of ``data``."""
    def pad(self, *args: Any, **kwargs: Any) -> NDArray:
        """The array with elements added around it: ``pad_width`` has two counts, before and after, for each axis."""
    def pick(self, *args: Any, **kwargs: Any) -> NDArray:
        """One element along ``axis`` for each position on the other axes."""
    def prod(self, *args: Any, **kwargs: Any) -> NDArray:
        """Product. Along ``axis``, all axes by default; ``exclude`` takes the other axes."""
    def radians(self, *args: Any, **kwargs: Any) -> NDArray:
        """Degrees to radians. Element by element."""
    def rcbrt(self, *args: Any, **kwargs: Any) -> NDArray:
        """One over the cube root. Element by element."""
    def reciprocal(self, *args: Any, **kwargs: Any) -> NDArray:
        """Reciprocal. Element by element."""
    def relu(self, *args: Any, **kwargs: Any) -> NDArray:
        """max(x, 0). Element by element."""
    def repeat(self, *args: Any, **kwargs: Any) -> NDArray:
        """Each element ``repeats`` times in a row along ``axis``; of the flattened array if that is None."""
    def reshape(self, *args: Any, **kwargs: Any) -> NDArray:
        """The same storage in another shape; -1 takes what remains, 0 keeps the axis."""
    def reshape_like(self, *args: Any, **kwargs: Any) -> NDArray:
        """``lhs`` in the shape of ``rhs``; with limits, only its axes ``lhs_begin:lhs_end`` get those of ``rhs``."""
    def reverse(self, *args: Any, **kwargs: Any) -> NDArray:
        """The array with its elements in reverse order along ``axis``."""
    def rint(self, *args: Any, **kwargs: Any) -> NDArray:
        """Nearest whole number, halves downwards. Element by element."""
    def round(self, *args: Any, **kwargs: Any) -> NDArray:
        """Nearest whole number, halves away from zero. Element by element."""
    def rsqrt(self, *args: Any, **kwargs: Any) -> NDArray:
        """One over the square root. Element by element."""
    def shape_array(self, *args: Any, **kwargs: Any) -> NDArray:
        """The shape of the array, int64 ``(number of axes,)``."""
    def sigmoid(self, *args: Any, **kwargs: Any) -> NDArray:
        """1 / (1 + exp(-x)). Element by element."""
    def sign(self, *args: Any, **kwargs: Any) -> NDArray:
        """-1, 0 or 1. Element by element."""
    def sin(self, *args: Any, **kwargs: Any) -> NDArray:
        """Sine of radians. Element by element."""
    def sinh(self, *args: Any, **kwargs: Any) -> NDArray:
        """Hyperbolic sine. Element by element."""
    def size_array(self, *args: Any, **kwargs: Any) -> NDArray:
        """The number of elements of the array, int64 ``(1,)``."""
    def slice(self, *args: Any, **kwargs: Any) -> NDArray:
        """``data[begin[0]:end[0]:step[0], ...]``; None is the beginning or the end of the axis."""
    def slice_assign(self, *args: Any, **kwargs: Any) -> NDArray:
        """Write ``rhs`` to the block between ``begin`` and ``end``; returns the array."""
    def slice_assign_scalar(self, *args: Any, **kwargs: Any) -> NDArray:
        """Write a number to the block between ``begin`` and ``end``; returns the array."""
    def slice_axis(self, *args: Any, **kwargs: Any) -> NDArray:
        """The part of ``data`` from ``begin`` up to ``end`` along ``axis``; None for ``end`` is its end."""
    def slice_like(self, *args: Any, **kwargs: Any) -> NDArray:
        """The first elements of ``data`` along ``axes`` (all by default), as many as ``shape_like`` has there."""
    def softmax(self, *args: Any, **kwargs: Any) -> NDArray:
        """exp(data / temperature), divided by its sum along ``axis``."""
    def softmin(self, *args: Any, **kwargs: Any) -> NDArray:
        """``softmax`` of ``-data``."""
    def softsign(self, *args: Any, **kwargs: Any) -> NDArray:
        """x / (1 + |x|). Element by element."""
    def sort(self, *args: Any, **kwargs: Any) -> NDArray:
        """The elements in order along ``axis``, of the flattened array if that is None; NaN comes last."""
    def space_to_depth(self, *args: Any, **kwargs: Any) -> NDArray:
        """Blocks of the spatial axes moved into the channels; the opposite of ``depth_to_space``."""
    def split(self, *args: Any, **kwargs: Any) -> Any:
        """The array cut into ``num_outputs`` equal parts along ``axis``."""
    def split_v2(self, *args: Any, **kwargs: Any) -> Any:
        """Cut along ``axis`` into equal parts, or before each of several indices."""
    def sqrt(self, *args: Any, **kwargs: Any) -> NDArray:
        """Square root. Element by element."""
    def square(self, *args: Any, **kwargs: Any) -> NDArray:
        """Square. Element by element."""
    def squeeze(self, *args: Any, **kwargs: Any) -> NDArray:
        """The array without axes of extent one: all, or ``axis``; with ``inplace`` on the same storage."""
    def sum(self, *args: Any, **kwargs: Any) -> NDArray:
        """Sum. Along ``axis``, all axes by default; ``exclude`` takes the other axes."""
    def sum_axis(self, *args: Any, **kwargs: Any) -> NDArray:
        """Sum. Along ``axis``, all axes by default; ``exclude`` takes the other axes."""
    def swapaxes(self, *args: Any, **kwargs: Any) -> NDArray:
        """The array with axes ``dim1`` and ``dim2`` exchanged."""
    def take(self, *args: Any, **kwargs: Any) -> NDArray:
        """Slices of ``a`` along ``axis`` at ``indices``."""
    def tan(self, *args: Any, **kwargs: Any) -> NDArray:
        """Tangent of radians. Element by element."""
    def tanh(self, *args: Any, **kwargs: Any) -> NDArray:
        """Hyperbolic tangent. Element by element."""
    def tile(self, *args: Any, **kwargs: Any) -> NDArray:
        """The whole array repeated ``reps[i]`` times along each axis ``i``."""
    def to_device(self, *args: Any, **kwargs: Any) -> Self:
        """This array if it is on ``context``, else a copy there."""
    def to_dlpack_for_read(self, *args: Any, **kwargs: Any) -> Any:
        """A DLPack capsule of the array's buffer; writes through it do not reach the array."""
    def to_dlpack_for_write(self, *args: Any, **kwargs: Any) -> Any:
        """A DLPack capsule of the array's buffer; writes through it do not reach the array."""
    def topk(self, *args: Any, **kwargs: Any) -> Any:
        """The ``k`` largest elements along ``axis``, or the smallest with ``is_ascend``."""
    def transpose(self, *args: Any, **kwargs: Any) -> NDArray:
        """The array with axes in another order, reversed by default."""
    def trunc(self, *args: Any, **kwargs: Any) -> NDArray:
        """Whole part. Element by element."""
    def wait_to_write(self, *args: Any, **kwargs: Any) -> Any:
        """Wait until the value is computed; raises the error if the computation failed."""
    def zeros_like(self, *args: Any, **kwargs: Any) -> NDArray:
        """Zeros in the shape and dtype of ``data``."""
