"""The base of initializers: parameter descriptions, the registry, selection by name."""

from __future__ import annotations

import json
import logging
import warnings
from collections.abc import Callable
from typing import Any

from mixnet import registry
from mixnet.base import (
    AttributeTypeError,
    AttributeValueError,
    CheckError,
    MXNetError,
    NotDefinedError,
)
from mixnet.ndarray import random
from mixnet.ndarray.ndarray import NDArray


class InitDesc(str):
    """A parameter's name, with further facts for initializers.

    Args:
        name: the parameter's name.
        attrs: its attributes; ``__init__`` holds an initializer of its own, or the text of one.
        global_init: the initializer of the whole network.
    """

    attrs: dict[str, Any]
    global_init: Any

    def __new__(
        cls, name: str, attrs: dict[str, Any] | None = None, global_init: Any = None
    ) -> Any:
        self = super().__new__(cls, name)
        self.attrs = attrs or {}
        self.global_init = global_init
        return self


def _spread(array: NDArray) -> str:
    """The root of the mean square of an array, as text: what ``set_verbosity`` prints."""
    return str((array.norm() / array.size**0.5).asnumpy().item())


# How a parameter's name ends, and the method that fills it: the first that fits is taken.
_BY_ENDING = (
    ("weight", "_init_weight"),
    ("bias", "_init_bias"),
    ("gamma", "_init_gamma"),
    ("beta", "_init_beta"),
    ("moving_mean", "_init_zero"),
    ("moving_var", "_init_one"),
    ("moving_inv_var", "_init_zero"),
    ("moving_avg", "_init_zero"),
    ("min", "_init_zero"),
    ("max", "_init_one"),
    ("weight_quantize", "_init_quantized_weight"),
    ("bias_quantize", "_init_quantized_bias"),
)


# Endings that say nothing in a plain string, as in MXNet; ``InitDesc`` knows them.
_NOT_IN_STRINGS = ("weight_quantize", "bias_quantize")
# Endings that say nothing in an ``InitDesc``: statistics of BatchNorm have initializers of their own.
_ONLY_IN_STRINGS = ("moving_mean", "moving_var", "moving_inv_var", "moving_avg")


