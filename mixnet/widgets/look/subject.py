"""The target of ``mx.look`` in one form: a graph with rows, memory, input values and stages."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from types import FrameType
from typing import Any

import numpy as np

from mixnet.array_like import has_shape
from mixnet.base import AttributeTypeError, MXNetError, UninitializedError
from mixnet.gluon.block import Block, HybridBlock
from mixnet.gluon.loss import Loss, SoftmaxCrossEntropyLoss
from mixnet.gluon.trace import flatten
from mixnet.module.bucketing_module import BucketingModule
from mixnet.module.module import Module
from mixnet.ndarray.create import array
from mixnet.ndarray.ndarray import NDArray
from mixnet.passes.plan_memory import MemoryPlan, plan_memory, with_fewest_reads
from mixnet.process.source import code_of
from mixnet.stages.recording import complete, inputs_by_name
from mixnet.stages.stages import Stages, stages
from mixnet.symbol.symbol import Symbol, load
from mixnet.widgets.graph.network import is_shape
from mixnet.widgets.graph.rows import Pictured
from mixnet.widgets.graph.target import pictured
from mixnet.widgets.look import jax_function, torch_module
from mixnet.widgets.memory.plans import PlanRequest, payload_of

Values = Mapping[str, np.ndarray]


@dataclass
class Subject:
    """What ``mx.look`` shows.

    Args:
        pictured: the rows of its graph.
        target: what the user's lines are of: a block or a function, None where there is none of the user's.
        values: an array for each input of the graph, by name, None where one of them is not known.
        absent: names of the inputs of a symbol that have no array.
        rerun: of a block, the same for another batch, with its parameters as they are then.
        memory: makes the payload of its memory plans, None where shapes are not known.
        staged: makes all stages of what runs, None where the compiler is asked for the graph as it is.
        runs: why nobody is asked what runs, empty where the compiler is.
        idle: why there are no values, empty where that is not known better than by ``absent``.
        notes: what a reader should know.
    """

    pictured: Pictured
    target: Any = None
    values: Values | None = None
    absent: Sequence[str] = ()
    rerun: Callable[[Sequence[Any]], Values | None] | None = None
    memory: Callable[[], dict[str, Any]] | None = None
    staged: Callable[[], Stages] | None = None
    runs: str = ""
    idle: str = ""
    notes: list[str] = field(default_factory=list)


def subject_of(
    target: object, inputs: Sequence[Any], train: bool | None, loss: object, named: Mapping[str, Any],
    boundary: FrameType,
) -> Subject:  # fmt: skip
    """The subject of any target; see :class:`mixnet.widgets.look.view.Look`.

    Raises:
        AttributeTypeError: it has a type that is not accepted, or does not take these inputs.
        MissingFileError, FileFormatError: a path names no file, or none that can be read.
    """
    if isinstance(target, (str, os.PathLike, Symbol, HybridBlock, Module, BucketingModule)):
        inputs = [_of_numpy(each) for each in inputs]
        named = {name: _of_numpy(each) for name, each in named.items()}
    if isinstance(target, (str, os.PathLike)):
        return _of_file(os.fspath(target), inputs, bool(train), named, boundary)
    if isinstance(target, Symbol):
        return _of_symbol(target, inputs, bool(train), named, boundary, {})
    if isinstance(target, HybridBlock):
        return _of_block(target, inputs, train, loss, named, boundary)
    if isinstance(target, (Module, BucketingModule)):
        return _of_module(target, inputs, bool(train), named, boundary)
    if isinstance(target, Block):
        return _of_plain_block(target, inputs, train, loss, named, boundary)
    if torch_module.is_module(target):
        return _of_torch(target, inputs, train, loss, named)
    if not callable(target):
        raise AttributeTypeError(
            f"look: {type(target).__name__} is not a network. Pass a HybridBlock and its "
            "arrays, a Symbol with "
            f"arrays or shapes by name, a Module that is bound, a torch module and its tensors, "
            f"a function of NDArrays or of JAX arrays and its arrays, or the path of "
            f"a symbol (.json) or ONNX (.onnx) file."
        )
    arrays = [each for each in inputs if isinstance(each, NDArray)]
    if not arrays and inputs:
        return _of_jax(target, inputs, named)
    return _of_function(target, inputs, bool(train), named, boundary, loss)


def _of_numpy(value: object) -> Any:
    """An array of NumPy as an NDArray; anything else as it is."""
    return array(value, dtype=value.dtype) if type(value) is np.ndarray else value


# ---- files and symbols ----------------------------------------------------------------------------


def _of_file(
    path: str, inputs: Sequence[Any], train: bool, named: Mapping[str, Any], boundary: FrameType
) -> Subject:
    ending = os.path.splitext(path)[1].lower()
    if ending == ".json":
        subject = _of_symbol(load(path), inputs, train, named, boundary, {})
        subject.pictured.title = os.path.basename(path)
        return subject
    if ending != ".onnx":
        raise AttributeTypeError(
            f"look: {path!r} ends in {ending or 'nothing'}; expected .json (a symbol) or .onnx."
        )
    from mixnet.onnx.load.import_model import load_model  # 50 ms that other targets need not wait

    shapes = {name: tuple(each.shape if has_shape(each) else each) for name, each in named.items()}
    symbol, arguments, states, names, _ = load_model(path, shapes)
    parameters = {**arguments, **states}
    by_name = dict(zip(names, inputs, strict=False)) | dict(named)
    missing = [name for name in names if name not in by_name]
    subject = _of_symbol(symbol, (), train, by_name, boundary, parameters)
    _run_on_examples(subject, missing, {**parameters, **_arrays(by_name)}, "the file's shape")
    subject.pictured.title = os.path.basename(path)
    return subject


def _run_on_examples(
    subject: Subject, missing: Sequence[str], arrays: Mapping[str, NDArray], of: str
) -> None:
    """Values for inputs that only have a shape, if nothing else is missing."""
    if not missing or subject.absent != missing:
        return
    examples = _examples(subject.pictured, missing)
    subject.values = _values(subject.pictured, {**arrays, **examples})
    subject.notes.append(
        f"{', '.join(missing)}: random numbers in {of}; pass {missing[0]}=array for your own."
    )


def _of_module(
    module: Module | BucketingModule, inputs: Sequence[Any], train: bool, named: Mapping[str, Any],
    boundary: FrameType,
) -> Subject:  # fmt: skip
    """The symbol of a module with its parameters, and the shapes that it is bound to."""
    bound = [*module.data_shapes, *(module.label_shapes or ())] if module.binded else []
    if isinstance(module, Module):
        names = [*module.data_names, *module.label_names]
    else:  # each bucket has names of its own
        names = [each.name for each in bound] or list(module.data_names)
    by_name = dict(zip(names, inputs, strict=False)) | dict(named)
    arguments, states = module.get_params() if module.params_initialized else ({}, {})
    parameters = {**arguments, **states}
    shapes = {each.name: tuple(each.shape) for each in bound}
    subject = _of_symbol(module.symbol, (), train, {**shapes, **by_name}, boundary, parameters)
    missing = [name for name in subject.absent if name in shapes]
    _run_on_examples(
        subject, missing, {**parameters, **_arrays(by_name)}, "the shapes it is bound to"
    )
    return subject


def _of_symbol(
    symbol: Symbol, inputs: Sequence[Any], train: bool, named: Mapping[str, Any], boundary: FrameType,
    parameters: Mapping[str, NDArray],
) -> Subject:  # fmt: skip
    known = {**parameters, **inputs_by_name("look", inputs, named)}
    picture = pictured(symbol, (), train, None, known, boundary)
    picture.data = picture.data - frozenset(parameters)
    subject = Subject(picture)
    if picture.graph is None or picture.inputs is None:
        subject.notes.append(
            "Some shapes are unknown; memory and time need them. Pass arrays or shapes by name."
        )
        return subject
    arrays = _arrays(known)
    shapes = {name: known[name] for name in symbol.list_arguments() if name in known}
    shapes |= {name: known[name] for name in symbol.list_auxiliary_states() if name in known}
    subject.values, subject.absent = _values(picture, arrays), _absent(picture, arrays)
    subject.memory = lambda: payload_of(
        PlanRequest(symbol, (), train, None, shapes, boundary), False
    )
    subject.staged = lambda: stages(symbol, known, train=train, run=False)
    return subject


def _arrays(known: Mapping[str, Any]) -> dict[str, NDArray]:
    return {name: each for name, each in known.items() if isinstance(each, NDArray)}


def _examples(pictured: Pictured, names: Sequence[str]) -> dict[str, NDArray]:
    """Arrays for inputs that only have a shape: normal random numbers, zeros for integers."""
    assert pictured.graph is not None and pictured.inputs is not None
    examples, random = {}, np.random.default_rng(0)
    for node, (shape, dtype) in zip(pictured.graph.inputs, pictured.inputs, strict=True):
        if node.name in names:
            is_real = np.issubdtype(dtype, np.floating)
            values = random.standard_normal(shape) if is_real else np.zeros(shape)
            examples[node.name] = array(values, dtype=dtype)
    return examples


# ---- blocks ---------------------------------------------------------------------------------------


def _of_block(
    block: HybridBlock, inputs: Sequence[Any], train: bool | None, loss: object,
    named: Mapping[str, Any], boundary: FrameType,
) -> Subject:  # fmt: skip
    loss, notes = _loss_of(block, inputs, loss)
    if train is None:
        train = loss is not None
    picture = pictured(block, inputs, train, loss, named, boundary)
    subject = Subject(picture, block, notes=notes)
    if picture.graph is None or picture.inputs is None:
        return subject
    leaves, _ = flatten(tuple(inputs))
    if any(is_shape(each) for each in inputs) or not all(hasattr(each, "_spec") for each in leaves):
        notes.append("Nothing runs: you passed shapes, not arrays.")
        return subject
    subject.memory = partial(_memory_of_block, picture, block, inputs, train, loss, boundary)
    try:
        complete(block, inputs if loss is None else inputs[:-1])
    except UninitializedError:
        subject.idle = subject.runs = (
            "Nothing runs before the parameters have values: net.initialize()."
        )
        return subject
    except AttributeTypeError as error:  # a recurrent layer that was called without its states
        notes.append(
            f"Only the graph is available: {str(error).rstrip('.')}. A recurrent layer takes "
            "its states too, such as those of begin_state()."
        )
        subject.memory = None
        return subject

    def rerun(inputs: Sequence[Any]) -> Values | None:
        leaves, _ = flatten(tuple(inputs))
        arrays = dict(zip(sorted(picture.data, key=_number), leaves, strict=False))
        for block_ in (block, loss):
            for each in block_.collect_params().values() if isinstance(block_, HybridBlock) else ():
                if each._data is not None:
                    arrays[each.name] = each.data()
        return _values(picture, arrays)

    subject.values, subject.rerun = rerun(inputs), rerun
    subject.staged = lambda: stages(block, *inputs, train=train, loss=loss, run=False)
    return subject


def _memory_of_block(
    picture: Pictured, block: HybridBlock, inputs: Sequence[Any], train: bool, loss: object,
    boundary: FrameType,
) -> dict[str, Any]:  # fmt: skip
    """The memory plans of a block; without recomputation where it takes arrays and no symbols, such
    as a loss that calls ``mx.nd``.
    """
    try:
        request = PlanRequest(block, inputs, train, loss, {}, boundary)
    except MXNetError:
        request = _Planned(picture.title, picture.graph, picture.inputs or (), train)  # type: ignore[assignment]
    return payload_of(request, False)


def _of_plain_block(
    block: Block, inputs: Sequence[Any], train: bool | None, loss: object,
    named: Mapping[str, Any], boundary: FrameType,
) -> Subject:  # fmt: skip
    """A block that cannot be hybridized: what its call records, with the gradients."""
    inputs = [_of_numpy(each) for each in inputs]
    loss, notes = _loss_of(block, inputs, loss)
    subject = _of_function(block, inputs, bool(train), named, boundary, loss)
    subject.notes = notes
    return subject


def _loss_of(block: Block, inputs: Sequence[Any], loss: object) -> tuple[object, list[str]]:
    """The loss, which may follow from the inputs, and what a reader should know of it."""
    if loss is None and len(inputs) == 2 and _takes_one(block):
        note = "The last array is used as class labels; pass loss=... for another loss."
        return SoftmaxCrossEntropyLoss(), [note]
    return loss, []


def _takes_one(block: Block) -> bool:
    """Whether the forward of a block takes one array, so that a second one can only be the label."""
    if isinstance(block, Loss):
        return False
    method = getattr(type(block), "hybrid_forward", HybridBlock.hybrid_forward)
    plain = method is HybridBlock.hybrid_forward
    code = code_of(type(block).forward if plain else method)
    if code is None or (code.co_flags & 0x04 and not _is_container(block)):  # *args
        return False
    parameters = set(block._reg_params)
    names = [n for n in code.co_varnames[1 : code.co_argcount] if n not in parameters]
    return len(names) - (0 if plain else 1) == 1


def _is_container(block: Block) -> bool:
    return type(block).__name__ in ("HybridSequential", "Sequential")


def _number(name: str) -> tuple[str, int]:
    """``data2`` before ``data10``."""
    stem = name.rstrip("0123456789")
    return stem, int(name[len(stem) :] or 0)


# ---- functions ------------------------------------------------------------------------------------


def _of_function(
    function: Callable[..., Any], inputs: Sequence[Any], train: bool, named: Mapping[str, Any],
    boundary: FrameType, loss: object = None,
) -> Subject:  # fmt: skip
    picture = pictured(function, inputs, train, loss, named, boundary)
    subject = Subject(picture, function)
    if picture.error is None:
        subject.staged = lambda: stages(
            function, *inputs, train=train or None, loss=loss, run=False, **named
        )
    graph = picture.graph
    if graph is not None and picture.inputs is not None:
        subject.values = {
            graph.names[node]: NDArray._wrap(leaf).asnumpy()
            for node, leaf in zip(graph.inputs, picture.leaves, strict=True)
            if node in graph.names
        }
        subject.memory = _memory_of(picture)
    return subject


def _of_jax(
    function: Callable[..., Any], inputs: Sequence[Any], named: Mapping[str, Any]
) -> Subject:
    picture, values = jax_function.pictured(function, inputs, named)
    subject = Subject(picture, _as_written(function), values)
    subject.memory = _memory_of(picture)
    return subject


def _memory_of(picture: Pictured) -> Callable[[], dict[str, Any]]:
    """Plans the memory of a picture's graph, when the pane is opened."""
    graph, inputs = picture.graph, picture.inputs
    assert graph is not None and inputs is not None
    return lambda: payload_of(_Planned(picture.title, graph, inputs), False)  # type: ignore[arg-type]


