"""The backend ``OpenVINO``: Intel's library, on CPUs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from mixnet.base import MXNetError
from mixnet.onnx.backend import ONNXBackend, Run, allowed_cores
from mixnet.onnx.package import onnx_package
from mixnet.runtime.value.value import aligned_empty
from mixnet.symbol.symbol import Symbol

_WITHOUT_IT = "Use backend='ONNXRuntime', or 'XLA'."


def openvino_package() -> Any:
    """The package ``openvino``.

    Raises:
        MXNetError: it is not installed; says how to install it.
    """
    try:
        import openvino
    except ImportError as error:
        raise MXNetError(
            f"The backend OpenVINO needs the package openvino, which is not installed ({error}). "
            f"Install it with pip install 'mixnet[openvino]'."
        ) from None
    return openvino


class _Writable:
    """A writable view of an array, for a library that takes no other and only reads.

    Args:
        data: may be read-only, as arrays of JAX are.
    """

    __slots__ = ("__array_interface__", "_data")

    def __init__(self, data: np.ndarray):
        self._data = data  # keeps the memory
        interface = data.__array_interface__
        self.__array_interface__ = {**interface, "data": (interface["data"][0], False)}


class _Runner:
    """Computes a compiled model, each call with a request that no other call has.

    Inputs are read where they lie, and outputs are written into new arrays, which JAX uses without a
    copy: nothing is copied on the way. A request does not own the memory of its last call.
    """

    def __init__(self, compiled: Any, names: Sequence[str], tensor: Any):
        self._compiled, self._tensor = compiled, tensor
        position = {name: i for i, each in enumerate(compiled.inputs) for name in each.names}
        self._places = [(position[n], i) for i, n in enumerate(names) if n in position]
        self._outputs = [
            (tuple(each.shape), each.element_type.to_dtype()) for each in compiled.outputs
        ]
        self._free: list[Any] = []

    def __call__(self, *values: np.ndarray) -> list[np.ndarray]:
        try:
            request = self._free.pop()
        except IndexError:  # the first call, or one beside another
            request = self._compiled.create_infer_request()
        tensor = self._tensor
        arrays = [np.ascontiguousarray(values[i]) for _, i in self._places]
        for (place, _), each in zip(self._places, arrays, strict=True):
            shared = tensor(np.asarray(_Writable(each)), shared_memory=True)
            request.set_input_tensor(place, shared)
        results = [aligned_empty(shape, dtype) for shape, dtype in self._outputs]
        for place, each in enumerate(results):
            request.set_output_tensor(place, tensor(each, shared_memory=True))
        request.infer(share_outputs=True)  # else it returns copies as well
        self._free.append(request)
        return results


class OpenVINO(ONNXBackend):
    """A backend that computes all operators with an equivalent in ONNX by OpenVINO.

    Options: ``threads``, how many it uses, by default one for each core that the process may use;
    ``precision``, what it computes float32 in: ``f32``, the default, or ``bf16`` or ``f16``, which some
    processors compute faster.
    """

    def optimize(
        self, symbol: Symbol, arrays: Mapping[str, Any], options: dict[str, Any]
    ) -> Symbol:
        """The symbol with subgraphs replaced by OpenVINO.

        Raises:
            MXNetError: a required package is not installed.
        """
        openvino_package()
        return super().optimize(symbol, arrays, options)

    def runner(self, model: Any, names: Sequence[str], options: dict[str, Any]) -> Run:
        """A compiled model.

        Raises:
            MXNetError: OpenVINO lacks one of its operators, or would compute it less precisely.
        """
        openvino = openvino_package()
        self._check_precision(model)
        settings = {
            "PERFORMANCE_HINT": "LATENCY",
            "NUM_STREAMS": 1,
            "INFERENCE_NUM_THREADS": int(options.get("threads", allowed_cores())),
            "INFERENCE_PRECISION_HINT": options.get("precision", "f32"),
        }
        core = openvino.Core()
        try:
            compiled = core.compile_model(
                core.read_model(model.SerializeToString()), "CPU", settings
            )
            return _Runner(compiled, names, openvino.Tensor)  # fails if it infers no static shapes
        except RuntimeError as error:
            lines = [line for line in str(error).splitlines() if line.strip()]
            reason = next((line for line in lines if "No conversion rule" in line), lines[-1])
            raise MXNetError(
                f"OpenVINO cannot compile {model.graph.name!r}: {reason.strip(' -')}. {_WITHOUT_IT}"
            ) from None

    @staticmethod
    def _check_precision(model: Any) -> None:
        """OpenVINO computes float64 in float32 on CPUs, and says nothing.

        Raises:
            MXNetError: a model has an input, parameter or result of float64.
        """
        double = onnx_package().TensorProto.DOUBLE
        graph = model.graph
        kinds = {
            each.name: each.type.tensor_type.elem_type for each in (*graph.input, *graph.output)
        }
        kinds.update({each.name: each.data_type for each in graph.initializer})
        for name, kind in kinds.items():
            if kind == double:
                raise MXNetError(
                    f"{name!r} is float64, which OpenVINO computes in float32 on CPUs. {_WITHOUT_IT} "
                    f"Or cast the network: net.cast('float32')."
                )
