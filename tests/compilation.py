"""Programs of tests run once or twice: XLA need not make them fast."""

from __future__ import annotations

import os
from collections.abc import Mapping
from importlib.metadata import version

# With these, programs are as fast as those of users, which take longer to compile.
AS_USERS = ("MIXNET_TEST_OPTIMIZED", "MIXNET_TEST_COURSE")


def xla_flags(environment: Mapping[str, str] = os.environ) -> str | None:
    """XLA's flags for tests, with those of the environment; None for none."""
    usual = environment.get("XLA_FLAGS")
    if any(environment.get(name) for name in AS_USERS):
        return usual
    flags = ["--xla_backend_optimization_level=0", "--xla_llvm_disable_expensive_passes=true"]
    # Parts of a program that threads compile side by side take a third longer in all, and the other workers
    # need the cores.
    flags.append("--xla_cpu_parallel_codegen_split_count=1")
    # The emitters of fusions write and optimize MLIR of their own, which takes longer than all the rest.
    # Later versions have no such flag, and XLA ends a process that names one it does not know.
    if tuple(int(part) for part in version("jax").split(".")[:2]) < (0, 11):
        flags.append("--xla_cpu_use_fusion_emitters=false")
    return " ".join([*flags, *([usual] if usual else [])])
