"""A process that holds the contenders of one framework: ``python -m
tests.benchmarks.backends.worker FRAMEWORK THREADS``.

Requests come on standard input and answers go to standard output, one JSON object a line.
"""

from __future__ import annotations

import importlib
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from tests.benchmarks.backends.networks import data, gluon_network
from tests.benchmarks.serving import serve


class Mixnet:
    """mixnet's backends."""

    def __init__(self, threads: int):
        self._mx = importlib.import_module("mixnet")

    def write(self, name: str, batch: int, folder: str) -> None:
        """Write a network's parameters for all contenders, and its ONNX file."""
        mx = self._mx
        mx.random.seed(0)
        net = gluon_network(mx, name)
        net.initialize(mx.init.Xavier())
        net.hybridize()
        net(*[mx.nd.array(each) for each in data(name, batch)]).wait_to_read()
        net.save_parameters(f"{folder}/net.params")
        arrays = [each.data().asnumpy() for each in net.collect_params().values()]
        np.savez(f"{folder}/net.npz", *arrays)
        net.export(f"{folder}/net", format="onnx")

    def make(self, name: str, variant: str, batch: int, folder: str) -> Callable[[], Any]:
        """A prediction."""
        mx = self._mx
        inputs = [mx.nd.array(each) for each in data(name, batch)]
        net = gluon_network(mx, name)
        net.load_parameters(f"{folder}/net.params")
        net.hybridize()
        backend, *dtype = variant.split()
        if dtype == ["int8"]:
            net = self._quantized(net, inputs)
        net.optimize_for(*inputs, backend=backend)

        def predict() -> Any:
            out = net(*inputs)
            out.wait_to_read()
            return out

        with mx.runtime.compiling_at_once():
            predict()
        return predict

    def _quantized(self, net: Any, inputs: list[Any]) -> Any:
        """A network in 8-bit integers, whose ranges are those of the inputs."""
        mx = self._mx
        examples = mx.gluon.data.ArrayDataset(*inputs, mx.nd.zeros(len(inputs[0])))
        return mx.contrib.quantization.quantize_net_v2(
            net,
            quantize_mode="smart",
            quantize_granularity="channel-wise",
            calib_mode="naive",
            calib_data=mx.gluon.data.DataLoader(examples, batch_size=len(inputs[0])),
        )

    def numpy(self, value: Any) -> np.ndarray:
        """An output as an array."""
        return value.asnumpy()


class MXNet(Mixnet):
    """The real MXNet; the program is mixnet's, under whose name MXNet is imported."""

    def __init__(self, threads: int):
        self._mx = importlib.import_module("mxnet")
        sys.modules["mixnet"], sys.modules["mixnet.gluon"] = self._mx, self._mx.gluon

    def make(self, name: str, variant: str, batch: int, folder: str) -> Callable[[], Any]:
        """A prediction: hybridized, or partitioned for oneDNN."""
        mx = self._mx
        inputs = [mx.nd.array(each) for each in data(name, batch)]
        net = gluon_network(mx, name)
        net.load_parameters(f"{folder}/net.params")
        net.hybridize(static_alloc=True, static_shape=True)
        if variant == "oneDNN":
            net.optimize_for(*inputs, backend="MKLDNN", static_alloc=True, static_shape=True)

        def predict() -> Any:
            out = net(*inputs)
            out.wait_to_read()
            return out

        return predict


class Torch:
    """PyTorch; images lie with channels last, which is quicker."""

    def __init__(self, threads: int):
        import torch

        torch.set_num_threads(threads)
        self._torch = torch

    def make(self, name: str, variant: str, batch: int, folder: str) -> Callable[[], Any]:
        """A prediction."""
        from tests.benchmarks.backends.in_torch import network

        torch = self._torch
        with torch.no_grad():
            net, last = network(name, variant, f"{folder}/net.npz")
        inputs = [torch.from_numpy(each) for each in data(name, batch)]
        if last:
            inputs = [each.to(memory_format=torch.channels_last) for each in inputs]

        def predict() -> Any:
            with torch.inference_mode():
                return net(*inputs)

        return predict

    def numpy(self, value: Any) -> np.ndarray:
        """An output as an array."""
        return value.numpy()