class Initializer:
    """Base of initializers: called with a name and an array, it fills the array.

    A parameter's own initializer (``attrs['__init__']``) comes first. Else the name decides:
    ``...weight`` is for ``_init_weight``, which subclasses override; ``...bias`` and ``...beta``
    become 0, ``...gamma`` 1; moving means and variances have initializers of their own.

    Args:
        kwargs: the arguments of the subclass, for ``dumps``.
    """

    draws = True  # random numbers, as far as anybody knows

    def __init__(self, **kwargs: object):
        self._kwargs = kwargs
        self._verbose = False
        self._print_func: Callable[[NDArray], str] | None = None

    def set_verbosity(
        self, verbose: bool = False, print_func: Callable[[NDArray], str] | None = None
    ) -> Initializer:
        """Log every array that is filled, with a number of it.

        Args:
            verbose: whether to log.
            print_func: text from an array; the root of its mean square by default.
        """
        self._verbose = verbose
        self._print_func = print_func or _spread
        return self

    def _mx_log(self, desc: str, init: object, arr: NDArray) -> None:
        if self._verbose and self._print_func is not None:
            logging.info("Initialized %s as %s: %s", desc, init, self._print_func(arr))

    def dumps(self) -> str:
        """Text from which ``create`` makes the same initializer."""
        return json.dumps([type(self).__name__.lower(), self._kwargs])

    def __call__(self, desc: str, arr: NDArray) -> None:
        """Fill ``arr`` as the parameter's name requires.

        Raises:
            ValueError: no rule matches the name.
            TypeError: ``desc`` is not a string, or ``arr`` not an array.
        """
        if not isinstance(desc, InitDesc):
            self._legacy_init(desc, arr)
            return
        if not isinstance(arr, NDArray):
            raise AttributeTypeError(f"arr must be an NDArray, not {type(arr).__name__}.")
        if desc.global_init is None:
            desc.global_init = self
        declared = desc.attrs.get("__init__", "")
        if declared:
            try:
                initializer = create(declared)
            except MXNetError:
                raise
            except (LookupError, TypeError, ValueError) as error:
                raise AttributeValueError(
                    f"Parameter {str(desc)!r}: its attribute __init__={declared!r:.80} is not a valid "
                    f"initializer: {error}"
                ) from error
            fill = initializer._init_weight if isinstance(initializer, Initializer) else initializer
            fill(desc, arr)
            self._mx_log(desc, declared, arr)
        else:
            self._mx_log(desc, self._mx_fill_by_name(desc, arr), arr)

    def _legacy_init(self, name: str, arr: NDArray) -> None:
        """Fill an array whose name is a plain string, with rules that ``InitDesc`` does not have."""
        if not isinstance(name, str):
            raise AttributeTypeError(
                "an initializer takes a parameter's name, a string, and an array"
            )
        if not isinstance(arr, NDArray):
            raise AttributeTypeError(f"arr must be an NDArray, not {type(arr).__name__}.")
        warnings.warn(
            "An initializer takes mx.init.InitDesc(name); a plain string is deprecated.",
            DeprecationWarning,
            stacklevel=3,
        )
        self._mx_fill_by_name(name, arr, legacy=True)

    def _mx_fill_by_name(self, name: str, arr: NDArray, legacy: bool = False) -> str:
        if legacy and name.startswith("upsampling"):
            self._init_bilinear(name, arr)
            return name
        if legacy and name.startswith("stn_loc"):
            if name.endswith("weight"):
                self._init_zero(name, arr)
                return name
            if name.endswith("bias"):
                self._init_loc_bias(name, arr)
                return name
        unknown = _NOT_IN_STRINGS if legacy else _ONLY_IN_STRINGS
        for ending, method in _BY_ENDING:
            if name.endswith(ending) and ending not in unknown:
                getattr(self, method)(name, arr)
                return ending
        self._init_default(name, arr)
        return "default"

    def _init_zero(self, desc: str, arr: NDArray) -> None:
        arr._write_all(0.0)

    def _init_one(self, desc: str, arr: NDArray) -> None:
        arr._write_all(1.0)

    _init_bias = _init_beta = _init_quantized_bias = _init_zero
    _init_gamma = _init_one

    def _init_bilinear(self, desc: str, arr: NDArray) -> None:
        create("bilinear")._init_weight(desc, arr)

    def _init_loc_bias(self, desc: str, arr: NDArray) -> None:
        arr[:] = [1.0, 0, 0, 0, 1.0, 0]

    def _init_quantized_weight(self, desc: str, arr: NDArray) -> None:
        # One number for all elements, as MXNet draws it.
        arr._write_all(random.randint(-127, 127, (1,), "int32", arr.context))

    def _init_weight(self, desc: str, arr: NDArray) -> None:
        raise NotDefinedError(
            f"{type(self).__name__} does not define _init_weight(self, name, array)."
        )

    def _init_default(self, desc: str, arr: NDArray) -> None:
        raise AttributeValueError(
            f"Unknown initialization of {str(desc)!r}: known names end in weight, bias (0), gamma (1), "
            f"and beta (0). Give it an initializer of its own: "
            f"mx.sym.Variable(name, init=mx.init.Zero()), or init= of a gluon parameter."
        )

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Initializer):
            return NotImplemented
        return type(self) is type(other) and self._kwargs == other._kwargs

    def __hash__(self) -> int:
        return hash(type(self))

    def __repr__(self) -> str:
        values = ", ".join(f"{k}={v!r}" for k, v in self._kwargs.items())
        return f"{type(self).__name__}({values})"


register = registry.get_register_func(Initializer, "initializer")
alias = registry.get_alias_func(Initializer, "initializer")
_create = registry.get_create_func(Initializer, "initializer")


def create(*args: object, **kwargs: object) -> Any:
    """An initializer from itself, its name and arguments, or the text of ``dumps()``.

    Args:
        args: an initializer, or its name and its arguments.
        kwargs: its arguments by name.

    Raises:
        AssertionError: no initializer has that name, or it is a class.
    """
    if args and isinstance(args[0], type):
        # Called with a name and an array, it would make an initializer and leave the array as it is.
        raise CheckError(
            f"initializer must be an instance, not a class: {args[0].__name__}(), with parentheses."
        )
    if args and callable(args[0]) and not isinstance(args[0], Initializer):
        return args[0]  # Mixed, Load, or a function of a name and an array
    return _create(*args, **kwargs)


def draws_numbers(init: object) -> bool:
    """Whether an initializer, or the one of this name, draws random numbers, as far as that is known."""
    initializer = create(init)
    return initializer.draws if isinstance(initializer, Initializer) else True
