"""Recomputation: memory and time of forward and backward in one program, with and without."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np

import mixnet as mx
from mixnet.graph.graph import Graph
from mixnet.graph.node import Entry, Node
from mixnet.ops.registry import find
from mixnet.passes import pipeline
from mixnet.passes.facts import Facts
from mixnet.runtime.compile.lower import lower
from mixnet.runtime.trace.graph_op import GraphOp
from mixnet.symbol.executable import executable_graph
from mixnet.symbol.symbol import Symbol
from tests.benchmarks.timing import interleaved


def perceptron(layers: int = 32) -> tuple[Symbol, dict[str, tuple[int, ...]]]:
    """Dense layers of 128 units, each followed by three activations; batch 4096."""
    x = mx.sym.Variable("data")
    for i in range(layers):
        x = mx.sym.FullyConnected(x, num_hidden=128, name=f"fc{i}")
        for kind in ("softrelu", "tanh", "sigmoid"):
            x = mx.sym.Activation(x, act_type=kind)
    return x, {"data": (4096, 128)}


def residual(blocks: int = 12) -> tuple[Symbol, dict[str, tuple[int, ...]]]:
    """Residual blocks of two convolutions with batch normalization, 16 channels; batch 32."""
    x = mx.sym.Variable("data")
    for i in range(blocks):
        y = x
        for k in range(2):
            y = mx.sym.Convolution(
                y, num_filter=16, kernel=(3, 3), pad=(1, 1), no_bias=True, name=f"conv{i}_{k}"
            )
            y = mx.sym.BatchNorm(y, name=f"bn{i}_{k}", fix_gamma=False)
            y = mx.sym.Activation(y if k == 0 else y + x, act_type="relu")
        x = y
    return x, {"data": (32, 16, 32, 32)}


def program(symbol: Symbol, shapes: dict[str, Any], mode: str | None) -> tuple[Any, list[Any]]:
    """Gradients of the sum of the outputs by all arguments, compiled, and its inputs."""
    arguments, _, states = symbol.infer_shape(**shapes)
    arrays = [np.full(shape, 0.01, np.float32) for shape in (*arguments, *states)]
    op = GraphOp(executable_graph(symbol, True), "net", recompute=mode)
    expected = tuple(range(len(arguments)))
    forward = op.for_backward(expected)
    inputs = [Node(None, name=node.name) for node in op.graph.inputs]
    node = Node(forward, (), (), tuple(Entry(each) for each in inputs), "net")
    head = Entry(Node(find("ones_like"), (), (), (Entry(node),), "head"))
    gradients = forward.backward_node(node, [head], expected)
    assert gradients is not None
    graph = Graph(tuple(Entry(gradients, i) for i in expected), tuple(inputs))
    facts = Facts("cpu", [(each.shape, each.dtype) for each in arrays])
    run = lower(pipeline.run(graph, "segment", facts))
    with jax.enable_x64(True):
        return jax.jit(lambda *operands: run(operands)).lower(*arrays).compile(), arrays


def main() -> None:
    """Print megabytes that XLA allocates beside inputs and outputs, and milliseconds."""
    for name, (symbol, shapes) in {"perceptron": perceptron(), "residual": residual()}.items():
        programs = {
            str(mode): program(symbol, shapes, mode) for mode in (None, "mirror", "sublinear")
        }

        def runner(pair: tuple[Any, list[Any]]) -> Any:
            compiled, arrays = pair
            inputs = [jax.numpy.asarray(each) for each in arrays]
            return lambda: jax.block_until_ready(compiled(*inputs))

        times = interleaved({mode: runner(each) for mode, each in programs.items()}, 8, 2)
        for mode, (compiled, _) in programs.items():
            size = compiled.memory_analysis().temp_size_in_bytes / 2**20
            print(f"recompute: {name:12}{mode:10} {size:8.1f} MB {times[mode] * 1e3:8.1f} ms")


if __name__ == "__main__":
    main()
