"""Functions made of parts, with the signature and the help of functions that are written out."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn

from mixnet.base import _Null
from mixnet.ops.schema.docstrings import with_arguments
from mixnet.ops.schema.dtypes import NONE_AS_DTYPE


def signed(
    function: Callable[..., Any],
    required: Sequence[str],
    defaults: Mapping[str, Any],
    descriptions: Mapping[str, str],
) -> Callable[..., Any]:
    """``function``, which takes keywords only, with a signature of its own, and any further keywords.

    Args:
        function: called with every argument by name.
        required: arguments without a default, first.
        defaults: the others; ``_Null`` for one of them stands for its default.
        descriptions: of arguments, for the docstring, where that of ``function`` omits them.
    """
    names = (*required, *defaults)
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    parameters = [inspect.Parameter(each, kind) for each in required]
    parameters += [inspect.Parameter(k, kind, default=v) for k, v in defaults.items()]
    parameters.append(inspect.Parameter("kwargs", inspect.Parameter.VAR_KEYWORD))
    signature = inspect.Signature(parameters)
    necessary = frozenset(required)

    def called(*args: Any, **kwargs: Any) -> Any:
        arguments = dict(zip(names, args, strict=False))
        if len(args) > len(names) or not arguments.keys().isdisjoint(kwargs):
            _raise_mismatch(function.__name__, signature, args, kwargs)
        arguments |= kwargs
        if "dtype" in arguments and arguments["dtype"] is None:
            arguments["dtype"] = NONE_AS_DTYPE
        if not arguments.keys() >= necessary:
            _raise_mismatch(function.__name__, signature, args, kwargs)
        for name in [name for name, value in arguments.items() if value is _Null]:
            arguments[name] = defaults.get(name)
        return function(**{**defaults, **arguments})

    called.__name__ = called.__qualname__ = function.__name__
    about = {each: descriptions[each] for each in (*names, "kwargs") if each in descriptions}
    called.__doc__ = with_arguments(function.__doc__ or "", about)
    called.__signature__ = signature  # type: ignore[attr-defined]
    return called


def _raise_mismatch(
    name: str, signature: inspect.Signature, args: Sequence[object], kwargs: Mapping[str, object]
) -> NoReturn:
    try:
        signature.bind(*args, **kwargs)
    except TypeError as error:
        raise TypeError(f"{name}: {error}. Call it as {name}{signature}.") from None
    raise AssertionError(f"{signature} accepts the arguments")
