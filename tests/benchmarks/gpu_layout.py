"""The layouts that XLA chooses for convolutions on a GPU, without having one: channels last for tensor cores.

The training step and the prediction that mixnet records are compiled for a GPU that is described by
text. It needs JAX's CUDA plugin, and no GPU and no driver:

pip install "jax[cuda12]"
python -m tests.benchmarks.gpu_layout [--network resnet18_v1] [--batch 16]
"""

from __future__ import annotations

import argparse
import os
import re
from collections import Counter
from typing import Any

# An H200, as XLA describes devices that are not there.
H200 = """
gpu_device_info {
  cuda_compute_capability { major: 9 minor: 0 }
  threads_per_block_limit: 1024 threads_per_warp: 32 threads_per_core_limit: 2048
  shared_memory_per_block: 49152 shared_memory_per_core: 233472 shared_memory_per_block_optin: 232448
  core_count: 132 fpus_per_core: 128 clock_rate_ghz: 1.98
  block_dim_limit_x: 2147483647 block_dim_limit_y: 65535 block_dim_limit_z: 65535
  registers_per_core_limit: 65536 registers_per_block_limit: 65536
  memory_bandwidth: 4800000000000 l2_cache_size: 52428800 device_memory_size: 149250000000
}
platform_name: "CUDA"
dnn_version_info { major: 9 minor: 8 }
device_description_str: "NVIDIA H200"
"""
_CALL = re.compile(r"dim_labels=(\S+?)->(\S+?),.*custom_call_target=\"(__cudnn\$conv\w+)\"")
_TRANSPOSE = re.compile(r"= \w+\[([\d,]+)\]\S* transpose\(")


def recorded(name: str, batch: int, dtype: str) -> list[Any]:
    """The programs of a training step and of a prediction, as they would run, not run."""
    import mixnet as mx
    from mixnet import autograd, gluon
    from mixnet.stages.isolate import isolated

    net = gluon.model_zoo.vision.get_model(name)
    net.initialize()
    net(mx.nd.zeros((1, 3, 224, 224)))
    net.cast(dtype)
    net.hybridize()
    x, y = mx.nd.zeros((batch, 3, 224, 224), dtype=dtype), mx.nd.zeros((batch,))
    loss_of = gluon.loss.SoftmaxCrossEntropyLoss()
    results = []
    with isolated() as isolation:
        with autograd.record():
            loss = loss_of(net(x), y)
        loss.backward()
        stored = [loss, [p.grad() for p in net.collect_params().values() if p.grad_req != "null"]]
        results.append(isolation.programs()[-1])
        del stored
    with isolated() as isolation:
        stored = [net(x)]
        results.append(isolation.programs()[-1])
        del stored
    return results


def compiled_text(program: Any, device: Any) -> str:
    """What XLA makes of a program for a device."""
    import jax
    import numpy as np
    from jax.sharding import SingleDeviceSharding

    from mixnet.passes import pipeline
    from mixnet.passes.facts import Facts
    from mixnet.runtime.compile.lower import lower

    specs = [value.spec for value in program.leaves]
    facts = Facts("gpu", [(spec.shape, spec.dtype) for spec in specs])
    run = lower(pipeline.run(program.graph, "segment", facts))
    where = SingleDeviceSharding(device)
    shapes = [((len(program.scalars),), np.dtype("float64"))]
    shapes += [(spec.shape, spec.dtype) for spec in specs]
    structs = [jax.ShapeDtypeStruct(shape, dtype, sharding=where) for shape, dtype in shapes]
    with jax.enable_x64(True):
        jitted = jax.jit(lambda scalars, *arrays: run(arrays, scalars))
        return str(jitted.lower(*structs).compile().as_text())


def main(arguments: list[str] | None = None) -> None:
    """Print how many convolutions have which layout, and how many images are transposed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--network", default="resnet18_v1")
    parser.add_argument("--batch", type=int, default=16)
    options = parser.parse_args(arguments)
    os.environ["JAX_PLATFORMS"] = "cpu"
    os.environ["XLA_FLAGS"] = os.environ.get("XLA_FLAGS", "") + " --xla_gpu_autotune_level=0"
    from jax.experimental import topologies

    topology = topologies.get_topology_desc(
        platform="cuda", topology_name="", target_config=H200, topology="1x1x1"
    )
    for dtype in ("float16", "float32"):
        programs = recorded(options.network, options.batch, dtype)
        for kind, program in zip(("training", "prediction"), programs, strict=True):
            text = compiled_text(program, topology.devices[0])
            calls = Counter(call.group(2) for call in _CALL.finditer(text))
            shapes = [tuple(map(int, m.group(1).split(","))) for m in _TRANSPOSE.finditer(text)]
            images = sum(len(shape) == 4 and shape[0] == options.batch for shape in shapes)
            last = sum(n for result, n in calls.items() if not result.endswith("01"))
            print(
                f"{options.network}, batch {options.batch}, {dtype}, {kind}: {sum(calls.values())} "
                f"convolutions of cuDNN, {last} with channels last; {images} transposes of images"
            )


if __name__ == "__main__":
    main()
