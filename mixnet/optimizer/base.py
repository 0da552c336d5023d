"""The base of optimizers, and creation by name."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from operator import attrgetter
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

import numpy as np

from mixnet import config
from mixnet.base import (
    AttributeTypeError,
    AttributeValueError,
    CheckError,
    NotDefinedError,
    checked_number,
    did_you_mean,
    unknown_argument,
)
from mixnet.dtype import as_dtype, bfloat16
from mixnet.ndarray.ndarray import NDArray
from mixnet.ndarray.steps import Step, run_steps
from mixnet.optimizer.refusal import explaining
from mixnet.process.docstrings import inherit_arguments
from mixnet.process.overridden import Methods
from mixnet.runtime.value.value import from_host
from mixnet.util import is_np_array

if TYPE_CHECKING:
    from mixnet.dtype import DTypeLike
    from mixnet.lr_scheduler import LRScheduler
    from mixnet.symbol.symbol import Symbol

Index = int | str | Sequence[int | str]
"""A parameter's number or name, or those of the parameters that are updated together."""

Arrays = NDArray | Sequence[NDArray]
"""A parameter, or those that are updated together; the same of gradients."""

OptimizerParams = Mapping[str, Any] | Sequence[tuple[str, Any]]
"""Arguments of an optimizer by name: a dict or pairs."""

Update = TypeVar("Update", bound=Callable[..., None])


def only_steps(update: Update) -> Update:
    """Decorator: marks a method that only runs the steps of ``_mx_steps``."""
    update.does_only_steps = True  # type: ignore[attr-defined]
    return update


_LR_MULT, _WD_MULT = attrgetter("lr_mult"), attrgetter("wd_mult")

_CONSTANT = frozenset({int, float, bool, str, type(None)})
"""The types of most attributes of optimizers."""

_HALF = (np.float16, bfloat16.type)


