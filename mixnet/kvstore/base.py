"""The interface of all KVStore types, and creation by name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from mixnet.base import (
    AttributeTypeError,
    AttributeValueError,
    CheckError,
    MXNetError,
    NotDefinedError,
)
from mixnet.ndarray.ndarray import NDArray
from mixnet.process.docstrings import inherit_arguments

if TYPE_CHECKING:
    from mixnet.kvstore.local import Key
    from mixnet.optimizer.base import Optimizer

# What makes the stores of this package by name; ``mixnet.kvstore.kvstore`` puts it here.
_maker: list[Callable[[str], KVStoreBase]] = []


class KVStoreBase:
    """Base of KVStores: the interface that ``gluon.Trainer`` needs.

    Register another kind with ``@mx.kvstore.KVStoreBase.register``; ``mx.kv.create`` then knows it
    by its class's name in lower case.
    """

    OPTIMIZER = "optimizer"
    handle: Any  # no value here: a wrapper's __getattr__ may find the wrapped store's
    """The store underneath; a program's own kinds have none."""
    kv_registry: ClassVar[dict[str, type[KVStoreBase]]] = {}

    def __init_subclass__(cls, **kwargs: object) -> None:
        super().__init_subclass__(**kwargs)
        inherit_arguments(cls)

    def broadcast(
        self,
        key: Key | Sequence[Key],
        value: NDArray | Sequence[Any],
        out: NDArray | Sequence[Any] | None,
        priority: int = 0,
    ) -> None:
        """Copy ``value`` of the first worker to ``out``, on every worker and device.

        Args:
            key: a string or an integer, or a list.
            value: an array, or one for each key.
            out: an array or a list; for several keys a list for each.
            priority: among tasks that are ready, larger ones run first.
        """
        raise _left_out(type(self), "broadcast")

    def pushpull(
        self,
        key: Key | Sequence[Key],
        value: NDArray | Sequence[Any],
        out: NDArray | Sequence[Any] | None = None,
        priority: int = 0,
    ) -> None:
        """Sum ``value`` over workers and devices into ``out``.

        Args:
            key: a string or an integer, or a list.
            value: an array or one for each device; for several keys a list for each.
            out: where the sum goes, by default to ``value``.
            priority: among tasks that are ready, larger ones run first.
        """
        raise _left_out(type(self), "pushpull")

    def set_optimizer(self, optimizer: Optimizer) -> None:
        """Update the stored values with an optimizer when gradients are pushed."""
        raise _left_out(type(self), "set_optimizer")

    @staticmethod
    def is_capable(capability: str) -> bool:
        """Whether the store can do something: ``KVStoreBase.OPTIMIZER`` means holding an optimizer.

        Args:
            capability: its name, in upper or lower case.
        """
        raise _left_out(KVStoreBase, "is_capable")

    def save_optimizer_states(self, fname: str, dump_optimizer: bool = False) -> None:
        """Write the optimizer's states to a file; with ``dump_optimizer``, the optimizer too.

        Args:
            fname: path of the file.
        """
        raise _left_out(type(self), "save_optimizer_states")

    def load_optimizer_states(self, fname: str) -> None:
        """Read the optimizer's states from a file.

        Args:
            fname: path of the file.
        """
        raise _left_out(type(self), "load_optimizer_states")

    @property
    def type(self) -> str:
        """The name under which the store was created."""
        raise _left_out(type(self), "type")

    @property
    def rank(self) -> int:
        """Number of this worker."""
        raise _left_out(type(self), "rank")

    @property
    def num_workers(self) -> int:
        """How many workers there are."""
        raise _left_out(type(self), "num_workers")

    @staticmethod
    def register(klass: Any) -> Any:
        """Register a class with ``mx.kv.create`` under its name in lower case.

        Args:
            klass: a subclass of ``KVStoreBase``.

        Raises:
            CheckError: it is not a class.
        """
        if not isinstance(klass, type):
            raise CheckError(f"Only classes can be registered as stores, not {klass!r:.60}.")
        KVStoreBase.kv_registry[klass.__name__.lower()] = klass
        return klass


