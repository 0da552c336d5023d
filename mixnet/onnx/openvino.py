"""The backend ``OpenVINO``: Intel's library, on CPUs."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any
from weakref import ref

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


_SMALL = 2**16
"""Bytes of an array that is copied: that takes less time than to hand its memory over, which calls
code that a prediction has pushed out of the processor's caches.
"""


class _Memory:
    """A writable view of an array's memory, for a library that takes no other and only reads.

    It does not keep the memory.

    Args:
        data: may be read-only, as arrays of JAX are.
    """

    __slots__ = ("__array_interface__",)

    def __init__(self, data: np.ndarray):
        interface = data.__array_interface__
        self.__array_interface__ = {**interface, "data": (interface["data"][0], False)}


class _Input:
    """The input of a request: a copy of a small array, or the memory of a large one.

    Arrays of a program that predicts again and again often lie where the one before lay: the
    request knows that memory already.

    Args:
        request: of OpenVINO.
        place: of the input.
        data: of the first call; later ones are of the same shape and dtype.
        tensor: OpenVINO's class.
    """

    __slots__ = ("_address", "_copy", "_last", "_place", "_request", "_tensor")

    def __init__(self, request: Any, place: int, data: np.ndarray, tensor: Any):
        self._request, self._place, self._tensor = request, place, tensor
        self._address = 0
        self._last: Callable[[], np.ndarray | None] = lambda: None
        self._copy = aligned_empty(data.shape, data.dtype) if data.nbytes <= _SMALL else None
        if self._copy is not None:
            request.set_input_tensor(place, tensor(self._copy, shared_memory=True))

    def set(self, data: np.ndarray) -> None:
        """Read this array in the next call; it must live until that ends."""
        if self._copy is not None:
            self._copy[...] = data
            return
        if self._last() is data:
            return
        self._last = ref(data)
        address = data.__array_interface__["data"][0]
        if address != self._address:
            shared = self._tensor(np.asarray(_Memory(data)), shared_memory=True)
            self._request.set_input_tensor(self._place, shared)
            self._address = address


class _Output:
    """The outputs of a request: small results are copied, large ones written into new arrays, which JAX
    uses without a copy.

    Args:
        request: of OpenVINO.
        place: of the output.
        shape: of the result.
        dtype: of the result.
        tensor: OpenVINO's class.
    """

    __slots__ = ("_copy", "_dtype", "_place", "_request", "_shape", "_tensor")

    def __init__(self, request: Any, place: int, shape: tuple[int, ...], dtype: Any, tensor: Any):
        self._request, self._place, self._tensor = request, place, tensor
        self._shape, self._dtype = shape, dtype
        is_small = math.prod(shape) * np.dtype(dtype).itemsize <= _SMALL
        self._copy = self._written() if is_small else None

    def _written(self) -> np.ndarray:
        memory = aligned_empty(self._shape, self._dtype)
        self._request.set_output_tensor(self._place, self._tensor(memory, shared_memory=True))
        return memory

    def memory(self) -> np.ndarray:
        """The array that the next call writes."""
        return self._written() if self._copy is None else self._copy

    def result(self, memory: np.ndarray) -> np.ndarray:
        """An array that no later call writes to."""
        return memory if self._copy is None else memory.copy()


class _Request:
    """A request of OpenVINO with its inputs and outputs."""

    __slots__ = ("_infer", "_inputs", "_outputs")

    def __init__(self, request: Any, inputs: list[_Input], outputs: list[_Output]):
        self._infer, self._inputs, self._outputs = request.infer, inputs, outputs

    def __call__(self, arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
        for each, data in zip(self._inputs, arrays, strict=True):
            each.set(data)
        memories = [each.memory() for each in self._outputs]
        self._infer(share_outputs=True)  # else it returns copies as well
        return [out.result(each) for out, each in zip(self._outputs, memories, strict=True)]


class _Runner:
    """Computes a compiled model, each call with a request that no other call has."""

    def __init__(self, compiled: Any, names: Sequence[str], tensor: Any):
        self._compiled, self._tensor = compiled, tensor
        position = {name: i for i, each in enumerate(compiled.inputs) for name in each.names}
        self._places = [(position[n], i) for i, n in enumerate(names) if n in position]
        self._outputs = [
            (tuple(each.shape), each.element_type.to_dtype()) for each in compiled.outputs
        ]
        self._free: list[_Request] = []

    def __call__(self, *values: np.ndarray) -> list[np.ndarray]:
        arrays = [np.ascontiguousarray(values[i]) for _, i in self._places]
        try:
            request = self._free.pop()
        except IndexError:  # the first call, or one beside another
            request = self._request(arrays)
        results = request(arrays)
        self._free.append(request)
        return results

    def _request(self, arrays: Sequence[np.ndarray]) -> _Request:
        request, tensor = self._compiled.create_infer_request(), self._tensor
        places = [place for place, _ in self._places]
        inputs = [
            _Input(request, place, data, tensor) for place, data in zip(places, arrays, strict=True)
        ]
        outputs = [
            _Output(request, place, *spec, tensor) for place, spec in enumerate(self._outputs)
        ]
        return _Request(request, inputs, outputs)


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
