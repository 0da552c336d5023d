"""XLA's compiler options."""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from functools import cache

import jax

from mixnet.graph.graph import Graph
from mixnet.ops.lowering.lowering import Lowering
from mixnet.ops.operator import Operator

# XLA's CPU backend passes parts of a program to YNNPACK: sums over columns run eight times faster
# there, matrix products equally fast, but convolutions at 0.6 of the speed of XLA's own.
_CHOSEN = {
    "xla_cpu_experimental_ynn_fusion_type": (
        "LIBRARY_FUSION_TYPE_REDUCE,LIBRARY_FUSION_TYPE_INDIVIDUAL_DOT"
    )
}


def compiler_options(graph: Graph, platform: str) -> dict[str, str]:
    """The compiler options for a graph: none unless it has chosen lowerings, on a CPU."""
    if platform != "cpu" or not any(type(node.op) is Lowering for node in graph.nodes):
        return {}
    return chosen_options()


def chosen_options() -> dict[str, str]:
    """The options, if this version of XLA supports them."""
    return _CHOSEN if _is_supported(tuple(_CHOSEN.items())) else {}


_SEPARATE_SUMS = {"xla_disable_hlo_passes": "cpu-all-reduce-combiner"}
"""Otherwise XLA merges all sums over devices into one, which begins after the last gradient."""


def joint_options(graph: Graph, platform: str) -> dict[str, str]:
    """The compiler options for a program over several devices, which itself combines small arrays."""
    options = compiler_options(graph, platform)
    if platform == "cpu" and _is_supported(tuple(_SEPARATE_SUMS.items())):
        options = {**options, **_SEPARATE_SUMS}
    return options


@cache
def _is_supported(options: tuple[tuple[str, str], ...]) -> bool:
    try:
        jax.jit(lambda x: x + 1, compiler_options=dict(options)).lower(0.0).compile()
    except jax.errors.JaxRuntimeError:
        return False
    return True


QUICK = {
    "gpu": {
        "xla_gpu_autotune_level": "1",
        "xla_gpu_autotune_max_solutions": "1",
        "xla_gpu_enable_triton_gemm": "False",
        "xla_gpu_experimental_enable_fusion_autotuner": "False",
    }
}
"""Options, by platform, with which a program compiles sooner and runs slower.

For each product and convolution of a GPU's program, XLA compiles and runs many algorithms to find the
fastest, which takes most of the compile time. With these options it uses the one that NVIDIA's libraries
suggest. Without any selection, at level 0, convolutions run a hundred times slower.
"""

UNTIMED_CONVOLUTIONS = {"gpu": {"xla_gpu_deterministic_ops": "True"}}
"""Options, by platform, with which convolutions compile still sooner.

XLA uses the first deterministic algorithm that cuDNN suggests, without running it: a training step of
ResNet-50 compiles in half the time and takes 57 ms instead of 42. Not for scatters, which would add numbers
one by one.
"""


def quick_options(graph: Graph, platform: str) -> dict[str, str]:
    """The options with which a graph compiles sooner; none if they make no difference to it."""
    if platform not in QUICK or not any(is_product(node.op) for node in graph.nodes):
        return {}
    return quick_options_of(platform)


def quick_options_of(platform: str) -> dict[str, str]:
    """The options with which programs of a platform compile sooner, if this version of XLA supports them."""
    return _supported(QUICK.get(platform, {}))


def _supported(options: dict[str, str]) -> dict[str, str]:
    """The options that this version of XLA has."""
    if not options or _is_supported(tuple(options.items())):
        return options
    return {name: value for name, value in options.items() if _is_supported(((name, value),))}


def part_options(platform: str, primitives: AbstractSet[str]) -> dict[str, str]:
    """The options for a part that runs only a few times (:mod:`mixnet.runtime.interpret.on_device`).

    Args:
        platform: the platform that it is compiled for.
        primitives: names of the JAX primitives in it.
    """
    options = quick_options_of(platform)
    if "conv_general_dilated" in primitives and not any("scatter" in name for name in primitives):
        options = {**options, **_supported(UNTIMED_CONVOLUTIONS.get(platform, {}))}
    return options


def is_product(op: Operator | None) -> bool:
    """Whether an operator, or the one whose gradient it is, multiplies matrices or convolves."""
    if op is None:
        return False
    rule = (op.forward or op).flops_rule
    return rule is not None and rule.is_product


def options_to_read(platform: str) -> dict[str, str]:
    """The options for a program that is only read, not run: on a CPU, LLVM does not optimize it.

    XLA's instructions are the same, as LLVM comes after all of XLA's passes.
    """
    return {"xla_backend_optimization_level": "0"} if platform == "cpu" else {}


def can_be_written(graph: Graph) -> bool:
    """Whether XLA can write the compiled program to disk; not if it calls oneDNN."""
    return not any(
        type(node.op) is Lowering and dict(node.statics).get("method") == "onednn"
        for node in graph.nodes
    )
