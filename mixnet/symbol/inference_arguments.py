"""The arguments of ``infer_shape`` and ``infer_type``: what they may be, and reports of what they lack."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from mixnet.base import AttributeTypeError, MXNetError
from mixnet.util import is_np_shape


def check_shapes(args: Sequence[Any], kwargs: Mapping[str, Any]) -> None:
    """Refuse what is no shape; by position, None is an unknown one.

    Raises:
        AttributeTypeError: a shape is no tuple.
    """
    by_position = {f"argument {i}": shape for i, shape in enumerate(args) if shape is not None}
    by_name = {repr(name): shape for name, shape in kwargs.items()}
    for which, value in {**by_position, **by_name}.items():
        if not isinstance(value, tuple):
            raise AttributeTypeError(
                f"infer_shape: a shape is a tuple of whole numbers, such as (2, 3), but {which} is "
                f"{value!r:.80}. Leave out what is unknown."
            )


@contextlib.contextmanager
def arguments_printed(
    method: str, args: Sequence[Any], kwargs: Mapping[str, Any]
) -> Iterator[None]:
    """Print the arguments of an inference that fails, as MXNet does; the error is raised again."""
    try:
        yield
    except MXNetError as error:
        if (args and kwargs) or type(error) is AttributeTypeError:  # before anything is inferred
            raise
        print(f"{method} error. Arguments:")
        for i, each in enumerate(args):
            print(f"  #{i}: {each}")
        for name, each in kwargs.items():
            print(f"  {name}: {each}")
        raise


_MOST_NAMED = 10  # arguments that a warning lists


def warn_of_unknown(
    kind: str, names: Sequence[str], values: Sequence[Any], is_known: Callable[[Any], bool]
) -> None:
    """Warn the caller of an inference which arguments it does not determine."""
    unknown = [f"{n}: {v}" for n, v in zip(names, values, strict=True) if not is_known(v)]
    if len(unknown) > _MOST_NAMED:
        unknown[_MOST_NAMED:] = ["..."]
    warnings.warn(
        f"The {kind} of these arguments cannot be inferred; give them, too:\n\t"
        + "\n\t".join(unknown),
        stacklevel=3,
    )


def is_whole(shape: Any) -> bool:
    """Whether a shape has no unknown part: () and 0 are unknown, except under numpy shapes."""
    if is_np_shape():
        return shape is not None and min(shape, default=0) >= 0
    return bool(shape) and min(shape) > 0
