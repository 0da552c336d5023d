"""Parameter updates with or without a KVStore, shared by Module and FeedForward."""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from mixnet import kvstore as kvs
from mixnet.autograd.scope import unrecorded
from mixnet.base import AttributeTypeError
from mixnet.kvstore import KVStoreBase
from mixnet.kvstore.kvstore import takes_all_at_once
from mixnet.ndarray.ndarray import NDArray
from mixnet.optimizer.updater import call_updater, update_all

if TYPE_CHECKING:
    from types import ModuleType

_MOST_ELEMENTS = 16 * 1024 * 1024  # of a parameter that a local store updates
Lists = Sequence[Sequence[Any]]


def _create_kvstore(
    kvstore: KVStoreBase | str | None, num_device: int, arg_params: Mapping[str, NDArray]
) -> tuple[Any, bool]:
    """The store, or None where none is needed, and whether the store updates parameters.

    Args:
        kvstore: a store, its name, or None.
        num_device: how many devices train; one needs no store in the same process.
        arg_params: parameters by name: a local store leaves updates of big ones to the devices.

    Raises:
        TypeError: ``kvstore`` is something else.
    """
    updates = bool(int(os.environ.get("MXNET_UPDATE_ON_KVSTORE", "1")))
    store = None
    if isinstance(kvstore, KVStoreBase):
        store = kvstore
    elif isinstance(kvstore, str):
        if num_device > 1 or "dist" in kvstore or kvstore == "horovod":
            store = kvs.create(kvstore)
            if kvstore == "local":
                sizes = [int(np.prod(each.shape)) for each in arg_params.values()]
                updates = updates and max(sizes, default=0) <= _MOST_ELEMENTS
    elif kvstore is not None:
        raise AttributeTypeError(
            f"kvstore must be KVStore, str or None, not {type(kvstore).__name__}."
        )
    if store is None:
        return None, False
    return store, updates and store.is_capable(KVStoreBase.OPTIMIZER)


def _create_sparse_kvstore(kvstore: KVStoreBase | str | None) -> tuple[Any, bool]:
    """The store of parameters of which some are row_sparse: it always updates them.

    Args:
        kvstore: a store, or its name.

    Raises:
        TypeError: ``kvstore`` is something else; row_sparse parameters need one.
    """
    if isinstance(kvstore, KVStoreBase):
        return kvstore, True
    if isinstance(kvstore, str):
        return kvs.create(kvstore), True
    raise AttributeTypeError(
        f"row_sparse parameters need a KVStore or the name of one, not {kvstore!r:.60}."
    )


def _initialize_kvstore(
    kvstore: Any,
    param_arrays: Lists,
    arg_params: Mapping[str, NDArray],
    param_names: Sequence[str],
    update_on_kvstore: bool,
) -> None:
    """Put the parameters into the store, and into the arrays of the devices if it updates them."""
    for name, arrays in zip(param_names, param_arrays, strict=False):
        if update_on_kvstore and arg_params[name].stype == "default":
            kvstore.broadcast(name, arg_params[name], out=list(arrays))
        else:
            kvstore.init(name, arg_params[name])


def _trained(
    param_arrays: Lists, grad_arrays: Lists, param_names: Sequence[str]
) -> list[tuple[int, str, list[Any], list[Any]]]:
    """Number, name, arrays and gradients of every parameter that has gradients."""
    triples = zip(param_names, param_arrays, grad_arrays, strict=False)
    return [
        (i, name, list(arrays), list(gradients))
        for i, (name, arrays, gradients) in enumerate(triples)
        if gradients[0] is not None
    ]


def _pull_rows(
    param_arrays: Lists,
    param_names: Sequence[str],
    rows: Mapping[str, Any],
    kvstore: Any,
    logger: logging.Logger | ModuleType,
) -> None:
    """Let the store write rows of row_sparse parameters to the arrays of the devices.

    Args:
        param_arrays: for every parameter its arrays, one a device.
        param_names: the keys of the store.
        rows: by the names of parameters, the numbers of the rows.
        kvstore: the store.
        logger: gets a warning where a parameter is dense.
    """
    for name, numbers in rows.items():
        i = param_names.index(name)
        parts = param_arrays[i]
        if parts[0].stype == "row_sparse":
            kvstore.row_sparse_pull(name, parts, row_ids=numbers, priority=-i)
        else:
            logger.warning("sparse_row_id_fn gave rows of %s, which is %s", name, parts[0].stype)


def _update_params_on_kvstore(
    param_arrays: Lists,
    grad_arrays: Lists,
    kvstore: Any,
    param_names: Sequence[str],
) -> None:
    """Let the store sum the gradients, update its parameters and hand them to all devices."""
    trained = _trained(param_arrays, grad_arrays, param_names)
    dense = all(a[0].stype == g[0].stype == "default" for _, _, a, g in trained)
    if dense and takes_all_at_once(kvstore):  # all at once: few programs
        names = [name for _, name, _, _ in trained]
        kvstore._step(names, [g for _, _, _, g in trained], [a for _, _, a, _ in trained])
        return
    for i, name, arrays, gradients in trained:
        if arrays[0].stype == gradients[0].stype == "default":
            kvstore.pushpull(name, gradients, out=arrays, priority=-i)
        else:
            kvstore.push(name, gradients, priority=-i)
            kvstore.pull(name, out=arrays, priority=-i)


def _update_params(
    param_arrays: Lists,
    grad_arrays: Lists,
    updater: Any,
    num_device: int,
    kvstore: Any = None,
    param_names: Sequence[str] | None = None,
) -> None:
    """Update the parameters of every device, with gradients that the store has summed if there is one.

    Args:
        param_arrays: for every parameter its arrays, one a device.
        grad_arrays: its gradients likewise; None where it is not trained.
        updater: called with numbers, gradients and weights, once a device.
        num_device: how many devices there are; parameter ``i`` on device ``k`` has the number
            ``i * num_device + k``.
        kvstore: sums the gradients over devices; None leaves them as they are.
        param_names: the keys of the store; numbers by default.
    """
    names: Sequence[Any] = range(len(param_arrays)) if param_names is None else param_names
    trained = _trained(param_arrays, grad_arrays, names)
    if kvstore is not None:
        if takes_all_at_once(kvstore):
            keys = [name for _, name, _, _ in trained]
            sums = [each for _, _, _, each in trained]
            kvstore.pushpull(keys, sums, out=sums)
        else:
            for i, name, _, gradients in trained:
                kvstore.pushpull(name, gradients, out=gradients, priority=-i)
    if not trained:
        return

    def update_devices() -> None:
        for k in range(num_device):
            numbers, grads, weights = [], [], []
            for i, _, w, g in trained:
                numbers.append(i * num_device + k)
                grads.append(g[k])
                weights.append(w[k])
            call_updater(updater, numbers, grads, weights)

    update_all([updater], partial(unrecorded, update_devices))