def model_file(name: str, variant: str, batch: int, folder: str) -> str:
    """The ONNX file of a network; for ``int8`` it is quantized by ONNX Runtime's tool."""
    whole = f"{folder}/net.onnx"
    if variant != "int8":
        return whole
    from tests.benchmarks.backends.quantize import quantize

    return quantize(whole, f"{folder}/int8.onnx", data(name, batch))


class ONNXRuntime:
    """ONNX Runtime alone, which has NumPy arrays in its hands."""

    def __init__(self, threads: int):
        import onnxruntime

        self._runtime, self._threads = onnxruntime, threads

    def make(self, name: str, variant: str, batch: int, folder: str) -> Callable[[], Any]:
        """A prediction."""
        settings = self._runtime.SessionOptions()
        settings.intra_op_num_threads = self._threads
        session = self._runtime.InferenceSession(
            model_file(name, variant, batch, folder), settings, providers=["CPUExecutionProvider"]
        )
        names = [each.name for each in session.get_inputs()]
        feed = dict(zip(names, data(name, batch)))  # noqa: B905 - Python 3.10 is too old for mypy's view
        return lambda: session.run(None, feed)[0]

    def numpy(self, value: Any) -> np.ndarray:
        """An output as an array."""
        return value


class OpenVINO:
    """OpenVINO alone, in float32, which has NumPy arrays in its hands."""

    def __init__(self, threads: int):
        import openvino

        self._openvino, self._threads = openvino, threads

    def make(self, name: str, variant: str, batch: int, folder: str) -> Callable[[], Any]:
        """A prediction."""
        core = self._openvino.Core()
        model = core.read_model(model_file(name, variant, batch, folder))
        inputs = data(name, batch)
        model.reshape({i: list(each.shape) for i, each in enumerate(inputs)})
        settings = {
            "PERFORMANCE_HINT": "LATENCY",
            "NUM_STREAMS": 1,
            "INFERENCE_NUM_THREADS": self._threads,
            "INFERENCE_PRECISION_HINT": "f32",
        }
        request = core.compile_model(model, "CPU", settings).create_infer_request()
        for i, each in enumerate(inputs):
            request.set_input_tensor(i, self._openvino.Tensor(each, shared_memory=True))

        def predict(_memory: Any = inputs) -> Any:
            request.infer()
            return request.get_output_tensor(0).data

        return predict

    def numpy(self, value: Any) -> np.ndarray:
        """An output as an array."""
        return np.array(value)


FRAMEWORKS = {
    "mixnet": Mixnet,
    "mxnet": MXNet,
    "torch": Torch,
    "onnxruntime": ONNXRuntime,
    "openvino": OpenVINO,
}


class Worker:
    """What the driver asks for, by name."""

    def __init__(self, framework: Any):
        self._framework = framework
        self._runs: dict[str, Callable[[], Any]] = {}

    def write(self, **options: Any) -> None:
        """Write a network's parameters for all contenders."""
        self._framework.write(**options)

    def make(self, name: str, variant: str, batch: int, folder: str) -> list[float]:
        """Make a contender; its outputs as a flat list."""
        predict = self._framework.make(name, variant, batch, folder)
        for _ in range(3):
            out = predict()
        self._runs[variant] = predict
        return [float(each) for each in self._framework.numpy(out).ravel()]

    def time(self, variant: str, steps: int) -> tuple[float, float]:
        """Seconds and processor seconds of a prediction, means of some in a row, after one more.

        In the first step of a turn caches, memory and threads are those of another contender.
        """
        predict = self._runs[variant]
        predict()
        start, busy = time.perf_counter(), time.process_time()
        for _ in range(steps):
            predict()
        return (time.perf_counter() - start) / steps, (time.process_time() - busy) / steps

    def drop(self) -> None:
        """Forget all contenders."""
        self._runs.clear()


if __name__ == "__main__":
    serve(lambda name, threads: Worker(FRAMEWORKS[name](threads)))
