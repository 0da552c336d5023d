"""A backend whose parts are ONNX models, which another library computes."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from mixnet.base import MXNetError, NotDefinedError
from mixnet.export.network import draws
from mixnet.graph.node import Node
from mixnet.onnx.export.export_model import DEFAULT_OPSET
from mixnet.onnx.export.file import outside
from mixnet.onnx.export.model import Input, to_model
from mixnet.onnx.export.table import CONVERSIONS, REASONS
from mixnet.symbol.backend import Backend
from mixnet.symbol.symbol import Symbol

Run = Callable[..., list[np.ndarray]]


def allowed_cores() -> int:
    """How many cores this process may use."""
    if not hasattr(os, "sched_getaffinity"):
        return os.cpu_count() or 1
    return len(os.sched_getaffinity(0))


class ONNXBackend(Backend):
    """Computes all operators with an equivalent in ONNX. Derive from it, and define :meth:`runner`."""

    is_thread_safe = True
    gives_new_arrays = True

    def takes(self, node: Node) -> bool:
        """Whether ONNX has the operator; one that draws random numbers to train may predict without."""
        return node.op.name in CONVERSIONS and node.op.name not in REASONS and not draws(node)

    def runner(self, model: object, names: Sequence[str], options: dict[str, Any]) -> Run:
        """The function that computes a model: ``(*arrays) -> list of arrays``.

        Args:
            model: of ONNX, with static shapes. It may lack inputs that its nodes do not read.
            names: of the inputs, in the order of the arrays.
            options: what the user gave.
        """
        raise NotDefinedError(
            f"{type(self).__name__} does not define runner(model, names, options)."
        )

    def compile(
        self, symbol: Symbol, arrays: Mapping[str, np.ndarray], options: dict[str, Any]
    ) -> Run:
        """The function that runs a subgraph; it has a model for each set of shapes and dtypes."""
        names = [name for name in symbol.list_inputs() if name not in arrays]
        runners: dict[Any, Run] = {}

        def call(*values: np.ndarray) -> list[np.ndarray]:
            key = tuple([(each.shape, each.dtype) for each in values])
            run = runners.get(key)
            if run is None:
                inputs = [Input(n, x.shape, x.dtype) for n, x in zip(names, values, strict=True)]
                outputs = [f"result{i}" for i in range(symbol.num_outputs)]
                model, builder = to_model(symbol.graph, inputs, arrays, outputs, DEFAULT_OPSET)
                if outside(builder.constants):
                    raise MXNetError(
                        "The parameters of this part have more than 2 GB, which a model in memory "
                        "cannot hold. Run it without backend=, or export it to ONNX files."
                    )
                run = runners[key] = self.runner(model, names, options)
            return run(*values)

        return call
