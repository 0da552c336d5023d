"""Run examples through the float network and pass layer outputs to a collector."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from mixnet.base import AttributeValueError
from mixnet.context import Context
from mixnet.io.batch import DataBatch
from mixnet.ndarray.ndarray import NDArray
from mixnet.symbol.cached_op import CachedOp
from mixnet.symbol.symbol import Group, Symbol

if TYPE_CHECKING:
    from mixnet.contrib.quantization.collect import LayerOutputCollector


def batches(data: Iterable[Any]) -> Iterator[list[NDArray]]:
    """The arrays of each batch of an iterator or a ``DataLoader``; labels come last, if there are any.

    Raises:
        AttributeValueError: ``data`` cannot be iterated over, or has something else than batches.
    """
    if not isinstance(data, Iterable):
        raise AttributeValueError(
            f"calib_data must be an iterator or a DataLoader of examples, not {data!r:.60}."
        )
    if hasattr(data, "reset"):
        data.reset()
    for batch in data:
        if isinstance(batch, DataBatch):
            yield list(batch.data or [])
        elif isinstance(batch, NDArray):
            yield [batch]
        elif isinstance(batch, list | tuple) and all(isinstance(x, NDArray) for x in batch):
            yield list(batch)
        else:
            raise AttributeValueError(
                f"calib_data: a batch must be a DataBatch, an NDArray or a list of NDArrays, not "
                f"{batch!r:.60}."
            )


def measure(
    floats: Symbol,
    names: Sequence[str],
    arrays: Mapping[str, NDArray],
    data: Iterable[Any],
    measured: Collection[str],
    collector: LayerOutputCollector,
    context: Context,
    most: int | None = None,
) -> int:
    """Let a collector see outputs.

    Args:
        floats: the float network.
        names: of its inputs, in the order in which batches have them.
        arrays: parameters and states by name.
        data: gives batches.
        measured: names of the outputs.
        collector: has ``collect(name, array)``.
        context: device.
        most: how many examples at most.

    Returns:
        How many examples went through.

    Raises:
        AttributeValueError: there are no examples, or a batch has too few arrays.
    """
    inside = floats.get_internals()
    known = [name for name in inside.list_outputs() if name in set(measured)]
    outputs = [name for name in known if name not in names]
    run = CachedOp(Group([inside[name] for name in outputs])) if outputs else None
    parameters = {name: each.as_in_context(context) for name, each in arrays.items()}
    count = 0
    for batch in batches(data):
        if len(batch) < len(names):
            raise AttributeValueError(
                f"calib_data: a batch has {len(batch)} arrays, but the network takes {', '.join(names)}."
            )
        inputs = {n: x.as_in_context(context) for n, x in zip(names, batch, strict=False)}
        for name in names:
            if name in known:
                collector.collect(name, inputs[name])
        if run is not None:
            results = run(*[{**parameters, **inputs}[name] for name in run.handle.list_inputs()])
            for name, each in zip(outputs, results if len(outputs) > 1 else [results], strict=True):
                collector.collect(name, each)
        count += batch[0].shape[0]
        if most is not None and count >= most:
            break
    if not count:
        raise AttributeValueError(
            "calib_data contains no examples; give an iterator or DataLoader with some."
        )
    return count