def _left_out(klass: type, name: str) -> NotDefinedError:
    return NotDefinedError(f"{klass.__name__} does not define {name}.")


def check_capability(capability: str) -> None:
    """Refuse what no store can be asked for.

    Raises:
        AttributeValueError: it is not ``KVStoreBase.OPTIMIZER``.
    """
    if capability.lower() != KVStoreBase.OPTIMIZER:
        raise AttributeValueError(
            f"Unknown capability: {capability}; ask for KVStoreBase.OPTIMIZER."
        )


class WithoutOptimizer(KVStoreBase):
    """Base of stores that hold no values and therefore no optimizer."""

    @staticmethod
    def is_capable(capability: str) -> bool:
        """Whether the store can do something: it does not hold an optimizer.

        Raises:
            ValueError: the capability is unknown.
        """
        check_capability(capability)
        return False

    def set_optimizer(self, optimizer: Optimizer) -> None:
        """Not supported by this store.

        Raises:
            NotImplementedError: always.
        """
        raise self._no_optimizer("update the parameters outside the store")

    def save_optimizer_states(self, fname: str, dump_optimizer: bool = False) -> None:
        """Not supported by this store.

        Raises:
            NotImplementedError: always.
        """
        raise self._no_optimizer("there are no states to save")

    def load_optimizer_states(self, fname: str) -> None:
        """Not supported by this store.

        Raises:
            NotImplementedError: always.
        """
        raise self._no_optimizer("there is nothing to load states into")

    def _no_optimizer(self, rest: str) -> NotDefinedError:
        return NotDefinedError(f"The store {self.type!r} does not hold an optimizer: {rest}.")


@KVStoreBase.register
class TestStore(WithoutOptimizer):
    """A minimal store: sums and copies, no stored values. For tests and as a template."""

    __test__ = False  # to pytest: this is no test

    def broadcast(
        self,
        key: Key | Sequence[Key],
        value: NDArray | Sequence[Any],
        out: NDArray | Sequence[Any] | None,
        priority: int = 0,
    ) -> None:
        """Copy ``value`` to every array of ``out``."""
        for each in _as_list(out):
            each[:] = value

    def pushpull(
        self,
        key: Key | Sequence[Key],
        value: NDArray | Sequence[Any],
        out: NDArray | Sequence[Any] | None = None,
        priority: int = 0,
    ) -> None:
        """Sum the arrays of ``value`` into every array of ``out``, or of ``value`` itself."""
        context = value.context if isinstance(value, NDArray) else value[0].context
        values = _as_list(value)
        total = values[0].as_in_context(context)
        for each in values[1:]:
            total = total + each.as_in_context(context)
        for each in values if out is None else _as_list(out):
            each[:] = total

    @property
    def type(self) -> str:
        """``'teststore'``."""
        return "teststore"

    @property
    def rank(self) -> int:
        """0."""
        return 0

    @property
    def num_workers(self) -> int:
        """1."""
        return 1


def _as_list(arrays: object) -> Sequence[Any]:
    return arrays if isinstance(arrays, (list, tuple)) else [arrays]


def create(name: str = "local") -> Any:  # the class follows from the name
    """A KVStore by name.

    Args:
        name: ``local`` sums on the host, ``device`` with collectives over the devices of the process.
            ``dist_sync``, ``dist_device_sync`` and ``horovod`` also sum over the processes of a job;
            with ``dist_async``, servers hold the values. The name of a registered class creates that.

    Raises:
        TypeError: the name is not a string.
        MXNetError: there is no such store; the message names an alternative.
    """
    if not isinstance(name, str):
        raise AttributeTypeError(
            f"A store is created by its name, which must be a string, not {name!r:.60}."
        )
    store_class = KVStoreBase.kv_registry.get(name.lower())
    return _maker[0](name.lower()) if store_class is None else store_class()


def set_kvstore_handle(handle: object) -> None:
    """Not part of mixnet.

    Raises:
        MXNetError: always; names an alternative.
    """
    raise MXNetError(
        "set_kvstore_handle takes a handle of MXNet's C library, which mixnet does not have; make a "
        "store with mx.kv.create(name)."
    )
