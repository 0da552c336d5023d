"""A batch over several devices: one executor per device computes its slice."""

from __future__ import annotations

import logging
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from mixnet import context as ctx
from mixnet import ndarray as nd
from mixnet.base import AttributeValueError, CheckError, MXNetError, UnknownNameError
from mixnet.io import DataDesc
from mixnet.legacy.executor_manager import _split_input_slice
from mixnet.module.descriptions import PARAMETER_ENDINGS
from mixnet.module.order import require
from mixnet.ndarray.indexing import rows_at_once
from mixnet.ndarray.ndarray import NDArray
from mixnet.passes.infer_shape import is_known

if TYPE_CHECKING:
    from types import ModuleType

    from mixnet.context import Context
    from mixnet.io.batch import DataBatch
    from mixnet.symbol.symbol import Symbol

Slices = list[slice]


def _place(source: NDArray, target: NDArray, axis: int, part: slice) -> None:
    """Copy a slice of a batch into the array of an executor; the whole batch is not copied."""
    if axis >= 0 and (part.start != 0 or part.stop != source.shape[axis]):
        source = _cut(source, axis, part, target.context)
    source.copyto(target)


def _cut(array: NDArray, axis: int, part: slice, context: Context) -> NDArray:
    """A slice of a batch, already on a context where that needs no operations."""
    if axis == 0:
        rows = rows_at_once(array, part.start, part.stop, context)
        return array[part] if rows is None else rows
    cut: NDArray = nd.slice_axis(array, axis=axis, begin=part.start, end=part.stop)
    return cut


def _load(sources: Sequence[Any], targets: Sequence[Any], axes: Sequence[int]) -> None:
    """Copy arrays, or lists of already sliced arrays, to the executors."""
    for source, parts, axis in zip(sources, targets, axes, strict=False):
        if isinstance(source, (list, tuple)):
            for each, (_, target) in zip(source, parts, strict=False):
                each.copyto(target)
        else:
            for part, target in parts:
                _place(source, target, axis, part)


def _merge(outputs: Sequence[Sequence[NDArray]], axes: Sequence[int]) -> list[NDArray]:
    """The parts of every output as one array on the first device."""
    merged = []
    for parts, axis in zip(outputs, axes, strict=True):
        if axis < 0 or len(parts) == 1:  # without a batch axis all devices have the same
            merged.append(parts[0])
        else:
            moved = [each.as_in_context(parts[0].context) for each in parts]
            merged.append(nd.concat(*moved, dim=axis))
    return merged


# Custom groups import these by MXNet's names.
_load_general = _load
_merge_multi_context = _merge


def _load_data(batch: Any, targets: Sequence[Any], major_axis: Sequence[int]) -> None:
    """Copy the data of a batch to the executors, sliced along each array's batch axis."""
    _load(batch.data, targets, major_axis)


def _load_label(batch: Any, targets: Sequence[Any], major_axis: Sequence[int]) -> None:
    """Copy the labels of a batch to the executors, sliced along each array's batch axis."""
    _load(batch.label, targets, major_axis)


Groups = Mapping[str, Any] | Sequence[Mapping[str, Any]] | None
"""Devices of groups of nodes by name, each one or one for each device of the module; or a dict for each."""


