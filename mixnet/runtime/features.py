"""``mx.runtime.Features``: the capabilities of this installation, under MXNet's names."""

from __future__ import annotations

import importlib.util
import os
import platform
from collections import OrderedDict
from collections.abc import Callable
from functools import cache

import jax

from mixnet.base import AttributeTypeError, StateError
from mixnet.ops.lowering import onednn
from mixnet.passes.choose_layout import cache_folder


class Feature:
    """One feature: ``name`` and whether it is ``enabled``.

    Args:
        name: as MXNet spells it.
        enabled: whether it is available, or a function that determines it on first use.
    """

    __slots__ = ("_enabled", "_name")

    def __init__(self, name: str, enabled: bool | Callable[[], bool]):
        self._name = name
        self._enabled = enabled

    @property
    def name(self) -> str:
        """The name, as MXNet spells it."""
        return self._name

    @property
    def enabled(self) -> bool:
        """Whether the feature is available."""
        if callable(self._enabled):
            self._enabled = self._enabled()
        return self._enabled

    def __repr__(self) -> str:
        return f"{'✔' if self.enabled else '✖'} {self.name}"


def _has_cuda() -> bool:
    try:
        devices = jax.local_devices(backend="gpu")
    except RuntimeError:
        return False
    # ROCm has the same platform name.
    return any("cuda" in each.client.platform_version.lower() for each in devices)


@cache
def _instructions() -> frozenset[str]:
    """Instruction set extensions of the processor, for which XLA compiles."""
    if os.path.exists("/proc/cpuinfo"):
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            for line in file:
                if line.startswith("flags"):
                    return frozenset(line.partition(":")[2].split())
    is_x86_64 = platform.machine().lower() in ("x86_64", "amd64")
    return frozenset({"sse", "sse2"}) if is_x86_64 else frozenset()


_SSE3 = "pni"  # what Linux calls it


def feature_list() -> list[Feature]:
    """All features of MXNet 1.9.1, in its order, with their state here.

    MXNet fixes them when it is compiled; here they are determined on the machine: ``CPU_*`` and ``F16C``
    are instructions that XLA may use, ``CUDA``, ``CUDNN`` and ``NCCL`` come with JAX's CUDA plugin, and
    ``MKLDNN`` says whether jaxlib has oneDNN, which convolutions may use. Libraries that mixnet does not
    use (OpenMP, BLAS, TensorRT, TVM, ...) are not enabled.
    """
    cuda, flags = _has_cuda(), _instructions()
    enabled: dict[str, bool | Callable[[], bool]] = {
        "CUDA": cuda,
        "CUDNN": cuda,
        "NCCL": cuda,
        "CUDA_RTC": False,
        "TENSORRT": False,
        "CPU_SSE": "sse" in flags,
        "CPU_SSE2": "sse2" in flags,
        "CPU_SSE3": _SSE3 in flags or "sse3" in flags,
        "CPU_SSE4_1": "sse4_1" in flags,
        "CPU_SSE4_2": "sse4_2" in flags,
        "CPU_SSE4A": "sse4a" in flags,
        "CPU_AVX": "avx" in flags,
        "CPU_AVX2": "avx2" in flags,
        "OPENMP": False,
        "SSE": "sse" in flags,
        "F16C": "f16c" in flags,
        "JEMALLOC": False,
        "BLAS_OPEN": False,
        "BLAS_ATLAS": False,
        "BLAS_MKL": False,
        "BLAS_APPLE": False,
        "LAPACK": True,
        "MKLDNN": lambda: onednn.included(cache_folder()),
        "OPENCV": importlib.util.find_spec("cv2") is not None,
        "CAFFE": False,
        "PROFILER": True,
        "DIST_KVSTORE": True,
        "CXX14": False,
        "INT64_TENSOR_SIZE": True,
        "SIGNAL_HANDLER": False,
        "DEBUG": False,
        "TVM_OP": False,
    }
    return [Feature(name, value) for name, value in enabled.items()]


class Features(OrderedDict[str, Feature]):
    """The features by name; one object in a process."""

    instance: Features | None = None

    def __new__(cls) -> Features:
        if cls.instance is None:
            cls.instance = super().__new__(cls)
            OrderedDict.__init__(cls.instance, [(each.name, each) for each in feature_list()])
        return cls.instance

    def __init__(self) -> None:
        """Do nothing if called again."""

    def __repr__(self) -> str:
        return str(list(self.values()))

    def is_enabled(self, feature_name: object) -> bool:
        """Whether a feature is enabled; case-insensitive.

        Args:
            feature_name: one of those that ``feature_list()`` lists.

        Raises:
            AttributeTypeError: the name is not a string.
            MXNetError: there is no feature of that name.
        """
        if not isinstance(feature_name, str):
            raise AttributeTypeError(
                f"is_enabled({feature_name!r}): expected a name, one of {', '.join(self)}."
            )
        name = feature_name.upper()
        if name not in self:
            raise StateError(
                f"Feature {feature_name!r} is unknown; the features are {', '.join(self)}."
            )
        return self[name].enabled
