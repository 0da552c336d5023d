"""oneDNN's convolution, which XLA includes on x86 CPUs.

XLA compiles a custom call named ``__onednn$convolution`` into oneDNN's convolution, run on XLA's own
threads. Its optimizer no longer places such calls by itself, and what it reads as their
configuration is not a promise of its interface; so before the first use a process of its own
tries a few convolutions, and what it found is remembered for this version of jaxlib.

Run as a script, this file is that trial; it imports nothing of mixnet.
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import jaxlib
import numpy as np

TARGET = "__onednn$convolution"
Pads = Sequence[tuple[int, int]]


def convolution(
    data: jax.Array,
    weight: jax.Array,
    *operands: jax.Array,
    stride: Sequence[int],
    pads: Pads,
    dilate: Sequence[int] = (1, 1),
    groups: int = 1,
    weight_order: str = "OIHW",
    fusions: Sequence[str] = (),
) -> Any:
    """Cross-correlation, channels last.

    Args:
        data: float32 or uint8, ``(batch, height, width, channels)``.
        weight: float32, or int8 for data of uint8; its axes are those of ``weight_order``: O
            filters, I channels, H and W.
        operands: what ``fusions`` read: for ``BIAS`` an array ``(filters,)``, for ``BINARY_ADD``
            one of the result's shape.
        pads: zeros before and after, none negative, for height and width.
        groups: of channels; I of the weight are those of one group.
        fusions: what is done to the result while it is in cache: ``BIAS``, ``BINARY_ADD``,
            ``RELU``, in this order.

    Returns:
        float32, or int32 for integers, ``(batch, out height, out width, filters)``.
    """
    sizes = dict(zip(weight_order, weight.shape, strict=True))
    extents = [
        (n + sum(p) - d * (sizes[axis] - 1) - 1) // s + 1
        for n, p, d, axis, s in zip(data.shape[1:3], pads, dilate, "HW", stride, strict=True)
    ]
    image = {"data": {"batch_dim": "0", "feature_dim": "3", "spatial_dims": ["1", "2"]}}
    config = {
        "dims": "4",
        "input": image,
        "kernel": {
            "filter": {
                "input_feature_dim": str(weight_order.index("I")),
                "output_feature_dim": str(weight_order.index("O")),
                "spatial_dims": [str(weight_order.index(axis)) for axis in "HW"],
                "shape": [],
            }
        },
        "output": image,
        "window": {
            "size": [],
            "pad_left": [str(before) for before, _ in pads],
            "pad_right": [str(after) for _, after in pads],
            "strides": [str(s) for s in stride],
            "window_dilations": [str(d) for d in dilate],
        },
        "feature_groups": str(groups),
    }
    if fusions:
        config["fusions"] = {"ops": list(fusions)}
    result = jax.ShapeDtypeStruct((data.shape[0], *extents, sizes["O"]), _result_dtype(data))
    call = jax.ffi.ffi_call(
        TARGET,
        result,
        custom_call_api_version=1,
        legacy_backend_config=json.dumps({"onednn_conv_config": config}),
    )
    return call(data, weight, *operands)


def _result_dtype(data: jax.Array) -> np.dtype:
    return np.dtype("float32" if data.dtype == np.float32 else "int32")


def computes(channels: int, stride: Sequence[int]) -> bool:
    """Whether the call is right for a convolution of these input channels.

    oneDNN in jaxlib 0.10.2 gives wrong numbers for one input channel with a stride where the result
    is one element wide, as tests of random shapes showed.
    """
    return channels > 1 or all(s == 1 for s in stride)


# ---- whether it can be had -------------------------------------------------------------------


def trial() -> bool:
    """Whether the calls give what XLA's own convolution gives."""
    random = np.random.default_rng(0)
    for stride, dilate, pads, size, groups, fused in (
        ((1, 1), (1, 1), ((1, 1), (1, 1)), 3, 1, False),
        ((2, 1), (1, 1), ((0, 2), (3, 1)), 5, 1, False),
        ((1, 1), (2, 2), ((2, 2), (2, 2)), 3, 1, False),
        ((1, 1), (1, 1), ((0, 0), (0, 0)), 1, 1, False),
        ((1, 1), (1, 1), ((1, 1), (1, 1)), 3, 1, True),
        ((1, 1), (1, 1), ((1, 1), (1, 1)), 3, 4, True),
        ((2, 2), (1, 1), ((1, 1), (1, 1)), 3, 16, False),
    ):
        data, weight, bias = (
            jnp.asarray(random.standard_normal(shape), jnp.float32)
            for shape in ((2, 14, 11, 16), (32, 16 // groups, size, size), (32,))
        )
        expected = jax.lax.conv_general_dilated(
            data,
            weight,
            stride,
            pads,
            None,
            dilate,
            dimension_numbers=("NHWC", "OIHW", "NHWC"),
            feature_group_count=groups,
        )
        operands: tuple[Any, ...] = ()
        fusions: tuple[str, ...] = ()
        if fused:
            expected = jax.nn.relu(expected + bias)
            operands, fusions = (bias,), ("BIAS", "RELU")
        result = jax.jit(
            lambda *arrays, s=stride, p=pads, d=dilate, g=groups, f=fusions: convolution(
                *arrays, stride=s, pads=p, dilate=d, groups=g, fusions=f
            )
        )(data, weight, *operands)
        if result.shape != expected.shape or not np.allclose(result, expected, atol=1e-4):
            return False
    return _integers_too(random)


def _integers_too(random: np.random.Generator) -> bool:
    return all(_integers(random, groups) for groups in (1, 4, 16))


def _integers(random: np.random.Generator, groups: int) -> bool:
    data = random.integers(0, 256, (2, 9, 7, 16)).astype(np.uint8)
    weight = random.integers(-128, 128, (32, 16 // groups, 3, 3)).astype(np.int8)
    stride, pads = ((2, 1) if groups < 16 else (1, 1)), ((1, 1), (0, 2))
    expected = jax.lax.conv_general_dilated(
        jnp.asarray(data, np.float32), jnp.asarray(weight, np.float32), stride, pads,
        dimension_numbers=("NHWC", "OIHW", "NHWC"), feature_group_count=groups,
    )  # fmt: skip
    result = jax.jit(lambda *arrays: convolution(*arrays, stride=stride, pads=pads, groups=groups))(
        data, weight
    )
    return result.shape == expected.shape and bool((np.asarray(result) == expected).all())


_known: dict[str, bool] = {}
_TRIAL = 3
"""Of what ``trial`` tries: outcomes of another one count for nothing."""


def included(folder: Path | None) -> bool:
    """Whether this installation says that it has the calls; unlike :func:`available`, nothing is tried.

    Args:
        folder: where the outcome of a trial is remembered, which counts; None: nowhere.
    """
    remembered = _known.get(_trial_name())
    if remembered is None and folder is not None:
        remembered = _read(folder / f"{_trial_name()}.json")
    return _is_x86() if remembered is None else remembered


def _is_x86() -> bool:
    """Whether the processor is one for which jaxlib is built with oneDNN."""
    return platform.machine() in ("x86_64", "AMD64")


def _trial_name() -> str:
    return f"onednn-{jaxlib.__version__}-{platform.machine()}-{_TRIAL}"


def _read(file: Path) -> bool | None:
    """The remembered outcome of a trial; None if there is none."""
    try:
        return bool(json.loads(file.read_text(encoding="utf-8"))["available"])
    except (OSError, ValueError, KeyError, TypeError):
        return None


def available(folder: Path | None) -> bool:
    """Whether this installation has the calls.

    A call that XLA cannot compile ends the process, so the trial has one of its own. It takes
    about two seconds, once for each version of jaxlib.

    Args:
        folder: where the outcome is remembered; None: nowhere.
    """
    name = _trial_name()
    if name not in _known:
        _known[name] = _remembered(name, folder)
    return _known[name]


def _remembered(name: str, folder: Path | None) -> bool:
    if not _is_x86() or not sys.executable:
        return False
    if folder is None:
        return works_in_own_process()
    file = folder / f"{name}.json"
    remembered = _read(file)
    if remembered is not None:
        return remembered
    works = works_in_own_process()
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        partial = file.with_suffix(f".{os.getpid()}")
        partial.write_text(json.dumps({"available": works}), encoding="utf-8")
        partial.replace(file)
    except OSError:  # a cache that cannot be written is no cache
        pass
    return works


def works_in_own_process() -> bool:
    """Whether :func:`trial`, in a process of its own, finds that the calls work."""
    environment = {**os.environ, "JAX_PLATFORMS": "cpu"}
    try:
        ran = subprocess.run(
            [sys.executable, "-W", "ignore", __file__],
            env=environment,
            capture_output=True,
            timeout=120,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return ran.returncode == 0 and ran.stdout.strip().endswith(b"available")


if __name__ == "__main__":
    print("available" if trial() else "wrong")