class DataParallelExecutorGroup:
    """Executors of one symbol on several devices, which train and predict together.

    Args:
        symbol: the network.
        contexts: the devices.
        workload: relative share of the batch for each device.
        data_shapes: descriptions of the data: ``DataDesc``, or pairs of name and shape.
        label_shapes: descriptions of the labels, or None.
        param_names: arguments that are parameters.
        for_training: whether gradients are computed.
        inputs_need_grad: whether gradients of the data are computed.
        shared_group: a group whose parameters this one shares.
        logger: for messages.
        fixed_param_names: parameters without gradients.
        grad_req: ``write``, ``add`` or ``null``: for all, a list by argument or a dict by name.
        state_names: inputs whose values persist from batch to batch.
        group2ctxs: for every device, the devices of groups of nodes.
    """

    def __init__(
        self,
        symbol: Symbol,
        contexts: Sequence[Any],
        workload: Sequence[float],
        data_shapes: Sequence[Any],
        label_shapes: Sequence[Any] | None,
        param_names: Sequence[str],
        for_training: bool,
        inputs_need_grad: bool,
        shared_group: DataParallelExecutorGroup | None = None,
        logger: logging.Logger | ModuleType = logging,
        fixed_param_names: Sequence[str] | None = None,
        grad_req: str | Sequence[str] | Mapping[str, str] = "write",
        state_names: Sequence[str] | None = None,
        group2ctxs: Groups = None,
    ):
        self.param_names = list(param_names)
        self.arg_names = symbol.list_arguments()
        self.aux_names = symbol.list_auxiliary_states()
        self.symbol = symbol
        self.contexts = list(contexts)
        self.workload = workload
        self.group2ctxs = _groups_of_devices(group2ctxs, len(self.contexts))
        self.for_training = for_training
        self.inputs_need_grad = inputs_need_grad
        self.logger = logger
        self.fixed_param_names = list(fixed_param_names or [])
        self.state_names = list(state_names or [])
        self.grad_req = self._requests(grad_req, [_name(each) for each in data_shapes])
        self.shared_data_arrays: list[dict[str, NDArray]] = (
            [{} for _ in self.contexts] if shared_group is None else shared_group.shared_data_arrays
        )
        self.output_names = symbol.list_outputs()
        self.output_layouts = [
            DataDesc.get_batch_axis(symbol[name].attr("__layout__")) for name in self.output_names
        ]
        self.num_outputs = len(self.output_names)
        self.batch_size: int | None = None
        self.slices: Slices = []
        self.execs: list[Any] = []
        self.data_names: list[str] = []
        self.label_names: list[str] = []
        self.data_layouts: list[int] = []
        self.label_layouts: list[int] = []
        self._by_shapes: dict[Any, list[Any]] = {}
        self._monitors: list[Any] = []
        self._total_exec_bytes = 0
        missing = set(self.param_names) - set(shared_group.param_names if shared_group else ())
        if shared_group is not None and missing:
            raise MXNetError(
                f"The module whose parameters are shared has no {', '.join(sorted(missing))}. A "
                f"BucketingModule needs all parameters in the network of its default bucket."
            )
        self.bind_exec(data_shapes, label_shapes, shared_group)

    def _requests(self, grad_req: object, data_names: Sequence[str]) -> dict[str, str]:
        if not self.for_training:
            return dict.fromkeys(self.arg_names, "null")
        if isinstance(grad_req, (list, tuple)):
            if len(grad_req) != len(self.arg_names):
                raise CheckError(
                    f"grad_req has {len(grad_req)} entries for the {len(self.arg_names)} arguments "
                    f"{', '.join(self.arg_names)}; give one for each, in this order."
                )
            return dict(zip(self.arg_names, grad_req, strict=True))
        if not isinstance(grad_req, (str, Mapping)):
            raise AttributeValueError(
                f"grad_req must be one of str, list, tuple, or dict, not {type(grad_req).__name__}."
            )
        usual = grad_req if isinstance(grad_req, str) else "write"
        requests = {}
        for name in self.arg_names:
            if name in self.param_names:
                requests[name] = "null" if name in self.fixed_param_names else usual
            else:
                requests[name] = usual if name in data_names and self.inputs_need_grad else "null"
        return requests if isinstance(grad_req, str) else {**requests, **grad_req}

    # ---- binding --------------------------------------------------------------------------------

    def decide_slices(self, data_shapes: Sequence[Any]) -> list[int]:
        """Batch axes of arrays; sets ``batch_size`` and the ``slices`` of the devices.

        Raises:
            AssertionError: the batch sizes differ.
            ValueError: a device would get no samples.
        """
        if not data_shapes:
            raise CheckError("bind: data_shapes is empty; give the name and shape of the data.")
        axes = [DataDesc.get_batch_axis(getattr(each, "layout", None)) for each in data_shapes]
        for (name, shape), axis in zip(data_shapes, axes, strict=True):
            if axis < 0:
                continue
            size = shape[axis]
            if self.batch_size is not None and size != self.batch_size:
                raise CheckError(
                    f"all data must have the same batch size: batch_size = {self.batch_size}, but "
                    f"{name} has shape {shape}"
                )
            if self.batch_size is None:
                self.batch_size = size
                self.slices = _split_input_slice(size, self.workload)
        return axes

    def bind_exec(
        self,
        data_shapes: Sequence[Any],
        label_shapes: Sequence[Any] | None,
        shared_group: DataParallelExecutorGroup | None = None,
        reshape: bool = False,
    ) -> None:
        """Create the executors.

        Args:
            data_shapes: descriptions of the data.
            label_shapes: descriptions of the labels, or None.
            shared_group: a group whose parameters the executors share.
            reshape: keep the parameters of the existing executors.
        """
        self.batch_size = None
        self.data_layouts = self.decide_slices(data_shapes)
        self.label_layouts = [] if label_shapes is None else self.decide_slices(label_shapes)
        # Batches of several shapes come again and again: each keeps its executors.
        key = (_key(data_shapes), _key(label_shapes or ()))
        if key not in self._by_shapes:
            self._by_shapes[key] = [
                self._bind_ith_exec(i, data_shapes, label_shapes, shared_group, reshape)
                for i in range(len(self.contexts))
            ]
        before, self.execs = self.execs, self._by_shapes[key]
        for mon in self._monitors:
            _watch_instead(mon, before, self.execs)
        self.data_shapes = data_shapes
        self.label_shapes = label_shapes
        self.data_names = [_name(each) for each in data_shapes]
        if label_shapes is not None:
            self.label_names = [_name(each) for each in label_shapes]
        self._collect_arrays()

    def reshape(self, data_shapes: Sequence[Any], label_shapes: Sequence[Any] | None) -> None:
        """Switch to batches of other shapes; parameters stay the same."""
        if data_shapes == self.data_shapes and label_shapes == self.label_shapes:
            return
        self.bind_exec(data_shapes, label_shapes, reshape=True)

    def _sliced_shape(self, shapes: Sequence[Any], i: int, axes: Sequence[int]) -> list[DataDesc]:
        sliced = []
        for each, axis in zip(shapes, axes, strict=True):
            shape = list(each[1])
            if axis >= 0:
                shape[axis] = self.slices[i].stop - self.slices[i].start
            described = each if isinstance(each, DataDesc) else DataDesc(*each)
            sliced.append(DataDesc(described.name, tuple(shape), described.dtype, described.layout))
        return sliced

    def _bind_ith_exec(
        self,
        i: int,
        data_shapes: Sequence[Any],
        label_shapes: Sequence[Any] | None,
        shared_group: DataParallelExecutorGroup | None,
        reshape: bool,
    ) -> Any:
        inputs = self._sliced_shape(data_shapes, i, self.data_layouts)
        if label_shapes is not None:
            inputs += self._sliced_shape(label_shapes, i, self.label_layouts)
        shapes = {each.name: each.shape for each in inputs}
        if reshape:
            # Labels that are not given follow the batch; a parameter of another shape is an error.
            partial, _, _ = self.symbol._inferred_shapes((), shapes)[0]
            for name, shape in zip(self.arg_names, partial, strict=True):
                if name not in self.param_names and is_known(shape) and shape:
                    shapes.setdefault(name, shape)
            return self.execs[i].reshape(allow_up_sizing=True, **shapes)
        return self.symbol.simple_bind(
            ctx=self.contexts[i],
            grad_req=self.grad_req,
            type_dict={each.name: each.dtype for each in inputs},
            shared_arg_names=self.param_names,
            shared_exec=None if shared_group is None else shared_group.execs[i],
            shared_buffer=self.shared_data_arrays[i],
            group2ctx=self.group2ctxs[i],
            **shapes,
        )

    def _collect_arrays(self) -> None:
        def arrays(names: Sequence[str]) -> list[list[NDArray]]:
            for name in names:
                if name not in self.execs[0].arg_dict:
                    inputs = [n for n in self.arg_names if not n.endswith(PARAMETER_ENDINGS)]
                    raise UnknownNameError(
                        f"The symbol has no input {name!r}, which data_shapes or label_shapes "
                        f"describe; it has {', '.join(inputs)}. Name those in the iterator, and in "
                        f"Module(data_names=..., label_names=...)."
                    )
            return [[each.arg_dict[name] for each in self.execs] for name in names]

        def gradients(names: Sequence[str]) -> list[list[Any]]:  # None where there is no gradient
            return [[each.grad_dict[name] for each in self.execs] for name in names]

        def sliced(names: Sequence[str]) -> list[list[tuple[slice, NDArray]]]:
            return [list(zip(self.slices, parts, strict=True)) for parts in arrays(names)]

        trained = [name for name in self.arg_names if name in self.param_names]
        self.data_arrays = sliced(self.data_names)
        self.state_arrays = arrays(self.state_names)
        self.label_arrays = None if self.label_shapes is None else sliced(self.label_names)
        self.param_arrays = arrays(trained)
        self.grad_arrays = gradients(trained) if self.for_training else None
        needs_gradients = self.inputs_need_grad and self.for_training
        self.input_grad_arrays = gradients(self.data_names) if needs_gradients else None
        self.aux_arrays = [[each.aux_dict[name] for each in self.execs] for name in self.aux_names]

    # ---- parameters -----------------------------------------------------------------------------

    def set_params(
        self,
        arg_params: Mapping[str, NDArray],
        aux_params: Mapping[str, NDArray] | None,
        allow_extra: bool = False,
    ) -> None:
        """Copy parameters and states to all devices.

        Raises:
            ValueError: a name is unknown to the network, unless ``allow_extra``.
        """
        for executor in self.execs:
            for source, targets, kind in (
                (arg_params, executor.arg_dict, "arguments"),
                (aux_params or {}, executor.aux_dict, "auxiliary states"),
            ):
                for name, array in source.items():
                    if name in targets:
                        array.copyto(targets[name])
                    elif not allow_extra:
                        raise AttributeValueError(
                            f'Find name "{name}" that is not in the {kind}. Pass allow_extra=True to '
                            f"leave it out."
                        )

    def get_params(
        self, arg_params: Mapping[str, NDArray], aux_params: Mapping[str, NDArray]
    ) -> None:
        """Copy parameters and states, averaged over the devices, into these arrays."""
        names = [name for name in self.arg_names if name in self.param_names]
        for target, parts in [
            *((arg_params[n], a) for n, a in zip(names, self.param_arrays, strict=True)),
            *((aux_params[n], a) for n, a in zip(self.aux_names, self.aux_arrays, strict=True)),
        ]:
            mean = parts[0]
            if len(parts) > 1:
                moved = [each.as_in_context(target.context) for each in parts]
                mean = nd.add_n(*moved) / len(parts)
            mean.copyto(target)

    # ---- states ---------------------------------------------------------------------------------

    def get_states(self, merge_multi_context: bool = True) -> list[list[NDArray]]:
        """Arrays of the states; for every state a list per device.

        Raises:
            AssertionError: ``merge_multi_context``.
        """
        if merge_multi_context:
            raise CheckError("get_states: merge_multi_context=True is not supported; pass False.")
        return self.state_arrays

    def set_states(self, states: Sequence[Any] | None = None, value: float | None = None) -> None:
        """Set the states to arrays, for every state a list per device, or to one number.

        Raises:
            AssertionError: neither or both were given.
        """
        if states is not None:
            if value is not None:
                raise CheckError("set_states: states and value exclude each other; give one.")
            for sources, parts in zip(states, self.state_arrays, strict=False):
                for source, target in zip(sources, parts, strict=False):
                    source.copyto(target)
        else:
            if value is None:
                raise CheckError("set_states: give states or value.")
            for parts in self.state_arrays:
                for target in parts:
                    target[:] = value

    # ---- running --------------------------------------------------------------------------------

    def forward(self, data_batch: DataBatch, is_train: bool | None = None) -> None:
        """Compute the outputs for a batch, or for a list of batches, one per device."""
        batches = data_batch if isinstance(data_batch, list) else None
        _load(_inputs(data_batch, "data"), self.data_arrays, self.data_layouts)
        labels = getattr(batches[0] if batches else data_batch, "label", None)
        if self.label_arrays is not None and labels:
            _load(_inputs(data_batch, "label"), self.label_arrays, self.label_layouts)
        training = self.for_training if is_train is None else is_train
        for executor in self.execs:
            executor.forward(is_train=training)

    def backward(self, out_grads: Any = None) -> None:
        """Compute the gradients.

        Args:
            out_grads: gradients of the first outputs for the whole batch; loss heads need none.

        Raises:
            AssertionError: it was not bound for training.
        """
        if not self.for_training:
            raise CheckError("re-bind with for_training=True to run backward.")
        gradients = [] if out_grads is None else out_grads
        gradients = [gradients] if isinstance(gradients, NDArray) else gradients
        for executor, part, context in zip(self.execs, self.slices, self.contexts, strict=True):
            parts = []
            for each, axis in zip(gradients, self.output_layouts, strict=False):
                if axis >= 0 and len(self.execs) > 1:
                    each = _cut(each, axis, part, context)
                parts.append(each.as_in_context(context))
            executor.backward(out_grads=parts or None)

    def get_output_shapes(self) -> list[tuple[str, tuple[int, ...]]]:
        """Names and shapes of the outputs for the whole batch.

        As in MXNet, the batch axis of an output has the batch size, also where its layout only assumes
        that there is such an axis.
        """
        known = {_name(each): tuple(each[1]) for each in self.data_shapes}
        known |= {_name(each): tuple(each[1]) for each in self.label_shapes or ()}
        _, shapes, _ = self.symbol._shapes(**known)
        if shapes is None:
            raise MXNetError(f"The shapes of the outputs cannot be inferred from {known}.")
        batch: tuple[int, ...] = () if self.batch_size is None else (self.batch_size,)
        return [
            (name, shape[:axis] + batch + shape[axis + 1 :] if axis >= 0 and batch else shape)
            for name, shape, axis in zip(
                self.output_names, shapes, self.output_layouts, strict=True
            )
        ]

    def get_outputs(
        self, merge_multi_context: bool = True, begin: int = 0, end: int | None = None
    ) -> list[Any]:
        """Outputs ``begin`` to ``end``; merged over the devices, or a list per device for each."""
        end = self.num_outputs if end is None else end
        outputs = [[each.outputs[i] for each in self.execs] for i in range(begin, end)]
        if not merge_multi_context:
            return outputs
        return _merge(outputs, self.output_layouts[begin:end])

    def get_input_grads(self, merge_multi_context: bool = True) -> list[Any]:
        """Gradients of the data; merged over the devices, or a list per device for each.

        Raises:
            AssertionError: it was not bound with ``inputs_need_grad``.
        """
        require(self, "inputs_need_grad")
        gradients = self.input_grad_arrays
        assert gradients is not None
        return _merge(gradients, self.data_layouts) if merge_multi_context else gradients

    def update_metric(self, eval_metric: Any, labels: Any, pre_sliced: bool = False) -> None:
        """Add the outputs and labels of a batch to a metric.

        Args:
            eval_metric: the metric.
            labels: arrays for the whole batch, or with ``pre_sliced`` a list of them per device.
            pre_sliced: whether labels are sliced per device.
        """
        for i, (executor, part) in enumerate(zip(self.execs, self.slices, strict=True)):
            if pre_sliced:
                device_labels = labels[i]
            elif len(self.execs) == 1:
                device_labels = labels
            else:
                axes = self.label_layouts
                device_labels = [
                    _cut(each, axis, part, each.context) if axis >= 0 else each
                    for each, axis in zip(labels, axes, strict=False)
                ]
            named = OrderedDict(zip(self.label_names, device_labels, strict=False))
            outputs = OrderedDict(zip(self.output_names, executor.outputs, strict=True))
            eval_metric.update_dict(named, outputs)

    def install_monitor(self, mon: Any) -> None:
        """Install a monitor in the executors."""
        self._monitors.append(mon)
        for each in self.execs:
            mon.install(each)


