"""Names and shapes of what a module reads: checked against its symbol, and taken from batches."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from mixnet.base import AttributeTypeError, AttributeValueError, CheckError, ObjectKindError
from mixnet.io import DataDesc
from mixnet.process.source import warn_user

if TYPE_CHECKING:
    from mixnet.io.batch import DataBatch
    from mixnet.ndarray.ndarray import NDArray
    from mixnet.symbol.symbol import Symbol

PARAMETER_ENDINGS = ("_weight", "_bias", "_gamma", "_beta")
"""How the names of parameters end; what ends otherwise is taken for an input."""


def _report(message: str, throw: bool) -> None:
    """Raise an error, or warn the caller of the method that checks its names."""
    if throw:
        raise AttributeValueError(message)
    warn_user(message)


def _check_input_names(symbol: Symbol, names: Sequence[str], typename: str, throw: bool) -> None:
    """Reject, or warn about, names that are not arguments of the symbol.

    Raises:
        ValueError: there is such a name, if ``throw``.
    """
    if not hasattr(symbol, "list_arguments"):
        raise AttributeTypeError(
            f"A module is created from a symbol, not from {type(symbol).__name__}; for a gluon "
            f"block, create one by calling it with mx.sym.var('data')."
        )
    arguments = symbol.list_arguments()
    for name in names:
        if name in arguments:
            continue
        inputs = [each for each in arguments if not each.endswith(PARAMETER_ENDINGS)]
        message = (
            f"You created Module with Module(..., {typename}_names={names}) but input with name "
            f"'{name}' is not found in symbol.list_arguments(). Did you mean one of: "
            f"{', '.join(inputs)}?"
        )
        _report(message, throw)


def _check_names_match(
    data_names: Sequence[str], data_shapes: Sequence[Any], name: str, throw: bool
) -> None:
    """Reject, or warn about, descriptions whose names the module does not have.

    Raises:
        ValueError: there is such a description, if ``throw``.
    """
    if sorted(data_names) == sorted(each[0] for each in data_shapes):
        return
    message = (
        f"Data provided by {name}_shapes don't match names specified by {name}_names: "
        f"{', '.join(str(each[0]) for each in data_shapes) or 'none'} vs. "
        f"{', '.join(data_names) or 'none'}. Give the iterator {name}_name=..., or Module(..., "
        f"{name}_names=[...])."
    )
    _report(message, throw)


def described(descriptions: Any, called: str = "data_shapes") -> list[DataDesc]:
    """Descriptions of a list that may have pairs of name and shape.

    Raises:
        TypeError: it is no such list.
    """
    try:
        if isinstance(descriptions, str):
            raise TypeError
        return [each if isinstance(each, DataDesc) else DataDesc(*each) for each in descriptions]
    except TypeError:
        raise AttributeTypeError(
            f"{called} must be a list of names and shapes, such as [('data', (32, 10))], "
            f"not {descriptions!r:.80}."
        ) from None


def _parse_data_desc(
    data_names: Sequence[str],
    label_names: Sequence[str],
    data_shapes: Sequence[DataDesc | tuple[Any, ...]],
    label_shapes: Sequence[DataDesc | tuple[Any, ...]] | None,
) -> tuple[list[DataDesc], list[DataDesc] | None]:
    """Descriptions of data and labels, checked against the module's names.

    Raises:
        ValueError: the data have unknown names.
    """
    data = described(data_shapes)
    _check_names_match(data_names, data, "data", True)
    if label_shapes is None:
        _check_names_match(label_names, [], "label", False)
        return data, None
    labels = described(label_shapes, "label_shapes")
    _check_names_match(label_names, labels, "label", False)
    return data, labels


def descriptions_of(
    data_batch: DataBatch | list[DataBatch],
    data: list[DataDesc],
    labels: list[DataDesc] | None,
    labels_of_symbol: Sequence[str],
) -> tuple[list[DataDesc], list[DataDesc] | None]:
    """Descriptions of a batch, or of a list of batches as one; ``data, labels`` where the shapes are theirs.

    Args:
        data_batch: a batch, or one for each device.
        data: descriptions that the module is bound to.
        labels: the same of its labels.
        labels_of_symbol: labels that the symbol reads.

    Raises:
        ObjectKindError: it is no batch.
        ValueError: it has other data than the module is bound to, by their names.
        CheckError: batches of a list differ in their shapes.
    """
    batches = data_batch if isinstance(data_batch, list) else [data_batch]
    first = batches[0]
    arrays = getattr(first, "data", None)
    if not isinstance(arrays, (list, tuple)):
        raise ObjectKindError(
            f"Module.forward takes a batch, such as mx.io.DataBatch([data], [label]), not "
            f"{type(first).__name__}."
        )
    count = len(batches)
    for batch in batches[1:]:
        if [each.shape for each in batch.data or ()] != [each.shape for each in arrays]:
            raise CheckError("All data batches in a list need to have the same shape.")

    def global_shape(array: NDArray) -> tuple[int, ...]:
        shape = array.shape
        return (shape[0] * count, *shape[1:])

    shapes = [global_shape(each) for each in arrays]
    has_labels = labels is not None or not labels_of_symbol
    if has_labels and shapes == [tuple(each.shape) for each in data]:
        return data, labels
    bound = [each.name for each in data]
    data = getattr(first, "provide_data", None) or [
        DataDesc(each.name, shape, each.dtype, each.layout)
        for each, shape in zip(data, shapes, strict=False)
    ]
    _check_names_match(bound, described(data), "data", True)
    if not labels_of_symbol:  # as within a SequentialModule
        return data, None
    if getattr(first, "provide_label", None):
        return data, first.provide_label
    first_labels = getattr(first, "label", None)
    if not first_labels:
        return data, None
    known = labels or [DataDesc(name, ()) for name in labels_of_symbol]
    return data, [
        DataDesc(each.name, global_shape(label), each.dtype, each.layout)
        for each, label in zip(known, first_labels, strict=False)
    ]
