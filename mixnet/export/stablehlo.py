"""A symbol and its parameters as a StableHLO program, which JAX loads and runs without mixnet."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any

import jax
import numpy as np
from jax import export

from mixnet.base import AttributeValueError, DTypeError, MXNetError
from mixnet.export import network
from mixnet.export.network import Network, network_of, refusal, symbol_name
from mixnet.export.stablehlo_file import write_program
from mixnet.graph.graph import Graph
from mixnet.graph.node import Entry, Node
from mixnet.ndarray.create import array
from mixnet.ndarray.params_file import save
from mixnet.ops.tracing.tensor_cores import products_for

PLATFORMS = ("cpu", "cuda", "tpu")
"""For which a program is written by default: all in one file."""
_KNOWN_PLATFORMS = ("cpu", "cuda", "rocm", "tpu")
_PLACES = ("inside", "beside")


def export_stablehlo(
    sym: object,
    params: object,
    in_shapes: object = None,
    in_types: object = np.float32,
    path: str | os.PathLike[str] = "model.stablehlo",
    dynamic: bool = False,
    dynamic_input_shapes: object = None,
    platforms: Sequence[str] = PLATFORMS,
    parameters: str = "inside",
    gradients: bool = True,
    input_names: Sequence[str] | None = None,
) -> tuple[str, ...]:
    """Write a symbol and its parameters as a portable StableHLO program, for prediction.

    ``jax.export.deserialize(bytearray(open(path, "rb").read())).call(x)`` runs it in a process
    that has only JAX; :func:`mixnet.gluon.import_stablehlo` makes a block of it. It returns a
    list of the outputs.

    Args:
        sym: a symbol, or the path of its file.
        params: arrays by name, with or without ``arg:`` and ``aux:`` before it; a list of such
            dicts, or the path of their file.
        in_shapes: shapes of the inputs, in the order of ``sym.list_inputs()`` without parameters and labels.
        in_types: dtypes of the inputs in that order, or one for all.
        path: where the program goes.
        dynamic: leave extents of the inputs to the program's user.
        dynamic_input_shapes: with ``dynamic``: ``in_shapes`` with None, or a name, for an extent that is left
            open; equal names are equal extents. By default all are open.
        platforms: of ``cpu``, ``cuda``, ``rocm``, ``tpu``: where the program can run.
        parameters: ``inside`` of the program; or ``beside`` it, in a safetensors file of the same name: then
            ``call(params, x)`` takes a dict of them first, and an imported block can be trained on.
        gradients: also write the program's gradient, where it has one.
        input_names: the inputs in the order of the arguments above and of the program's; by
            default the symbol's.

    Returns:
        The paths of what was written.

    Raises:
        MXNetError: an operator cannot be exported; names it, its node and the user's line.
        ShapeError: shapes are missing, or do not fit.
        AttributeValueError: an argument has a value that it cannot have.
        FileError: a file cannot be written.
    """
    _check_choices(platforms, parameters)
    net = network_of(
        sym,
        params,
        in_shapes,
        in_types,
        dynamic,
        dynamic_input_shapes,
        "export_stablehlo",
        input_names,
    )
    arrays = _read_arrays(net)
    run = predictor(net.graph, [each.name for each in net.inputs])
    structs = _structs(net)
    with jax.enable_x64(True):
        if parameters == "inside":
            program = _exported(lambda *data: run(arrays, data), structs, platforms)
        else:
            described = {n: jax.ShapeDtypeStruct(a.shape, a.dtype) for n, a in arrays.items()}
            program = _exported(
                lambda params, *data: run(params, data), [described, *structs], platforms
            )
        content = _serialized(program, gradients)
    path = os.fspath(path)
    written = [path]
    if parameters == "beside":
        beside = parameters_beside(path)
        save(beside, {name: array(value, dtype=value.dtype) for name, value in arrays.items()})
        written.append(beside)
    write_program(path, content)
    return tuple(written)


def parameters_beside(path: str | os.PathLike[str]) -> str:
    """Where the parameters of a program lie that does not have them inside."""
    return os.path.splitext(os.fspath(path))[0] + ".safetensors"


def predictor(
    graph: Graph, input_names: Sequence[str]
) -> Callable[[dict[str, Any], Sequence[Any]], list[Any]]:
    """A JAX function ``(parameters by name, arrays of the inputs) -> outputs`` of a graph.

    Args:
        graph: with operators in prediction mode.
        input_names: of the variables that are inputs.

    Raises:
        MXNetError: when it is traced: an operator cannot be exported; names it and its node.
    """
    nodes = [node for node in Graph(graph.heads).nodes if not node.is_variable]

    def run(params: dict[str, Any], data: Sequence[Any]) -> list[Any]:
        arrays = {**params, **dict(zip(input_names, data, strict=True))}
        values: dict[Entry, Any] = {
            Entry(node): arrays[node.name] for node in graph.inputs if node.name in arrays
        }
        for node in nodes:
            for i, value in enumerate(_results(node, values)):
                values[Entry(node, i)] = value
        return [values[entry] for entry in graph.heads]

    return run


def _results(node: Node, values: dict[Entry, Any]) -> Sequence[Any]:
    if node.op.calls_python:
        raise refusal(node, "StableHLO", "it runs Python.")
    if network.draws(node):
        raise refusal(node, "StableHLO", "it draws random numbers; draw them outside.")
    inputs = [values[entry] for entry in network.predicted_inputs(node)]
    # Its function has parameters for labels, whose numbers a prediction does not read.
    inputs += inputs[:1] * len(node.op.labels)
    try:
        with jax.named_scope(node.name.replace("/", "_")):
            return network.as_function(node)(*inputs)
    except Exception as error:
        line = next(iter(str(error).splitlines()), type(error).__name__)
        raise refusal(
            node,
            "StableHLO",
            f"{line.rstrip('.')}. If it needs a dimension that is dynamic, export with that "
            f"dimension fixed.",
        ) from None


def _check_choices(platforms: Sequence[str], parameters: str) -> None:
    if isinstance(platforms, str) or not platforms or not set(platforms) <= set(_KNOWN_PLATFORMS):
        raise AttributeValueError(
            f"platforms={platforms!r} is not a list of some of {', '.join(_KNOWN_PLATFORMS)}."
        )
    if parameters not in _PLACES:
        raise AttributeValueError(f"parameters={parameters!r} is not one of {', '.join(_PLACES)}.")


def _read_arrays(net: Network) -> dict[str, np.ndarray]:
    """The parameters that a prediction reads."""
    names = {node.name for node in network.read_in_prediction(net.graph)}
    return {name: value for name, value in net.params.items() if name in names}


def _structs(net: Network) -> list[jax.ShapeDtypeStruct]:
    """Shapes and dtypes of the inputs, symbols for open extents."""
    scope = export.SymbolicScope()
    structs = []
    for number, each in enumerate(net.inputs):
        extents = [
            extent if isinstance(extent, int) else _symbol(extent, number, axis, scope)
            for axis, extent in enumerate(each.shape)
        ]
        structs.append(jax.ShapeDtypeStruct(tuple(extents), each.dtype))
    return structs


def _symbol(extent: Any, number: int, axis: int, scope: Any) -> Any:
    name = f"input{number}_axis{axis}"
    if isinstance(extent, str):
        name = symbol_name(extent)
    return export.symbolic_shape(name, scope=scope)[0]


def _exported(
    function: Callable[..., Any], structs: Sequence[Any], platforms: Sequence[str]
) -> export.Exported:
    function.__name__ = "network"
    try:
        with products_for("cpu" if list(platforms) == ["cpu"] else "gpu"):
            return export.export(jax.jit(function), platforms=list(platforms))(*structs)
    except MXNetError:
        raise
    except Exception as error:  # what no platform's compiler can be given
        line = next(iter(str(error).splitlines()), type(error).__name__)
        raise MXNetError(
            f"This network cannot be exported as StableHLO for {', '.join(platforms)}: {line} Name fewer "
            f"platforms, or fix the dynamic dimensions."
        ) from None


def _serialized(program: export.Exported, gradients: bool) -> bytes:
    try:
        return bytes(program.serialize(vjp_order=1 if gradients else 0))
    except (ValueError, NotImplementedError, TypeError) as error:
        if not gradients:
            raise DTypeError(f"The program cannot be written: {error}") from None
        # Loops whose number of turns depends on values have no gradient.
        return _serialized(program, False)
