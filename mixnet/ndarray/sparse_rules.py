"""Operators on sparse arrays: rules for stored values, and the fallback to dense arrays."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from mixnet import config
from mixnet.autograd.scope import RecordingScope
from mixnet.base import AttributeTypeError, DTypeError, ShapeError
from mixnet.ndarray import invoke as invoke_module
from mixnet.ndarray.csr_array import CSRNDArray
from mixnet.ndarray.invoke import Results, invoke, invoke_any
from mixnet.ndarray.ndarray import NDArray
from mixnet.ndarray.operators import install_sparse
from mixnet.ndarray.row_sparse_array import RowSparseNDArray, sum_of_rows
from mixnet.ndarray.sparse_array import BaseSparseNDArray, host_indices
from mixnet.ops.op import Op
from mixnet.ops.registry import find
from mixnet.runtime.value.state import state

Rule = Callable[[Op, Sequence[Any], dict[str, Any]], Any]
# By the names of operators: a rule works on sparse arrays, which the layer of the operators does not know.
RULES: dict[str, Rule] = {}

_log = logging.getLogger("mixnet.sparse")
_warned: set[tuple[str, ...]] = set()


def run(
    op: Op,
    arrays: Sequence[Any],
    attributes: dict[str, Any],
    out: NDArray | Sequence[NDArray] | None = None,
) -> Results:
    """An operator with sparse inputs: by its rule, else on dense copies, with a warning.

    The result has the storage type that the operator declares. What autograd is to know of is
    computed a second time on dense arrays, which stand for the sparse ones on the tape.
    """
    # from a symbol they come as text
    attributes = {name: _parsed(op, name, value) for name, value in attributes.items()}
    stype = storage_of(op, [each.stype for each in arrays], attributes)
    if op.storage and op.storage.rows_alone and not isinstance(arrays[0], RowSparseNDArray):
        raise AttributeTypeError(
            f"{op.name} takes a row_sparse array, not {arrays[0].stype}; tostype('row_sparse') makes "
            f"one of a dense array."
        )
    targets: list[Any] = list(out) if isinstance(out, (list, tuple)) else [out]
    if op.updates_rows and targets[0] is not arrays[0]:  # the weight is only read
        arrays = [arrays[0].copy(), *arrays[1:]]
    if state.recording and any(each._is_sparse and each._is_taped() for each in arrays):
        answer = _recorded(op, arrays, attributes, stype)
    else:
        answer = _computed(op, arrays, attributes, stype)
    if out is None:
        return answer
    results = [answer] if isinstance(answer, NDArray) else answer
    for target, result in zip(targets, results, strict=True):
        if target is not result:
            _store(target, result)
    return out


def _parsed(op: Op, name: str, value: object) -> Any:
    known = op.attributes.get(name)
    return value if known is None or value is None else known.parse(value, op.name)


def storage_of(op: Op, types: Sequence[str], attributes: dict[str, Any]) -> str | None:
    """Storage type of the outputs; None where there is no rule for such inputs."""
    if op.storage is None:
        return None
    return op.storage.output(types, op.keywords(*op.bind(attributes)))


def _recorded(
    op: Op, arrays: Sequence[NDArray], attributes: dict[str, Any], stype: str | None
) -> Results:
    dense = _on_tape(op, arrays, attributes)
    if stype in (None, "default"):
        if stype is None:
            _warn(op, arrays, attributes, dense)
        return dense
    with RecordingScope(False, None):
        result = _computed(op, arrays, attributes, stype)
    assert isinstance(result, BaseSparseNDArray) and isinstance(dense, NDArray)
    result._variable = dense._read()
    return result


def _on_tape(op: Op, arrays: Sequence[Any], attributes: dict[str, Any]) -> Results:
    """The result from dense stand-ins, on the stored values of arrays that the tape does not know of."""
    known = [_plain(each) if each._is_sparse and each._is_taped() else each for each in arrays]
    types = [each.stype for each in known]
    if any(each._is_sparse for each in known) and storage_of(op, types, attributes) == "default":
        return _computed(op, known, attributes, "default")
    return invoke_any(op, [_plain(each) for each in arrays], dict(attributes))


def _computed(
    op: Op, arrays: Sequence[NDArray], attributes: dict[str, Any], stype: str | None
) -> Results:
    op.check_first(arrays[0]._spec.dtype)
    kernel: Rule | None = None
    if stype is not None or op.storage is None:
        kernel = _update if op.updates_rows else RULES.get(op.name)
        if kernel is None and op.storage is not None and op.storage.on_stored:
            kernel = _keep_zero
    result: Results | None = None
    if kernel is not None and (answer := kernel(op, arrays, attributes)) is not NotImplemented:
        result = answer
    if result is None:
        result = _on_dense_copies(op, arrays, attributes)
        if stype is None:
            _warn(op, arrays, attributes, result)
    if stype is None or not isinstance(result, NDArray) or result.stype == stype:
        return result
    dense = result._dense() if isinstance(result, BaseSparseNDArray) else result
    return dense.tostype(stype)


def _store(target: NDArray, result: NDArray) -> None:
    if target.shape != result.shape:
        raise ShapeError(f"out has shape {target.shape}, but the output is {result.shape}.")
    target[:] = result


def _plain(array: NDArray) -> NDArray:
    """A dense array with the content, with its place on the tape."""
    return NDArray._wrap(array._read()) if array._is_sparse else array


def _warn(
    op: Op, arrays: Sequence[NDArray], attributes: Mapping[str, object], result: Results
) -> None:
    """Say that an operator takes dense copies: on stderr, once for each set of storage types and attributes,
    as MXNet does.
    """
    if not config.get("MXNET_STORAGE_FALLBACK_LOG_VERBOSE"):
        return
    results = [result] if isinstance(result, NDArray) else result
    inputs, outputs = (", ".join(each.stype for each in group) for group in (arrays, results))
    parameters = ", ".join(f"{name}={value!r:.40}" for name, value in attributes.items())
    if (op.name, inputs, outputs, parameters) in _warned:
        return
    _warned.add((op.name, inputs, outputs, parameters))
    _log.warning(
        "Storage type fallback: %s(%s) has no kernel for inputs of storage types %s. It runs on dense "
        "copies; the results are the same, of storage types %s. MXNET_STORAGE_FALLBACK_LOG_VERBOSE=0 "
        "turns this message off.",
        op.name,
        parameters,
        inputs,
        outputs,
    )


def _warn_of_lazy_updates() -> None:
    """Say, once, that rows without a gradient are left as they are, as MXNet does."""
    if ("lazy_update",) not in _warned:
        _warned.add(("lazy_update",))
        _log.warning(
            "Lazy update: a row_sparse gradient changes only the rows that it has; momentum, variance "
            "and weight decay do not act on the others. lazy_update=False updates all rows."
        )


def _on_dense_copies(op: Op, arrays: Sequence[NDArray], attributes: dict[str, Any]) -> Results:
    dense = [_plain(each) for each in arrays]
    result = invoke_any(op, dense, dict(attributes))
    for i in op.written(op.bind(attributes)[0], len(arrays)):  # states were written to the copies
        if arrays[i]._is_sparse:
            arrays[i][:] = dense[i]
    return result


def rule(*names: str) -> Callable[[Rule], Rule]:
    """Decorator: the rule of operators."""

    def declare(function: Rule) -> Rule:
        for name in names:
            RULES[find(name).name] = function
        return function

    return declare


def _keep_zero(op: Op, arrays: Sequence[Any], attributes: dict[str, Any]) -> Any:
    """A function that leaves 0 at 0 acts on the stored values alone."""
    array = arrays[0]
    if not array._is_sparse:
        return NotImplemented
    return array._with_stored(lambda data: invoke(op, (data,), dict(attributes)))


@rule("zeros_like")
def _zeros_like(op: Op, arrays: Sequence[NDArray], attributes: dict[str, Any]) -> Any:
    return arrays[0]._zeros_like()


def _same_kind(arrays: Sequence[NDArray], kind: type) -> bool:
    return all(type(each) is kind for each in arrays)


@rule("elemwise_add", "elemwise_sub", "broadcast_add", "broadcast_sub", "add_n", "_grad_add")
def _sum(op: Op, arrays: Sequence[Any], attributes: dict[str, Any]) -> Any:
    if len({each.shape for each in arrays}) > 1:
        return NotImplemented
    minus = op.name.endswith("sub")
    if _same_kind(arrays, RowSparseNDArray):
        pairs = [(each._aux[0], each._data) for each in arrays]
        if minus:
            pairs[1] = (pairs[1][0], -pairs[1][1])
        return sum_of_rows(pairs, arrays[0].shape)
    if _same_kind(arrays, CSRNDArray) and op.name != "add_n":
        return _csr_union(arrays[0], arrays[1], -1 if minus else 1)
    if op.name != "add_n" and any(each.stype == "default" for each in arrays):
        return _with_dense(op, arrays, attributes)
    return NotImplemented


def _with_dense(op: Op, arrays: Sequence[Any], attributes: dict[str, Any]) -> Any:
    # MXNet computes a dense result here as well, and has an own kernel for it: no warning.
    dense = [each._dense() if each._is_sparse else each for each in arrays]
    return invoke(op, dense, attributes)


def _places(array: CSRNDArray) -> np.ndarray:
    """Positions of the stored values in the flattened matrix."""
    rows = np.repeat(np.arange(array.shape[0]), np.diff(array._aux[0].asnumpy()))
    places: np.ndarray = rows * array.shape[1] + array._aux[1].asnumpy()
    return places


def _csr_union(left: CSRNDArray, right: CSRNDArray, sign: int) -> CSRNDArray:
    union, where = np.unique(np.concatenate([_places(left), _places(right)]), return_inverse=True)
    second = right._data if sign > 0 else -right._data
    both = invoke(find("Concat"), [left._data, second], {"dim": 0})
    index = host_indices(where.reshape(-1), left.context)
    total = invoke(find("_sum_rows"), (both, index), {"count": len(union)})
    stays = total.asnumpy() != 0  # MXNet stores no sums that are 0
    if not stays.all():
        total = total.take(host_indices(np.flatnonzero(stays), left.context))
        union = union[stays]
    return CSRNDArray._at(total, union, left.shape)


@rule("elemwise_mul", "broadcast_mul", "elemwise_div", "broadcast_div")
def _product(op: Op, arrays: Sequence[Any], attributes: dict[str, Any]) -> Any:
    left, right = arrays
    divide = op.name.endswith("div")
    if isinstance(left, CSRNDArray) and right.stype == "default":
        equal = left.shape == right.shape
        if op.name == "elemwise_div" or (op.name == "elemwise_mul" and not equal):
            return NotImplemented
        spread = right
        if not equal:
            axes = (1,) * (left.ndim - right.ndim) + right.shape
            spread = right.reshape(axes).broadcast_to(left.shape)
        factors = invoke(find("_take_elements"), (spread, left._rows(), left._aux[1]), {})
        data = left._data / factors if divide else left._data * factors
        return left._make(data, left._aux, left.shape)
    if divide or left.shape != right.shape:
        return NotImplemented
    if isinstance(left, RowSparseNDArray) and right.stype == "default":
        factors = invoke(find("_take_rows"), (right, left._aux[0]), {})
        return left._make(left._data * factors, left._aux, left.shape)
    if left.stype == "default" and right._is_sparse:
        return _product(op, (right, left), attributes)
    if _same_kind(arrays, RowSparseNDArray):
        rows = np.union1d(left._aux[0].asnumpy(), right._aux[0].asnumpy())
        data = left._rows_at(rows) * right._rows_at(rows) if len(rows) else left._data[0:0]
        return left._make(data, (host_indices(rows, left.context),), left.shape)
    if _same_kind(arrays, CSRNDArray):
        places, first, second = np.intersect1d(_places(left), _places(right), return_indices=True)
        stored = [
            invoke(find("_take_rows"), (each._data, host_indices(where, each.context)), {})
            for each, where in ((left, first), (right, second))
        ]
        return CSRNDArray._at(stored[0] * stored[1], places, left.shape)
    return NotImplemented


def _csr_times(matrix: CSRNDArray, rhs: NDArray, transpose: bool) -> NDArray:
    rows, columns = matrix._rows(), matrix._aux[1]
    if transpose:
        rows, columns = columns, rows
    extent = matrix.shape[1 if transpose else 0]
    return invoke(find("_csr_dot"), (matrix._data, columns, rows, rhs), {"extent": extent})


@rule("dot")
def _dot(op: Op, arrays: Sequence[NDArray], attributes: dict[str, Any]) -> Any:
    left, right = arrays
    first, second = attributes.get("transpose_a", False), attributes.get("transpose_b", False)
    stype = attributes.get("forward_stype")
    if left.dtype != right.dtype:
        raise DTypeError(
            f"dot: the left array is {left._spec.dtype.name}, the right one "
            f"{right._spec.dtype.name}; both must "
            f"have the same dtype. Cast one: rhs.astype({left._spec.dtype.name!r})."
        )
    if isinstance(left, CSRNDArray) and right.stype in ("default", "row_sparse") and not second:
        inner, other = left.shape[0 if first else 1], right.shape[0]
        if inner != other:
            raise ShapeError(
                f"dot: {left.shape} and {right.shape} do not fit: {inner} is not {other}."
            )
        dense = _plain(right)
        product = _csr_times(left, dense, first)
        if first and stype != "default" and right.ndim > 1:
            rows = np.unique(left._aux[1].asnumpy())
            return RowSparseNDArray._rows_of(product, rows)
        return product
    if left.stype == "default" and isinstance(right, CSRNDArray) and not first:
        inner, other = left.shape[-1], right.shape[1 if second else 0]
        if inner != other:
            raise ShapeError(
                f"dot: {left.shape} and {right.shape} do not fit: {inner} is not {other}."
            )
        product = invoke(find("transpose"), (
            _csr_times(right, invoke(find("transpose"), (left,), {}), not second),
        ), {})  # fmt: skip
        if stype == "default":
            return product
        if second:  # MXNet has no kernel for it, and makes the dense result a csr array
            return product.tostype("csr")
        # Every row stores what the columns that are not empty give.
        columns = np.unique(right._aux[1].asnumpy())
        rows = np.repeat(np.arange(product.shape[0]), len(columns))
        places = rows * product.shape[1] + np.tile(columns, product.shape[0])
        where = host_indices(places % product.shape[1], product.context)
        parts = (product, host_indices(rows, product.context), where)
        return CSRNDArray._at(invoke(find("_take_elements"), parts, {}), places, product.shape)
    return NotImplemented


@rule("sum", "mean")
def _total(op: Op, arrays: Sequence[NDArray], attributes: dict[str, Any]) -> Any:
    (array,) = arrays
    axis, more = attributes.get("axis"), attributes.get("keepdims") or attributes.get("exclude")
    if more or not isinstance(array, CSRNDArray):
        return NotImplemented
    if isinstance(axis, (tuple, list)):
        axis = axis[0] if len(axis) == 1 else (axis or None)
    if axis is None:
        total = invoke(find("sum"), (array._data,), {})
        return total / math.prod(array.shape) if op.name == "mean" else total
    if axis not in (0, 1, -1, -2):
        return NotImplemented
    column = axis in (0, -2)
    where = array._aux[1] if column else array._rows()
    count = array.shape[1 if column else 0]
    total = invoke(find("_sum_rows"), (array._data, where), {"count": count})
    return total / array.shape[0 if column else 1] if op.name == "mean" else total


@rule("norm")
def _norm(op: Op, arrays: Sequence[Any], attributes: dict[str, Any]) -> Any:
    (array,) = arrays
    if attributes.get("axis") is not None or attributes.get("ord", 2) != 2:
        return NotImplemented
    return invoke(op, (array._data,), attributes)


@rule("_square_sum")
def _square_sum(op: Op, arrays: Sequence[NDArray], attributes: dict[str, Any]) -> Any:
    (array,) = arrays
    axis = attributes.get("axis")
    axis = axis[0] if isinstance(axis, (tuple, list)) else axis
    if not isinstance(array, RowSparseNDArray) or axis not in (0, 1) or len(array.shape) != 2:
        return NotImplemented
    data = invoke(op, (array._data,), {**attributes, "axis": axis})
    if axis == 0:
        return data
    shape = (array.shape[0], 1) if attributes.get("keepdims") else (array.shape[0],)
    squares = array._make(data, array._aux, shape)
    return squares if attributes.get("keepdims") else squares._dense()


@rule("cast_storage")
def _cast_storage(op: Op, arrays: Sequence[NDArray], attributes: dict[str, Any]) -> Any:
    return arrays[0].tostype(attributes["stype"])


@rule("_sparse_retain")
def _retain(op: Op, arrays: Sequence[Any], attributes: dict[str, Any]) -> Any:
    return arrays[0]._retained(arrays[1])


@rule("slice", "slice_axis")
def _slice(op: Op, arrays: Sequence[NDArray], attributes: dict[str, Any]) -> Any:
    (array,) = arrays
    if not isinstance(array, CSRNDArray):
        return NotImplemented
    begin, end = attributes["begin"], attributes["end"]
    if op.name == "slice_axis":
        return NotImplemented
    if any(each not in (None, 1) for each in attributes.get("step") or ()):
        return NotImplemented
    bounds: list[int] = []
    for axis, extent in enumerate(array.shape):
        first = begin[axis] if isinstance(begin, (tuple, list)) and axis < len(begin) else None
        last = end[axis] if isinstance(end, (tuple, list)) and axis < len(end) else None
        if not isinstance(begin, (tuple, list)) and axis == 0:
            first, last = begin, end
        bounds += slice(first, last).indices(extent)[:2]
    return array._slice(*bounds)


@rule("Concat")
def _concat(op: Op, arrays: Sequence[Any], attributes: dict[str, Any]) -> Any:
    if not _same_kind(arrays, CSRNDArray) or attributes.get("dim", 1) != 0:
        return NotImplemented
    if len({each.shape[1] for each in arrays}) > 1:
        raise ShapeError(f"concat: {[each.shape for each in arrays]} differ in columns.")
    data = invoke(op, [each._data for each in arrays], {"dim": 0})
    counts = np.concatenate([np.diff(each._aux[0].asnumpy()) for each in arrays])
    columns = np.concatenate([each._aux[1].asnumpy() for each in arrays])
    shape = (sum(each.shape[0] for each in arrays), arrays[0].shape[1])
    return CSRNDArray._of(data, np.concatenate([[0], np.cumsum(counts)]), columns, shape)


@rule("_identity_with_attr_like_rhs")
def _as_right(op: Op, arrays: Sequence[NDArray], attributes: dict[str, Any]) -> Any:
    left, right = arrays
    return left.copy() if left.stype == right.stype else NotImplemented


@rule("_scatter_elemwise_div")
def _divided_rows(op: Op, arrays: Sequence[NDArray], attributes: dict[str, Any]) -> Any:
    left, right = arrays
    if not isinstance(left, RowSparseNDArray):
        return NotImplemented
    if left.shape != right.shape:
        raise ShapeError(
            f"_scatter_elemwise_div: {left.shape} and {right.shape} must be equal. Reshape one."
        )
    divisor = _plain(right)
    divisors = invoke(find("_take_rows"), (divisor, left._aux[0]), {})
    return left._make(left._data / divisors, left._aux, left.shape)


@rule("take")
def _take(op: Op, arrays: Sequence[NDArray], attributes: dict[str, Any]) -> Any:
    matrix, indices = arrays
    if not isinstance(matrix, CSRNDArray) or indices._is_sparse:
        return NotImplemented
    extent = matrix.shape[0]
    rows = indices.asnumpy().astype(np.int64).reshape(-1)
    wraps = attributes.get("mode", "clip") == "wrap"
    rows = rows % extent if wraps else np.clip(rows, 0, extent - 1)
    starts, columns = matrix._aux[0].asnumpy(), matrix._aux[1].asnumpy()
    counts = np.diff(starts)[rows]
    ends = np.cumsum(counts)
    where = np.arange(ends[-1] if len(ends) else 0) + np.repeat(
        starts[rows] - ends + counts, counts
    )
    data = invoke(find("_take_rows"), (matrix._data, host_indices(where, matrix.context)), {})
    indptr = np.concatenate([[0], ends])
    return CSRNDArray._of(data, indptr, columns[where], (len(rows), matrix.shape[1]))


@rule("_contrib_getnnz")
def _getnnz(op: Op, arrays: Sequence[Any], attributes: dict[str, Any]) -> Any:
    """Stored elements are counted, zeros among them, as SciPy counts."""
    (array,) = arrays
    axis = attributes.get("axis")
    if axis is None:
        return host_indices([array._data.shape[0]], array.context)
    if not isinstance(array, CSRNDArray) or axis not in (0, 1, -1, -2):
        return NotImplemented
    starts, columns = (indices.asnumpy() for indices in array._aux)
    counts = np.bincount(columns, minlength=array.shape[1]) if axis in (0, -2) else np.diff(starts)
    return host_indices(counts, array.context)


@rule("Embedding")
def _embedding(op: Op, arrays: Sequence[NDArray], attributes: dict[str, Any]) -> Any:
    data, weight = arrays
    if not isinstance(weight, RowSparseNDArray) or data._is_sparse:
        return NotImplemented
    if weight._is_variable():
        return invoke(op, (data, _plain(weight)), attributes)
    rows = data.asnumpy().astype(np.int64)
    rows_of_weight = weight._rows_at(rows.reshape(-1))
    return rows_of_weight.reshape((*rows.shape, *weight.shape[1:]))


def _update(op: Op, arrays: Sequence[NDArray], attributes: dict[str, Any]) -> Any:
    """An optimizer step on the rows that the gradient has; the others are left as they are."""
    weight, gradient = arrays[:2]
    lazy = "lazy_update" not in op.attributes or attributes.get("lazy_update", True)
    if not isinstance(gradient, RowSparseNDArray):
        return NotImplemented
    if op.updates_rows == "sparse" and not weight._is_sparse:
        return NotImplemented
    _check_rows(op, arrays, attributes)
    if not lazy:
        return _update_all_rows(op, arrays, attributes)
    if "lazy_update" in op.attributes:
        _warn_of_lazy_updates()
    if not gradient._aux[0].shape[0]:
        return weight
    for each in arrays[2:]:
        if isinstance(each, RowSparseNDArray):
            each._store_all_rows()
    holders = [weight, *arrays[2:]]
    if any(_lacks_rows(each) for each in holders):
        data, numbers = gradient._data, gradient._aux[0]
    else:
        data, numbers = gradient._roomy
    rows = [_rows_at(each, numbers) for each in holders]
    new = invoke(op, (rows[0], data, *rows[1:]), attributes)
    _put_rows(weight, numbers, new)
    names = op.argument_names(op.bind(attributes)[0])
    for name in op.states:
        i = names.index(name)
        _put_rows(arrays[i], numbers, rows[i - 1])
    return weight


def _check_rows(op: Op, arrays: Sequence[NDArray], attributes: dict[str, Any]) -> None:
    # The step sees only the rows of the gradient, whose number says nothing of the arrays.
    weight = arrays[0]
    names = op.argument_names(op.bind(attributes)[0])
    for name, each in zip(names[1:], arrays[1:], strict=False):
        extents = each.shape if name == "grad" else each.shape[:1]
        if extents != weight.shape[: len(extents)] or (name == "grad" and each.ndim != weight.ndim):
            raise ShapeError(
                f"{op.title}: {name} has shape {each.shape}, the weight {weight.shape}; they must have the "
                f"same rows."
            )


def _update_all_rows(op: Op, arrays: Sequence[Any], attributes: dict[str, Any]) -> Any:
    """The step of all rows; 0 is the gradient of those that it has not."""
    weight = arrays[0]
    dense = [each._dense() if each._is_sparse else each for each in arrays]
    new = invoke(op, dense, attributes)
    for array, result in zip(arrays, (new, None, *dense[2:]), strict=True):
        if result is not None and result is not array:
            array[:] = result
    return weight


def _lacks_rows(array: NDArray) -> bool:
    return isinstance(array, RowSparseNDArray) and not array._has_all_rows()


def _rows_at(array: NDArray, numbers: NDArray) -> NDArray:
    if isinstance(array, RowSparseNDArray):
        if not array._has_all_rows():
            return array._rows_at(numbers.asnumpy())
        array = array._data
    return invoke(find("_take_rows"), (array, numbers), {})


def _put_rows(array: NDArray, numbers: NDArray, data: NDArray) -> None:
    if not isinstance(array, RowSparseNDArray):
        array._write(invoke(find("_put_rows"), (array, numbers, data), {})._read())
    elif array._has_all_rows():
        rows = invoke(find("_put_rows"), (array._data, numbers, data), {})
        array._set(rows, array._aux)
    else:
        array._put_rows(numbers.asnumpy(), data)


invoke_module.on_sparse.append(run)
install_sparse(BaseSparseNDArray)
