"""ParameterDict: parameters by name, created on first access, shared, saved and loaded together."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from mixnet import initializer
from mixnet.base import AttributeValueError, CheckError, UnknownNameError
from mixnet.context import Context
from mixnet.gluon.parameter.constant import Constant
from mixnet.gluon.parameter.parameter import Parameter
from mixnet.ndarray.ndarray import NDArray
from mixnet.ndarray.params_file import load, save
from mixnet.ops.schema.shape_constraints import merged
from mixnet.runtime.value.undo import all_or_nothing
from mixnet.util import set_module

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

_MISSING: Any = object()


@set_module("mixnet.gluon.parameter")
class ParameterDict:
    """Parameters by name; ``get`` creates one whose name begins with ``prefix``.

    Args:
        prefix: prefix of the names.
        shared: a dict that is searched for a parameter before one is created.
    """

    def __init__(self, prefix: str = "", shared: ParameterDict | None = None):
        self._prefix = prefix
        self._params: OrderedDict[str, Parameter] = OrderedDict()
        self._shared = shared

    @property
    def prefix(self) -> str:
        """The prefix of the names."""
        return self._prefix

    def __getitem__(self, key: str) -> Parameter:
        if key not in self._params:
            raise UnknownNameError(
                f"there is no parameter {key!r}; there are {', '.join(self._params)}"
            )
        return self._params[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._params)

    def __len__(self) -> int:
        return len(self._params)

    def __bool__(self) -> bool:
        return True  # even without parameters, as in MXNet

    def __contains__(self, name: object) -> bool:
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
        return f"{self._prefix + ' ' if self._prefix else ''}(\n{rows}\n)"

    # ---- making and sharing -------------------------------------------------------------------

    def _get_impl(self, name: str) -> Parameter | None:
        if name not in self._params and self._shared is not None and name in self._shared._params:
            self._params[name] = self._shared._params[name]
        return self._params.get(name)

    def get(self, name: str, **kwargs: Any) -> Parameter:
        """The parameter ``prefix + name``: its own, a shared one, or one created with ``kwargs``.

        Raises:
            CheckError: it exists with attributes that differ from ``kwargs``.
        """
        name = self._prefix + name
        parameter = self._get_impl(name)
        if parameter is None:
            parameter = self._params[name] = Parameter(name, **kwargs)
            return parameter
        for key, value in kwargs.items():
            existing = getattr(parameter, key, _MISSING)
            if existing is _MISSING:
                continue  # only concerns creation
            if existing is None:
                setattr(parameter, key, value)
            elif key == "shape":
                extents = (value,) if isinstance(value, (int, np.integer)) else value
                both = None if extents is None else merged((*map(int, extents),), parameter._shape)
                if extents is not None and both is None:
                    raise _differs(name, key, value, existing)
                parameter._shape = both or parameter._shape
            elif key == "dtype" and value is not None and np.dtype(value) == np.dtype(existing):
                continue
            elif value is not None and value != existing:
                raise _differs(name, key, value, existing)
        return parameter

    def get_constant(self, name: str, value: ArrayLike | None = None) -> Constant:
        """The constant ``prefix + name``, created from ``value`` if it does not exist.

        Raises:
            KeyError: it does not exist and there is no value.
            CheckError: it already exists with another value, or is not a constant.
        """
        name = self._prefix + name
        parameter = self._get_impl(name)
        if parameter is None:
            if value is None:
                raise UnknownNameError(
                    f"There is no constant '{name}': give its value to create it."
                )
            constant = self._params[name] = Constant(name, value)
            return constant
        if not isinstance(parameter, Constant):
            raise CheckError(f"'{name}' is a parameter, not a constant: use another name.")
        if value is not None:
            numbers = value.asnumpy() if isinstance(value, NDArray) else np.asarray(value)
            if numbers.shape != parameter.shape or (numbers != parameter.value.asnumpy()).any():
                raise CheckError(
                    f"Constant '{name}' already exists with another value: use another name."
                )
        return parameter

    def update(self, other: ParameterDict) -> None:
        """Add all parameters of another dict.

        Args:
            other: the other dict.

        Raises:
            CheckError: two different parameters have the same name.
        """
        for name, each in other.items():
            if self._params.get(name, each) is not each:
                raise CheckError(
                    f"Two different parameters are named '{name}': make the blocks with different "
                    f"prefixes, or within name_scope()."
                )
            self._params[name] = each

    # ---- all together -------------------------------------------------------------------------

    def initialize(
        self,
        init: initializer.Initializer | str | None = initializer.Uniform(),
        ctx: Context | Sequence[Context] | None = None,
        verbose: bool = False,
        force_reinit: bool = False,
    ) -> None:
        """Initialize all parameters.

        Args:
            init: default initializer.
            ctx: a context or a list; the current one by default.
            verbose: log each.
            force_reinit: initialize again if they have values.
        """
        if init is None:
            init = initializer.Uniform()
        if verbose:
            created: initializer.Initializer = initializer.create(init)
            init = created.set_verbosity(verbose=verbose)
        for each in self.values():
            each.initialize(None, ctx, init, force_reinit=force_reinit)

    def zero_grad(self) -> None:
        """Set all gradients to 0."""
        for each in self.values():
            each.zero_grad()

    def reset_ctx(self, ctx: Context | Sequence[Context] | None) -> None:
        """Move all values to other contexts.

        Args:
            ctx: a context or a list of them; the current one by default.
        """
        for each in self.values():
            each.reset_ctx(ctx)

    def list_ctx(self) -> list[Context]:
        """All contexts that hold one of them."""
        return list(dict.fromkeys(each for one in self.values() for each in one.list_ctx()))

    def setattr(self, name: str, value: NDArray | np.ndarray) -> None:
        """Set an attribute of all parameters, such as ``grad_req``.

        Args:
            name: the name of the attribute.
            value: the value, the same for all.
        """
        for each in self.values():
            setattr(each, name, value)

    # ---- files --------------------------------------------------------------------------------

    def save(self, filename: str, strip_prefix: str = "") -> None:
        """Write all values to a ``.params`` file, the mean over contexts of each.

        Args:
            filename: path; the file is written atomically.
            strip_prefix: prefix to remove from every name.

        Raises:
            ValueError: a name does not start with it.
        """
        arrays = {}
        for each in self.values():
            if not each.name.startswith(strip_prefix):
                raise AttributeValueError(
                    f"The name '{each.name}' does not begin with '{strip_prefix}', which should "
                    f"be stripped: it is shared from another block, or its block was made outside "
                    f"name_scope()."
                )
            arrays[each.name[len(strip_prefix) :]] = each._reduce()
        save(filename, arrays)

    def load(
        self,
        filename: str,
        ctx: Context | Sequence[Context] | None = None,
        allow_missing: bool = False,
        ignore_extra: bool = False,
        restore_prefix: str = "",
        cast_dtype: bool = False,
        dtype_source: str = "current",
    ) -> None:
        """Read values from a ``.params`` file; the arguments are those of :meth:`load_dict`.

        Args:
            filename: path of the file.
            ctx: context of parameters that do not exist yet.
            allow_missing: leave parameters that the file does not have.
            ignore_extra: ignore values without a parameter.
            restore_prefix: prefix to add to the names in the file.
            cast_dtype: cast values to the parameters' dtypes, or parameters to the values'.
            dtype_source: ``current`` or ``saved``: the dtype of a parameter afterwards.
        """
        for name in self.keys() if restore_prefix else ():
            if not name.startswith(restore_prefix):
                raise CheckError(
                    f"The parameter '{name}' does not begin with restore_prefix='{restore_prefix}'. Make "
                    f"the layers within `with net.name_scope():`, or write the file with "
                    f"net.save_parameters()."
                )
        self.load_dict(
            load(filename),
            ctx,
            allow_missing,
            ignore_extra,
            restore_prefix,
            filename,
            cast_dtype,
            dtype_source,
        )

    def load_dict(
        self,
        param_dict: Mapping[str, NDArray],
        ctx: Context | Sequence[Context] | None = None,
        allow_missing: bool = False,
        ignore_extra: bool = False,
        restore_prefix: str = "",
        filename: str | None = None,
        cast_dtype: bool = False,
        dtype_source: str = "current",
    ) -> None:
        """Load values from a dict of arrays; nothing changes unless all match.

        Args:
            param_dict: arrays by name; ``arg:`` and ``aux:`` are dropped.
            ctx: context of parameters that do not exist yet.
            allow_missing: leave parameters that it does not have.
            ignore_extra: ignore values without a parameter.
            restore_prefix: prefix to add to the names.
            filename: for error messages.
            cast_dtype: cast values to the parameters' dtypes, or parameters to the values'.
            dtype_source: ``current`` or ``saved``: the dtype of a parameter afterwards.

        Raises:
            CheckError: names are missing or unknown, or a shape or dtype differs.
        """
        source = f"file: {filename}" if filename else "param_dict"
        if isinstance(param_dict, list) and not param_dict:
            param_dict = {}  # what a file without arrays is read as
        if not isinstance(param_dict, dict):
            raise CheckError(f"{source} holds arrays without names, not parameters.")
        loaded = {
            restore_prefix + (name[4:] if name.startswith(("arg:", "aux:")) else name): value
            for name, value in param_dict.items()
        }
        fill(
            self._params, loaded, ctx, allow_missing, ignore_extra, cast_dtype, dtype_source, source
        )


def _differs(name: str, key: str, value: object, existing: object) -> CheckError:
    return CheckError(
        f"Parameter '{name}' already exists with {key}={existing!r}; it cannot have "
        f"{key}={value!r}. Share "
        f"parameters between layers of the same kind, or use another name."
    )


def _some(names: Any) -> str:
    names = list(names)
    return ", ".join(names[:8]) + (", ..." if len(names) > 8 else "")


def fill(
    params: Any,
    loaded: dict[str, NDArray],
    ctx: Any,
    allow_missing: bool,
    ignore_extra: bool,
    cast_dtype: bool,
    dtype_source: str,
    source: str,
    extra_error: type[Exception] = CheckError,
) -> None:
    """Set parameters to loaded values; nothing changes unless all match.

    A parameter with several names is found under any of them.

    Raises:
        CheckError: names are missing, or a shape or dtype differs.
    """
    names: dict[Any, list[str]] = {}
    for name, each in params.items():
        names.setdefault(each, []).append(name)
    if not allow_missing:
        for name, each in params.items():
            if not any(other in loaded for other in names[each]):
                raise CheckError(
                    f"Parameter '{name}' is missing: {source} has no value for {name}; it has "
                    f"{_some(loaded)}. Pass allow_missing=True to leave it as it is."
                )
    extra = [name for name in loaded if name not in params]
    if extra and not ignore_extra:
        raise extra_error(
            f"{source} has '{extra[0]}', which the network does not; it has {_some(params)}. Pass "
            f"ignore_extra=True to leave it out."
        )
    fitting = {name: value for name, value in loaded.items() if name in params}
    for name, value in fitting.items():
        params[name]._check_loaded(value, ctx, cast_dtype, dtype_source)

    def load() -> None:
        for name, value in fitting.items():
            params[name]._load_init(value, ctx, cast_dtype, dtype_source)

    all_or_nothing(load, [params[name] for name in fitting])
