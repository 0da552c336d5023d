"""First values of parameters: chosen by the parameter's name, or given for it."""

from __future__ import annotations

import json
import math
from typing import Any

from mixnet.base import MXNetError
from mixnet.ndarray.ndarray import NDArray
from mixnet.ndarray.random import normal, uniform

_INITIALIZERS: dict[str, type[Initializer]] = {}


class InitDesc(str):
    """A parameter's name with its attributes, which may name an initializer."""

    attrs: dict[str, str]
    global_init: Initializer | None

    def __new__(
        cls, name: str, attrs: dict[str, str] | None = None, global_init: Any = None
    ) -> InitDesc:
        self = super().__new__(cls, name)
        self.attrs = attrs or {}
        self.global_init = global_init
        return self


def register(klass: type[Initializer]) -> type[Initializer]:
    """Make an initializer class known by its name in lower case."""
    _INITIALIZERS[klass.__name__.lower()] = klass
    return klass


def create(initializer: Any, **kwargs: Any) -> Initializer:
    """An initializer from itself, its name, or the text of ``dumps()``.

    Raises:
        MXNetError: no initializer has that name.
    """
    if isinstance(initializer, Initializer) or callable(initializer):
        return initializer
    name = initializer
    if isinstance(name, str) and name.startswith("["):
        name, kwargs = json.loads(name)
    if not isinstance(name, str) or name.lower() not in _INITIALIZERS:
        raise MXNetError(
            f"{name!r} is no initializer; take one of {', '.join(sorted(_INITIALIZERS))}."
        )
    return _INITIALIZERS[name.lower()](**kwargs)


class Initializer:
    """Base of initializers: called with a name and an array, it fills the array.

    Names ending in ``bias``, ``beta`` and ``moving_mean`` mean 0, ``gamma`` and ``moving_var`` 1;
    the rest are weights, for ``_init_weight``. A parameter's own initializer fills whatever it is.
    """

    def __init__(self, **kwargs: Any):
        self._kwargs = kwargs

    def dumps(self) -> str:
        """Text from which ``create`` makes the same initializer."""
        return json.dumps([type(self).__name__.lower(), self._kwargs])

    def __call__(self, desc: str, arr: NDArray) -> None:
        """Fill ``arr`` as the name asks for."""
        own = getattr(desc, "attrs", {}).get("__init__", "")
        if own:
            create(own)._init_weight(desc, arr)
            return
        name = desc.lower()
        if name.endswith(("bias", "beta", "moving_mean", "running_mean", "moving_avg")):
            arr[:] = 0.0
        elif name.endswith(("gamma", "moving_var", "running_var")):
            arr[:] = 1.0
        elif name.endswith(("min", "max")):
            arr[:] = 0.0
        else:
            self._init_weight(desc, arr)

    def _init_weight(self, desc: str, arr: NDArray) -> None:
        raise MXNetError(f"{type(self).__name__} does not define _init_weight(self, name, array).")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Initializer) and self.dumps() == other.dumps()

    def __hash__(self) -> int:
        return hash(self.dumps())

    def __repr__(self) -> str:
        values = ", ".join(f"{k}={v!r}" for k, v in self._kwargs.items())
        return f"{type(self).__name__}({values})"


@register
class Zero(Initializer):
    """Zeros."""

    def _init_weight(self, desc: str, arr: NDArray) -> None:
        arr[:] = 0.0


@register
class One(Initializer):
    """Ones."""

    def _init_weight(self, desc: str, arr: NDArray) -> None:
        arr[:] = 1.0


_INITIALIZERS["zeros"], _INITIALIZERS["ones"] = Zero, One


@register
class Constant(Initializer):
    """One number, or the content of an array.

    Args:
        value: a number or an array of the parameter's shape.
    """

    def __init__(self, value: Any = 0.0):
        super().__init__(value=value)
        self.value = value

    def dumps(self) -> str:
        """Text from which ``create`` makes the same initializer."""
        value = self.value.asnumpy().tolist() if isinstance(self.value, NDArray) else self.value
        return json.dumps(["constant", {"value": value}])

    def _init_weight(self, desc: str, arr: NDArray) -> None:
        arr[:] = self.value


@register
class Uniform(Initializer):
    """Uniform numbers in [-scale, scale)."""

    def __init__(self, scale: float = 0.07):
        super().__init__(scale=scale)
        self.scale = scale

    def _init_weight(self, desc: str, arr: NDArray) -> None:
        uniform(-self.scale, self.scale, arr.shape, ctx=arr.context, out=arr)


@register
class Normal(Initializer):
    """Normal numbers with mean 0 and standard deviation ``sigma``."""

    def __init__(self, sigma: float = 0.01):
        super().__init__(sigma=sigma)
        self.sigma = sigma

    def _init_weight(self, desc: str, arr: NDArray) -> None:
        normal(0, self.sigma, arr.shape, ctx=arr.context, out=arr)


@register
class Xavier(Initializer):
    """Random weights that keep the scale of signals: variance ``magnitude`` / factor.

    The factor is the number of inputs (``in``) or outputs (``out``) of a unit, or their mean
    (``avg``). Source: Glorot and Bengio, 2010.

    Args:
        rnd_type: ``uniform`` or ``gaussian``.
        factor_type: ``avg``, ``in`` or ``out``.
        magnitude: scale of the random numbers.
    """

    def __init__(self, rnd_type: str = "uniform", factor_type: str = "avg", magnitude: float = 3):
        super().__init__(rnd_type=rnd_type, factor_type=factor_type, magnitude=magnitude)
        if rnd_type not in ("uniform", "gaussian"):
            raise MXNetError(f"Xavier: rnd_type={rnd_type!r} is not 'uniform' or 'gaussian'.")
        if factor_type not in ("avg", "in", "out"):
            raise MXNetError(f"Xavier: factor_type={factor_type!r} is not 'avg', 'in' or 'out'.")
        self.rnd_type, self.factor_type, self.magnitude = rnd_type, factor_type, float(magnitude)

    def _init_weight(self, desc: str, arr: NDArray) -> None:
        shape = arr.shape
        if len(shape) < 2:
            raise MXNetError(
                f"Xavier takes weights of at least 2 axes; {str(desc)!r} has shape {shape}. Give it "
                f"an initializer of its own."
            )
        window = math.prod(shape[2:])
        inputs, outputs = shape[1] * window, shape[0] * window
        factor = {"avg": (inputs + outputs) / 2, "in": inputs, "out": outputs}[self.factor_type]
        scale = math.sqrt(self.magnitude / factor)
        if self.rnd_type == "uniform":
            uniform(-scale, scale, shape, ctx=arr.context, out=arr)
        else:
            normal(0, scale, shape, ctx=arr.context, out=arr)


@register
class MSRAPrelu(Xavier):
    """Xavier for networks of (leaky) rectifiers of slope ``slope``. Source: He et al., 2015."""

    def __init__(self, factor_type: str = "avg", slope: float = 0.25):
        super().__init__("gaussian", factor_type, 2.0 / (1 + slope**2))
        self._kwargs = {"factor_type": factor_type, "slope": slope}
