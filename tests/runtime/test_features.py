"""Features: MXNet's names, and answers that are true on this machine."""

from __future__ import annotations

import importlib.util
import platform
from pathlib import Path

import jax
import pytest

import mixnet as mx
from mixnet.base import AttributeTypeError, MXNetError
from mixnet.ops.lowering import onednn

# In the order of MXNet 1.9.1.
NAMES = [
    "CUDA",
    "CUDNN",
    "NCCL",
    "CUDA_RTC",
    "TENSORRT",
    "CPU_SSE",
    "CPU_SSE2",
    "CPU_SSE3",
    "CPU_SSE4_1",
    "CPU_SSE4_2",
    "CPU_SSE4A",
    "CPU_AVX",
    "CPU_AVX2",
    "OPENMP",
    "SSE",
    "F16C",
    "JEMALLOC",
    "BLAS_OPEN",
    "BLAS_ATLAS",
    "BLAS_MKL",
    "BLAS_APPLE",
    "LAPACK",
    "MKLDNN",
    "OPENCV",
    "CAFFE",
    "PROFILER",
    "DIST_KVSTORE",
    "CXX14",
    "INT64_TENSOR_SIZE",
    "SIGNAL_HANDLER",
    "DEBUG",
    "TVM_OP",
]


def test_the_names_are_those_of_mxnet() -> None:
    assert list(mx.runtime.Features()) == NAMES
    assert [each.name for each in mx.runtime.feature_list()] == NAMES


def test_a_process_has_one_features_object() -> None:
    features = mx.runtime.Features()
    assert features is mx.runtime.Features() is mx.runtime.Features.instance
    assert len(features) == len(NAMES)


def test_features_match_this_machine() -> None:
    features = mx.runtime.Features()
    gpu = any(device.platform == "gpu" for device in jax.devices())
    assert features.is_enabled("cuda") == (gpu and mx.num_gpus() > 0)
    assert features["PROFILER"].enabled and features.is_enabled("Int64_Tensor_Size")
    assert not features.is_enabled("TVM_OP")
    assert features.is_enabled("MKLDNN") == onednn.included(None)
    assert features.is_enabled("OPENCV") == (importlib.util.find_spec("cv2") is not None)


def test_sizes_beyond_32_bits() -> None:
    x = mx.nd.zeros((2**31 + 1,), dtype="int8")  # recorded, never run
    assert x.size == 2**31 + 1


def test_lapack_is_a_feature() -> None:
    assert mx.runtime.Features().is_enabled("LAPACK")
    actual = mx.nd.linalg.potrf(mx.nd.array([[4.0, 0.0], [0.0, 9.0]])).asnumpy()
    assert actual.tolist() == [[2.0, 0.0], [0.0, 3.0]]


def test_text_form_marks_enabled_features() -> None:
    assert repr(mx.runtime.Feature("A", True)) == "✔ A"
    assert repr(mx.runtime.Feature("B", False)) == "✖ B"
    assert repr(mx.runtime.Features()).startswith("[")
    assert "✔ PROFILER" in repr(mx.runtime.Features())


def test_unknown_features_are_errors() -> None:
    features = mx.runtime.Features()
    with pytest.raises(MXNetError, match=r"'zz' is unknown; the features are CUDA, CUDNN"):
        features.is_enabled("zz")
    with pytest.raises(AttributeTypeError, match=r"3.*a name"):
        features.is_enabled(3)


def test_features_start_no_process(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(onednn, "works_in_own_process", lambda: pytest.fail("a process started"))
    monkeypatch.setattr(onednn, "_known", {})
    is_x86 = platform.machine() in ("x86_64", "AMD64")
    assert onednn.included(tmp_path) == onednn.included(None) == is_x86
    assert {each.name: each.enabled for each in mx.runtime.feature_list()}["LAPACK"]
    # The stored result of a trial decides.
    (tmp_path / f"{onednn._trial_name()}.json").write_text('{"available": false}')
    assert not onednn.included(tmp_path)
