"""Parameters of iterators: declared by annotations, passed as values or text."""

from __future__ import annotations

import typing
import warnings
from typing import Any, Literal

from mixnet.base import AttributeTypeError, OperatorTypeError
from mixnet.ops.schema.attributes import REQUIRED, Attribute, Shape, attribute

DTypeName = Literal[
    None, "bfloat16", "float16", "float32", "float64", "int32", "int64", "int8", "uint8"
]


class Parameters:
    """Values of an iterator's parameters; a subclass declares them as ``name: type = default``.

    Args:
        iterator: name of the iterator, for error messages.
        args: must be empty.
        values: by name. Unknown names cause a warning and are ignored, as MXNet
            ignores them: programs pass one set of parameters to several iterators.

    Raises:
        TypeError: a parameter is given by position.
        MXNetError: a required parameter is missing, or a value has the wrong type.
    """

    def __init__(self, iterator: str, args: tuple[Any, ...], values: dict[str, Any]):
        table = self.table()
        if args:
            is_complete = all(name in values for name, each in table.items() if each.required)
            error = AttributeTypeError if is_complete else OperatorTypeError  # as MXNet's checks
            raise error(f"{iterator} can only accept keyword arguments")
        unknown = sorted(set(values) - set(table))
        if unknown:
            warnings.warn(
                f"{iterator} has no parameter {', '.join(unknown)}; it is ignored.", stacklevel=4
            )
        for name, each in table.items():
            if name in values and values[name] is not None:
                setattr(self, name, each.parse(values[name], iterator))
            elif each.required:
                kind = each.description().removesuffix(", required")
                raise OperatorTypeError(
                    f"{iterator}: Required parameter {name} of {kind} is not presented"
                )
            else:
                setattr(self, name, each.default)

    @classmethod
    def table(cls) -> dict[str, Attribute]:
        """The parameters by name."""
        hints = typing.get_type_hints(cls, include_extras=True)
        return {name: attribute(name, hint, getattr(cls, name)) for name, hint in hints.items()}


class BatchParameters(Parameters):
    """The parameters common to all iterators over files.

    Args:
        batch_size: samples in a batch.
        round_batch: fill the last batch up with samples of the next epoch.
        prefetch_buffer: number of batches to prefetch.
        ctx: ignored; batches are always created on the host.
        dtype: of the data.
    """

    batch_size: int = REQUIRED
    round_batch: bool = True
    prefetch_buffer: int = 4
    ctx: Literal["cpu", "gpu"] = "gpu"
    dtype: DTypeName = None


__all__ = ["REQUIRED", "BatchParameters", "Parameters", "Shape"]