class Optimizer:
    """Base of optimizers: ``create_state`` for a weight, ``update`` for one step.

    Args:
        rescale_grad: factor of every gradient, before clipping.
        param_idx2name: names of parameters by number; where given, only weights and gammas decay.
        wd: weight decay.
        clip_gradient: gradients are clipped to ±this.
        learning_rate: step length; 0.01 by default, or the scheduler's.
        lr_scheduler: function of the number of updates, gives the learning rate.
        sym: a symbol whose variables may have ``lr_mult`` and ``wd_mult``.
        begin_num_update: number of updates already made.
        multi_precision: half-precision weights are updated through a float32 copy.
        param_dict: parameters by number, with their ``lr_mult`` and ``wd_mult``.
        unknown: any other argument is an error, which suggests the closest name.
    """

    opt_registry: ClassVar[dict[str, type[Optimizer]]] = {}
    """Optimizers by name in lower case."""

    _mx_takes_lists: ClassVar[bool] = False  # whether _mx_steps does, where aggregate_num is 0

    # The order of the attributes is that of files of optimizer states.
    def __init__(
        self,
        rescale_grad: float = 1.0,
        param_idx2name: Mapping[int, str] | None = None,
        wd: float = 0.0,
        clip_gradient: float | None = None,
        learning_rate: float | None = None,
        lr_scheduler: LRScheduler | None = None,
        sym: Symbol | None = None,
        begin_num_update: int = 0,
        multi_precision: bool = False,
        param_dict: Mapping[int, Any] | None = None,
        **unknown: object,
    ):
        if unknown:
            raise unknown_argument(self, next(iter(unknown)))
        self.rescale_grad = rescale_grad
        if not (lr_scheduler is None or callable(lr_scheduler)):
            raise AttributeTypeError(
                f"{type(self).__name__}: lr_scheduler must be a function of the number of updates, "
                f"such as mx.lr_scheduler.FactorScheduler(100), not {lr_scheduler!r:.60}."
            )
        self.lr_scheduler = lr_scheduler
        if self.lr_scheduler is None:
            rate = 0.01 if learning_rate is None else learning_rate
            self.lr: Any = checked_number("learning_rate", rate)
        else:
            self.lr = learning_rate
            if learning_rate is not None:
                if getattr(self.lr_scheduler, "base_lr", None) != learning_rate:
                    print(
                        "learning rate from ``lr_scheduler`` has been overwritten by "
                        "``learning_rate`` in optimizer."
                    )
                self.lr_scheduler.base_lr = learning_rate
        self.wd = wd
        self.lr_mult: dict[Any, float] = {}
        self.wd_mult: dict[Any, float] = {}
        self.begin_num_update = begin_num_update
        self.num_update = begin_num_update
        # Updates of each parameter, on each device.
        self._all_index_update_counts: dict[int, dict[Any, int]] = {0: {}}
        self._index_update_count = self._all_index_update_counts[0]
        self.clip_gradient = clip_gradient
        self.multi_precision = multi_precision
        self.aggregate_num = 0
        if param_idx2name is None:
            param_idx2name = {}
        if not isinstance(param_idx2name, dict):
            raise CheckError(
                f"param_idx2name should be a dict of param indexes to names, not {param_idx2name!r}."
            )
        self.idx2name: dict[Any, str] = param_idx2name.copy()
        self.sym_info: tuple[Any, ...] = (
            () if sym is None else (sym.attr_dict(), sym.list_arguments())
        )
        self.param_dict: Any = param_dict or {}
        self.allow_np_array = is_np_array()
        self.set_lr_mult({})
        self.set_wd_mult({})

    # ---- by name -------------------------------------------------------------------------------

    @staticmethod
    def register(klass: type[Optimizer]) -> type[Optimizer]:
        """Decorator: register an optimizer class under its name in lower case.

        Args:
            klass: the class.

        Raises:
            CheckError: it is not a class.
        """
        if not isinstance(klass, type):
            raise CheckError(f"Only classes can be registered as optimizers, not {klass!r:.60}.")
        name = klass.__name__.lower()
        known = Optimizer.opt_registry.get(name)
        if known is not None:
            warnings.warn(
                f"WARNING: New optimizer {klass.__module__}.{klass.__name__} is overriding existing "
                f"optimizer {known.__module__}.{known.__name__}",
                stacklevel=2,
            )
        Optimizer.opt_registry[name] = klass
        return klass

    @staticmethod
    def create_optimizer(name: str, **kwargs: Any) -> Optimizer:
        """An optimizer by name, in any case.

        Args:
            name: of the class.
            kwargs: its arguments.

        Raises:
            ValueError: no optimizer has that name.
        """
        if not isinstance(name, str):
            raise AttributeTypeError(f"An optimizer is created by its name, not by {name!r:.60}.")
        optimizer_class = Optimizer.opt_registry.get(name.lower())
        if optimizer_class is None:
            raise AttributeValueError(
                f"Cannot find optimizer {name}."
                + did_you_mean(name, Optimizer.opt_registry, "Take one of {}.")
            )
        return optimizer_class(**kwargs)

    # ---- learning rate and decay of a parameter ------------------------------------------------

    @property
    def learning_rate(self) -> Any:
        """The learning rate now."""
        return self.lr if self.lr_scheduler is None else self.lr_scheduler(self.num_update)

    def set_learning_rate(self, lr: float) -> None:
        """Change the learning rate.

        Args:
            lr: the new rate.

        Raises:
            UserWarning: a scheduler sets it.
        """
        if self.lr_scheduler is not None:
            raise UserWarning(
                "LRScheduler of the optimizer has already been defined: it sets the learning rate. "
                "Change its base_lr, or make the optimizer without a scheduler."
            )
        checked_number("learning_rate", lr)
        self.lr = lr

    def set_lr_scale(self, args_lrscale: Mapping[Index, float]) -> None:
        """Removed: use ``set_lr_mult``.

        Raises:
            DeprecationWarning: always.
        """
        raise DeprecationWarning("Use set_lr_mult instead.")

    def set_lr_mult(self, args_lr_mult: Mapping[Index, float]) -> None:
        """Factors of the learning rate by name or number of the parameter.

        They override those that the variables of ``sym`` have.

        Args:
            args_lr_mult: names or numbers, and factors.
        """
        self.lr_mult = {**self._mx_of_symbol("__lr_mult__"), **args_lr_mult}

    def set_wd_mult(self, args_wd_mult: Mapping[Index, float]) -> None:
        """Factors of the weight decay by name or number of the parameter.

        By default parameters whose names end neither in ``_weight`` nor in ``_gamma`` do not decay.

        Args:
            args_wd_mult: names or numbers, and factors.
        """
        self.wd_mult = {
            **{name: 0.0 for name in self.idx2name.values() if not self._mx_decays(name)},
            **self._mx_of_symbol("__wd_mult__"),
            **args_wd_mult,
        }

    @staticmethod
    def _mx_decays(name: str) -> bool:
        return name.endswith(("_weight", "_gamma"))

    def _mx_of_symbol(self, attribute: str) -> dict[Any, float]:
        if not self.sym_info:
            return {}
        attributes, names = self.sym_info
        texts = {name: attributes.get(name, {}).get(attribute) for name in names}
        factors = {}
        for name, text in texts.items():
            try:
                if text is not None:
                    factors[name] = float(text)
            except ValueError:
                raise AttributeValueError(
                    f"Variable {name!r}: its attribute {attribute}={text!r:.80} is not a number."
                ) from None
        return factors

    def _mx_lr_mults(self, indices: Sequence[Index]) -> list[float]:
        return self._mx_mults(indices, _LR_MULT, self.lr_mult)

    def _mx_mults(
        self, indices: Sequence[Index], own: Callable[[Any], float], table: Mapping[Index, float]
    ) -> list[float]:
        """Factors: ``own`` of each parameter, or else those in the table."""
        parameters = self.param_dict
        if not parameters and not table:
            return [1.0] * len(indices)
        if not parameters:  # as in a module
            return [self._mx_mult(index, table) for index in indices]
        factors = []
        for index in indices:
            known = index in parameters
            factors.append(own(parameters[index]) if known else self._mx_mult(index, table))
        return factors

    def _mx_mult(self, index: Index, table: Mapping[Index, float]) -> float:
        if index in table:
            return table[index]
        if index in self.idx2name:
            return table.get(self.idx2name[index], 1.0)
        return 1.0

    def _get_lrs(self, indices: Sequence[Index]) -> list[Any]:
        """Learning rates of parameters now."""
        lr = self.lr if self.lr_scheduler is None else self.lr_scheduler(self.num_update)
        rates = self._mx_lr_mults(indices)
        for place, mult in enumerate(rates):
            rates[place] = lr * mult
        return rates

    def _get_lr(self, index: Index) -> Any:
        return self._get_lrs([index])[0]

    def _get_wds(self, indices: Sequence[Index]) -> list[Any]:
        """Weight decays of parameters."""
        wd = self.wd
        decays = self._mx_mults(indices, _WD_MULT, self.wd_mult)
        for place, mult in enumerate(decays):
            decays[place] = wd * mult
        return decays

    def _get_wd(self, index: Index) -> Any:
        return self._get_wds([index])[0]

    # ---- counting updates ----------------------------------------------------------------------

    def _set_current_context(self, device_id: int) -> None:
        """Count the updates that follow as those of a device."""
        self._index_update_count = self._all_index_update_counts.setdefault(device_id, {})

    def _update_count(self, index: Index) -> None:
        """Count an update of a parameter, or of several."""
        counts, begin, most = self._index_update_count, self.begin_num_update, self.num_update
        for each in index if isinstance(index, (list, tuple)) else (index,):
            number = counts[each] = counts.get(each, begin) + 1
            if number > most:
                most = number
        self.num_update = most

    def _mx_next_rates(self, index: Index) -> Iterator[tuple[Any, Any]]:
        """Count an update of a parameter, or of several: learning rate and weight decay of each."""
        self._update_count(index)
        indices = index if isinstance(index, (list, tuple)) else [index]
        return zip(self._get_lrs(indices), self._get_wds(indices), strict=True)

    def _mx_changing(self) -> list[dict[Any, Any]]:
        """The dicts that an update may change: attributes, counts, and those of the scheduler."""
        attributes = vars(self)
        dicts = [attributes, *self._all_index_update_counts.values()]
        for each in attributes.values():
            kind = type(each)
            if kind in _CONSTANT:
                continue
            if kind is dict:
                dicts.append(each)
            elif isinstance(each, Optimizer):
                dicts += each._mx_changing()
        if self.lr_scheduler is not None:
            dicts.append(getattr(self.lr_scheduler, "__dict__", {}))
        return dicts

    # ---- states and steps ----------------------------------------------------------------------

    def create_state(self, index: Index, weight: NDArray) -> Any:
        """Arrays that the rule stores for a weight: None, an array, or a tuple of these.

        Args:
            index: number of the parameter.
            weight: the parameter.
        """

    def create_state_multi_precision(self, index: Index, weight: NDArray) -> Any:
        """``create_state``, with a float32 copy of a half-precision weight if requested.

        Args:
            index: number or name of the parameter.
            weight: its array.

        Returns:
            The state; with ``multi_precision`` and a half-precision weight the pair of the copy and
            the state of the copy.
        """
        if self._mx_is_mixed(weight):
            copy = weight.astype(np.float32)
            return copy, self.create_state(index, copy)
        self._mx_warn_of_half(weight)
        return self.create_state(index, weight)

    def _mx_state_and_copy(self, index: Index, weight: NDArray, description: str) -> Any:
        """The state of MXNet's first optimizers, whose pair has the float32 copy last, not first."""
        if self._mx_is_mixed(weight):
            copy = weight.astype(np.float32)
            return self.create_state(index, copy), copy
        self._mx_warn_of_half(weight, description, 4)
        return self.create_state(index, weight)

    def __init_subclass__(cls, **more: object) -> None:
        super().__init_subclass__(**more)
        inherit_arguments(cls)
        for name in ("update", "_mx_steps"):
            if name in cls.__dict__:
                setattr(cls, name, explaining(cls.__dict__[name]))

    def _mx_is_mixed(self, weight: NDArray) -> bool:
        """Whether a weight is updated through a float32 copy."""
        return bool(self.multi_precision) and weight.dtype in _HALF

    def _mx_warn_of_half(self, weight: NDArray, description: str = "", depth: int = 3) -> None:
        if weight.dtype in _HALF and not self.multi_precision:
            warnings.warn(
                f"Accumulating with {np.dtype(weight.dtype).name} in optimizer can lead to poor "
                f"accuracy or slow convergence. Consider using multi_precision=True option of the "
                f"{description}optimizer",
                stacklevel=depth,
            )

    @only_steps
    @explaining
    def update(self, index: Index, weight: Arrays, grad: Arrays, state: object) -> None:
        """One step: writes ``weight`` and ``state``.

        Args:
            index: number of the parameter; where ``aggregate_num`` is above 0 a list of them, and
                the others lists too.
            weight: the parameter.
            grad: its gradient, of the same shape.
            state: what ``create_state`` gave.

        Raises:
            CheckError: lists, but ``aggregate_num`` is 0.
        """
        if isinstance(weight, (list, tuple)) and not self.aggregate_num:
            raise CheckError(
                f"{type(self).__name__} updates one parameter at a time, not a list of "
                f"{len(weight)}: call update for each."
            )
        self._mx_update(index, weight, grad, state)

    def _mx_update(self, index: Index, weight: Arrays, grad: Arrays, state: object) -> None:
        run_steps(self._mx_steps(index, weight, grad, state))

    def _mx_steps(self, index: Any, weight: Any, grad: Any, state: Any) -> list[Step]:
        """What ``update`` records, and nothing else than that; counts the update."""
        raise NotDefinedError(f"{type(self).__name__} does not define update().")

    def _mx_updates_by_steps(self) -> bool:
        """Whether the methods that update are the library's, not those of a program."""
        return hasattr(self.update, "does_only_steps") and hasattr(
            self.update_multi_precision, "does_only_steps"
        )

    def _mx_steps_any_number(self) -> bool:
        """Whether ``_mx_steps`` of several parameters gives the same as a call for each.

        It does if the optimizer takes lists, and the rate of a parameter depends on no other: a scheduler
        sees the updates that were counted before.
        """
        takes_lists = self.aggregate_num > 0 or (self._mx_takes_lists and not self.multi_precision)
        return takes_lists and self.lr_scheduler is None and _RATES.are_those_of(self)

    def _mx_steps_or_update(self, index: Any, weight: Any, grad: Any, state: Any) -> list[Step]:
        """What ``update_multi_precision`` records; empty where it has updated the weight itself."""
        if not self._mx_is_mixed(weight):
            return self._mx_steps(index, weight, grad, state)
        self.update_multi_precision(index, weight, grad, state)
        return []

    @only_steps
    def update_multi_precision(
        self, index: Index, weight: NDArray, grad: NDArray, state: Any
    ) -> None:
        """``update``, through the float32 copy where ``create_state_multi_precision`` made one.

        Args:
            index: number or name of the parameter.
            weight: its array, which is changed.
            grad: the gradient, in the shape of the weight.
            state: what ``create_state_multi_precision`` returned; changed too.
        """
        if not self._mx_is_mixed(weight):
            self.update(index, weight, grad, state)
            return
        copy, inner = state
        self.update(index, copy, grad.astype(np.float32), inner)
        weight._store(copy._read())

    # ---- for rules -----------------------------------------------------------------------------

    @staticmethod
    def _mx_zeros(weight: NDArray, dtype: DTypeLike = None, stype: str = "default") -> NDArray:
        """Zeros of the shape of a weight, where it is, in its dtype by default.

        They come from the host: recorded, they would be part of the first step's program, and the
        second step would compile another.
        """
        kind = as_dtype(weight.dtype if dtype is None else dtype)
        if stype == "default":
            return NDArray._wrap(from_host(np.zeros(weight.shape, kind), weight.context))
        zeros: NDArray = weight._zeros_as(stype)
        return zeros.astype(kind, copy=False)

    def _mx_numbers(self, index: Index) -> dict[str, Any]:
        """What MXNet's update operators take of a parameter that has just been counted."""
        return self._mx_numbers_at(self._get_lr(index), self._get_wd(index))

    def _mx_numbers_at(self, lr: Any, wd: Any) -> dict[str, Any]:
        numbers = {"lr": lr, "wd": wd, "rescale_grad": self.rescale_grad}
        if self.clip_gradient:
            numbers["clip_gradient"] = self.clip_gradient
        return numbers

    def __getstate__(self) -> dict[str, Any]:
        """The attributes, without the parameters themselves."""
        return {name: value for name, value in self.__dict__.items() if name != "param_dict"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__ = state
        self.param_dict = {}


_RATES = Methods(Optimizer, "_update_count", "_get_lr", "_get_lrs", "_get_wd", "_get_wds")


def each_of(index: Index, weight: Any, grad: Any, state: Any) -> Iterable[tuple[Any, ...]]:
    """What ``update`` was called with, a parameter at a time; it takes one or lists."""
    if isinstance(index, (list, tuple)):
        return zip(index, weight, grad, state, strict=True)
    return ((index, weight, grad, state),)


def aggregation(default: int) -> int:
    """Parameters that are handed to ``update`` together: the setting, or an optimizer's own."""
    return config.get("MXNET_OPTIMIZER_AGGREGATION_SIZE") or default


register = Optimizer.register
create = Optimizer.create_optimizer
