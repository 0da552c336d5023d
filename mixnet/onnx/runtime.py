"""Backends based on ONNX Runtime: CPUs, and TensorRT or CUDA if the installed package has them."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from mixnet.base import MXNetError
from mixnet.onnx.backend import ONNXBackend, Run, allowed_cores
from mixnet.symbol.symbol import Symbol

_FP16 = "MXNET_TENSORRT_USE_FP16"


def set_use_fp16(status: bool) -> None:
    """Let TensorRT compute in float16, for networks optimized from now on."""
    os.environ[_FP16] = str(int(bool(status)))


def get_use_fp16() -> bool:
    """Whether TensorRT computes in float16; it does by default."""
    return os.environ.get(_FP16, "1") not in ("0", "")


def runtime_package() -> Any:
    """The package ``onnxruntime``.

    Raises:
        MXNetError: it is not installed; says how to install it.
    """
    try:
        import onnxruntime
    except ImportError as error:
        raise MXNetError(
            f"The backend ONNXRuntime needs the package onnxruntime, which is not installed "
            f"({error}). Install it with "
            f"pip install 'mixnet[onnxruntime]'."
        ) from None
    return onnxruntime


def _threads() -> int:
    """How many threads ONNX Runtime is to use: 0, its own choice, or the cores that this process
    may use if that is not all.

    It counts the machine's: on fewer cores its threads would wait for each other without
    sleeping, which doubled the time.
    """
    allowed = allowed_cores()
    return allowed if allowed < (os.cpu_count() or 1) else 0


class ONNXRuntime(ONNXBackend):
    """A backend that computes all operators with an equivalent in ONNX.

    Options: ``providers``, a list of ONNX Runtime's, by default CUDA's if it is installed,
    otherwise the CPU's; ``threads``, their number, by default one for each core that the
    process may use.
    """

    preferred = ("CUDAExecutionProvider", "CPUExecutionProvider")

    def providers(self) -> list[str]:
        """Providers that are installed, the best first."""
        have = runtime_package().get_available_providers()
        return [each for each in self.preferred if each in have]

    def optimize(
        self, symbol: Symbol, arrays: Mapping[str, Any], options: dict[str, Any]
    ) -> Symbol:
        """The symbol with subgraphs replaced by ONNX Runtime.

        Raises:
            MXNetError: a required package is not installed.
        """
        options = {**options, "providers": list(options.get("providers") or self.providers())}
        return super().optimize(symbol, arrays, options)

    def runner(self, model: Any, names: Sequence[str], options: dict[str, Any]) -> Run:
        """A session of the model."""
        runtime = runtime_package()
        settings = runtime.SessionOptions()
        settings.intra_op_num_threads = int(options.get("threads", _threads()))
        settings.log_severity_level = 3
        session = runtime.InferenceSession(
            model.SerializeToString(), settings, providers=options["providers"]
        )
        read = {each.name for each in session.get_inputs()}
        places = [(name, i) for i, name in enumerate(names) if name in read]
        outputs = [each.name for each in session.get_outputs()]

        def run(*values: np.ndarray) -> list[np.ndarray]:
            results: list[np.ndarray] = session.run(outputs, {n: values[i] for n, i in places})
            return results

        return run


class TensorRT(ONNXRuntime):
    """ONNX Runtime with TensorRT's provider.

    Options: as of ``ONNXRuntime``.
    """

    preferred = ("TensorrtExecutionProvider", "CUDAExecutionProvider")

    def providers(self) -> list[str]:
        """TensorRT's provider with its settings, then CUDA's.

        Raises:
            MXNetError: it is not installed.
        """
        listed = super().providers()
        if self.preferred[0] not in listed:
            raise MXNetError(
                "The backend TensorRT needs onnxruntime-gpu with TensorRT's libraries, which are "
                "not installed. Use "
                "backend='ONNXRuntime', or 'XLA'."
            )
        settings = {"trt_fp16_enable": get_use_fp16()}
        return [(listed[0], settings), *listed[1:]]  # type: ignore[list-item]