def _as_written(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function that the user wrote, below ``jax.jit``, ``jax.grad`` and ``functools.partial``."""
    while True:
        inner = function.func if isinstance(function, partial) else inspect.unwrap(function)
        if inner is function:
            return function
        function = inner


def _of_torch(
    module: object,
    inputs: Sequence[Any],
    train: bool | None,
    loss: object,
    named: Mapping[str, Any],
) -> Subject:
    if train or loss is not None:
        raise AttributeTypeError(
            "look: for a torch module, only forward is shown, in the module's current mode; omit train= and "
            "loss=, and call module.train() first."
        )
    picture, values = torch_module.pictured(module, inputs, named)
    subject = Subject(picture, torch_module.forward_of(module), values)
    subject.memory = _memory_of(picture)
    subject.runs = (
        "torch runs modules operator by operator, as the engine pane shows; torch.compile is not "
        "used."
    )
    return subject


class _Planned:
    """A graph whose memory is planned as it is: what ``payload_of`` asks of a network."""

    requests: Mapping[str, str] = {}

    def __init__(self, name: str, graph: Any, inputs: Sequence[Any], train: bool = False):
        self.name, self.train = name, train
        self._graph, self._inputs = with_fewest_reads(graph, inputs), inputs

    def plan(
        self, inplace: bool = True, co_share: bool = True, recompute: bool = False
    ) -> MemoryPlan:
        """One of the plans."""
        return plan_memory(self._graph, self._inputs, inplace, co_share)


def _absent(pictured: Pictured, arrays: Mapping[str, NDArray]) -> list[str]:
    """Inputs of a graph that have no array and no value of their own."""
    assert pictured.graph is not None and pictured.inputs is not None
    return [
        node.name
        for node, (_, dtype) in zip(pictured.graph.inputs, pictured.inputs, strict=True)
        if node.name not in arrays and not _is_stream(node.name, dtype) and not _is_ones(node.name)
    ]


def _is_stream(name: str, dtype: object) -> bool:
    return bool(dtype == np.uint32 and name.endswith("key"))


def _is_ones(name: str) -> bool:
    return name.startswith("gradient of output")


def _values(pictured: Pictured, arrays: Mapping[str, NDArray]) -> Values | None:
    """An array for each input of a graph; streams of random numbers start at 0, gradients of
    outputs are ones.
    """
    assert pictured.graph is not None and pictured.inputs is not None
    values_of: dict[str, np.ndarray] = {}
    for node, (shape, dtype) in zip(pictured.graph.inputs, pictured.inputs, strict=True):
        array = arrays.get(node.name)
        if array is not None:
            values_of[node.name] = array.asnumpy()
        elif _is_stream(node.name, dtype):
            values_of[node.name] = np.zeros(shape, dtype)
        elif _is_ones(node.name):
            values_of[node.name] = np.ones(shape, dtype)
        else:
            return None
    return values_of
