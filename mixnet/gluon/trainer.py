"""Trainer: one step of an optimizer over all parameters of a network."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, TypedDict

from mixnet import config
from mixnet.autograd.scope import RecordingScope, unrecorded
from mixnet.base import (
    AttributeTypeError,
    AttributeValueError,
    CheckError,
    PathNotFoundError,
    ZeroError,
)
from mixnet.context import Context
from mixnet.files.whole_file import write_whole
from mixnet.gluon.parameter import Parameter, ParameterDict
from mixnet.gluon.parameter.arrays import (
    arrays_of,
    gradients_of,
    has_other_gradients,
    is_initialized,
    learned_arrays,
)
from mixnet.kvstore import KVStore, KVStoreBase
from mixnet.kvstore import create as create_kvstore
from mixnet.kvstore.kvstore import takes_all_at_once
from mixnet.ndarray.ndarray import NDArray
from mixnet.optimizer import Optimizer, Updater, get_updater
from mixnet.optimizer import create as create_optimizer
from mixnet.optimizer.updater import call_updater, states_of, update_all
from mixnet.process.overridden import Methods
from mixnet.runtime.record.record import flush
from mixnet.runtime.value.state import noted_writes

_LARGE = 1 << 24  # elements from which a parameter should not be updated on the host


class _StoreParams(TypedDict):
    kvstore: str | KVStoreBase | None
    update_on_kvstore: bool | None


class Trainer:
    """Applies an optimizer to parameters after each backward, on one or several contexts.

    Args:
        params: a ``ParameterDict``, a dict or a list of parameters.
        optimizer: its name, or an optimizer.
        optimizer_params: arguments of the optimizer.
        kvstore: sums the gradients of several contexts: a name, a KVStore, or None, which updates
            every context independently.
        compression_params: compression of gradients, such as ``{'type': '2bit', 'threshold': 0.5}``.
        update_on_kvstore: whether the store updates the parameters and the contexts pull them, or
            every context updates its own with the summed gradient. By default the store does, if there
            are several contexts and the gradients are dense.

    Raises:
        ValueError: ``params`` are not parameters.
        AttributeTypeError: there are none.
        CheckError: parameters are on different contexts, or an optimizer object is given with
            arguments.
    """

    def __init__(
        self,
        params: ParameterDict | Mapping[str, Parameter] | Sequence[Parameter],
        optimizer: str | Optimizer,
        optimizer_params: Mapping[str, Any] | None = None,
        kvstore: str | KVStoreBase | None = "device",
        compression_params: Mapping[str, Any] | None = None,
        update_on_kvstore: bool | None = None,
    ):
        self._params = _as_parameters(params)
        self._param2idx = {each.name: i for i, each in enumerate(self._params)}
        self._contains_sparse_weight = any(each._stype != "default" for each in self._params)
        self._contains_sparse_grad = any(each._grad_stype != "default" for each in self._params)
        for each in self._params:
            each._set_trainer(self)
        self._compression_params = compression_params
        self._contexts = self._check_contexts()
        self._init_optimizer(optimizer, optimizer_params)
        self._scale: float = self._optimizer.rescale_grad
        self._kvstore_params: _StoreParams = {
            "kvstore": kvstore,
            "update_on_kvstore": update_on_kvstore,
        }
        self._amp_loss_scaler: Any = None  # see mixnet.contrib.amp
        self._amp_original_scale = self._scale
        self._reset_kvstore()

    def _check_contexts(self) -> list[Context]:
        contexts: list[Context] | None = None
        for each in self._params:
            own_contexts = each.list_ctx()
            if contexts not in (None, own_contexts):
                raise CheckError(
                    f"All Parameters must be initialized on the same set of contexts, but Parameter "
                    f"{each.name} is initialized on {own_contexts} while previous Parameters are initialized "
                    f"on {contexts}."
                )
            contexts = own_contexts
        return contexts or []

    def _init_optimizer(
        self, optimizer: Optimizer | str, optimizer_params: Mapping[str, Any] | None
    ) -> None:
        numbered = dict(enumerate(self._params))
        if isinstance(optimizer, Optimizer):
            if optimizer_params:
                raise CheckError(
                    f"optimizer_params must be None if optimizer is an instance of Optimizer instead of "
                    f"str; give {', '.join(map(str, optimizer_params))} to {type(optimizer).__name__}."
                )
            self._optimizer = optimizer
            self._optimizer.param_dict = numbered
        else:
            if not isinstance(optimizer_params, (Mapping, type(None))):
                raise AttributeTypeError(
                    f"Trainer: optimizer_params must be a dict, such as {{'learning_rate': 0.1}}, "
                    f"not {optimizer_params!r:.60}."
                )
            self._optimizer = create_optimizer(
                optimizer, param_dict=numbered, **(optimizer_params or {})
            )
        if not self._params:
            raise AttributeTypeError(
                "Trainer: there are no Parameters to train. net.params has none of a block's children; "
                "give net.collect_params()."
            )
        self._updaters: list[Updater] = [get_updater(self._optimizer) for _ in self._contexts]

    # ---- the store ------------------------------------------------------------------------------

    def _reset_kvstore(self) -> None:
        """Discard the store; the next step creates it again, with the current values."""
        self._kv_initialized = False
        self._kvstore: KVStoreBase | None = None
        self._distributed: bool | None = None
        self._update_on_kvstore: bool | None = None
        self._params_to_init = list(self._params)

    def _updates_in_store(self, parameter: Parameter) -> bool:
        """Whether the store has its own copy of a parameter."""
        is_there = self._kv_initialized and parameter not in self._params_to_init
        return is_there and bool(self._update_on_kvstore)

    def _init_kvstore(self) -> None:
        """Create the store, and decide where updates run.

        Raises:
            TypeError: the store is neither a name nor a KVStore nor None, or None with row_sparse
                parameters.
            ValueError: the store or the parameters are incompatible with ``update_on_kvstore``.
        """
        kvstore = self._kvstore_params["kvstore"]
        on_store = self._kvstore_params["update_on_kvstore"]
        store = self._chosen_store(kvstore)
        self._kvstore, self._distributed = store, store is not None and "dist" in store.type
        if store is None:
            if on_store:
                raise AttributeValueError(
                    "update_on_kvstore=True needs a store: with one context, or kvstore=None, there "
                    "is none. Leave it out, or pass a KVStore object."
                )
            self._kv_initialized = True
            return
        if self._compression_params:
            store.set_gradient_compression(self._compression_params)  # type: ignore[attr-defined]
        if self._distributed and "async" in store.type:
            if on_store is False:
                raise AttributeValueError(
                    "Please set update_on_kvstore=True when training in async mode: the "
                    "servers of a store of type "
                    f"{store.type!r} hold the weights and update them as gradients arrive; they "
                    f"return no sum over all workers. Leave update_on_kvstore out, or use "
                    f"'dist_sync'."
                )
            on_store = True
        capable = store.is_capable(KVStoreBase.OPTIMIZER)
        if on_store is None:
            on_store = capable and self._is_better_on_store(kvstore)
        if on_store and not capable:
            raise AttributeValueError(
                f"update_on_kvstore=True, but a store of type {store.type!r} does not hold an "
                f"optimizer."
            )
        if self._contains_sparse_weight and not on_store:
            raise AttributeValueError(
                "Cannot set update_on_kvstore=False when sparse weights are present."
            )
        self._update_on_kvstore = on_store
        if on_store:
            store.set_optimizer(self._optimizer)
        elif isinstance(store, KVStore) and store is not kvstore:
            store.handle.keeps_sums = False  # sums are never read from the store
        self._kv_initialized = True

    def _chosen_store(self, kvstore: object) -> KVStoreBase | None:
        if kvstore is None and self._contains_sparse_weight:
            raise AttributeTypeError(
                "kvstore=None: row_sparse parameters need a store, which holds their rows. Pass "
                "kvstore='local', or leave it out."
            )
        if kvstore is None or isinstance(kvstore, KVStoreBase):
            return kvstore
        if not isinstance(kvstore, str):
            raise AttributeTypeError(
                f"kvstore must be KVStore, str or None, not {type(kvstore).__name__}."
            )
        is_local = len(self._contexts) < 2 and not self._contains_sparse_weight
        if is_local and "dist" not in kvstore and kvstore != "horovod":
            return None
        created: KVStoreBase = create_kvstore(kvstore)
        return created

    def _is_better_on_store(self, kvstore: object) -> bool:
        if self._contains_sparse_weight:
            return True
        if self._contains_sparse_grad or self._amp_loss_scaler is not None:
            return False  # a step with an overflow is undone on the devices of the gradients
        large = max((_size(each) for each in self._params), default=0) > _LARGE
        return config.get("MXNET_UPDATE_ON_KVSTORE") and not (kvstore == "local" and large)

    def _init_params(self) -> None:
        """Add the initialized parameters to the store."""
        ready = [each for each in self._params_to_init if is_initialized(each)]
        waiting = [each for each in self._params_to_init if not is_initialized(each)]
        if self._kvstore is not None and ready:
            with RecordingScope(False, None):
                keys = [self._param2idx[each.name] for each in ready]
                arrays = [arrays_of(each) for each in ready]
                self._on_store(
                    "broadcast", keys, [each[0] for each in arrays], arrays, in_order=False
                )
        self._params_to_init = waiting

    def _on_store(
        self, method: str, keys: list[int], *arrays: list[Any], in_order: bool = True
    ) -> None:
        """Call a method of the store for many keys at once, or for each key if it does not accept lists.

        Args:
            method: its name.
            keys: the parameters' indices.
            arrays: for each array argument one entry per key.
            in_order: whether the first parameters are the most urgent.
        """
        call = getattr(self._kvstore, method)
        if takes_all_at_once(self._kvstore):
            call(keys, *arrays)
            return
        for key, *values in zip(keys, *arrays, strict=True):
            call(key, *values, **({"priority": -key} if in_order else {}))

    def _prepare(self) -> None:
        if not self._kv_initialized:
            self._init_kvstore()
        if self._params_to_init:
            self._init_params()

    def _row_sparse_pull(
        self,
        parameter: Parameter,
        out: NDArray | Sequence[NDArray],
        row_id: NDArray,
        full_idx: bool = False,
    ) -> None:
        """Pull rows of a row_sparse parameter from the store; with ``full_idx`` all of them."""
        self._prepare()
        key = self._param2idx[parameter.name]
        store = self._kvstore
        if full_idx:
            store.pull(key, out=out, priority=-key, ignore_sparse=False)  # type: ignore[union-attr]
        else:
            store.row_sparse_pull(key, out=out, row_ids=row_id, priority=-key)  # type: ignore[union-attr]

    # ---- steps ----------------------------------------------------------------------------------

    @property
    def optimizer(self) -> Optimizer:
        """The optimizer.

        Raises:
            UserWarning: there is none.
        """
        if isinstance(self._optimizer, Optimizer):
            return self._optimizer
        raise UserWarning("The Trainer has no optimizer yet.")

    @property
    def learning_rate(self) -> float:
        """The current learning rate."""
        rate: float = self.optimizer.learning_rate
        return rate

    def set_learning_rate(self, lr: float) -> None:
        """Change the learning rate; this does not recompile anything.

        Args:
            lr: the new rate.
        """
        self.optimizer.set_learning_rate(lr)

    def step(self, batch_size: int, ignore_stale_grad: bool = False) -> None:
        """Sum gradients over contexts, then update all parameters.

        Args:
            batch_size: gradients are divided by it.
            ignore_stale_grad: skip parameters whose gradients have not been written by backward since
                the last step.

        Raises:
            UserWarning: there is such a gradient, unless ignored.
        """
        self._check_and_rescale_grad(self._per_sample(batch_size))
        self._prepare()
        if self._kvstore is None and _STEP.are_those_of(self):
            update_all(self._updaters, partial(self._update_devices, ignore_stale_grad))
            flush("Trainer.step")
            return
        if self._is_dense_on_store():
            self._step_on_store(ignore_stale_grad)
            return

        def step() -> None:
            self._allreduce_grads()
            self._update(ignore_stale_grad)

        if self._update_on_kvstore:  # the store updates all values or none
            if not ignore_stale_grad:
                for each, arrays in [(each, arrays_of(each)) for _, each in self._learned()]:
                    self._check_fresh(each, arrays)
            step()
        else:
            update_all(self._updaters, step)
        flush("Trainer.step")

    def _is_dense_on_store(self) -> bool:
        """Whether a step consists of a dense sum and an update in the store, by methods of this package."""
        return bool(
            self._update_on_kvstore
            and takes_all_at_once(self._kvstore)
            and _STEP.are_those_of(self)
            and self._amp_loss_scaler is None
            and not self._contains_sparse_weight
            and not self._contains_sparse_grad
        )

    def _step_on_store(self, ignore_stale_grad: bool) -> None:
        learned = self._learned()
        if not ignore_stale_grad:
            for _, each in learned:
                self._check_fresh(each, arrays_of(each))
        arrays = [arrays_of(each) for _, each in learned]
        gradients = [gradients_of(each) for _, each in learned]
        with RecordingScope(False, None):
            self._on_store("_step", [i for i, _ in learned], gradients, arrays)
        flush("Trainer.step")

    def allreduce_grads(self) -> None:
        """Sum the gradients over the contexts of every parameter; then :meth:`update`.

        Raises:
            CheckError: the store updates the parameters.
        """
        self._prepare()
        if self._kvstore and self._update_on_kvstore:
            raise CheckError(
                "allreduce_grads() when parameters are updated on kvstore is not supported. Try setting "
                "`update_on_kvstore` to False when creating trainer."
            )
        self._allreduce_grads()

    def update(self, batch_size: int, ignore_stale_grad: bool = False) -> None:
        """Update all parameters in one recorded step.

        Args:
            batch_size: gradients are divided by it.
            ignore_stale_grad: as for :meth:`step`.

        Raises:
            CheckError: the store updates the parameters.
            UserWarning: as for :meth:`step`.
        """
        self._prepare()
        if self._kvstore and self._update_on_kvstore:
            raise CheckError(
                "update() when parameters are updated on kvstore is not supported. Try setting "
                "`update_on_kvstore` to False when creating trainer."
            )
        self._check_and_rescale_grad(self._per_sample(batch_size))
        self._update(ignore_stale_grad)
        flush("Trainer.step")

    def _per_sample(self, batch_size: int) -> float:
        """The rescaling factor of gradients that were summed over this many samples."""
        try:
            return self._scale / batch_size
        except (TypeError, ZeroDivisionError):
            kind = ZeroError if batch_size == 0 else AttributeTypeError
            raise kind(
                f"batch_size={batch_size!r}: gradients are divided by the number of samples of the "
                f"batch; give step(data.shape[0])."
            ) from None

    def _check_and_rescale_grad(self, scale: float) -> None:
        is_fixed = self._update_on_kvstore and self._distributed and self._kv_initialized
        if is_fixed and self._optimizer.rescale_grad != scale:
            raise UserWarning(
                "Possible change in the `batch_size` from previous `step` detected. Optimizer "
                "gradient normalizing factor will not change w.r.t new batch_size when "
                "update_on_kvstore=True and when distributed kvstore is used. It is "
                f"{self._optimizer.rescale_grad:g}, and this step would have {scale:g}: give all steps "
                "the same batch_size. If row_sparse parameters are read before the first step, give the "
                "optimizer rescale_grad=1 / batch_size, and call step(1). Dense parameters can be updated "
                "with update_on_kvstore=False."
            )
        self._optimizer.rescale_grad = scale

    def _learned(self) -> list[tuple[int, Parameter]]:
        return [(i, each) for i, each in enumerate(self._params) if each.grad_req != "null"]

    def _allreduce_grads(self) -> None:
        if self._kvstore is None:
            return
        learned = self._learned()
        keys = [i for i, _ in learned]
        gradients = [gradients_of(each) for _, each in learned]
        with RecordingScope(False, None):
            if self._update_on_kvstore:
                self._push_pull(dict(learned), gradients)
            else:
                self._on_store("pushpull", keys, gradients)

    def _push_pull(self, learned: Mapping[int, Parameter], gradients: list[list[Any]]) -> None:
        """Push all gradients, and pull the dense parameters, which the store has updated."""
        if self._amp_loss_scaler is not None:
            gradients = [self._amp_loss_scaler.unscaled(each) for each in gradients]
        pushed = dict(zip(learned, gradients, strict=True))
        dense = {i: each for i, each in learned.items() if each._stype == "default"}
        both = [i for i, each in dense.items() if each._grad_stype == "default"]
        arrays = {i: arrays_of(each) for i, each in dense.items()}
        self._on_store("pushpull", both, [pushed[i] for i in both], [arrays[i] for i in both])
        alone = [
            i for i, each in learned.items() if i not in dense or each._grad_stype != "default"
        ]
        self._on_store("push", alone, [pushed[i] for i in alone])
        rest = [i for i in alone if i in dense]
        self._on_store("pull", rest, [arrays[i] for i in rest])

    def _update(self, ignore_stale_grad: bool = False) -> None:
        update_all(self._updaters, partial(self._update_devices, ignore_stale_grad))

    def _update_devices(self, ignore_stale_grad: bool) -> None:
        if self._kvstore is not None and self._update_on_kvstore:
            return  # the store has updated them
        unrecorded(partial(self._update_arrays, learned_arrays(self._params), ignore_stale_grad))

    def _update_arrays(
        self, learned: list[tuple[int, Parameter, list[NDArray]]], ignore_stale_grad: bool
    ) -> None:
        """Update parameters, given with their numbers and arrays; marks their gradients as used."""
        # For each context: numbers, gradients and arrays.
        updates: list[tuple[list[int], list[Any], list[Any]]] = []
        for _ in self._updaters:
            updates.append(([], [], []))
        marks = []
        for i, each, arrays in learned:
            gradients = each.list_grad() if has_other_gradients(each) else None
            for place, data in enumerate(arrays):
                own = None if gradients is None else gradients[place]
                mark = None if data._link is None else data._link.mark
                if mark is not None:
                    if not mark.fresh:
                        if ignore_stale_grad:
                            continue
                        raise _stale(each, data)
                    marks.append(mark)
                indices, grads, weights = updates[place]
                indices.append(i)
                weights.append(data)
                grads.append(mark.gradient if own is None and mark is not None else own)
        self._call_updaters(updates)
        writes = noted_writes()
        for mark in marks:
            if writes is not None:
                writes.append((mark, "fresh", mark.fresh, False))
            mark.fresh = False

    def _call_updaters(self, updates: list[tuple[list[int], list[Any], list[Any]]]) -> None:
        """Update arrays, given for each context as numbers, gradients and arrays."""
        if self._amp_loss_scaler is not None:
            by_parameter = [list(zip(*each, strict=True)) for each in updates]
            self._amp_loss_scaler.update(self._updaters, by_parameter)
            return
        for updater, (indices, grads, weights) in zip(self._updaters, updates, strict=True):
            if indices:
                call_updater(updater, indices, grads, weights)

    @staticmethod
    def _check_fresh(parameter: Parameter, arrays: list[NDArray]) -> None:
        for data in arrays:
            mark = data._link.mark if data._link is not None else None
            if mark is not None and not mark.fresh:
                raise _stale(parameter, data)

    # ---- states ---------------------------------------------------------------------------------

    def save_states(self, fname: str) -> None:
        """Save the optimizer with its states to a file, in MXNet's format.

        Args:
            fname: path of the file.
        """
        self._prepare()
        if self._update_on_kvstore:
            if self._params_to_init:
                raise CheckError(
                    "Cannot save trainer states when some parameters are not yet initialized in kvstore."
                )
            self._kvstore.save_optimizer_states(fname, dump_optimizer=True)  # type: ignore[union-attr]
        elif self._updaters:
            states = self._updaters[0].get_states(dump_optimizer=True)
            write_whole(fname, states, PathNotFoundError)

    def load_states(self, fname: str) -> None:
        """Load the optimizer with its states from a file written by ``save_states``, here or in MXNet.

        The optimizer of the file replaces this one.

        Args:
            fname: path of the file.

        Raises:
            MissingFileError: there is no such file.
            FileFormatError: it holds no states, or those of other parameters. The trainer is
                unchanged then.
        """
        self._prepare()
        if self._update_on_kvstore:
            self._kvstore.load_optimizer_states(fname)  # type: ignore[union-attr]
            self._optimizer = self._kvstore._updater.optimizer  # type: ignore[union-attr]
        elif self._updaters:
            with states_of(fname) as content:
                self._set_states(content)
        self._optimizer.param_dict = dict(enumerate(self._params))

    def _set_states(self, content: bytes) -> None:
        """Set the states of all updaters, which then share one optimizer."""
        if not all(map(_SET_STATES.are_those_of, self._updaters)):
            for updater in self._updaters:
                updater.set_states(content)
                updater.optimizer = self._updaters[0].optimizer
        else:
            read = [
                updater._read(content, self._weights(i)) for i, updater in enumerate(self._updaters)
            ]
            for updater, (states, _) in zip(self._updaters, read, strict=True):
                updater._take((states, read[0][1]))
        self._optimizer = self._updaters[0].optimizer

    def _weights(self, place: int) -> dict[int, NDArray | None]:
        """Parameters on the context with this index; None if they are not initialized."""
        return {
            i: arrays_of(each)[place] if is_initialized(each) else None
            for i, each in enumerate(self._params)
        }


_STEP = Methods(Trainer, "_allreduce_grads", "_update")
_SET_STATES = Methods(Updater, "set_states")


def _stale(parameter: Parameter, data: NDArray) -> UserWarning:
    return UserWarning(
        f"Gradient of Parameter `{parameter.name}` on context {data.context} has not "
        f"been updated by backward since last `step`. Compute the loss within "
        f"autograd.record() and call its backward() before each step; if the loss leaves "
        f"out some Parameters on purpose, call step with ignore_stale_grad=True."
    )


def _as_parameters(params: object) -> list[Parameter]:
    """Parameters in the order of their indices; those of dicts are sorted by name.

    Raises:
        ValueError: they are not parameters.
    """
    if isinstance(params, (dict, ParameterDict)):
        params = [params[name] for name in sorted(params.keys())]
    if not isinstance(params, (list, tuple)):
        raise AttributeValueError(
            f"First argument must be a list or dict of Parameters, got {type(params)}; of a network "
            f"give net.collect_params()."
        )
    for each in params:
        if not isinstance(each, Parameter):
            raise AttributeValueError(
                f"First argument must be a list or dict of Parameters, got list of {type(each)}."
            )
    return list(params)


def _size(parameter: Parameter) -> int:
    size = 1
    for extent in parameter.shape or ():
        size *= max(extent, 0)
    return size