def _watch_instead(mon: Any, before: Sequence[Any], execs: Sequence[Any]) -> None:
    """Let a monitor look at ``execs``, not ``before``: it lists each argument once, with its content now."""
    ids = {id(each) for each in before}
    watched = list(getattr(mon, "exes", ()))
    position = next((i for i, each in enumerate(watched) if id(each) in ids), len(watched))
    others = [each for each in watched if id(each) not in ids]
    mon.exes = others[:position]
    for each in execs:
        mon.install(each)
    mon.exes += others[position:]


def _name(described: Any) -> str:
    name: str = described[0]
    return name


def _key(shapes: Sequence[Any]) -> tuple[Any, ...]:
    return tuple((_name(each), tuple(each[1])) for each in shapes)


def _inputs(data_batch: DataBatch, kind: str) -> list[Any]:
    """``data`` or ``label`` of a batch; of a list of batches, for every array one per device."""
    if isinstance(data_batch, list):
        return [list(parts) for parts in zip(*(getattr(b, kind) for b in data_batch), strict=True)]
    return list(getattr(data_batch, kind))


def _groups_of_devices(group2ctxs: object, count: int) -> list[dict[str, Any]]:
    """For every device, the devices of groups of nodes.

    Raises:
        AssertionError: there are not as many as devices.
    """
    if group2ctxs is None:
        return [{} for _ in range(count)]
    if isinstance(group2ctxs, list):
        if len(group2ctxs) != count:
            raise CheckError(
                f"group2ctxs has {len(group2ctxs)} dicts for {count} contexts; give one for each."
            )
        return [dict(each or {}) for each in group2ctxs]
    if not isinstance(group2ctxs, Mapping):
        raise CheckError(
            f"group2ctxs must be a dict from names to contexts, or a list of such dicts, not "
            f"{type(group2ctxs).__name__}."
        )
    groups: list[dict[str, Any]] = [{} for _ in range(count)]
    for group, devices in group2ctxs.items():
        several = [devices] if isinstance(devices, ctx.Context) else list(devices)
        several = several * count if len(several) == 1 else several
        if len(several) != count:
            raise CheckError(
                f"group2ctxs: group {group!r} has {len(several)} devices for {count} contexts."
            )
        for own_group, device in zip(groups, several, strict=True):
            own_group[group] = device
    return groups


# What `import *` brings: what MXNet's module brings.
__all__ = [
    "DataDesc",
    "DataParallelExecutorGroup",
    "OrderedDict",
    "ctx",
    "logging",
    "nd",
]
